"""Judges and juries: names, prices, the order in which they are asked, and how often they agree with the others."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.experts.reliability import SHRINKAGE
from quorate.live import Judge, Jury
from quorate.live.judges import FIRST_GUESS, Reliability
from tests.refusals import refused


def names(jury, item, acted=()):
    return [judge.name for judge in jury.line(item, acted)]


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


def test_the_cheapest_come_first_and_equals_as_given():
    assert names(Jury(JUDGES, order="cheapest"), "x") == ["b", "d", "c", "a"]


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
        (lambda: Jury(JUDGES, order="best"), "order"),
        (lambda: Jury(JUDGES, seed=-1), "seed"),
    ],
)
def test_what_is_wrong_is_named(make, field):
    with refused(field):
        make()


NAMES = "abcde"
ITEMS = st.lists(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["x", "y", "z"])), max_size=12)


def shares(items, judge):
    """Agreements and comparisons of a judge, written down item by item."""
    agreed, compared = Fraction(0), 0
    for votes in items:
        others = [label for name, label in votes.items() if name != judge]
        if judge not in votes or not others:
            continue
        most = max(Counter(others).values())
        leaders = {label for label in others if others.count(label) == most}
        agreed += Fraction(votes[judge] in leaders, len(leaders))
        compared += 1
    return agreed, compared


@given(ITEMS)
def test_the_shrunk_share_is_that_of_a_count_by_hand(items):
    known = Reliability()
    for votes in items:
        known.learn(votes)
    by_hand = {judge: shares(items, judge) for judge in NAMES}
    agreed, compared = (sum(pair[place] for pair in by_hand.values()) for place in (0, 1))
    mean = (float(agreed) + SHRINKAGE * FIRST_GUESS) / (compared + SHRINKAGE)
    for judge, (own, number) in by_hand.items():
        assert known.of(judge) == pytest.approx((float(own) + SHRINKAGE * mean) / (number + SHRINKAGE))
        assert 0.0 < known.of(judge) <= 1.0


def test_with_many_votes_the_share_is_the_plain_one():
    known = Reliability()
    for number in range(20_000):
        known.learn({"a": "x", "b": "x", "c": "x" if number % 4 else "y"})
    assert known.of("c") == pytest.approx(0.75, abs=1e-3)
    assert known.of("a") == pytest.approx(1.0 - 0.25 / 2, abs=1e-3)  # where c differs, the others of a are tied


def test_judges_at_chance_are_worth_nothing_and_free_ones_most():
    known = Reliability()
    for number in range(5000):
        known.learn({"a": "x", "b": "x", "c": "xy"[number % 2]})
    assert known.gain("c", 1.0) < 0.01 * known.gain("a", 1.0)
    assert known.gain("a", 0.0) > known.gain("a", 1e-6)
    assert known.gain("a", 0.5) == pytest.approx(2 * known.gain("a", 1.0))


def test_a_lone_vote_teaches_nothing():
    known = Reliability()
    known.learn({"a": "x"})
    known.learn({})
    assert known.compared.total() == 0
