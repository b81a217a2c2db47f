import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.model.posterior.finite import plurality_finite

SIZES = ("small", "large")  # each has a method of its own
ROUND_OFF = {"small": 1e-13, "large": 2e-11}


def pools(size, least_remaining=0):
    """alpha, votes and pool size: 2 to 12 classes, alpha of any size, mixed; up to 66 members, or 151 and more."""
    some_votes = st.sampled_from([0, 0, 0, 1, 2, 3]) if size == "small" else st.integers(0, 20)

    @st.composite
    def drawn(draw):
        num_classes = draw(st.integers(2, 12))
        exponents = draw(st.lists(st.floats(-6, 6), min_size=num_classes, max_size=num_classes))
        votes = draw(st.lists(some_votes, min_size=num_classes, max_size=num_classes))
        least, most = (0 if sum(votes) else 1, 30) if size == "small" else (max(151 - sum(votes), 0), 260)
        remaining = draw(st.integers(max(least_remaining, least), most))
        return 10.0 ** np.array(exponents), np.array(votes), sum(votes) + remaining

    return drawn()


@pytest.mark.parametrize("size", SIZES)
@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_probabilities_are_not_negative_and_sum_to_one(size, data):
    alpha, votes, pool_size = data.draw(pools(size))
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    assert np.all(probs >= 0)
    assert abs(probs.sum() - 1) < 2e-15


@pytest.mark.parametrize("size", SIZES)
@settings(deadline=None, max_examples=200)
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_permuting_classes_permutes_the_answer(size, data, random):
    alpha, votes, pool_size = data.draw(pools(size))
    order = list(range(alpha.size))
    random.shuffle(order)
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    permuted = plurality_finite(alpha[order], votes[order], pool_size=pool_size)
    np.testing.assert_allclose(permuted, probs[order], rtol=0, atol=ROUND_OFF[size])


@pytest.mark.parametrize("size", SIZES)
@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_a_vote_for_a_class_never_lowers_its_chance(size, data):
    alpha, votes, pool_size = data.draw(pools(size, least_remaining=1))
    k = data.draw(st.integers(0, alpha.size - 1))
    after = votes.copy()
    after[k] += 1
    before = plurality_finite(alpha, votes, pool_size=pool_size)
    assert plurality_finite(alpha, after, pool_size=pool_size)[k] >= before[k] - ROUND_OFF[size]


@pytest.mark.parametrize(("size", "round_off"), [("small", 1e-13), ("large", 4e-11)])
@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_the_next_vote_moves_the_belief_by_nothing_on_average(size, round_off, data):
    alpha, votes, pool_size = data.draw(pools(size, least_remaining=1))
    beta = alpha + votes
    after = plurality_finite(alpha, votes + np.eye(alpha.size, dtype=int), pool_size=pool_size)  # (next vote, K)
    before = plurality_finite(alpha, votes, pool_size=pool_size)
    np.testing.assert_allclose(beta / beta.sum() @ after, before, rtol=0, atol=round_off)
