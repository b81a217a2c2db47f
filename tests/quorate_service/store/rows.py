"""Rows for every table, generated from the columns' types, so that new columns are covered automatically."""

from sqlalchemy import Boolean, Column, Connection, Double, Integer, LargeBinary, Table

from quorate_service.store.backup import TABLES

ODD = "naïve “quotes”, 'apostrophes', a\ttab, {json: 1}, 100 %, \\ and 🙂"


def fill(connection: Connection, *, copies: int = 3) -> None:
    """The same `copies` rows in each table; what may be null is null in the last of them."""
    for table in TABLES:
        rows = [row(table, number, with_nulls=number == copies - 1) for number in range(copies)]
        connection.execute(table.insert(), rows)


def row(table: Table, number: int, *, with_nulls: bool = False) -> dict[str, object]:
    """One row; numbers of items and events are left to the database."""
    wanted = [column for column in table.c if table.autoincrement_column is not column]
    return {column.name: None if with_nulls and column.nullable else value(column, number) for column in wanted}


def value(column: Column, number: int) -> object:
    """A value of the column's type that no other `number` has, unless it is one of two."""
    if column.foreign_keys:
        return value(next(iter(column.foreign_keys)).column, number)
    if isinstance(column.type, Boolean):
        return number % 2 == 0
    if isinstance(column.type, Integer):  # BigInteger is one
        return number + 1
    if isinstance(column.type, Double):
        return 1_700_000_000.1 + number / 3
    if isinstance(column.type, LargeBinary):
        return bytes(range(256)) * (number + 1)
    length = getattr(column.type, "length", None)
    return f"{column.name}{number}"[-length:] if length else f"{column.name} {number}: {ODD}"


def contents(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, in the order of the keys."""
    return {
        table.name: [tuple(each) for each in connection.execute(table.select().order_by(*table.primary_key.columns))]
        for table in TABLES
    }
