"""Equal costs change nothing; with unequal ones the cheapest answer is given and the probabilities are weighted."""

import numpy as np
import pytest

from quorate.decision.error_costs import cheapest_answer, expected_cost, weigh_for_gain, weigh_for_threshold
from quorate.decision.value import optimistic_gain

EQUAL = 1.0 - np.eye(4)


@pytest.fixture
def draws():
    rng = np.random.default_rng(5)
    return [(rng.dirichlet(np.ones(4) * 0.5), rng.integers(0, 4, size=4), int(rng.integers(1, 6))) for _ in range(300)]


def test_equal_costs_answer_the_most_probable_class(draws):
    for probs, _, _ in draws:
        answer = cheapest_answer(EQUAL, probs, 0.0, np.empty(4))
        assert answer == probs.argmax()
        assert expected_cost(EQUAL, probs, answer) == pytest.approx(1 - probs.max())


def test_equal_costs_leave_both_rules_as_they_are(draws):
    for probs, votes, left in draws:
        out = np.empty(4)
        weigh_for_gain(EQUAL, probs, 0.0, out)
        assert optimistic_gain(out, votes, left) == pytest.approx(optimistic_gain(probs, votes, left), abs=1e-12)
        weigh_for_threshold(EQUAL, probs, 0.0, out)
        assert out.max() == pytest.approx(probs.max())


def test_the_cheapest_answer_agrees_with_the_table_written_out(draws):
    costs = np.array([[0, 1, 2, 3], [9, 0, 1, 1], [1, 4, 0, 1], [1, 1, 1, 0.0]])
    for probs, _, _ in draws:
        assert cheapest_answer(costs, probs, 0.0, np.empty(4)) == (probs @ costs).argmin()


def test_a_missed_cancer_is_answered_though_it_is_improbable_and_worth_more_votes():
    costs = np.array([[0.0, 1.0], [50.0, 0.0]])
    out = np.empty(2)
    probs = np.array([0.99, 0.01])
    weigh_for_gain(costs, probs, 0.0, out)
    assert cheapest_answer(costs, probs, 0.0, np.empty(2)) == 0
    assert optimistic_gain(out, np.array([1, 0]), 5) == pytest.approx(0.5 / 2)  # two votes to overtake
    assert cheapest_answer(costs, np.array([0.9, 0.1]), 0.0, np.empty(2)) == 1


def test_answers_that_cost_the_same_are_chosen_between_by_the_draw():
    costs, probs = 1.0 - np.eye(2), np.array([0.5, 0.5])
    assert {cheapest_answer(costs, probs, draw, np.empty(2)) for draw in (0.2, 0.7)} == {0, 1}
