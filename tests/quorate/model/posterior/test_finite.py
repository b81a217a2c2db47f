import numpy as np
import pytest
from scipy.special import betainc
from tests.oracles_finite import by_counting_ties, by_enumeration
from tests.refusals import refused

from quorate import core
from quorate.errors import InvalidInput
from quorate.model.posterior.finite import plurality_finite

TINY, HUGE = 1e-6, 1e6


def mass_before_normalising(alpha, votes, pool_size):
    """1 if no level of the maximum was wrongly left out; the answer itself is normalised and would hide it."""
    alpha, mass = np.asarray(alpha, float)[None], np.empty(1)
    counts = np.asarray(votes, np.int64)[None]
    core.plurality_finite(alpha, counts, np.array([pool_size]), np.empty(alpha.shape), mass)
    return mass[0]


# --- against the oracle -----------------------------------------------------------------------------------------


def small_cases():
    rng = np.random.default_rng(11)
    for _ in range(400):
        num_classes, pool_size = int(rng.integers(2, 5)), int(rng.integers(1, 7))
        alpha = [
            rng.uniform(0.05, 5, num_classes),
            10 ** rng.uniform(-6, 6, num_classes),
            rng.choice([TINY, HUGE], num_classes),
            np.full(num_classes, rng.choice([TINY, 1.0, HUGE])),
        ][rng.integers(4)]
        seen = rng.integers(0, pool_size + 1)
        yield alpha, rng.multinomial(seen, np.ones(num_classes) / num_classes), pool_size


def test_small_pools_agree_with_enumeration_of_every_histogram():
    for alpha, votes, pool_size in small_cases():
        expected = by_enumeration(alpha, votes, pool_size)
        np.testing.assert_allclose(plurality_finite(alpha, votes, pool_size=pool_size), expected, rtol=0, atol=1e-12)
        assert mass_before_normalising(alpha, votes, pool_size) == pytest.approx(1, abs=1e-12)


def test_the_two_oracles_agree():
    alpha, votes = [0.3, 2.0, TINY, 1.1], [1, 0, 0, 1]
    np.testing.assert_allclose(
        np.array(by_counting_ties(alpha, votes, 6, range(4)), float), by_enumeration(alpha, votes, 6), atol=1e-15
    )


SPREAD = np.random.default_rng(5)
EVERY_SIZE = 10 ** SPREAD.uniform(-6, 6, 20)
CORNERS = {
    "many classes, small pool": (SPREAD.uniform(0.05, 3, 1000), None, 10, [0, 5]),
    "many classes, small pool, votes": (SPREAD.uniform(0.05, 3, 1000), {3: 2, 7: 1, 9: 1}, 10, [0, 3, 7]),
    "many classes, all tiny": (np.full(300, TINY), {4: 1, 5: 1}, 10, [0, 4]),
    "many classes, all huge": (np.full(300, HUGE), {4: 1}, 10, [0, 4]),
    "as many classes as votes": (SPREAD.uniform(0.05, 3, 40), None, 40, [0, 1]),
    "usual pool": (SPREAD.uniform(0.05, 3, 10), {0: 3, 1: 2, 2: 1}, 50, range(10)),
    "usual pool, late": (SPREAD.uniform(0.05, 3, 10), {0: 14, 1: 13, 2: 6, 3: 1}, 50, range(10)),
    "large pool": (SPREAD.uniform(0.05, 3, 20), None, 200, [0, 3]),
    "large pool, votes": (SPREAD.uniform(0.05, 3, 20), {0: 30, 5: 28, 6: 20, 7: 3}, 200, [0, 5, 6, 7, 8]),
    "large pool, all tiny": (np.full(20, TINY), None, 200, [0]),
    "large pool, all huge": (np.full(20, HUGE), None, 200, [0]),
    "large pool, tiny beside huge": (SPREAD.choice([TINY, HUGE], 20), {0: 9, 1: 8}, 200, [0, 1]),
    "large pool, every size": (EVERY_SIZE, {2: 5}, 200, [2, int(np.argmax(EVERY_SIZE))]),
    "three classes, 400 votes": (np.array([3.0, 2.0, 0.5]), None, 400, [0, 1, 2]),
    "three tiny beside huge, 400 votes": (np.array([HUGE, TINY, HUGE]), {1: 150}, 400, [0, 1]),
}


