"""InfExp against 30-digit integration, closed forms and limits, over its whole documented range."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special
from tests.oracles_infinite import distribution, plurality_by_integration
from tests.refusals import refused

from quorate.model.posterior.infinite import plurality_infinite

PROMISE = 1e-9  # of the docstring
USUAL = 2e-11  # what it does in practice; a loss of digits shows here first
UNTRACED = pytest.mark.no_cover  # for coverage: integration by mpmath takes twice as long under a tracer


def probabilities(beta):
    beta = np.asarray(beta, dtype=float)
    return plurality_infinite(beta, np.zeros(beta.shape, dtype=int))


CORNERS = {
    "easy": [2, 1, 1],
    "all 1e-6": [1e-6] * 5,
    "all near 1e-6": [1e-6, 2e-6, 5e-6],
    "all 1e6": [1e6] * 4,
    "all near 1e6": [1e6, 1e6 + 1000, 1e6 - 1500, 1e6 + 300],
    "1e6 beside 1e-6": [1e6, 1e-6, 1e-6],
    "1e-6 beside 1": [1e-6, 2e-6, 1.0],
    "1e-6 beside 1000 votes": [1e-6 + 500, 1e-6 + 480, 1e-6 + 20, 1e-6],
    "every scale at once": [1e-6, 1e-4, 1e-2, 1, 1e2, 1e4, 1e6],
    "every small scale at once": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "sum 1e-3": [2e-4, 3e-4, 5e-4],
    "sum 0.3": [0.02, 0.08, 0.2],
    "one vote over 1e-6": [1 + 1e-6, 1e-6, 1e-6, 2e-6],
    "a peaked classifier": [4.05, 0.05, 0.05, 0.05, 0.05, 1.05, 0.05, 0.05],
    "one large, many small": [12.0] + [1.0] * 50,
}

MANY_CLASSES = {
    "K = 1000, all 1": [1.0] * 1000,
    "K = 1000, five favourites": [1.0] * 995 + [5.0] * 5,
    "K = 1000, sparse prior": [0.05] * 990 + [3.0] * 10,
    "K = 1000, tiny": [1e-6] * 500 + [1e-3] * 500,
    "K = 1000, three scales": [1e-6] * 500 + [1.0] * 400 + [10.0] * 100,
    "K = 1000, shape 20": [20.0] * 995 + [25.0] * 5,
    "K = 1000, shape 100": [100.0] * 995 + [120.0] * 5,
    "K = 1000, shape 1e6": [1e6] * 995 + [1e6 + 2000] * 5,
    "K = 300, a leader at 900 votes": [0.1] * 297 + [900.0, 850.0, 870.0],
}


@UNTRACED
@pytest.mark.parametrize("beta", CORNERS.values(), ids=CORNERS.keys())
def test_corners_agree_with_high_precision_integration(beta):
    np.testing.assert_allclose(probabilities(beta), plurality_by_integration(beta), rtol=0, atol=USUAL)


@UNTRACED
@pytest.mark.parametrize("beta", MANY_CLASSES.values(), ids=MANY_CLASSES.keys())
def test_many_classes_agree_with_high_precision_integration(beta):
    np.testing.assert_allclose(probabilities(beta), plurality_by_integration(beta), rtol=0, atol=USUAL)


@UNTRACED
@pytest.mark.parametrize("scale", [15, 16, 17, 29, 31, 40, 100, 225, 240, 260, 999, 1001, 1e4, 1e5])
def test_both_sides_of_every_switch_of_method_agree_with_high_precision_integration(scale):
    spread = math.sqrt(scale)
    beta = [scale, scale + spread, scale - 0.5 * spread, scale / 2, scale / 10]
    np.testing.assert_allclose(probabilities(beta), plurality_by_integration(beta), rtol=0, atol=USUAL)


def random_beta(rng):
    """Betas of one or of many magnitudes, with or without votes."""
    num_classes = int(rng.integers(2, 7))
    low, high = sorted(rng.uniform(-6, 6, 2))
    beta = 10 ** rng.uniform(low, high, num_classes)
    if rng.random() < 0.3:
        beta = beta.max() + np.sqrt(beta.max()) * rng.uniform(0, 3, num_classes)
    if rng.random() < 0.5:
        beta += rng.integers(0, rng.choice([3, 30, 1001]), num_classes)
    return beta


@UNTRACED
@pytest.mark.parametrize("seed", range(15))
def test_random_betas_agree_with_high_precision_integration(seed):
    beta = random_beta(np.random.default_rng(seed))
    np.testing.assert_allclose(probabilities(beta), plurality_by_integration(beta), rtol=0, atol=USUAL)


@UNTRACED
@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(15, 30), *range(1000, 1600)])
def test_many_more_random_betas_agree_with_high_precision_integration(seed):
    beta = random_beta(np.random.default_rng(seed))
    np.testing.assert_allclose(probabilities(beta), plurality_by_integration(beta), rtol=0, atol=USUAL)


@UNTRACED
def test_typical_items_agree_with_high_precision_integration():
    rng = np.random.default_rng(5)
    share = rng.dirichlet(np.full(16, 0.1), 2)
    beta = 4 * share + 0.1 + np.array([rng.multinomial(n, row) for n, row in zip((2, 6), share, strict=True)])
    expected = np.array([plurality_by_integration(row) for row in beta])
    np.testing.assert_allclose(probabilities(beta), expected, rtol=0, atol=USUAL)


def test_two_classes_are_the_chance_of_a_beta_variable_above_one_half():
    grid = np.concatenate([np.logspace(-6, 3, 40), np.linspace(1000, 1100, 11)])
    first, second = np.meshgrid(grid, grid)
    probs = probabilities(np.stack([first, second], axis=-1))
    np.testing.assert_allclose(probs[..., 0], special.betainc(second, first, 0.5), rtol=0, atol=PROMISE)


def test_two_and_one_and_one_give_eleven_eighteenths():
    # int x e^-x (1 - e^-x)^2 dx = 1 - 2/4 + 1/9
    np.testing.assert_allclose(probabilities([2, 1, 1]), [11 / 18, 7 / 36, 7 / 36], rtol=0, atol=1e-12)


@pytest.mark.parametrize("beta", [1e-6, 1e-3, 0.3, 1.0, 15.0, 35.0, 1e3, 1e6])
@pytest.mark.parametrize("num_classes", [2, 3, 16, 1000])
def test_equal_betas_share_the_probability_equally(beta, num_classes):
    np.testing.assert_allclose(probabilities(np.full(num_classes, beta)), 1 / num_classes, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-9])
def test_a_tiny_sum_gives_beta_over_sum(scale):
    beta = scale * np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(probabilities(beta), beta / beta.sum(), rtol=0, atol=100 * scale)


def test_betas_far_apart_give_the_largest_with_certainty():
    np.testing.assert_array_equal(probabilities([1e6, 1.02e6, 9e5, 3.0]), [0, 1, 0, 0])


@pytest.mark.parametrize(
    "beta",
    [
        [5e-324, 5e-324],
        [1e-300, 1.0, 3.0],
        [1e-300, 1e300],
        [1e308, 1e308, 1e-308],
        [1e15, 1e15 + 3e7, 2.0],
        [1e-300, 3e-300],
    ],
)
def test_betas_beyond_any_use_still_give_probabilities(beta):
    probs = probabilities(beta)
    assert np.all(probs >= 0)
    assert probs.sum() == pytest.approx(1, abs=1e-14)
    assert probs[np.argmax(beta)] >= 1 / len(beta) - 1e-14


def test_votes_are_added_to_alpha():
    alpha, votes = np.array([0.5, 2.0, 1.5]), np.array([3, 0, 1])
    np.testing.assert_array_equal(plurality_infinite(alpha, votes), probabilities(alpha + votes))


def test_leading_axes_broadcast_and_rows_are_independent():
    rng = np.random.default_rng(1)
    alpha, votes = rng.gamma(1, 1, (4, 1, 3)), rng.integers(0, 9, (5, 3))
    probs = plurality_infinite(alpha, votes)
    assert probs.shape == (4, 5, 3)
    np.testing.assert_array_equal(probs[2, 3], plurality_infinite(alpha[2, 0], votes[3]))
    assert plurality_infinite(np.ones((0, 3)), np.zeros(3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("alpha", "votes", "field"),
    [
        ([1.0, 0.0], [0, 0], "alpha"),
        ([1.0, np.nan], [0, 0], "alpha"),
        ([1.0, 2.0], [0, -1], "votes"),
        ([1.0], [0], "alpha"),
    ],
)
def test_bad_input_is_refused_by_name(alpha, votes, field):
    with refused(field):
        plurality_infinite(alpha, votes)


def test_shapes_that_do_not_broadcast_are_refused():
    with refused("alpha", value=(2,)) as caught:
        plurality_infinite([1.0, 2.0], [0, 0, 0])
    assert caught.value.fix


@pytest.mark.parametrize(("shape", "x"), [(1e-6, 1e-8), (0.3, 2.0), (5.0, 9.0), (300.0, 310.0), (1e4, 9.9e3)])
def test_the_oracle_distribution_agrees_with_mpmath(shape, x):
    with mp.workdps(30):
        assert abs(distribution(shape, x) - mp.gammainc(shape, 0, x, regularized=True)) < 1e-24


@pytest.mark.parametrize(("first", "second"), [(1e-3, 2e-3), (0.4, 3.0), (50.0, 60.0), (400.0, 410.0)])
def test_the_oracle_agrees_with_the_incomplete_beta_function(first, second):
    with mp.workdps(30):
        expected = float(mp.betainc(second, first, 0, mp.mpf(1) / 2, regularized=True))
    assert plurality_by_integration([first, second])[0] == pytest.approx(expected, abs=1e-15)
