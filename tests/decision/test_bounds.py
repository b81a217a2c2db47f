import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.decision.belief import TIE_WIDTH, pick_label
from quorate.decision.blended import blended_asks
from quorate.decision.bounds import MARGIN, SURELY_ASKS, UNSURE, blended_choice, certain_answer, choice_by_bounds
from quorate.decision.rules import BLENDED, THRESHOLD, rule_asks
from quorate.posterior.finite import plurality_finite
from quorate.posterior.wins_alone import MOST_REMAINING, wins_alone

NO_COSTS = np.zeros((0, 0))


def an_item(seed, classes):
    rng = np.random.default_rng(seed)
    alpha = rng.gamma(0.5, 2.0, classes) + 1e-3
    return alpha, rng.multinomial(rng.integers(12), alpha / alpha.sum())


def finite(alpha, votes, remaining):
    return plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 90), st.sampled_from([0.0, 1e-4, 1e-3, 0.01, 0.1]))
def test_what_the_bounds_are_sure_of_is_so(seed, classes, remaining, min_gain):
    alpha, votes = an_item(seed, classes)
    choice = blended_choice(min_gain, alpha, votes, remaining)
    probs = finite(alpha, votes, remaining)
    assert choice == UNSURE or blended_asks(min_gain, probs, probs, votes, remaining, alpha, NO_COSTS) == (
        choice == SURELY_ASKS
    )
    assert choice < 0 or choice == probs.argmax()


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 60),
    st.sampled_from([(THRESHOLD, 0.3), (THRESHOLD, 0.6), (THRESHOLD, 0.95), (BLENDED, 0.002), (BLENDED, 0.1)]),
)  # fmt: skip
def test_a_certain_answer_is_the_only_one_of_the_posterior_and_the_rule_stops(seed, classes, remaining, rule):
    alpha, votes = an_item(seed, classes)
    answer = certain_answer(*rule, alpha, votes, remaining)
    if answer != UNSURE:
        probs = finite(alpha, votes, remaining)
        assert answer == pick_label(probs, 0.0) == pick_label(probs, 0.999)
        assert not rule_asks(rule[0], rule[1], 0.0, probs, votes, remaining, alpha, NO_COSTS, 0.0)


@pytest.mark.parametrize("remaining", [1, 9, 40, MOST_REMAINING])
def test_an_answer_is_certain_as_far_as_the_probability_to_win_alone_goes(remaining):
    alpha, votes = np.array([0.5, 9.0, 0.5]), np.array([0, 3, 1])
    sure = wins_alone(1, alpha, votes, remaining)
    assert 0.9 < sure <= finite(alpha, votes, remaining)[1] + 1e-12
    assert certain_answer(THRESHOLD, sure - 2 * MARGIN, alpha, votes, remaining) == 1
    assert certain_answer(THRESHOLD, sure - MARGIN / 2, alpha, votes, remaining) == UNSURE
    highest = (1 - sure) / 3  # class 2 needs three votes to lead
    assert certain_answer(BLENDED, highest + 2 * MARGIN, alpha, votes, remaining) == 1
    assert certain_answer(BLENDED, highest + MARGIN / 4, alpha, votes, remaining) == UNSURE


def test_a_class_that_leads_is_the_answer_to_a_low_threshold_and_others_need_a_majority():
    votes = np.zeros(3, np.int64)
    assert certain_answer(THRESHOLD, 0.3, np.array([1.2, 1.0, 1.0]), votes, 20) == 0
    assert certain_answer(THRESHOLD, 0.34, np.array([1.2, 1.0, 1.0]), votes, 20) == UNSURE
    assert certain_answer(THRESHOLD, 0.0, np.array([0.2, 9.0, 0.2]), np.array([1, 0, 0]), 20) == 1
    assert certain_answer(THRESHOLD, 0.0, np.array([0.2, 1.3, 0.2]), np.array([1, 0, 0]), 20) == UNSURE


@pytest.mark.parametrize("min_gain", [0.0, 1e-4])
def test_the_bounds_are_sure_of_close_contests_only(min_gain):
    alpha = np.array([2.0, 1.5, 0.6, 0.4])
    assert blended_choice(min_gain, alpha, np.array([2, 1, 0, 0]), 40) == SURELY_ASKS
    assert blended_choice(min_gain, alpha, np.array([30, 1, 0, 0]), 20) == UNSURE, "nobody can catch up"
    assert blended_choice(min_gain, np.array([1.0]), np.array([0]), 40) == UNSURE, "a single class"


def test_with_a_gain_the_bounds_need_a_clear_order_of_the_two_leading_classes():
    votes = np.zeros(4, np.int64)
    assert blended_choice(1e-4, np.array([2.0, 1.5, 0.6, 0.4]), votes, 40) == SURELY_ASKS
    assert blended_choice(1e-4, np.array([2.0, 1.5, 1.5, 0.4]), votes, 40) == UNSURE
    assert blended_choice(1e-4, np.array([1.5, 1.5, 0.6, 0.4]), votes, 40) == UNSURE


