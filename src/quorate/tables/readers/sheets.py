"""Excel workbooks -> `Opened`: the first sheet, or the one named after a #.

Needs openpyxl, which the extra `tables` installs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from quorate.arrow import INSTALL
from quorate.errors import InvalidInput, MissingExtra
from quorate.packed_files import check_size
from quorate.tables.readers.sources import Opened, TableBatch, text_batches, text_size, unique_columns
from quorate.tables.texts import cell_text
from quorate.validate import invalid

XML_IN_MEMORY = 5  # bytes that a byte of a workbook's XML takes while it is read
MOST_NAMED = 10  # sheets in a message


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """A workbook and the sheet named after a #, or None; if a file has exactly this name, the # is part of the name.

    >>> book, sheet = sheet_of(Path("book.xlsx#probs"))
    >>> book.name, sheet, sheet_of(Path("votes#2.xlsx"))[1]
    ('book.xlsx', 'probs', None)
    """
    parts = re.fullmatch(r"(.+\.xls[xm])#(.+)", path.name, flags=re.IGNORECASE)
    if parts is None or path.is_file():
        return path, None
    return path.with_name(parts[1]), parts[2]


def open_sheet(path: Path) -> Opened:
    """Open the first sheet of a workbook, or that of `book.xlsx#sheet`; the report names the sheets not read."""
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
        raise invalid("source", str(path), rule, f"put the header first{_instead(file, others)}.")
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
        warnings.simplefilter("ignore")  # openpyxl warns about lost styles and validations, not about data
        try:
            with ZipFile(file) as archive:
                check_size(file, XML_IN_MEMORY * sum(part.file_size for part in archive.infolist()))
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except InvalidInput:
            raise
        except (BadZipFile, KeyError, ValueError, OSError) as cause:
            raise invalid("source", str(file), f"an Excel workbook ({cause})", "save it as .xlsx.") from cause
        try:
            titles = tuple(sheet_read.title for sheet_read in book.worksheets)
            if sheet is not None and sheet not in titles:
                rule = f"one of the sheets {list(titles[:MOST_NAMED])} after the #"
                raise invalid("source", f"{file}#{sheet}", rule, "name one of them.")
            rows = book.worksheets[0 if sheet is None else titles.index(sheet)].iter_rows(values_only=True)
            yield next(rows, ())
            yield titles
            yield from rows
        finally:
            book.close()


def _read(file: Path, sheet: str | None, every: tuple[str, ...], columns: Sequence[str] | None) -> Iterator[TableBatch]:
    wanted = list(columns if columns is not None else every)
    places = [every.index(name) for name in wanted]
    return text_batches(file.name, wanted, _numbered(file, sheet, places))


def _numbered(file: Path, sheet: str | None, places: Sequence[int]) -> Iterator[tuple[int, list[str | None], int]]:
    """The rows below the header as text; an error once they take more memory than the limit for a file."""
    num_bytes = 0
    for number, row in enumerate(islice(_rows(file, sheet), 2, None), start=2):
        cells = [cell_text(row[at]) if at < len(row) else None for at in places]
        num_bytes += text_size(cells)  # a shared string counts in every cell
        check_size(file, num_bytes)
        yield number, cells, number
