"""Inserts, changes or deletes many rows, and compares columns with lists passed as one parameter.

Lists are an array on PostgreSQL, JSON on SQLite. So the statement stays the same and is planned once, whereas IN with a
parameter for each value is another statement for each length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    TableValuedAlias,
    Text,
    bindparam,
    column,
    delete,
    func,
    literal,
    types,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Many(types.TypeDecorator[Any]):
    """A list of values of one type, as one parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = Text
    cache_ok = True

    def __init__(self, one: types.TypeEngine[Any]) -> None:
        super().__init__()
        self.one = one

    def load_dialect_impl(self, dialect: Dialect) -> types.TypeEngine[Any]:
        """The database's type."""
        return dialect.type_descriptor(ARRAY(self.one) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Sequence[object] | None, dialect: Dialect) -> list[object] | str:
        """The driver's value."""
        return list(value or ()) if dialect.name == "postgresql" else encode(list(value or ()))


class among(FunctionElement[bool]):  # noqa: N801  # reads as a word in a query, like SQLAlchemy's own
    """Whether a column's value is one of the list given as the parameter `name`."""

    inherit_cache = True
    type = types.Boolean()
    _is_implicitly_boolean = True  # otherwise SQLAlchemy adds "= 1" on SQLite, and no index is used

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=Many(column.type)))


def each_of(**columns: ColumnElement[Any]) -> TableValuedAlias:
    """PostgreSQL: one row per position of the lists given as parameters, named and typed like these columns.

    A subquery for each row uses the index even if the planner's statistics are wrong: a plan made when a table was
    small is kept while the table grows.
    """
    lists = (bindparam(name, type_=Many(values.type)) for name, values in columns.items())
    named = (column(name, values.type) for name, values in columns.items())
    return func.unnest(*lists).table_valued(*named).render_derived(name="given")


class paired(FunctionElement[bool]):  # noqa: N801
    """SQLite: whether two columns' values are at the same position of two lists, given as parameters."""

    inherit_cache = True
    type = types.Boolean()
    _is_implicitly_boolean = True

    def __init__(self, first: ColumnElement[Any], second: ColumnElement[Any], names: tuple[str, str]) -> None:
        lists = (bindparam(name, type_=Many(one.type)) for name, one in zip(names, (first, second), strict=True))
        super().__init__(first, second, *lists)


class json_field(FunctionElement[str]):  # noqa: N801
    """A field of the JSON object in a text column; null without it."""

    inherit_cache = True
    type = Text()

    def __init__(self, column: ColumnElement[str], name: str) -> None:
        super().__init__(column, literal(name))


@compiles(json_field, "postgresql")
def _json_arrow(element: json_field, compiler: SQLCompiler, **options: object) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({column}::json ->> {name})"


@compiles(json_field, "sqlite")
def _json_extract(element: json_field, compiler: SQLCompiler, **options: object) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json_extract({column}, '$.' || {name})"


@compiles(among, "postgresql")
def _any_of(element: among, compiler: SQLCompiler, **options: object) -> str:
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({listed})"


@compiles(among, "sqlite")
def _in_json(element: among, compiler: SQLCompiler, **options: object) -> str:
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({listed}))"


@compiles(paired, "sqlite")
def _of_json(element: paired, compiler: SQLCompiler, **options: object) -> str:
    first, second, one, other = (compiler.process(clause, **options) for clause in element.clauses)
    both = f"json_each({one}) AS one JOIN json_each({other}) AS other ON one.key = other.key"
    singly = f"{first} IN (SELECT value FROM json_each({one})) AND {second} IN (SELECT value FROM json_each({other}))"
    return f"({singly} AND ({first}, {second}) IN (SELECT one.value, other.value FROM {both}))"  # singly: by the index


def upsert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that supports `.on_conflict_do_nothing()` and `.on_conflict_do_update()`."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def in_batches(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], *, after: int = 0, size: int = 1000
) -> Iterator[Sequence[Row[Any]]]:
    """All rows in the order of a unique column, above `after`, in batches of bounded memory."""
    while rows := connection.execute(query.where(column > after).order_by(column).limit(size)).all():
        yield rows
        after = rows[-1]._mapping[column]


Rows = Sequence[Mapping[str, Any]]


def insert_rows(
    connection: Connection, table: Table, rows: Rows, *, keys: tuple[str, ...] = (), returning: tuple[str, ...] = ()
) -> list[Row[Any]]:
    """Insert rows with the same columns; rows that exist by `keys` are updated. Returns the columns `returning`."""
    if not rows:
        return []
    statement = upsert(connection, table)
    if keys:
        changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
        statement = statement.on_conflict_do_update(index_elements=list(keys), set_=changed)
    if not returning:
        connection.execute(statement, list(rows))
        return []
    return list(connection.execute(statement.returning(*(table.c[name] for name in returning)), list(rows)).all())


def change_rows(connection: Connection, table: Table, rows: Rows, *, key: str = "id") -> None:
    """Update the rows with these keys, all in the same columns."""
    if not rows:
        return
    values = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in rows[0] if name != key}
    statement = update(table).where(table.c[key] == bindparam(f"new_{key}")).values(values)
    connection.execute(statement, [{f"new_{name}": value for name, value in row.items()} for row in rows])


def delete_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Delete the rows that equal one of these in all its columns."""
    if not rows:
        return
    statement = delete(table).where(*(table.c[name] == bindparam(f"old_{name}") for name in rows[0]))
    connection.execute(statement, [{f"old_{name}": value for name, value in row.items()} for row in rows])
