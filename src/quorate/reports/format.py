"""Values -> text: the one number formatter of reports and terminal tables, and strict JSON for programs.

Strict JSON has no NaN, no infinity and no numpy. Called wherever a report, a table or JSON is written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import overload

import numpy as np

Cell = str | float | int | None
UNKNOWN = "–"
SEPARATOR = ";"  # between the names in one cell
WIDTH = 100  # columns of a screen
MOST_LISTED = 40  # values of a list that are written out


def number(cell: Cell, digits: int = 2) -> str:
    """A table cell as text: floats with `digits` decimals, thousands with commas, unknown values as a dash.

    >>> number(0.12345), number(None), number("mp"), number(1200), number(float("inf"), 1), number(-0.001)
    ('0.12', '–', 'mp', '1,200', '∞', '0.00')
    """
    if cell is None:
        return UNKNOWN
    if isinstance(cell, int):
        return f"{cell:,}"
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return UNKNOWN
    if math.isinf(cell):
        return "∞" if cell > 0 else "−∞"
    text = f"{cell:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.removeprefix("-")


def percent(share: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """A share in per cent.

    >>> percent(0.1234), percent(None), percent(0.01, 2, sign=True)
    ('12.3 %', '–', '+1.00 %')
    """
    if share is None:
        return UNKNOWN
    return f"{100 * share:+.{digits}f} %" if sign else f"{100 * share:.{digits}f} %"


def interval(low: str, high: str) -> str:
    """Two ends as one cell.

    >>> interval("1.2 %", "3.4 %"), interval("0.50", "0.75")
    ('1.2 to 3.4 %', '0.50 to 0.75')
    """
    return f"{low.removesuffix(' %') if high.endswith(' %') else low} to {high}"


def counted(count: int, name: str) -> str:
    """A number of things; `name` is their plural.

    >>> counted(1, "models"), counted(1, "classes"), counted(1200, "votes")
    ('1 model', '1 class', '1,200 votes')
    """
    if count == 1:
        name = name.removesuffix("es") if name.endswith("sses") else name.removesuffix("s")
    return f"{count:,} {name}"


def setting_text(value: object) -> str:
    """The value of a setting as text, lists and mappings with commas.

    >>> setting_text(True), setting_text(None), setting_text([0.123456, 2]), setting_text({"a": 1})
    ('yes', 'none', '0.1235, 2', 'a 1')
    """
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {setting_text(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(setting_text(each) for each in value[:MOST_LISTED])
    return str(value)


def names_text(names: Iterable[str]) -> str:
    """Names in one cell of a table, separated by ";", quoted as in CSV: `csv.reader([cell], delimiter=";")` reads it.

    >>> names_text(["Dr Ames", "Berg; MD"])
    'Dr Ames;"Berg; MD"'
    """
    return SEPARATOR.join(quoted_name(name) for name in names)


def quoted_name(name: str) -> str:
    """The name as `names_text` writes it."""
    if not any(each in name for each in f'{SEPARATOR}"\r\n'):
        return name
    return '"' + name.replace('"', '""') + '"'


@overload
def plain(value: Mapping[str, object]) -> dict[str, object]: ...


@overload
def plain(value: object) -> object: ...


def plain(value: object) -> object:
    """A value for strict JSON: numpy numbers and arrays as Python ones, numbers that are not finite as null.

    >>> plain({"error": np.float64(0.5), "se": float("nan"), "seeds": (3, 4)})
    {'error': 0.5, 'se': None, 'seeds': [3, 4]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def json_page(content: Mapping[str, object], *, indent: int = 2) -> str:
    """Strict JSON for a file: indented, with a final newline; numbers that are not finite are null.

    >>> json_page({"error": float("nan")}, indent=0)
    '{\\n"error": null\\n}\\n'
    """
    return json.dumps(plain(content), indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def wrapped(line: str, width: int = WIDTH) -> list[str]:
    """The line in several of at most `width` columns; paths stay whole, and a number with its per cent sign.

    >>> wrapped("Wrong: 3 %", 9)
    ['Wrong:', '3 %']
    """
    if len(line) <= width:
        return [line]
    whole = wrap(line.replace(" %", "\0%"), width, break_long_words=False, break_on_hyphens=False)
    return [each.replace("\0", " ") for each in whole]


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines: the first column to the left, numbers to the right.

    >>> text_table(["", "votes"], [["this run", "2.09"], ["everyone", "10.00"]])
    ['            votes', ' this run    2.09', ' everyone   10.00']
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [
        " " + "   ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(each))
        for each in (list(zip(row, widths, strict=True)) for row in (heads, *rows))
    ]
