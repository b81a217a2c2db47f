"""The price of a vote: the voter's own price when it was cast, or else the project's."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Double, create_engine, event, literal, select

from quorate.errors import InvalidInput
from quorate.service.api.exports import votes as votes_export
from quorate.service.domain.ballots import act
from quorate.service.domain.events import Prices
from quorate.service.domain.listing import all_decisions
from quorate.service.domain.stats import stats
from quorate.service.domain.votes import Request

TIMES = st.floats(0, 10)
PRICES = st.floats(0, 5)


@given(
    st.lists(st.tuples(TIMES, PRICES), min_size=1, max_size=4).map(sorted),
    st.lists(
        st.tuples(TIMES, st.dictionaries(st.sampled_from("ab"), PRICES)), max_size=4, unique_by=lambda each: each[0]
    ),
    TIMES,
    st.sampled_from("abc"),
)
def test_the_database_prices_a_vote_as_the_program_does(history, own, time, person):
    prices = Prices(history, sorted(own, key=lambda each: each[0]))
    with create_engine("sqlite://").connect() as connection:
        at = literal(time, Double)
        usual, since = connection.execute(select(prices.of(at), prices.since(at))).one()
    assert usual == prices.at(time)
    assert prices.at(since, person) == prices.at(time, person)


def test_each_vote_keeps_the_price_its_voter_had(desk):
    project = desk.project(["x", "y"], method="quorum:votes=3", price=0.5)
    cast(desk, project, "x", "ext:ada", now=1001.0)
    desk.projects.change(project.id, person_prices={"ext:ada": 2.0}, now=1002.0)
    cast(desk, project, "y", "ext:ada", now=1003.0)
    desk.projects.change(project.id, price=1.0, now=1004.0)
    cast(desk, project, "x", "ext:ben", now=1005.0)
    desk.projects.change(project.id, person_prices={}, now=1006.0)
    cast(desk, project, "x", "ext:cem", now=1007.0)
    with desk.store.read() as connection:
        now = desk.projects.get_in(connection, project.id)
        told = stats(connection, now, now=1010.0)
        (decided,) = all_decisions(desk.projects, connection, now)
        rows = [
            dict(zip(export.columns, row, strict=True))
            for export in [votes_export(connection, now)]
            for row in export.rows
        ]
    assert told.money_spent == pytest.approx(0.5 + 2.0 + 1.0 + 1.0)
    assert {each["name"]: each["spent"] for each in told.voters} == {"ada": 2.5, "ben": 1.0, "cem": 1.0}
    assert (decided.item, decided.cost) == ("x", 2.5)
    assert [row["price"] for row in rows] == [0.5, 2.0, 1.0, 1.0]


def cast(desk, project, item, voter, now):
    act(desk.projects, Request(project.id, item, voter, "vote", "cat", served=False), now=now)


@pytest.mark.parametrize("wrong", [{"ada": -1.0}, {"": 1.0}, {"a" * 61: 1.0}, {"ada": 1e10}, [1.0], {"ada": "1"}])
def test_meaningless_prices_are_refused(desk, wrong):
    with pytest.raises(InvalidInput):
        desk.project(person_prices=wrong)


def test_prices_set_at_the_same_time_are_all_kept(desk):
    project = desk.project(person_prices={"ext:old": 9.0, "ext:p0": 8.0})
    people = {f"ext:p{n}": float(n) for n in range(1, 7)} | {"ext:old": None}
    ready = Barrier(len(people))

    def set_price(person, price):
        ready.wait()
        desk.projects.set_price(project.id, person, price, by="owner", now=1001.0)

    with ThreadPoolExecutor(len(people)) as pool:
        list(pool.map(set_price, people, people.values()))
    kept = desk.projects.get(project.id).settings.person_prices
    assert kept == {"ext:p0": 8.0} | {person: price for person, price in people.items() if price is not None}


def test_the_dashboard_needs_no_more_queries_for_more_prices(desk):
    asked = []
    event.listen(desk.store.engine, "before_cursor_execute", lambda *_: asked.append(1))
    numbers = []
    for people in (1, 5):
        project = desk.project(["x"], person_prices={f"ext:{n}": 1.0 for n in range(people)})
        with desk.store.read() as connection:
            asked.clear()
            stats(connection, project, now=1010.0)
            numbers.append(len(asked))
    assert numbers[0] == numbers[1]
