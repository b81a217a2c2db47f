"""Many rows in one statement: put in, changed or taken out. A statement's cost is paid once for all of them.

PostgreSQL reads the rows from one JSON parameter, by the types of the table itself; SQLite, which is called without
any round trip, takes them one by one. `among` compares a column with a list of any length, in one parameter too, so
that the statement stays the same and is planned once. Called by `deciding` for what voters do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    Column,
    Connection,
    Row,
    Table,
    Text,
    TextClause,
    bindparam,
    delete,
    insert,
    types,
    update,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

Rows = Sequence[Mapping[str, Any]]
encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def insert_rows(
    connection: Connection, table: Table, rows: Rows, *, keys: tuple[str, ...] = (), told: tuple[str, ...] = ()
) -> list[Row[Any]]:
    """Put rows in, all with the same columns; `keys`: those that are there by these are changed; the columns `told`."""
    if not rows:
        return []
    names = tuple(rows[0])
    if connection.dialect.name == "postgresql":
        found = connection.execute(_pg_insert(table, names, keys, told), {"rows": encode(list(rows))})
        return list(found) if told else []
    statement: Any = _sqlite_insert(table, names, keys)
    if not told:
        connection.execute(statement, list(rows))
        return []
    return list(connection.execute(statement.returning(*(table.c[name] for name in told)), list(rows)))


def change_rows(connection: Connection, table: Table, rows: Rows, *, key: str = "id") -> None:
    """Change the rows of these keys, all in the same columns."""
    if not rows:
        return
    names = tuple(name for name in rows[0] if name != key)
    if connection.dialect.name == "postgresql":
        connection.execute(_pg_update(table, names, key), {"rows": encode(list(rows))})
        return
    values = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names}
    statement = update(table).where(table.c[key] == bindparam(f"new_{key}")).values(values)
    connection.execute(statement, [{f"new_{name}": value for name, value in row.items()} for row in rows])


def delete_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Take out the rows that agree with one of these in all its columns."""
    if not rows:
        return
    names = tuple(rows[0])
    if connection.dialect.name == "postgresql":
        connection.execute(_pg_delete(table, names), {"rows": encode(list(rows))})
        return
    statement = delete(table).where(*(table.c[name] == bindparam(f"old_{name}") for name in names))
    connection.execute(statement, [{f"old_{name}": value for name, value in row.items()} for row in rows])


@cache
def _pg_insert(table: Table, names: tuple[str, ...], keys: tuple[str, ...], told: tuple[str, ...]) -> TextClause:
    columns = ", ".join(names)
    words = f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM {_given(table)}"
    if keys:
        changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
        words += f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changed}"
    if told:
        words += f" RETURNING {', '.join(told)}"
    return sql(words).columns(*(table.c[name] for name in told)) if told else sql(words)  # type: ignore[return-value]


@cache
def _pg_update(table: Table, names: tuple[str, ...], key: str) -> TextClause:
    changed = ", ".join(f"{name} = given.{name}" for name in names)
    return sql(f"UPDATE {table.name} SET {changed} FROM {_given(table)} WHERE {table.name}.{key} = given.{key}")


@cache
def _pg_delete(table: Table, names: tuple[str, ...]) -> TextClause:
    same = " AND ".join(f"{table.name}.{name} = given.{name}" for name in names)
    return sql(f"DELETE FROM {table.name} USING {_given(table)} WHERE {same}")


def _given(table: Table) -> str:
    return f"json_populate_recordset(CAST(NULL AS {table.name}), CAST(:rows AS json)) AS given"


@cache
def _sqlite_insert(table: Table, names: tuple[str, ...], keys: tuple[str, ...]) -> Any:  # noqa: ANN401
    if not keys:
        return insert(table)
    plain = sqlite.insert(table)
    changed = {name: plain.excluded[name] for name in names if name not in keys}
    return plain.on_conflict_do_update(index_elements=list(keys), set_=changed)


class Many(types.TypeDecorator[Any]):
    """A list of values of one type, as one parameter: an array, or JSON where there are no arrays."""

    impl = Text
    cache_ok = True

    def __init__(self, one: types.TypeEngine[Any]) -> None:
        super().__init__()
        self.one = one

    def load_dialect_impl(self, dialect: Dialect) -> types.TypeEngine[Any]:
        """As the database takes it."""
        return dialect.type_descriptor(ARRAY(self.one) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ANN401
        """As the driver takes it."""
        return list(value) if dialect.name == "postgresql" else encode(list(value))


class among(FunctionElement[bool]):  # noqa: N801  # reads as a word in a query, like SQLAlchemy's own
    """Whether a column's value is one of the list given as the parameter `name`."""

    inherit_cache = True
    type = types.Boolean()

    def __init__(self, column: Column[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=Many(column.type)))


@compiles(among, "postgresql")
def _any_of(element: among, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({listed})"


@compiles(among)
def _in_json(element: among, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({listed}))"
