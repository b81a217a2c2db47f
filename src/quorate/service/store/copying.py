"""Rows in and out in plain values, and a digest of a table that does not depend on the order of its rows.

SQLite and PostgreSQL give the same plain values for the same row, so a digest taken on one holds on the other. Used by
`backup` and `restore`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, Connection, Float, Integer, LargeBinary, MetaData, Numeric, Table

from quorate.service.store.upgrade import VERSION_TABLE

Row = tuple[Any, ...]
Progress = Callable[[int, int, str], None]

BATCH = 1000  # rows held in memory
LARGE_BATCH = 4  # of rows that hold files
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows a table has, and a digest of them: the sum of the rows' SHA-256, modulo 2^256."""

    num_rows: int
    digest: str


class Counter:
    """Tallies rows as they pass."""

    def __init__(self, table: Table) -> None:
        names = [column.name for column in table.c]
        self._order = sorted(range(len(names)), key=names.__getitem__)
        self.num_rows, self._sum = 0, 0

    def add(self, rows: Sequence[Row]) -> None:
        """Take these into the tally."""
        for row in rows:
            text = json.dumps([row[place] for place in self._order], default=_digest)
            self._sum += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        self._sum %= _MODULUS
        self.num_rows += len(rows)

    @property
    def tally(self) -> Tally:
        """Of the rows so far."""
        return Tally(self.num_rows, f"{self._sum:064x}")


def tables_of(connection: Connection) -> list[Table]:
    """The database's tables as they are now, whatever its revision; each after those it refers to."""
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != VERSION_TABLE]


def batch_size(table: Table) -> int:
    """Rows to hold in memory at a time."""
    return LARGE_BATCH if any(isinstance(column.type, LargeBinary) for column in table.c) else BATCH


@contextmanager
def plain_rows(connection: Connection, table: Table) -> Iterator[Iterator[list[Row]]]:
    """The table's rows in batches, as plain values, streamed while the block lasts."""
    makers = [_plain(column.type) for column in table.c]
    options = {"yield_per": batch_size(table)}
    with connection.execute(table.select(), execution_options=options) as result:
        yield ([_made(makers, row) for row in batch] for batch in result.partitions())


def insert_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Write plain values into the table."""
    names = [column.name for column in table.c]
    makers = [bool if isinstance(column.type, Boolean) else _as_is for column in table.c]
    values: list[Mapping[str, Any]] = [dict(zip(names, _made(makers, row), strict=True)) for row in rows]
    connection.execute(table.insert(), values)


def storage(table: Table) -> list[tuple[str, str]]:
    """Name and SQLite type of each column in a backup."""
    return [(column.name, _storage(column.type)) for column in table.c]


def _storage(kind: object) -> str:
    if isinstance(kind, (Boolean, Integer)):
        return "INTEGER"
    if isinstance(kind, (Float, Numeric)):  # Double is a Float
        return "REAL"
    return "BLOB" if isinstance(kind, LargeBinary) else "TEXT"


def _made(makers: Sequence[Callable[[Any], Any]], row: Sequence[Any]) -> Row:
    return tuple(None if value is None else make(value) for make, value in zip(makers, row, strict=True))


def _plain(kind: object) -> Callable[[Any], Any]:
    makers: dict[str, Callable[[Any], Any]] = {"INTEGER": int, "REAL": _real, "BLOB": bytes, "TEXT": _as_is}
    return makers[_storage(kind)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _real(value: float) -> float:
    return float(value) + 0.0  # SQLite keeps no minus before zero


def _as_is(value: Any) -> Any:  # noqa: ANN401
    return value
