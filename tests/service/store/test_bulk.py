"""Many rows in one statement come to the same on every database."""

import pytest
from sqlalchemy import select

from quorate.service.store.bulk import change_rows, delete_rows, insert_rows
from quorate.service.store.schema import attempts, events, projects, webhooks

TEXTS = ["plain", 'it\'s "quoted" \\ and\nbroken', "für 猫 😀", "{json: [1, 2]}", ""]
NUMBERS = [0.1 + 0.2, 1e-300, 1.7e308, -0.0, 1731718800.123456]


@pytest.fixture
def connection(store):
    with store.write() as connection:
        yield connection


def all_of(connection, table, *order):
    return [tuple(row) for row in connection.execute(select(table).order_by(*order))]


def test_what_goes_in_comes_out(connection):
    rows = [{"key": text, "tokens": number, "time": 1.5} for text, number in zip(TEXTS, NUMBERS, strict=True)]
    assert insert_rows(connection, attempts, rows) == []
    found = {row.key: row.tokens for row in connection.execute(select(attempts))}
    assert found == dict(zip(TEXTS, NUMBERS, strict=True))


def test_what_is_there_is_changed_where_keys_are_named(connection):
    insert_rows(connection, attempts, [{"key": "a", "tokens": 1.0, "time": 1.0}])
    again = [{"key": "a", "tokens": 2.0, "time": 2.0}, {"key": "b", "tokens": 3.0, "time": 3.0}]
    insert_rows(connection, attempts, again, keys=("key",))
    assert all_of(connection, attempts, attempts.c.key) == [("a", 2.0, 2.0), ("b", 3.0, 3.0)]


def test_numbers_the_database_gives_are_told(connection):
    insert_rows(connection, projects, [{"id": "p", "name": "pets", "settings": "{}", "created": 0.0}])
    rows = [{"project_id": "p", "kind": "tune", "time": float(n), "body": "{}"} for n in range(3)]
    told = insert_rows(connection, events, rows, told=("id", "time"))
    assert sorted(row.time for row in told) == [0.0, 1.0, 2.0] and len({row.id for row in told}) == 3


def test_rows_are_changed_by_their_key_and_only_where_asked(connection):
    insert_rows(connection, projects, [{"id": "p", "name": "pets", "settings": "{}", "created": 0.0}])
    hook = {"project_id": "p", "url": "u", "secret": "s", "kinds": "[]", "created": 0.0}
    insert_rows(connection, webhooks, [hook | {"id": name} for name in "abc"])
    change_rows(
        connection, webhooks, [{"id": "a", "removed": 5.0, "url": "it's"}, {"id": "c", "removed": None, "url": "w"}]
    )
    found = {row.id: (row.url, row.removed, row.secret) for row in connection.execute(select(webhooks))}
    assert found == {"a": ("it's", 5.0, "s"), "b": ("u", None, "s"), "c": ("w", None, "s")}


def test_rows_that_agree_in_all_that_is_given_are_taken_out(connection):
    insert_rows(connection, attempts, [{"key": name, "tokens": 1.0, "time": float(n)} for n, name in enumerate("abc")])
    delete_rows(connection, attempts, [{"key": "a", "time": 0.0}, {"key": "b", "time": 0.0}])
    assert [row[0] for row in all_of(connection, attempts, attempts.c.key)] == ["b", "c"]


def test_nothing_is_done_for_nothing(connection):
    assert insert_rows(connection, attempts, []) == []
    change_rows(connection, attempts, [])
    delete_rows(connection, attempts, [])
