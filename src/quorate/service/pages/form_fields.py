"""A form's fields -> values: texts, numbers, choices, with errors that name the field, the value, the rule, the fix.

`Fields` is a dependency that gives every text field of a form. Called by the pages that take forms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from quorate.errors import with_names
from quorate.service.access.csrf import FIELD
from quorate.validate import broken

LONGEST = 80  # characters of what was typed that are told
THOUSANDS = re.compile(r"[+-]?0*[1-9]\d{0,2},\d{3}")  # 1,000 is a thousand here, and one elsewhere


async def text_fields(request: Request) -> dict[str, str]:
    """The text fields of a form, without the CSRF token; files are left out."""
    form = await request.form()
    return {name: value for name, value in form.items() if isinstance(value, str) and name != FIELD}


Fields = Annotated[dict[str, str], Depends(text_fields)]


def number(fields: Mapping[str, str], name: str, *, example: str = "3 or 2.5", thousands: bool = True) -> float | None:
    """A number; None if the field is empty. `thousands`: it may be so large that a comma can mean them.

    >>> number({"price": "0,5"}, "price"), number({"price": ""}, "price")
    (0.5, None)
    """
    written = fields.get(name, "").strip()
    if not written:
        return None
    if thousands and THOUSANDS.fullmatch(written):
        plain, point = written.replace(",", ""), written.replace(",", ".")
        raise broken(name, written, "a number that can be read in one way only", f"write {plain}, or {point}.")
    text = written.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):  # also "inf", "nan", and what is too large, such as 1e400
        raise broken(name, written, "a number", f"write digits, e.g. {example}.")
    return value


def share(fields: Mapping[str, str], name: str, *, above: float = -1.0, why: str = "") -> float | None:
    """The share that a percentage is, which must be above `above` percent, because of `why`; None if it is empty.

    >>> share({"threshold": "95 %"}, "threshold")
    0.95
    """
    told = {**fields, name: fields.get(name, "").strip().removesuffix("%").strip()}
    percentage = number(told, name, thousands=False)
    if percentage is None:
        return None
    if not (0 <= percentage <= 100 and percentage > above):
        rule = f"more than {above:.3g} %{why}, at most 100 %" if above >= 0 else "0 to 100 %"
        fix = "lower it." if percentage > 100 else "raise it."
        if 0 < percentage <= 1:
            fix = f"did you mean {100 * percentage:g}? Raise it."
        raise broken(name, fields[name], rule, fix)
    return percentage / 100


def whole_number(fields: Mapping[str, str], name: str) -> int | None:
    """A whole number; None if the field is empty.

    >>> whole_number({"pool_size": "9"}, "pool_size")
    9
    """
    value = number(fields, name, example="3")
    if value is not None and value != int(value):
        raise broken(name, fields[name], "a whole number", "drop the decimals.")
    return None if value is None else int(value)


def lines(fields: Mapping[str, str], name: str) -> list[str]:
    """What stands in a text field, one on each line; or on one line with commas between.

    >>> lines({"classes": "cat, dog"}, "classes"), lines({"classes": "cat\\r\\ndog, wolf"}, "classes")
    (['cat', 'dog'], ['cat', 'dog, wolf'])
    """
    text = fields.get(name, "").strip()
    parts = text.splitlines() if len(text.splitlines()) > 1 else text.split(",")
    return [part.strip() for part in parts if part.strip()]


def in_words_of_the_form(
    problem: Mapping[str, Any], typed: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, Any]:
    """The problem with the form's `labels` for the names of fields, and what was `typed` for the value.

    >>> labels = {"pool_size": "Experts", "min_votes": "Fewest votes"}
    >>> said = {"field": "pool_size", "rule": "at least `min_votes`, which is 3", "fix": "raise `pool_size`."}
    >>> in_words_of_the_form(said, {"pool_size": "0"}, labels)["detail"]
    '“Experts”: 0; expected at least “Fewest votes”, which is 3; raise “Experts”.'
    """
    field = str(problem.get("field"))
    if field not in labels:
        return dict(problem)

    quoted = {name: f"“{label}”" for name, label in labels.items()}
    rule, fix = (with_names(problem[name], quoted) for name in ("rule", "fix"))
    told = str(typed.get(field, problem.get("value") or "")).strip()[:LONGEST] or "empty"
    return {**problem, "detail": f"“{labels[field]}”: {told}; expected {rule}; {fix}"}
