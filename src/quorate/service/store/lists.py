"""Columns compared with lists of any length, each list in one parameter: the statement stays the same, planned once.

An array on PostgreSQL, JSON on SQLite; an IN with a parameter for each value would be another statement for each
length. Called by everything that looks for many rows at once.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, TableValuedAlias, Text, bindparam, column, func, types
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


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
    _is_implicitly_boolean = True  # or SQLite would be told "... = 1", which no index serves

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=Many(column.type)))


def each_of(**columns: ColumnElement[Any]) -> TableValuedAlias:
    """PostgreSQL: a row for each place of the lists given as parameters, named and typed as these columns.

    What is looked up for each row by a subquery is found by its index, however wrong the planner is about the table: a
    plan made when a table was small is kept while it grows.
    """
    lists = (bindparam(name, type_=Many(each.type)) for name, each in columns.items())
    named = (column(name, each.type) for name, each in columns.items())
    return func.unnest(*lists).table_valued(*named).render_derived(name="given")


class paired(FunctionElement[bool]):  # noqa: N801
    """Whether two columns' values stand at the same place of two lists, given as the parameters named. SQLite."""

    inherit_cache = True
    type = types.Boolean()
    _is_implicitly_boolean = True

    def __init__(self, first: ColumnElement[Any], second: ColumnElement[Any], names: tuple[str, str]) -> None:
        lists = (bindparam(name, type_=Many(each.type)) for name, each in zip(names, (first, second), strict=True))
        super().__init__(first, second, *lists)


@compiles(among, "postgresql")
def _any_of(element: among, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({listed})"


@compiles(among, "sqlite")
def _in_json(element: among, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({listed}))"


@compiles(paired, "sqlite")
def _of_json(element: paired, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    first, second, one, other = (compiler.process(clause, **options) for clause in element.clauses)
    both = f"json_each({one}) AS one JOIN json_each({other}) AS other ON one.key = other.key"
    each = f"{first} IN (SELECT value FROM json_each({one})) AND {second} IN (SELECT value FROM json_each({other}))"
    return f"({each} AND ({first}, {second}) IN (SELECT one.value, other.value FROM {both}))"  # each: for the index