@pytest.mark.no_cover  # the oracle takes twice as long under a tracer
@pytest.mark.parametrize("name", CORNERS)
def test_corners_agree_with_counting_ties_in_extended_precision(name):
    alpha, seen, pool_size, classes = CORNERS[name]
    votes = np.zeros(alpha.size, int)
    for k, count in (seen or {}).items():
        votes[k] = count
    expected = np.array(by_counting_ties(alpha, votes, pool_size, classes), float)
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    close = 1e-12
    np.testing.assert_allclose(probs[list(classes)], expected, rtol=0, atol=close)
    assert np.all(probs >= 0)
    assert mass_before_normalising(alpha, votes, pool_size) == pytest.approx(1, abs=5 * close)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [[3.0, 2.0, 0.5], [TINY] * 3, [HUGE] * 3], ids=["usual", "tiny", "huge"])
def test_pool_of_a_thousand_agrees_with_counting_ties(alpha):
    expected = np.array(by_counting_ties(alpha, [0, 0, 0], 1000, [0, 2]), float)
    np.testing.assert_allclose(plurality_finite(alpha, [0, 0, 0], pool_size=1000)[[0, 2]], expected, rtol=0, atol=1e-12)


# --- worked by hand ---------------------------------------------------------------------------------------------


def test_one_vote_to_come_worked_by_hand():
    # beta = (2, 2, 1): the last vote breaks the tie 1-1-0 with 2/5 and 2/5; with 1/5 all three tie.
    expected = [2 / 5 + 1 / 15, 2 / 5 + 1 / 15, 1 / 15]
    np.testing.assert_allclose(plurality_finite([1, 1, 1], [1, 1, 0], pool_size=3), expected, atol=1e-15)


def test_two_votes_to_come_worked_by_hand():
    # No votes, alpha = (1, 3): both to the first 1/4 * 2/5, both to the second 3/4 * 4/5, else a tie.
    np.testing.assert_allclose(plurality_finite([1, 3], [0, 0], pool_size=2), [0.1 + 0.15, 0.6 + 0.15], atol=1e-15)


# --- limits -----------------------------------------------------------------------------------------------------


def test_settled_pool_gives_probability_exactly_one():
    assert plurality_finite([0.1, 50.0, 3.0], [4, 1, 0], pool_size=7).tolist() == [1.0, 0.0, 0.0]


def test_pool_without_votes_to_come_is_its_plurality_with_ties_shared():
    votes = [[2, 2, 0], [1, 3, 0], [4, 0, 0]]
    expected = [[0.5, 0.5, 0], [0, 1, 0], [1, 0, 0]]
    assert plurality_finite([1.0, 2.0, 3.0], votes, pool_size=4).tolist() == expected


def test_class_that_cannot_win_any_more_gets_exactly_zero():
    probs = plurality_finite([1.0, 1.0, 1e3], [4, 3, 0], pool_size=10)
    assert probs[2] == 0.0
    assert 0 < probs[1] < probs[0] < 1


def test_pool_of_one_is_won_in_proportion_to_alpha():
    np.testing.assert_allclose(plurality_finite([1, 2, 5], [0, 0, 0], pool_size=1), [1 / 8, 2 / 8, 5 / 8], atol=1e-15)