@pytest.mark.parametrize("apart", [1e-13, 1e-11, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3])
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("remaining", [9, 40])
def test_of_classes_that_nearly_tie_one_is_certain_only_above_the_margin(apart, place, remaining):
    """The answer among tied classes is drawn at random."""
    alpha, votes, other = np.full(4, 0.05), np.zeros(4, np.int64), 2
    alpha[[place, other]] = 3.0 + apart, 3.0
    probs = finite(alpha, votes, remaining)
    bound = wins_alone(place, alpha, votes, remaining) * apart / (alpha[place] + remaining)
    assert probs[place] - probs[other] >= bound - 1e-12
    expected = place if bound > MARGIN else UNSURE
    assert expected == UNSURE or pick_label(probs, 0.999) == place
    for rule in ((THRESHOLD, 0.2), (BLENDED, 0.9)):
        assert certain_answer(*rule, alpha, votes, remaining) == expected


@pytest.mark.parametrize("apart", [1e-13, 1e-10, 1e-8, 1e-5, 1e-3])
@pytest.mark.parametrize(("alpha", "near"), [((0.05, 3.0, 0.05, 3.0), 3), ((3.0, 0.05, 3.0, 4.0), 0)])
def test_the_blended_rule_is_sure_only_of_an_order_above_the_margin(apart, alpha, near):
    """The first and the second class, or the second and the third, nearly tie."""
    alpha, votes = np.array(alpha), np.zeros(4, np.int64)
    alpha[near] += apart
    is_clear = wins_alone(near, alpha, votes, 40) * apart / (alpha[near] + 40) > MARGIN
    assert is_clear == (apart > 1e-6)
    assert blended_choice(0.9, alpha, votes, 40) == (3 if is_clear else UNSURE)
    assert blended_choice(1e-4, alpha, votes, 40) == (SURELY_ASKS if is_clear else UNSURE)


def test_the_margin_is_wider_than_a_tie():
    assert MARGIN >= 2 * TIE_WIDTH


def test_the_bounds_are_sure_to_stop_by_the_most_that_can_be_gained_or_by_the_expected_gain():
    alpha = np.array([0.1, 9.0, 0.6, 0.3])
    assert blended_choice(0.2, alpha, np.zeros(4, np.int64), 40) == 1
    assert blended_choice(0.02, alpha, np.array([0, 3, 0, 0]), 40) == 1


def test_the_bounds_ask_where_asking_everybody_gains_enough_and_are_unsure_where_it_might():
    alpha, votes = np.array([6.0, 3.0, 0.6, 0.4]), np.array([3, 2, 0, 0])
    by_all = (1.0 - finite(alpha, votes, 40).max()) / 40
    lowest = sum(wins_alone(k, alpha, votes, 40) for k in (1, 2, 3)) / 40
    assert 0.0 < lowest < by_all
    choices = {blended_choice(min_gain, alpha, votes, 40) for min_gain in np.geomspace(1e-4, 0.2, 60)}
    assert choices == {SURELY_ASKS, UNSURE, 0}


def test_a_choice_is_the_cheap_answer_or_that_of_the_blended_rule_where_it_saves_time():
    close, clear, votes = np.array([2.0, 1.5, 0.6, 0.4]), np.array([0.1, 9.0, 0.6, 0.3]), np.zeros(4, np.int64)
    assert choice_by_bounds(THRESHOLD, 0.6, clear, votes, 40, True) == 1
    assert choice_by_bounds(THRESHOLD, 0.6, clear, votes, 40, False) == UNSURE
    assert choice_by_bounds(BLENDED, 0.02, clear, votes, 40, True) == 1
    assert choice_by_bounds(BLENDED, 0.02, clear, votes, 40, False) == UNSURE
    for may_stop in (True, False):
        assert choice_by_bounds(THRESHOLD, 0.6, close, votes, 40, may_stop) == UNSURE
        assert choice_by_bounds(BLENDED, 1e-4, close, votes, 40, may_stop) == SURELY_ASKS
        assert choice_by_bounds(BLENDED, 1e-4, close, votes, 16, may_stop) == UNSURE
        assert choice_by_bounds(BLENDED, 1e-4, close[:3], votes[:3], 40, may_stop) == UNSURE
        assert choice_by_bounds(BLENDED, 0.0, close[:3], votes[:3], 5, may_stop) == SURELY_ASKS
        assert choice_by_bounds(BLENDED, 0.0, close[:3], votes[:3], 4, may_stop) == UNSURE


@pytest.mark.parametrize("rule", [(THRESHOLD, 0.6), (BLENDED, 1e-4), (BLENDED, 0.02)])
@pytest.mark.parametrize("alpha", [(2.0, 1.5, 0.6, 0.4), (0.1, 9.0, 0.6, 0.3)])
def test_large_pools_are_decided_by_the_bounds_as_by_the_posterior(rule, alpha):
    alpha, votes = np.array(alpha), np.array([0, 1, 0, 0])
    choice = choice_by_bounds(*rule, alpha, votes, MOST_REMAINING, True)
    probs = finite(alpha, votes, MOST_REMAINING)
    asks = rule_asks(rule[0], rule[1], 0.0, probs, votes, MOST_REMAINING, alpha, NO_COSTS, 0.0)
    assert choice in (UNSURE, SURELY_ASKS if asks else probs.argmax())
    assert choice_by_bounds(*rule, alpha, votes, MOST_REMAINING + 1, True) == UNSURE
