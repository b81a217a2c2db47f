"""Excel workbooks -> `Opened` tables: the first sheet or the one named, its first row as header, read row by row.

Called by `open_files`. Needs openpyxl, which comes with the extra `tables`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from quorate.errors import InvalidInput, MissingExtra
from quorate.tables.readers.arrow import INSTALL, TEXT, pa
from quorate.tables.readers.sources import Opened, TableBatch, unique_columns
from quorate.tables.votes.names import cell_text
from quorate.unpacked import check_size, max_size
from quorate.validate import broken

BLOCK_ROWS = 1 << 15
BLOCK_CELLS = 1 << 20  # a sheet may be 16384 columns wide
BLOCK_BYTES = 1 << 26
CELL_BYTES = 8  # of a cell besides its text
XML_IN_MEMORY = 5  # bytes that a byte of a workbook's XML takes while it is read
MOST_NAMED = 10  # sheets in a message


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """A workbook and the sheet named behind a #, None if there is none: a file called so is taken as it is.

    >>> book, sheet = sheet_of(Path("book.xlsx#probs"))
    >>> book.name, sheet, sheet_of(Path("votes#2.xlsx"))[1]
    ('book.xlsx', 'probs', None)
    """
    found = re.fullmatch(r"(.+\.xls[xm])#(.+)", path.name, flags=re.IGNORECASE)
    if found is None or path.is_file():
        return path, None
    return path.with_name(found[1]), found[2]


def open_sheet(path: Path) -> Opened:
    """The first sheet of a workbook, or that of `book.xlsx#sheet`; the sheets that are not read are named."""
    file, sheet = sheet_of(path)
    rows = _rows(file, sheet)
    header = next(rows, ())
    titles = next(rows, ())  # the names of the sheets come second
    columns = [cell_text(cell) or "" for cell in header]
    while columns and not columns[-1]:
        columns.pop()
    read = titles[0] if sheet is None else sheet
    others = [title for title in titles if title != read]
    if not columns:
        rule = f"a header in the first row of the sheet {read!r}, which is empty"
        raise broken("source", str(path), rule, f"put the header first{_instead(file, others)}.")
    more = f"; not read: {', '.join(map(repr, others[:MOST_NAMED]))}{' ...' if others[MOST_NAMED:] else ''}"
    return Opened(
        name=path.name,
        kind="xlsx",
        columns=unique_columns(columns, path.name),
        read=partial(_read, file, sheet, tuple(columns)),
        decisions=(f"{path.name}: sheet {read!r}{more if others else ''}",),
        advice=_instead(file, others),
    )


def _instead(file: Path, others: Sequence[str]) -> str:
    """Which other sheets there are, and how to name one."""
    if not others:
        return ""
    return f"; other sheets are {list(others[:MOST_NAMED])}: to read one, name it: {file.name}#{others[0]}"


def _rows(file: Path, sheet: str | None) -> Iterator[tuple[Any, ...]]:
    """The header, the titles of the sheets, then the rows."""
    try:
        import openpyxl  # noqa: PLC0415
    except ImportError as cause:  # pragma: no cover - the tests have it
        raise MissingExtra(f"Excel sheets are read with openpyxl, which is not installed: {INSTALL}") from cause
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and validations it does not keep: no data
        try:
            with ZipFile(file) as archive:
                check_size(file, XML_IN_MEMORY * sum(part.file_size for part in archive.infolist()))
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except InvalidInput:
            raise
        except (BadZipFile, KeyError, ValueError, OSError) as cause:
            raise broken("source", str(file), f"an Excel workbook ({cause})", "save it as .xlsx.") from cause
        try:
            titles = tuple(each.title for each in book.worksheets)
            if sheet is not None and sheet not in titles:
                rule = f"one of the sheets {list(titles[:MOST_NAMED])} behind the #"
                raise broken("source", f"{file}#{sheet}", rule, "name one of them.")
            found = book.worksheets[0 if sheet is None else titles.index(sheet)].iter_rows(values_only=True)
            yield next(found, ())
            yield titles
            yield from found
        finally:
            book.close()


def _read(file: Path, sheet: str | None, every: tuple[str, ...], columns: Sequence[str] | None) -> Iterator[TableBatch]:
    wanted = list(columns if columns is not None else every)
    places = [every.index(name) for name in wanted]
    rows = _rows(file, sheet)
    next(rows, None)
    next(rows, None)
    cells: list[list[str | None]] = []
    start, limit = 2, max_size()
    most = max(1, min(BLOCK_ROWS, BLOCK_CELLS // max(1, len(wanted))))
    num_bytes = in_block = 0
    for row in rows:
        cells.append([cell_text(row[at]) if at < len(row) else None for at in places])
        row_bytes = sum(CELL_BYTES + len(cell or "") for cell in cells[-1])  # a shared string counts in every cell
        num_bytes, in_block = num_bytes + row_bytes, in_block + row_bytes
        if num_bytes > limit:
            check_size(file, num_bytes)
        if len(cells) == most or in_block > BLOCK_BYTES:
            yield _batch(wanted, cells, start)
            start, cells, in_block = start + len(cells), [], 0
    if cells:
        yield _batch(wanted, cells, start)


def _batch(wanted: list[str], cells: list[list[str | None]], start: int) -> TableBatch:
    table = pa.table(
        {name: pa.array(column, type=TEXT) for name, column in zip(wanted, zip(*cells, strict=True), strict=True)}
    )
    end = start + len(cells)
    return TableBatch(table, np.arange(start, end, dtype=np.int64), end - 1, end - 1)