def test_growing_pool_approaches_the_infinite_one_as_fast_as_one_over_its_size():
    alpha, votes = np.array([2.5, 1.2]), np.array([1, 2])
    infinite = betainc(*(alpha + votes)[::-1], 0.5)  # P(pi_0 > 1/2)
    errors = [abs(plurality_finite(alpha, votes, pool_size=size)[0] - infinite) * size for size in (51, 201, 801, 1001)]
    assert max(errors) < 2 * errors[0]
    assert errors[-1] / 1001 < 1e-2


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_absurd_concentrations_give_their_limits(scale):
    alpha = np.array([1.0, 3.0]) * scale
    share = alpha / alpha.sum()
    # tiny: the first vote decides; huge: votes are independent draws, 3 of 3
    first = share[0] if scale < 1 else share[0] ** 3 + 3 * share[0] ** 2 * share[1]
    np.testing.assert_allclose(plurality_finite(alpha, [0, 0], pool_size=3), [first, 1 - first], atol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, HUGE])
def test_a_thousand_equal_classes_in_a_pool_of_a_thousand_win_equally(alpha):
    probs = plurality_finite(np.full(1000, alpha), np.zeros(1000), pool_size=1000)
    np.testing.assert_allclose(probs, 1e-3, rtol=1e-9)
    assert mass_before_normalising(np.full(1000, alpha), np.zeros(1000), 1000) == pytest.approx(1, abs=8e-11)


@pytest.mark.slow
def test_a_thousand_tiny_classes_in_a_pool_of_a_thousand_win_in_proportion():
    alpha = np.where(np.arange(1000) < 500, TINY, 2 * TINY)
    probs = plurality_finite(alpha, np.zeros(1000), pool_size=1000)
    # sum(alpha) = 1.5e-3: the first vote decides but for that probability
    np.testing.assert_allclose(probs, alpha / alpha.sum(), rtol=2e-3)
    np.testing.assert_allclose(probs[:500], probs[0], rtol=1e-9)


# --- quadrature of ties -----------------------------------------------------------------------------------------


# --- shapes and refusals ----------------------------------------------------------------------------------------


def test_batch_axes_broadcast_like_numpy():
    rng = np.random.default_rng(3)
    alpha, votes = rng.uniform(0.1, 2, (4, 1, 3)), rng.integers(0, 2, (5, 3))
    pool_size = np.array([6, 7, 8, 9])[:, None]
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    assert probs.shape == (4, 5, 3)
    for i, j in np.ndindex(4, 5):
        one = plurality_finite(alpha[i, 0], votes[j], pool_size=int(pool_size[i, 0]))
        np.testing.assert_array_equal(probs[i, j], one)


def test_empty_batch_gives_an_empty_answer():
    assert plurality_finite(np.ones((0, 3)), np.zeros((0, 3)), pool_size=5).shape == (0, 3)


def test_input_arrays_are_left_unchanged():
    alpha, votes = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1])
    plurality_finite(alpha, votes, pool_size=9)
    assert alpha.tolist() == [1.0, 2.0, 3.0]
    assert votes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("alpha", "votes", "pool_size", "field", "value"),
    [
        ([1, 1], [3, 2], 4, "pool_size", 4),
        ([1, 1], [[0, 0], [3, 3]], [6, 5], "pool_size", 5),
        ([1, 1], [0, 0], 0, "pool_size", 0),
        ([1, 1], [0, 0], 2.5, "pool_size", 2.5),
        ([1, 1], [[0, 0]] * 2, [3, 2.5], "pool_size", 2.5),
        ([1, 1], [[0, 0]] * 2, [3, 0], "pool_size", 0),
        ([1, 1, 1], [0, 0], 3, "votes", (2,)),
        (np.ones((2, 3)), np.zeros((4, 3)), 3, "alpha", (2, 3)),
    ],
)
def test_bad_input_is_refused_with_its_field_value_rule_and_fix(alpha, votes, pool_size, field, value):
    with refused(field, value=value) as caught:
        plurality_finite(alpha, votes, pool_size=pool_size)
    assert caught.value.rule
    assert caught.value.fix


@pytest.mark.parametrize(("alpha", "votes", "culprit"), [([1, 0], [0, 0], "alpha"), ([1, 1], [0, -1], "votes")])
def test_numbers_out_of_range_are_refused_by_the_name_of_their_argument(alpha, votes, culprit):
    with pytest.raises(InvalidInput) as caught:
        plurality_finite(alpha, votes, pool_size=3)
    assert culprit in str(caught.value)
