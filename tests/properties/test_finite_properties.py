import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.posterior.finite import plurality_finite

ROUND_OFF = 1e-13


@st.composite
def pools(draw, least_remaining=0):
    """alpha, votes and pool size: 2 to 12 classes, up to 40 votes, alpha of any size, mixed."""
    num_classes = draw(st.integers(2, 12))
    exponents = draw(st.lists(st.floats(-6, 6), min_size=num_classes, max_size=num_classes))
    votes = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=num_classes, max_size=num_classes))
    remaining = draw(st.integers(max(least_remaining, 0 if sum(votes) else 1), 30))
    return 10.0 ** np.array(exponents), np.array(votes), sum(votes) + remaining


@settings(deadline=None, max_examples=200)
@given(pools())
def test_probabilities_are_not_negative_and_sum_to_one(pool):
    alpha, votes, pool_size = pool
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    assert np.all(probs >= 0)
    assert abs(probs.sum() - 1) < 2e-15


@settings(deadline=None, max_examples=200)
@given(pools(), st.randoms(use_true_random=False))
def test_permuting_classes_permutes_the_answer(pool, random):
    alpha, votes, pool_size = pool
    order = list(range(alpha.size))
    random.shuffle(order)
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    permuted = plurality_finite(alpha[order], votes[order], pool_size=pool_size)
    np.testing.assert_allclose(permuted, probs[order], rtol=0, atol=ROUND_OFF)


@settings(deadline=None, max_examples=200)
@given(pools(least_remaining=1), st.data())
def test_a_vote_for_a_class_never_lowers_its_chance(pool, data):
    alpha, votes, pool_size = pool
    k = data.draw(st.integers(0, alpha.size - 1))
    after = votes.copy()
    after[k] += 1
    before = plurality_finite(alpha, votes, pool_size=pool_size)
    assert plurality_finite(alpha, after, pool_size=pool_size)[k] >= before[k] - ROUND_OFF


@settings(deadline=None, max_examples=200)
@given(pools(least_remaining=1))
def test_the_next_vote_moves_the_belief_by_nothing_on_average(pool):
    alpha, votes, pool_size = pool
    beta = alpha + votes
    after = plurality_finite(alpha, votes + np.eye(alpha.size, dtype=int), pool_size=pool_size)  # (next vote, K)
    before = plurality_finite(alpha, votes, pool_size=pool_size)
    np.testing.assert_allclose(beta / beta.sum() @ after, before, rtol=0, atol=ROUND_OFF)
