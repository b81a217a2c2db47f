"""A method as people type it, `quorum:votes=4` -> `Method`; and back, a method's knobs as short text for tables.

Called by the commands and by the sweep's reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.errors import InvalidInput, UnknownMethod
from quorate.methods import Method, method


def parse_method(spec: str, **extra: Any) -> Method:  # noqa: ANN401
    """`name` or `name:knob=value,knob=value`; `extra` knobs are added unless None.

    >>> parse_method("unanimous-then-cap:first=3,cap=5").policy
    UnanimousThenCap(first=3, cap=5)
    >>> parse_method("finexp", threshold=0.9).policy
    Threshold(threshold=0.9)
    """
    name, _, rest = spec.strip().partition(":")
    written = [_knob(part, spec) for part in rest.split(",") if part.strip()]
    pairs = written + [(key, value) for key, value in extra.items() if value is not None]
    knobs = dict(pairs)
    if len(knobs) < len(pairs):
        twice = next(key for key in knobs if [other for other, _ in pairs].count(key) > 1)
        values = " and ".join(repr(value) for key, value in pairs if key == twice)
        raise InvalidInput(
            f"method {spec!r}: knob {twice!r} is given twice ({values}); a knob has one value. Pass one.",
            field="method", value=spec, rule=f"one value for each knob, and {twice} has two: {values}", fix="Pass one.",
        )  # fmt: skip
    return method(name, **knobs)


def _knob(text: str, spec: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        fix = "write e.g. quorate:min_gain=0.01."
        raise UnknownMethod(
            f"method {spec!r}: {text!r} is not knob=value; {fix}", field="method", value=spec,
            rule="a name, a colon, and knobs as knob=value", fix=fix,
        )  # fmt: skip
    return key, _value(value)


def _value(text: str) -> Any:  # noqa: ANN401
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def knob_text(knobs: Mapping[str, Any]) -> str:
    """What a method is turned by, short; how it learns (hyperprior, bias) is left out.

    >>> knob_text(method("finexp", threshold=0.9).knobs), knob_text(method("ask-all").knobs)
    ('threshold 0.9', '')
    """
    turned = {key: value for key, value in knobs.items() if key not in ("hyperprior", "bias")}
    return ", ".join(
        f"{key} {value}" if isinstance(value, str) else f"{key} {value:.3g}" for key, value in turned.items()
    )
