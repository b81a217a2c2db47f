"""Statements on many rows have the same effect on every database."""

import pytest
from sqlalchemy import select

from quorate_service.store.bulk import among, change_rows, each_of, insert_rows, paired
from quorate_service.store.schema import attempts, projects, webhooks

TEXTS = ["plain", 'it\'s "quoted" \\ and\nbroken', "für 猫 😀", "{json: [1, 2]}", ""]
NUMBERS = [0.1 + 0.2, 1e-300, 1.7e308, -0.0, 1731718800.123456]


@pytest.fixture
def connection(store):
    with store.write() as connection:
        yield connection


def all_of(connection, table, *order):
    return [tuple(row) for row in connection.execute(select(table).order_by(*order))]


def test_inserted_rows_are_read_back(connection):
    rows = [{"key": text, "tokens": number, "time": 1.5} for text, number in zip(TEXTS, NUMBERS, strict=True)]
    assert insert_rows(connection, attempts, rows) == []
    found = {row.key: row.tokens for row in connection.execute(select(attempts))}
    assert found == dict(zip(TEXTS, NUMBERS, strict=True))


def test_existing_rows_are_updated_if_keys_are_given(connection):
    insert_rows(connection, attempts, [{"key": "a", "tokens": 1.0, "time": 1.0}])
    again = [{"key": "a", "tokens": 2.0, "time": 2.0}, {"key": "b", "tokens": 3.0, "time": 3.0}]
    insert_rows(connection, attempts, again, keys=("key",))
    assert all_of(connection, attempts, attempts.c.key) == [("a", 2.0, 2.0), ("b", 3.0, 3.0)]


def test_rows_are_changed_by_their_key_and_only_where_asked(connection):
    insert_rows(connection, projects, [{"id": "p", "name": "pets", "settings": "{}", "created": 0.0}])
    hook = {"project_id": "p", "url": "u", "secret": "s", "kinds": "[]", "created": 0.0}
    insert_rows(connection, webhooks, [hook | {"id": name} for name in "abc"])
    change_rows(
        connection, webhooks, [{"id": "a", "removed": 5.0, "url": "it's"}, {"id": "c", "removed": None, "url": "w"}]
    )
    found = {row.id: (row.url, row.removed, row.secret) for row in connection.execute(select(webhooks))}
    assert found == {"a": ("it's", 5.0, "s"), "b": ("u", None, "s"), "c": ("w", None, "s")}


@pytest.mark.parametrize("names", [[], ["b"], ["a", "c", "nowhere"], ["it's", "a"]])
def test_a_column_is_compared_with_a_list_of_any_length(connection, names):
    insert_rows(connection, attempts, [{"key": name, "tokens": 1.0, "time": 1.0} for name in ("a", "b", "c", "it's")])
    query = select(attempts.c.key).where(among(attempts.c.key, "names"), attempts.c.tokens == 1.0)
    assert set(connection.execute(query, {"names": names}).scalars()) == set(names) - {"nowhere"}


PAIRS = [([], [], set()), (["a", "b"], [0.0, 2.0], {"a"}), (["b", "a", "c"], [1.0, 5.0, 2.0], {"b", "c"})]


@pytest.mark.parametrize(("names", "numbers", "found"), PAIRS)
def test_pairs_are_taken_from_the_same_place_of_two_lists(connection, names, numbers, found):
    insert_rows(connection, attempts, [{"key": name, "tokens": float(n), "time": 1.0} for n, name in enumerate("abc")])
    if connection.dialect.name == "sqlite":
        query = select(attempts.c.key).where(paired(attempts.c.key, attempts.c.tokens, ("names", "numbers")))
    else:
        given = each_of(names=attempts.c.key, numbers=attempts.c.tokens)
        mine = (attempts.c.key == given.c.names, attempts.c.tokens == given.c.numbers)
        query = select(select(attempts.c.key).where(*mine).scalar_subquery()).select_from(given)
    told = connection.execute(query, {"names": names, "numbers": numbers}).scalars()
    assert {key for key in told if key is not None} == found
