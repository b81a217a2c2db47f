"""How often judges agree with the others, and the value of asking them."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.experts.reliability import SHRINKAGE
from quorate.live.reliability import FIRST_GUESS, Reliability

JUDGES = "abcde"
ITEMS = st.lists(st.dictionaries(st.sampled_from(JUDGES), st.sampled_from(["x", "y", "z"])), max_size=12)


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
    by_hand = {judge: shares(items, judge) for judge in JUDGES}
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
