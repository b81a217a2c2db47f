"""A form's fields -> values: texts, numbers, choices, with errors that name the field, the value, the rule, the fix.

`Fields` is a dependency that gives every text field of a form. Called by the pages that take forms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request

from quorate.errors import InvalidInput
from quorate.service.access.csrf import FIELD
from quorate.validate import shown


async def text_fields(request: Request) -> dict[str, str]:
    """The text fields of a form, without the CSRF token; files are left out."""
    form = await request.form()
    return {name: value for name, value in form.items() if isinstance(value, str) and name != FIELD}


Fields = Annotated[dict[str, str], Depends(text_fields)]


def number(fields: Mapping[str, str], name: str, *, per: float = 1.0) -> float | None:
    """A number, divided by `per`; None if the field is empty.

    >>> number({"threshold": "95"}, "threshold", per=100), number({"price": ""}, "price")
    (0.95, None)
    """
    text = fields.get(name, "").strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text) / per
    except ValueError:
        value = math.nan
    if not math.isfinite(value):  # also "inf", "nan", and what is too large, such as 1e400
        raise InvalidInput(f"{name}={shown(text)}; expected a number; write digits, e.g. 3 or 2.5.")
    return value


def whole_number(fields: Mapping[str, str], name: str) -> int | None:
    """A whole number; None if the field is empty.

    >>> whole_number({"pool_size": "9"}, "pool_size")
    9
    """
    value = number(fields, name)
    if value is not None and value != int(value):
        raise InvalidInput(f"{name}={shown(fields[name])}; expected a whole number; drop the decimals.")
    return None if value is None else int(value)


def lines(fields: Mapping[str, str], name: str) -> list[str]:
    """What stands in a text field, one on each line; or on one line with commas between.

    >>> lines({"classes": "cat, dog"}, "classes"), lines({"classes": "cat\\r\\ndog, wolf"}, "classes")
    (['cat', 'dog'], ['cat', 'dog, wolf'])
    """
    text = fields.get(name, "").strip()
    parts = text.splitlines() if len(text.splitlines()) > 1 else text.split(",")
    return [part.strip() for part in parts if part.strip()]
