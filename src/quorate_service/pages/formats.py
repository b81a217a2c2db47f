"""Formats numbers, shares and times for pages (filters of the templates), and reads them from forms.

`Fields` is a dependency with every text field of a form; errors name the field, the value, the rule, the fix.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Request

from quorate.errors import with_names
from quorate.validate import invalid

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
LEAST = 0.0005  # probabilities below it would be shown as 0 %
LONGEST = 80  # characters quoted of what was typed
THOUSANDS = re.compile(r"[+-]?0*[1-9]\d{0,2},\d{3}")  # 1,000 is a thousand in some countries, and one in others


def count(number: float) -> str:
    """A whole number with narrow spaces between the thousands.

    >>> count(1234567).split("\u202f"), count(12)
    (['1', '234', '567'], '12')
    """
    return f"{round(number):,}".replace(",", "\u202f")


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, with a no-break space; "100 %" and "0 %" only if exact.

    >>> [percent(share).split("\u00a0") for share in (0.9812, 1.0)], percent(None)
    ([['98.1', '%'], ['100', '%']], '–')
    >>> percent(0.99999).split("\u00a0"), percent(0.00001).split("\u00a0")
    (['>', '99.9', '%'], ['<', '0.1', '%'])
    """
    if share is None or math.isnan(share):
        return "–"
    return _percent(share, digits).replace(" ", "\u00a0")


def percent_span(shares: tuple[float | None, float | None]) -> str:
    """A range of shares, or one if both read the same.

    >>> [percent_span(shares).replace("\u00a0", " ") for shares in ((0.01, 0.025), (0.01, 0.01), (None, None))]
    ['1 % to 2.5 %', '1 %', '–']
    """
    low, high = (percent(share) for share in shares)
    return low if low == high else f"{low} to {high}"


def _percent(share: float, digits: int) -> str:
    least = 10.0**-digits / 100
    if 0 < share < least:
        return f"< {100 * least:.{digits}f} %"
    if 1 - least < share < 1:
        return f"> {100 * (1 - least):.{digits}f} %"
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def decimal(number: float | None, digits: int = 2) -> str:
    """A number with at most this many decimals.

    >>> decimal(3.14159), decimal(2.0), decimal(None)
    ('3.14', '2', '–')
    """
    if number is None or math.isnan(number):
        return "–"
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def money(amount: float, currency: str) -> str:
    """An amount of money.

    >>> money(234.5, "EUR"), money(3, "$"), money(2, "")
    ('234.50 EUR', '$3.00', '2.00')
    """
    text = f"{amount:,.2f}".replace(",", "\u202f")
    if len(currency) == 1:
        return f"{currency}{text}"
    return f"{text} {currency}".strip()


def ago(time: float | None, now: float) -> str:
    """How long ago, roughly.

    >>> ago(0, 30), ago(0, 150), ago(0, 7300), ago(0, 200000), ago(None, 1)
    ('just now', '2 min ago', '2 h ago', '2 days ago', 'never')
    """
    if time is None:
        return "never"
    past = now - time
    if past < MINUTE:
        return "just now"
    return f"{lasting(past)} ago"


