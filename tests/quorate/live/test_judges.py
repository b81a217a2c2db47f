"""Judges and juries: names, prices, and whom their session asks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import Session
from quorate.live import Judge, Jury, Panel
from quorate.live.savings import Savings, cost_until_settled
from tests.refusals import refused


def names(jury, item, acted=()):
    session = Session("until-settled", classes=["x", "y"], pool_size=9)
    session.open(item)
    for voter in acted:
        session.vote(item, "x", voter)
    return [judge.name for judge in jury.line(session, item, Savings())]


JUDGES = [Judge(name, str, cost=cost) for name, cost in [("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 1.0)]]


def test_the_random_order_depends_on_seed_and_item_only():
    jury = Jury(JUDGES, seed=5)
    orders = {item: names(jury, item) for item in map(str, range(40))}
    assert orders == {item: names(Jury(JUDGES, seed=5), item) for item in orders}
    assert {order[0] for order in orders.values()} == {"a", "b", "c", "d"}
    assert orders != {item: names(Jury(JUDGES, seed=6), item) for item in orders}


def test_those_who_acted_are_left_out_and_the_rest_keep_their_order():
    whole = names(Jury(JUDGES), "x")
    assert names(Jury(JUDGES), "x", acted={whole[1]}) == [whole[0], *whole[2:]]


def test_the_whole_jury_costs_the_sum_of_its_judges():
    assert Jury(JUDGES).full_cost(4) == 7 and Jury(JUDGES).price_of("a") == 3 and Jury(JUDGES).price_of("z") == 0


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Judge("", str), "name"),
        (lambda: Judge("a", "gpt"), "ask"),
        (lambda: Judge("a", str, cost=-1), "cost"),
        (lambda: Judge("a", str, failure_cost="free"), "failure_cost"),
        (lambda: Jury([]), "judges"),
        (lambda: Jury([JUDGES[0], JUDGES[0]]), "judges"),
        (lambda: Jury([str]), "judges"),
        (lambda: Jury([Judge(None, str)]), "judges"),
        (lambda: Jury(JUDGES, seed=-1), "seed"),
    ],
)
def test_what_is_wrong_is_named(make, field):
    with refused(field):
        make()


def test_a_small_jury_is_known_by_name_at_prices_relative_to_their_mean():
    session = Jury(JUDGES).session(["x", "y"], pool_size=4)
    assert session.method.name == "panel" and session.has_people
    costs = {each["name"]: each["cost"] for each in session.settings["people"]["experts"]}
    assert costs == pytest.approx({"a": 3 / 1.75, "b": 1 / 1.75, "c": 2 / 1.75, "d": 1 / 1.75})
    session.open("q")
    assert next(Jury(JUDGES).line(session, "q", Savings())).name in {"b", "d"}


def test_a_jury_too_large_for_its_plan_or_with_another_method_is_asked_in_random_order():
    many = Jury([Judge(str(number), str) for number in range(17)])
    for jury, method in ((many, None), (Jury(JUDGES), "until-settled")):
        session = jury.session(["x", "y", "z"], method=method, pool_size=len(jury.judges))
        assert not session.has_people
        session.open("q")
        assert len(list(jury.line(session, "q", Savings()))) == len(jury.judges)


@pytest.mark.filterwarnings("ignore:The audits contradict")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.1, 0.5, 1.0, 3.0]), min_size=1, max_size=6),
    st.integers(2, 4),
    st.sampled_from([2.0, 20.0, 1000.0]),
    st.integers(0, 2**32 - 1),
)
def test_a_jury_never_costs_more_than_the_cheapest_first_until_settled(costs, num_classes, error_cost, seed):
    """Whatever the judges say, after every question."""
    draws, prices = np.random.default_rng(seed), {str(n): cost for n, cost in enumerate(costs)}
    bias = draws.dirichlet(np.full(num_classes, 0.4), size=len(costs))
    answers: dict[str, str | None] = {}
    judges = [Judge(name, lambda _, name=name: answers[name], cost=cost) for name, cost in prices.items()]
    panel = Panel(judges, list("abcd"[:num_classes]), error_cost=error_cost, audit_rate=0.3)
    cheapest_first, spent, most = sorted(prices, key=prices.__getitem__), 0.0, 0.0
    for _ in range(25):
        answers.update({name: "abcd"[draws.choice(num_classes, p=p)] for name, p in zip(prices, bias, strict=True)})
        answers.update({name: None for name in prices if draws.random() < 0.05})
        spent += panel.decide("?").cost
        said = [answers[name] for name in cheapest_first]
        most += cost_until_settled([prices[name] for name in cheapest_first], said)
        if len(set(costs)) == len(costs):
            assert spent <= most + 1e-9
    assert spent <= 1.1 * most + sum(costs)  # of equally dear judges the better ones are asked first
