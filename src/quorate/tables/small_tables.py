"""Small tables, such as costs or decisions -> their rows as text, read at once."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from quorate.arrow import pa
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.open_files import open_file
from quorate.tables.readers.sources import Opened
from quorate.tables.votes.codes import encode
from quorate.types import TableLike
from quorate.validate import invalid


@dataclass(frozen=True, slots=True)
class TextRows:
    """The names of the columns, and the cells of each row: text without outer white space, "" if blank."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def opened(source: TableLike, *, name: str = "frame") -> Opened:
    """A file or a frame with its columns; `name`: that of a frame in errors."""
    return open_file(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else open_frame(source, name=name)


def text_rows(source: TableLike, *, name: str = "frame") -> TextRows:
    """All rows that are not blank; a table with a row that cannot be read is refused.

    >>> text_rows(pa.table({"worker": ["ann ", None], "cost": [3.0, None]})).rows
    (('ann', '3'),)
    """
    table = opened(source, name=name)
    rows: list[tuple[str, ...]] = []
    for batch in table.read(None):
        for entry in batch.entries:
            rule = f"rows that can be read, not {entry.count} of another form ({entry.rule})"
            raise invalid("source", str(source), rule, "save it again as CSV in UTF-8.")
        columns = [_cells(batch.table[column]) for column in table.columns]
        rows += [row for row in zip(*columns, strict=True) if any(row)]
    return TextRows(tuple(column.strip() for column in table.columns), tuple(rows))


def _cells(column: pa.ChunkedArray) -> list[str]:
    coded = encode(column)
    return [(text or "").strip() for text in coded.texts(np.arange(len(coded.codes))).to_pylist()]