def lasting(seconds: float) -> str:
    """A duration, roughly.

    >>> lasting(45), lasting(600), lasting(86400), lasting(20 * 86400)
    ('45 s', '10 min', '24 h', '20 days')
    """
    for size, name in ((2 * DAY, "days"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{math.floor(seconds / (DAY if name == 'days' else size))} {name}"
    return f"{max(0, math.floor(seconds))} s"


def moment(time: float | None) -> str:
    """A time to the second in UTC; the page's script converts it to the visitor's time zone.

    >>> moment(0.0)
    '1970-01-01 00:00:00 UTC'
    """
    return "–" if time is None else f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def plural(number: float, noun: str, many: str | None = None) -> str:
    """A number and its noun.

    >>> plural(1, "vote"), plural(2, "vote"), plural(0, "class", "classes")
    ('1 vote', '2 votes', '0 classes')
    """
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def prediction(shares: Mapping[str, float]) -> str:
    """The probabilities of the classes, the likeliest first; very small ones are left out.

    >>> prediction({"cat": 0.2, "dog": 0.8}).replace("\u00a0", " ")
    'dog 80 %, cat 20 %'
    """
    ordered = sorted(((name, share) for name, share in shares.items() if share >= LEAST), key=lambda pair: -pair[1])
    rest = f" and {len(ordered) - 4} more" if len(ordered) > 4 else ""
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered[:4]) + rest


def sentence(text: str) -> str:
    """A message that starts with a capital letter, unless it starts with a name (`pool_size=0`).

    >>> sentence("the link is over."), sentence("pool_size=0; expected 1 or more."), sentence("")
    ('The link is over.', 'pool_size=0; expected 1 or more.', '')
    """
    first = text.partition(" ")[0]
    is_name = any(mark in first for mark in "_=.:[/@")
    return text if is_name else text[:1].upper() + text[1:]


def together(text: str) -> str:
    """A sentence with no-break spaces before percent signs.

    >>> together("at most 77.6 % wrong").split(" ")
    ['at', 'most', '77.6\\xa0%', 'wrong']
    """
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", text)


async def text_fields(request: Request) -> dict[str, str]:
    """The text fields of a form; files are left out."""
    form = await request.form()
    return {name: value for name, value in form.items() if isinstance(value, str)}


Fields = Annotated[dict[str, str], Depends(text_fields)]


def number(fields: Mapping[str, str], name: str, *, example: str = "3 or 2.5", thousands: bool = True) -> float | None:
    """A number; None if the field is empty. `thousands`: a comma may be a thousands separator, so 1,000 is refused.

    >>> number({"price": "0,5"}, "price"), number({"price": ""}, "price")
    (0.5, None)
    """
    written = fields.get(name, "").strip()
    if not written:
        return None
    if thousands and THOUSANDS.fullmatch(written):
        plain, point = written.replace(",", ""), written.replace(",", ".")
        raise invalid(name, written, "an unambiguous number", f"write {plain}, or {point}.")
    text = written.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):  # also "inf", "nan", and too large numbers such as 1e400
        raise invalid(name, written, "a number", f"write digits, e.g. {example}.")
    return value


def share(fields: Mapping[str, str], name: str) -> float | None:
    """A percentage as a share; None if the field is empty.

    >>> share({"target_error": "2 %"}, "target_error")
    0.02
    """
    without_sign = {**fields, name: fields.get(name, "").strip().removesuffix("%").strip()}
    percentage = number(without_sign, name, thousands=False)
    if percentage is None:
        return None
    if not 0 <= percentage <= 100:
        raise invalid(name, fields[name], "0 to 100 %", "lower it." if percentage > 100 else "raise it.")
    return percentage / 100


def whole_number(fields: Mapping[str, str], name: str) -> int | None:
    """A whole number; None if the field is empty.

    >>> whole_number({"pool_size": "9"}, "pool_size")
    9
    """
    value = number(fields, name, example="3")
    if value is not None and value != int(value):
        raise invalid(name, fields[name], "a whole number", "drop the decimals.")
    return None if value is None else int(value)


def lines(fields: Mapping[str, str], name: str) -> list[str]:
    """The entries of a text field, one on each line.

    >>> lines({"classes": "cat\\r\\ndog, wolf"}, "classes")
    ['cat', 'dog, wolf']
    """
    return [line.strip() for line in fields.get(name, "").splitlines() if line.strip()]


def in_words_of_the_form(
    problem: Mapping[str, Any], typed: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, Any]:
    """The problem with the form's `labels` instead of the names of fields, and what was `typed` instead of the value.

    >>> labels = {"pool_size": "Experts", "min_votes": "Fewest votes"}
    >>> said = {"field": "pool_size", "rule": "at least `min_votes`, which is 3", "fix": "raise `pool_size`."}
    >>> in_words_of_the_form(said, {"pool_size": "0"}, labels)["detail"]
    '“Experts”: 0. Expected: at least “Fewest votes”, which is 3. Raise “Experts”.'
    """
    field = str(problem.get("field"))
    if field not in labels:
        return dict(problem)

    quoted = {name: f"“{label}”" for name, label in labels.items()}
    rule, fix = (with_names(problem[name], quoted) for name in ("rule", "fix"))
    value = str(typed.get(field, problem.get("value") or "")).strip()[:LONGEST] or "empty"
    return {**problem, "detail": f"“{labels[field]}”: {value}. Expected: {rule}. {fix[:1].upper()}{fix[1:]}"}
