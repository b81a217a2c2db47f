from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles_costs import weigh_for_gain
from tests.oracles_look_ahead import obvious_expected_gain
from tests.refusals import refused

from quorate.model.decision.blended import BLENDED, BlendedValue, blended_gain
from quorate.model.decision.rules import Rule, rule_asks
from quorate.model.decision.value import optimistic_gain
from quorate.model.posterior.finite import plurality_finite
from quorate.types import Item

ALPHA, VOTES, POOL = np.array([2.0, 0.6, 0.4]), np.array([2, 1, 0]), 6
NO_COSTS = np.zeros((0, 0))


def item(alpha=ALPHA, votes=VOTES, pool_size=POOL):
    prediction = np.array(alpha) / np.sum(alpha)
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    return Item(prediction, prediction[None], np.array(votes), pool_size, alpha=np.array(alpha), probs=probs)


def obvious_gain(seen):
    """The gain as defined."""
    optimistic = optimistic_gain(seen.probs, seen.votes, seen.num_remaining)
    expected = obvious_expected_gain(seen.alpha, seen.votes, seen.num_remaining)
    return min(optimistic, (optimistic * expected) ** 0.5)


@settings(deadline=None)
@given(st.floats(1e-4, 0.5), st.lists(st.integers(0, 2), min_size=3, max_size=3), st.integers(1, 3))
def test_it_asks_by_the_definition(min_gain, votes, remaining):
    seen = item(votes=np.array(votes), pool_size=sum(votes) + remaining)
    gain = obvious_gain(seen)
    assume(abs(gain - min_gain) > 1e-12)  # nearer, rounding decides
    assert BlendedValue(1 / min_gain).ask(seen) == (gain > min_gain)


def test_it_asks_up_to_its_gain_and_no_further():
    seen = item()
    gain = blended_gain(-1.0, seen.probs, seen.probs, VOTES, POOL - 3, ALPHA, NO_COSTS)
    assert BlendedValue(1 / (gain - 1e-9)).ask(seen)
    assert not BlendedValue(1 / (gain + 1e-9)).ask(seen)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 60), st.sampled_from([1e-4, 1e-3, 0.01, 0.1]),
    st.booleans(),
)  # fmt: skip
def test_looking_only_as_far_as_needed_decides_like_the_gain_itself(seed, classes, remaining, min_gain, unequal):
    rng = np.random.default_rng(seed)
    alpha, votes = rng.gamma(0.5, 2.0, classes) + 1e-3, rng.integers(4, size=classes)
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    costs = rng.gamma(1.0, 2.0, (classes, classes)) if unequal else NO_COSTS
    weighted = weigh_for_gain(costs, probs, 0.0) if unequal else probs
    gain = blended_gain(-1.0, probs, weighted, votes, remaining, alpha, costs)

    def asks(least):
        return rule_asks(Rule(BLENDED, least), probs, votes, remaining, alpha, costs, 0.0)

    assert asks(min_gain) == (gain > min_gain)
    if gain > 1e-6:  # below, G is as small as its rounding errors
        assert asks(gain * (1 - 1e-6))
        assert not asks(gain * (1 + 1e-6))


def test_it_never_asks_where_the_optimistic_value_does_not():
    seen = item()
    assert not BlendedValue(1 / optimistic_gain(seen.probs, VOTES, POOL - 3)).ask(seen)


def test_v_decides_where_a_plan_gains_more_per_vote_than_votes_in_a_row():
    seen = item(np.ones(2), np.array([1, 0]), 3)
    assert optimistic_gain(seen.probs, seen.votes, 2) == pytest.approx(1 / 12)
    assert obvious_expected_gain(seen.alpha, seen.votes, 2) == pytest.approx(1 / 8)
    assert not BlendedValue(10).ask(seen)


def test_at_any_error_cost_it_asks_while_another_class_can_lead():
    assert BlendedValue(1e9).ask(item())
    assert not BlendedValue(1e9).ask(item(ALPHA, np.array([3, 0, 0]), 5))


def test_an_item_without_alpha_counts_the_prediction_as_one_vote():
    seen = item(ALPHA / ALPHA.sum())
    for min_gain in (0.01, 0.05, 0.1, 0.2):
        policy = BlendedValue(1 / min_gain)
        assert policy.ask(replace(seen, alpha=None)) == policy.ask(seen)


def test_a_negative_price_is_refused():
    with refused("error_cost"):
        BlendedValue(-1)
