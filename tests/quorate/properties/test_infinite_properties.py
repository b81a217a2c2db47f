"""Properties of InfExp for every alpha and every vote, tested by hypothesis."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quorate.model.posterior.infinite import plurality_infinite

ROUNDING = 5e-11  # a few times the largest error met against the oracle


@st.composite
def alpha_and_votes(draw):
    """alpha from 1e-6 to 1e6, of one magnitude or of many, and up to 1000 votes a class."""
    num_classes = draw(st.integers(2, 24))
    low = draw(st.floats(-6, 6))
    high = draw(st.floats(low, 6))
    alpha = 10 ** draw(hnp.arrays(float, num_classes, elements=st.floats(low, high)))
    most = draw(st.sampled_from([0, 3, 50, 1000]))
    return alpha, draw(hnp.arrays(np.int64, num_classes, elements=st.integers(0, most)))


@settings(deadline=None, max_examples=300)
@given(alpha_and_votes())
def test_probabilities_are_not_negative_and_sum_to_one(case):
    probs = plurality_infinite(*case)
    assert np.all(probs >= 0)
    assert abs(probs.sum() - 1) < 1e-13


@settings(deadline=None, max_examples=200)
@given(alpha_and_votes(), st.randoms(use_true_random=False))
def test_permuting_classes_permutes_the_probabilities(case, random):
    alpha, votes = case
    order = list(range(alpha.size))
    random.shuffle(order)
    np.testing.assert_allclose(
        plurality_infinite(alpha[order], votes[order]), plurality_infinite(alpha, votes)[order], rtol=0, atol=1e-13
    )


@settings(deadline=None, max_examples=300)
@given(alpha_and_votes(), st.data())
def test_a_vote_for_a_class_never_lowers_it_and_never_raises_another(case, data):
    alpha, votes = case
    chosen = data.draw(st.integers(0, alpha.size - 1))
    ballot = np.zeros_like(votes)
    ballot[chosen] = 1
    change = plurality_infinite(alpha, votes + ballot) - plurality_infinite(alpha, votes)
    assert change[chosen] >= -ROUNDING
    assert np.delete(change, chosen).max() <= ROUNDING


@settings(deadline=None, max_examples=200)
@given(alpha_and_votes())
def test_a_larger_beta_never_has_a_smaller_chance(case):
    alpha, votes = case
    ranked = plurality_infinite(alpha, votes)[np.argsort(alpha + votes)]
    assert np.diff(ranked).min() >= -ROUNDING


@settings(deadline=None, max_examples=100)
@given(alpha_and_votes())
def test_a_class_that_cannot_win_changes_nothing(case):
    alpha, votes = case
    with_ghost = plurality_infinite(np.append(alpha, 1e-250), np.append(votes, 0))
    np.testing.assert_allclose(with_ghost[:-1], plurality_infinite(alpha, votes), rtol=0, atol=ROUNDING)
    assert with_ghost[-1] < 1e-240
