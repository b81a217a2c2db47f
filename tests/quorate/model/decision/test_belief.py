import numpy as np
import pytest

from quorate.model.decision.belief import (
    ASK,
    EXHAUSTED,
    FINITE,
    INFINITE,
    QUOTA,
    RULE,
    SETTLED,
    VOTE_SHARE,
    Packed,
    answer,
    belief,
    stop_before_rule,
)
from quorate.model.decision.error_costs import NO_WEIGHTS
from quorate.model.posterior.finite import plurality_finite
from quorate.model.posterior.infinite import plurality_infinite
from quorate.model.prior import concentration
from quorate.types import PriorParams

FAR = 2**62
PREDICTION = np.array([0.6, 0.3, 0.1])


def believe(posterior, votes, pool_size):
    tau = np.array([[1.0, 2.0, 0.5]])
    bias = np.array([0.1, -0.2, 0.0])
    packed = Packed(posterior, 3.0, 0.2, tau, bias)
    return belief(packed, np.log(PREDICTION)[None], PREDICTION, np.array(votes), pool_size)


def alpha():
    return concentration(PriorParams(theta=3.0, phi=0.2, tau=[1.0, 2.0, 0.5], bias=[0.1, -0.2, 0.0]), PREDICTION)


def test_each_posterior_is_the_public_function_of_the_concentration():
    np.testing.assert_allclose(
        believe(FINITE, [1, 0, 1], 6), plurality_finite(alpha(), [1, 0, 1], pool_size=6), atol=1e-14
    )
    np.testing.assert_allclose(believe(INFINITE, [1, 0, 1], 6), plurality_infinite(alpha(), [1, 0, 1]), atol=1e-14)
    np.testing.assert_allclose(believe(VOTE_SHARE, [1, 0, 3], 9), [0.25, 0, 0.75])
    np.testing.assert_allclose(believe(VOTE_SHARE, [0, 0, 0], 6), PREDICTION)


@pytest.mark.parametrize("posterior", [FINITE, INFINITE, VOTE_SHARE])
def test_a_settled_pool_is_known_to_everyone(posterior):
    assert believe(posterior, [4, 1, 0], 6).tolist() == [1.0, 0.0, 0.0]
    assert believe(posterior, [3, 3, 0], 6).tolist() == [0.5, 0.5, 0.0]


def test_an_empty_pool_leaves_the_word_to_the_classifier():
    np.testing.assert_allclose(believe(FINITE, [0, 0, 0], 0), alpha() / alpha().sum())


@pytest.mark.parametrize(("draw", "label"), [(0.0, 0), (0.49, 0), (0.51, 2), (0.999, 2)])
def test_ties_go_where_the_draw_points(draw, label):
    assert answer(np.array([0.4, 0.2, 0.4 + 1e-13]), NO_WEIGHTS, draw) == label


def test_without_a_tie_the_draw_does_not_matter():
    assert {answer(np.array([0.4, 0.2, 0.41]), NO_WEIGHTS, draw) for draw in (0.0, 0.5, 0.99)} == {2}


@pytest.mark.parametrize(
    ("votes", "pool", "low", "high", "settles", "code"),
    [
        ([2, 1], 3, 0, FAR, True, EXHAUSTED),
        ([0, 0], 0, 0, FAR, True, EXHAUSTED),
        ([2, 0], 3, 0, FAR, True, SETTLED),
        ([2, 0], 3, 3, FAR, True, SETTLED),
        ([2, 0], 3, 0, FAR, False, RULE),
        ([1, 0], 3, 0, 1, True, QUOTA),
        ([1, 0], 3, 2, FAR, True, ASK),
        ([1, 0], 3, 0, FAR, True, RULE),
    ],
)
def test_what_comes_before_the_rule(votes, pool, low, high, settles, code):
    assert stop_before_rule(np.array(votes), pool, low, high, settles) == code
