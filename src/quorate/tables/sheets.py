"""Excel workbooks -> `Opened` tables: the first sheet, its first row as header, read row by row.

Called by `open_files`. Needs openpyxl, which comes with the extra `tables`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from quorate.errors import InvalidInput, MissingExtra
from quorate.tables.arrow import INSTALL, TEXT, pa
from quorate.tables.sources import Batch, Opened, unique_columns

BLOCK_ROWS = 1 << 15


def open_sheet(file: Path) -> Opened:
    """The first sheet of a workbook."""
    rows = _rows(file)
    header = next(rows, ())
    titles = next(rows, ())  # the names of the sheets come second
    columns = [cell_text(cell) or "" for cell in header]
    while columns and not columns[-1]:
        columns.pop()
    if not columns:
        raise InvalidInput(f"source={str(file)!r} has an empty first row in its first sheet; expected a header.")
    more = f"; {len(titles) - 1} more not read" if len(titles) > 1 else ""
    return Opened(
        name=file.name,
        kind="xlsx",
        columns=unique_columns(columns, file.name),
        read=partial(_read, file, tuple(columns)),
        decisions=(f"{file.name}: sheet {titles[0]!r}{more}",),
    )


def cell_text(value: Any) -> str | None:  # noqa: ANN401
    """A cell's value as text, as a CSV would have it.

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


def _rows(file: Path) -> Iterator[tuple[Any, ...]]:
    """The header, the titles of the sheets, then the rows."""
    try:
        import openpyxl  # noqa: PLC0415
    except ImportError as cause:  # pragma: no cover - the tests have it
        raise MissingExtra(f"Excel sheets are read with openpyxl, which is not installed: {INSTALL}") from cause
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and validations it does not keep: no data
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except (BadZipFile, KeyError, ValueError, OSError) as cause:
            raise InvalidInput(f"source={str(file)!r} is not an Excel workbook: {cause}; save it as .xlsx.") from cause
        try:
            sheet = book.worksheets[0]
            found = sheet.iter_rows(values_only=True)
            yield next(found, ())
            yield tuple(book.sheetnames)
            yield from found
        finally:
            book.close()


def _read(file: Path, every: tuple[str, ...], columns: Sequence[str] | None) -> Iterator[Batch]:
    wanted = list(columns if columns is not None else every)
    places = [every.index(name) for name in wanted]
    rows = _rows(file)
    next(rows, None)
    next(rows, None)
    cells: list[list[str | None]] = []
    start = 2
    for row in rows:
        cells.append([cell_text(row[at]) if at < len(row) else None for at in places])
        if len(cells) == BLOCK_ROWS:
            yield _batch(wanted, cells, start)
            start, cells = start + len(cells), []
    if cells:
        yield _batch(wanted, cells, start)


def _batch(wanted: list[str], cells: list[list[str | None]], start: int) -> Batch:
    table = pa.table(
        {name: pa.array(column, type=TEXT) for name, column in zip(wanted, zip(*cells, strict=True), strict=True)}
    )
    end = start + len(cells)
    return Batch(table, np.arange(start, end, dtype=np.int64), end - 1, end - 1)
