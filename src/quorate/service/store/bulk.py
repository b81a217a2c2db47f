"""Many rows in one statement: inserted, changed or deleted; and small SQL that both databases understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table, TextClause, bindparam, delete, insert, update
from sqlalchemy import text as sql
from sqlalchemy.dialects import postgresql, sqlite

from quorate.service.store.lists import encode


def upsert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that can say what happens when the row is there: `.on_conflict_do_nothing()` or `_do_update`."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


Rows = Sequence[Mapping[str, Any]]


def insert_rows(
    connection: Connection, table: Table, rows: Rows, *, keys: tuple[str, ...] = (), told: tuple[str, ...] = ()
) -> list[Row[Any]]:
    """Put rows in, all with the same columns; `keys`: those that are there by these are changed; the columns `told`."""
    if not rows:
        return []
    names = tuple(rows[0])
    if connection.dialect.name == "postgresql":
        found = connection.execute(_pg_insert(table, names, keys, told), {"rows": encode(list(rows))})
        return list(found.all()) if told else []
    statement: Any = _sqlite_insert(table, names, keys)
    if not told:
        connection.execute(statement, list(rows))
        return []
    return list(connection.execute(statement.returning(*(table.c[name] for name in told)), list(rows)).all())


def change_rows(connection: Connection, table: Table, rows: Rows, *, key: str = "id") -> None:
    """Change the rows of these keys, all in the same columns."""
    if not rows:
        return
    names = tuple(name for name in rows[0] if name != key)
    if connection.dialect.name == "postgresql":
        keys = [row[key] for row in rows]
        connection.execute(_pg_update(table, names, key), {"rows": encode(list(rows)), "keys": keys})
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
    return sql(words)


@cache
def _pg_update(table: Table, names: tuple[str, ...], key: str) -> TextClause:
    changed = ", ".join(f"{name} = given.{name}" for name in names)
    kind = table.c[key].type.compile(postgresql.dialect())  # type: ignore[no-untyped-call]
    which = f"{table.name}.{key} = given.{key} AND {table.name}.{key} = ANY (CAST(:keys AS {kind}[]))"  # by the index
    return sql(f"UPDATE {table.name} SET {changed} FROM {_given(table)} WHERE {which}")


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
