"""Methods as people type and read them: `quorum:votes=4` -> `Method` and back, and one sentence on each method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorate.errors import UnknownMethod
from quorate.methods import DEFAULT_RULE, METHODS, Method, method
from quorate.validate import broken


def parse_method(spec: str, **extra: object) -> Method:
    """`name` or `name:parameter=value,parameter=value`; `extra` parameters are added unless None.

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
        rule = f"one value for each parameter, and {twice} has two: {values}"
        raise broken("method", spec, rule, "pass one.")
    return method(name, **knobs)


def _knob(text: str, spec: str) -> tuple[str, object]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        rule = f"a name, a colon, and parameters as name=value, not {text!r}"
        raise broken("method", spec, rule, "write e.g. quorate:min_gain=0.01.", error=UnknownMethod)
    return key, _value(value)


def _value(text: str) -> bool | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def knob_text(knobs: Mapping[str, Any]) -> str:
    """The parameters of a method, short; how it learns (hyperprior, bias) and the default rule are left out.

    >>> knob_text(method("finexp", threshold=0.9).knobs), knob_text(method("ask-all").knobs)
    ('threshold 0.9', '')
    """
    hidden = {"hyperprior", "bias"} | ({"rule"} if knobs.get("rule") == DEFAULT_RULE else set())
    turned = {key: value for key, value in knobs.items() if key not in hidden}
    return ", ".join(
        f"{key} {value}" if isinstance(value, str) else f"{key} {value:.3g}" for key, value in turned.items()
    )


SENTENCES = {
    "quorate": "Our own: the exact finite-pool posterior with a learned prior; asks while a vote is worth it.",
    "finexp": "The paper's FinExp: the exact finite-pool posterior with a learned prior, stops at a confidence.",
    "infexp": "The paper's InfExp: as finexp, but as if the pool were endless.",
    "fixed-finexp": "finexp that learns nothing: the classifier always counts as one vote.",
    "fixed-infexp": "infexp that learns nothing: the classifier always counts as one vote.",
    "fixed-ask-finexp": "Asks like fixed-finexp, answers with what finexp has learned.",
    "fixed-ask-infexp": "Asks like fixed-infexp, answers with what infexp has learned.",
    "random": "A random number of votes for each item, whatever the classifier says; the plurality of them answers.",
    "entropy": "More votes where the classifier's prediction is spread out (its entropy); their plurality answers.",
    "mp": "Model Picker read per class: more votes where the classes it names have been wrong before.",
    "mp-released": "What the released Model Picker code does: more votes where the classifier's top class is unsure.",
    "ask-all": "Every member of the pool, always: what a fixed number of annotators per item costs.",
    "until-settled": "Asks until the missing votes cannot change the winner: never wrong but for ties.",
    "quorum": "Stops when one class has so many votes.",
    "unanimous-then-cap": "Stops if the first few agree, else goes on to a cap.",
    "beta": "Stops when the leader would surely beat the runner-up in a duel; knows no classifier and no pool.",
    "crowd": "Seeks the true class behind the votes of named people, and learns how good each of them is.",
    "panel": "A small panel whose members are known: plans exactly whom to ask, and learns how each of them votes.",
}


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """One method: its name, one sentence, and its parameters with their defaults."""

    name: str
    sentence: str
    knobs: dict[str, Any]


def catalogue() -> tuple[MethodEntry, ...]:
    """Every method of `METHODS`, in its order.

    >>> catalogue()[-2].name, catalogue()[-2].knobs
    ('crowd', {'doubt': 0.02})
    """
    return tuple(MethodEntry(name, SENTENCES[name], dict(method(name).describe()["knobs"])) for name in METHODS)


def is_simple(chosen: Method) -> bool:
    """True for the rules that count votes: no posterior, nothing learned (they may look at the prediction).

    >>> is_simple(method("quorum")), is_simple(method("finexp"))
    (True, False)
    """
    return chosen.learner is None and chosen.asking.posterior == "vote_share"
