"""Columns are compared with lists of any length, in the same statement, on every database."""

import pytest
from sqlalchemy import select

from quorate.service.store.bulk import insert_rows
from quorate.service.store.lists import among, each_of, paired
from quorate.service.store.schema import attempts


@pytest.fixture
def connection(store):
    with store.write() as connection:
        yield connection


@pytest.mark.parametrize("names", [[], ["b"], ["a", "c", "nowhere"], ["it's", "a"]])
def test_a_column_is_compared_with_a_list_of_any_length(connection, names):
    insert_rows(connection, attempts, [{"key": name, "tokens": 1.0, "time": 1.0} for name in ("a", "b", "c", "it's")])
    query = select(attempts.c.key).where(among(attempts.c.key, "names"), attempts.c.tokens == 1.0)
    assert set(connection.execute(query, {"names": names}).scalars()) == set(names) - {"nowhere"}


def test_two_lists_in_one_query_are_told_apart(connection):
    insert_rows(connection, attempts, [{"key": name, "tokens": float(n), "time": 1.0} for n, name in enumerate("abc")])
    query = select(attempts.c.key).where(among(attempts.c.key, "names"), among(attempts.c.tokens, "numbers"))
    for names, numbers, found in ((["a", "b"], [1.0, 2.0], {"b"}), (["c"], [2.0], {"c"}), (["a"], [1.0], set())):
        assert set(connection.execute(query, {"names": names, "numbers": numbers}).scalars()) == found


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
