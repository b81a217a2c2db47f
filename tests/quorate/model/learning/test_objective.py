"""The objective against a slow twin in high precision, its derivatives against differences."""

import mpmath
import numpy as np
import pytest
from tests.refusals import refused

from quorate.model.densities import log_dirichlet_multinomial
from quorate.model.learning.objective import (
    DIAGONAL,
    PRODUCT,
    WHOLE,
    evaluated,
    negative_log_posterior,
    negative_log_posterior_gradient,
    negative_log_posterior_hessian,
)
from quorate.model.learning.problem import checked_window, numbers_of, pack, unpack
from quorate.model.prior import Hyperprior, concentration, hyperprior
from quorate.types import PriorParams


def problem(num_classifiers, with_bias, seed=0, num_items=12, num_classes=4):
    """Random parameters, predictions and votes: none, few and many votes an item."""
    rng = np.random.default_rng(seed)
    shape = (num_classes,) if num_classifiers == 1 else (num_classifiers, num_classes)
    predictions = rng.dirichlet(np.ones(num_classes), size=(num_items, *shape[:-1]))
    votes = rng.multinomial(4, np.full(num_classes, 1 / num_classes), size=num_items)
    votes[0], votes[3] = 0, votes[3] * 30
    bias = rng.normal(size=num_classes) if with_bias else None
    return PriorParams(2.3, 0.4, rng.gamma(2, 0.5, size=shape), bias), predictions, votes


def point_of(params):
    """x = [log theta, log phi, log tau, bias]."""
    packed = pack(params)
    end = 2 + params.tau.size
    return np.concatenate([np.log(packed[:end]), packed[end:]])


def params_at(point, like):
    end = 2 + like.tau.size
    return unpack(np.concatenate([np.exp(point[:end]), point[end:]]), like.tau.shape)


EACH_ITS_OWN = Hyperprior(theta=(4.0, 0.5), phi=(1.2, 3.0), tau=(6.0, 5.0))
PRIORS = ("infexp", "finexp", "value", EACH_ITS_OWN)
CASES = [(m, b, prior) for m in (1, 3) for b in (False, True) for prior in PRIORS]


@pytest.mark.parametrize(("num_classifiers", "with_bias", "name"), CASES)
def test_value_is_the_log_likelihood_of_ordered_votes_plus_the_log_prior(num_classifiers, with_bias, name):
    params, predictions, votes = problem(num_classifiers, with_bias)
    alpha = concentration(params, predictions)
    log_orders = [float(log_dirichlet_multinomial(v, np.full(4, 1e15))) + v.sum() * np.log(4) for v in votes]
    expected = log_dirichlet_multinomial(votes, alpha).sum() - sum(log_orders) + hyperprior(name).log_density(params)
    assert negative_log_posterior(params, predictions, votes, hyperprior=name) == pytest.approx(-expected, rel=1e-10)


@pytest.mark.parametrize(("num_classifiers", "with_bias", "name"), CASES)
def test_gradient_and_hessian_match_finite_differences(num_classifiers, with_bias, name):
    params, predictions, votes = problem(num_classifiers, with_bias)
    point, width = point_of(params), 1e-5

    def around(function):
        moves = width * np.eye(point.size)
        ends = [[function(params_at(point + sign * move, params), predictions, votes, hyperprior=name)
                 for sign in (1, -1)] for move in moves]  # fmt: skip
        return np.array([(up - down) / (2 * width) for up, down in ends])

    gradient = negative_log_posterior_gradient(params, predictions, votes, hyperprior=name)
    hessian = negative_log_posterior_hessian(params, predictions, votes, hyperprior=name)
    np.testing.assert_allclose(gradient, around(negative_log_posterior), atol=2e-7)
    np.testing.assert_allclose(hessian, around(negative_log_posterior_gradient), atol=2e-7)
    np.testing.assert_array_equal(hessian, hessian.T)


def test_gradient_matches_high_precision_to_twelve_digits():
    params, predictions, votes = problem(1, True, seed=3, num_items=5)
    with mpmath.workdps(40):

        def value(*point):
            theta, phi = mpmath.e ** point[0], mpmath.e ** point[1]
            total = 2 * theta - 2 * point[0] + 2 * phi - 2 * point[1]
            for k in range(4):
                total += 2 * mpmath.e ** point[2 + k] - 2 * point[2 + k] + point[6 + k] ** 2 / 2
            for prediction, row in zip(predictions, votes, strict=True):
                weights = [mpmath.mpf(float(f)) ** (mpmath.e ** point[2 + k]) * mpmath.e ** point[6 + k]
                           for k, f in enumerate(prediction)]  # fmt: skip
                alpha = [theta * w / sum(weights) + phi for w in weights]
                for a, h in [*zip(alpha, row, strict=True)]:
                    total -= mpmath.loggamma(a + int(h)) - mpmath.loggamma(a)
                total += mpmath.loggamma(sum(alpha) + int(row.sum())) - mpmath.loggamma(sum(alpha))
            return total

        point = [mpmath.mpf(float(x)) for x in point_of(params)]
        expected = []
        for index in range(len(point)):
            unit = [int(index == j) for j in range(len(point))]
            expected.append(
                float(mpmath.diff(lambda h, u=unit: value(*[p + h * e for p, e in zip(point, u, strict=True)]), 0))
            )
    ours = negative_log_posterior_gradient(params, predictions, votes)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("num_classifiers", "with_bias", "name"), CASES)
def test_products_and_diagonal_agree_with_the_whole_hessian(num_classifiers, with_bias, name):
    params, predictions, votes = problem(num_classifiers, with_bias)
    log_predictions, counts, _ = checked_window(predictions, votes)
    numbers = numbers_of(hyperprior(name), 4)

    def second(what, direction=None):
        return evaluated(pack(params), log_predictions, counts, numbers, what, direction).second

    hessian = second(WHOLE)
    np.testing.assert_allclose(second(DIAGONAL), np.diag(hessian), rtol=1e-12, atol=1e-12)
    for direction in np.eye(len(hessian)):
        np.testing.assert_allclose(second(PRODUCT, direction), hessian @ direction, rtol=1e-11, atol=1e-11)


def test_items_without_votes_contribute_nothing():
    params, predictions, votes = problem(1, True)
    voted = votes.sum(axis=1) > 0
    for function in (negative_log_posterior, negative_log_posterior_gradient, negative_log_posterior_hessian):
        np.testing.assert_array_equal(
            function(params, predictions, votes), function(params, predictions[voted], votes[voted])
        )


def test_without_items_only_the_hyperprior_is_left():
    params = problem(1, True)[0]
    alone = negative_log_posterior(params, np.empty((0, 4)), np.empty((0, 4)))
    assert alone == pytest.approx(-hyperprior("infexp").log_density(params), rel=1e-14)


@pytest.mark.parametrize(
    ("predictions", "votes", "field"),
    [
        ([[0.5, 0.5]], [[1, 0, 0]], "votes"),
        ([[0.5, 0.5]], [[1, 0], [0, 1]], "votes"),
        ([0.5, 0.5], [1, 0], "votes"),
        ([[0.2, 0.3, 0.5]], [[1, 0, 0]], "params"),
        ([[0.5, 0.5]], [[0.5, 0]], "votes"),
    ],
)
def test_bad_input_is_refused_by_name(predictions, votes, field):
    with refused(field):
        negative_log_posterior(PriorParams(1, 1, [1, 1]), predictions, votes)
