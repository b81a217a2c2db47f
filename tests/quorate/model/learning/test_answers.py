"""Answers without votes: the classifier's, until what was learned has won votes that it has not seen."""

from dataclasses import replace

import numpy as np
import pytest

from quorate.model.learning.answers import Gains, classifier_alone
from quorate.model.prior import concentration
from quorate.types import PriorParams

LEARNED = PriorParams(4.0, 0.5, [1.0, 1.0, 1.0], [0.0, 2.0, 0.0])
LOGS = np.log([[[0.5, 0.3, 0.2]], [[0.9, 0.05, 0.05]], [[0.2, 0.6, 0.2]]])  # with the bias, the first becomes class 1


def test_gains_are_shares_of_votes_won_on_items_where_the_answers_differ():
    found = Gains().after(LEARNED, LOGS, np.array([[1, 3, 0], [2, 0, 0], [0, 1, 1]]))
    assert (found.total, found.squares) == pytest.approx((0.5, 0.25))
    again = found.after(LEARNED, LOGS[:1], np.array([[2, 1, 1]]))
    assert (again.total, again.squares) == pytest.approx((0.25, 0.3125))
    assert again.after(LEARNED, LOGS[:0], np.zeros((0, 3), dtype=int)) == again
    assert again.after(LEARNED, LOGS[:1], np.array([[1, 0, 0]])) == Gains(), "it starts again"


def test_five_wins_in_a_row_prove_it_and_four_do_not():
    one = LOGS[:1], np.array([[0, 1, 0]])
    gains, proved = Gains(), []
    for _ in range(6):
        gains = gains.after(LEARNED, *one)
        proved.append(gains.are_proven)
    assert proved == [False, False, False, False, True, True]


def test_the_classifier_alone_answers_as_the_classifier_whatever_was_learned():
    rng = np.random.default_rng(1)
    for num_classifiers in (1, 3):
        shape = (4,) if num_classifiers == 1 else (num_classifiers, 4)
        learned = PriorParams(2.0, 0.1, rng.gamma(2.0, 1.0, shape), rng.normal(size=4))
        predictions = rng.dirichlet(np.ones(4), size=(50, *shape[:-1]))
        logs = np.log(predictions).reshape(50, num_classifiers, 4)
        answers = concentration(classifier_alone(learned), predictions).argmax(axis=1)
        np.testing.assert_array_equal(answers, logs.sum(axis=1).argmax(axis=1))
        assert classifier_alone(replace(learned, bias=None)).bias is None
