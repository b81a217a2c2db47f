"""Values, names of columns and classes -> text, written the same whatever they were.

Needs only the standard library and numpy, so that the options of the commands are known without the extra `tables`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from quorate.validate import class_names

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")


def whole_number(text: str) -> str:
    """A whole number without its decimals; any other text unchanged.

    >>> whole_number("1.0"), whole_number("01.0"), whole_number("1.5")
    ('1', '01.0', '1.5')
    """
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def cell_text(value: object) -> str | None:
    """A cell's value as text, as in a CSV.

    >>> cell_text(7.0), cell_text("007"), cell_text(True), cell_text(None)
    ('7.0', '007', 'true', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return str(value)


def name_text(name: object) -> str:
    """A column's or a class's name as text, written like a cell with the same value.

    >>> name_text("cat"), name_text(np.int64(3)), name_text(True), name_text(2.0)
    ('cat', '3', 'true', '2')
    """
    if isinstance(name, str):
        return name
    plain = name.item() if isinstance(name, np.generic) else name
    return whole_number(cell_text(plain) or "") if isinstance(plain, (bool, int, float)) else str(plain)


def name_texts(names: Any) -> Any:  # noqa: ANN401
    """One name or several as text; None stays None."""
    if names is None or isinstance(names, str):
        return names
    return [name_text(name) for name in names] if isinstance(names, Iterable) else name_text(names)


def class_texts(classes: Sequence[Any] | None) -> tuple[str, ...] | None:
    """The classes a caller names, such as `model.classes_`, as text; at least two different ones, or None.

    >>> class_texts(np.array([0, 1]))
    ('0', '1')
    """
    if classes is None:
        return None
    texts = classes if isinstance(classes, str) else name_texts(classes)
    return class_names(texts)
