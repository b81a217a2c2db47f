"""Equal costs change nothing; with unequal ones the cheapest answer is given and the probabilities are weighted."""

import numpy as np
import pytest
from tests.oracles_costs import cheapest_answer, weigh_for_gain, weigh_for_threshold

from quorate.model.decision.belief import answer
from quorate.model.decision.error_costs import NO_WEIGHTS
from quorate.model.decision.rules import BLENDED, THRESHOLD, Rule, rule_asks
from quorate.model.decision.value import optimistic_gain

EQUAL = 1.0 - np.eye(4)
UNEQUAL = np.array([[0, 1, 2, 3], [9, 0, 1, 1], [1, 4, 0, 1], [1, 1, 1, 0.0]])


@pytest.fixture
def draws():
    rng = np.random.default_rng(5)
    return [(rng.dirichlet(np.ones(4) * 0.5), rng.integers(0, 4, size=4), int(rng.integers(1, 6))) for _ in range(300)]


def test_equal_costs_answer_the_most_probable_class(draws):
    for probs, _, _ in draws:
        assert answer(probs, EQUAL, 0.0) == probs.argmax() == answer(probs, NO_WEIGHTS, 0.0)


def test_the_cheapest_answer_agrees_with_the_table_written_out(draws):
    for probs, _, _ in draws:
        assert answer(probs, UNEQUAL, 0.0) == (probs @ UNEQUAL).argmin() == cheapest_answer(UNEQUAL, probs, 0.0)


def test_equal_costs_leave_both_rules_as_they_are(draws):
    for probs, votes, left in draws:
        for rule in (Rule(THRESHOLD, 0.7), Rule(BLENDED, 0.05)):
            asks = [rule_asks(rule, probs, votes, left, np.ones(4), costs, 0.0) for costs in (EQUAL, NO_WEIGHTS)]
            assert asks[0] == asks[1]


def test_the_threshold_is_compared_with_one_minus_the_expected_cost(draws):
    for probs, votes, left in draws:
        highest = weigh_for_threshold(UNEQUAL, probs, 0.0).max()
        for least in (highest - 1e-9, highest + 1e-9):
            asks = rule_asks(Rule(THRESHOLD, least), probs, votes, left, np.ones(4), UNEQUAL, 0.0)
            assert asks == (highest <= least)


def test_a_missed_cancer_is_answered_though_it_is_improbable_and_worth_more_votes():
    costs = np.array([[0.0, 1.0], [50.0, 0.0]])
    probs = np.array([0.99, 0.01])
    assert answer(probs, costs, 0.0) == 0
    weighted = weigh_for_gain(costs, probs, 0.0)
    assert optimistic_gain(weighted, np.array([1, 0]), 5) == pytest.approx(0.5 / 2)  # two votes to overtake
    assert answer(np.array([0.9, 0.1]), costs, 0.0) == 1


def test_answers_that_cost_the_same_are_chosen_between_by_the_draw():
    assert {answer(np.array([0.5, 0.5]), 1.0 - np.eye(2), draw) for draw in (0.2, 0.7)} == {0, 1}
