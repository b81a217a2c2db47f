"""Parameters for answers without votes: against a slow objective, scipy's optimiser, differences, and their limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import gammaln

from quorate.learning.answers import (
    AnswerFit,
    Shrinkage,
    ShrunkPosterior,
    alike_params,
    answer_params,
    minimised,
    shrunk_params,
)
from quorate.learning.fit import fit
from quorate.prior import concentration, hyperprior
from quorate.types import PriorParams

PRIOR = hyperprior("value")
CASES = [(1, True), (1, False), (3, True)]


def problem(num_classifiers=1, seed=0, num_items=60, num_classes=3):
    """Log predictions (T, M, K) and votes (T, K), some items without."""
    rng = np.random.default_rng(seed)
    predictions = rng.dirichlet(np.ones(num_classes), size=(num_items, num_classifiers))
    chances = predictions.mean(axis=1) ** 1.5
    chances /= chances.sum(axis=-1, keepdims=True)
    votes = np.array([rng.multinomial(rng.integers(0, 5), chance) for chance in chances])
    return np.log(predictions), votes


def slow_value(point, logs, votes, with_bias, variances):
    """The formula of docs/maths.md, term by term."""
    num_classifiers, num_classes = logs.shape[1:]
    theta, phi = np.exp(point[:2])
    deviations = point[2 : 2 + num_classifiers * num_classes].reshape(num_classifiers, num_classes)
    rest = point[2 + deviations.size :]
    bias, levels = (rest[:num_classes], rest[num_classes:]) if with_bias else (np.zeros(num_classes), rest)
    logits = (np.exp(levels[:, None] + deviations) * logs).sum(axis=1) + bias
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    alpha = theta * share / share.sum(axis=1, keepdims=True) + phi
    likelihood = (gammaln(alpha + votes) - gammaln(alpha)).sum()
    likelihood += (gammaln(alpha.sum(axis=1)) - gammaln(alpha.sum(axis=1) + votes.sum(axis=1))).sum()
    densities = (theta, PRIOR.shape, PRIOR.rate), (phi, *PRIOR.phi_density(num_classes))
    gamma = sum((shape - 1) * np.log(x) - rate * x for x, shape, rate in densities)
    squares = (deviations**2).sum() / variances[0] + (bias**2).sum() / variances[1]
    squares += ((levels + np.log(num_classifiers)) ** 2).sum() / Shrinkage().level_variance
    return squares / 2 - gamma - likelihood


def objective_of(logs, votes, with_bias, variances=(0.3, 0.5)):
    made = ShrunkPosterior(logs, votes, PRIOR, Shrinkage(), with_bias=with_bias)
    made.use_variances(*variances)
    return made


@pytest.mark.parametrize(("num_classifiers", "with_bias"), CASES)
def test_value_and_derivatives_match_the_slow_formula(num_classifiers, with_bias):
    logs, votes = problem(num_classifiers)
    objective = objective_of(logs, votes, with_bias)
    size = 2 + num_classifiers * 3 + 3 * with_bias + num_classifiers
    rng = np.random.default_rng(1)
    point, other = rng.normal(0, 0.4, size=(2, size))
    slow = [slow_value(p, logs, votes, with_bias, (0.3, 0.5)) for p in (point, other)]
    fast = [objective.value(p)[0] for p in (point, other)]
    assert fast[0] - fast[1] == pytest.approx(slow[0] - slow[1], rel=1e-9)  # constants are left out
    _, gradient = objective.value(point)
    matrix = objective.hessian()
    np.testing.assert_allclose(
        gradient, approx_fprime(point, slow_value, 1e-7, logs, votes, with_bias, (0.3, 0.5)), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(objective.hessian_product(other), matrix @ other, rtol=1e-9, atol=1e-9)
    levels = size - num_classifiers
    np.testing.assert_allclose(objective.hessian_diagonal()[:levels], np.diag(matrix)[:levels], rtol=1e-9)
    step = 1e-6
    for place in range(size):
        moved = [objective.value(point + sign * step * np.eye(size)[place])[1] for sign in (1, -1)]
        np.testing.assert_allclose((moved[0] - moved[1]) / (2 * step), matrix[place], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("num_classifiers", "with_bias"), CASES)
@pytest.mark.parametrize("is_dense", [True, False])
def test_the_search_ends_where_scipys_does(num_classifiers, with_bias, is_dense):
    logs, votes = problem(num_classifiers)
    objective = objective_of(logs, votes, with_bias)
    objective.is_dense = is_dense
    start = np.zeros(2 + num_classifiers * 3 + 3 * with_bias + num_classifiers)
    expected = minimize(slow_value, start, (logs, votes, with_bias, (0.3, 0.5)), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(minimised(objective, start), expected.x, atol=1e-4)


def test_the_variances_are_a_fixed_point_of_the_update():
    logs, votes = problem(num_items=400)
    asking, _ = fit(np.exp(logs[:, 0]), votes, bias=True)
    objective = ShrunkPosterior(logs, votes, PRIOR, Shrinkage(), with_bias=True)
    point = objective.start(asking)
    for _ in range(300):
        point = minimised(objective, point)
        squares = point**2 + np.diag(np.linalg.inv(objective.hessian()))
        tau, bias = ((5 * 0.02 + squares[part].sum()) / (5 + 3) for part in (slice(2, 5), slice(5, 8)))
        objective.use_variances(tau, bias)
    found = shrunk_params(asking, logs, votes, PRIOR)
    packed = objective.packed(point)
    assert found.theta == pytest.approx(packed[0], rel=0.02)
    np.testing.assert_allclose(found.tau, packed[2:5], rtol=0.02)
    np.testing.assert_allclose(found.bias, packed[5:], atol=0.01)


def test_without_variance_the_answers_are_the_classifiers():
    logs, votes = problem(num_items=300, seed=4)
    votes[:, 0] += 3  # everybody likes class 0: without shrinkage the bias says so
    predictions = np.exp(logs[:, 0])
    asking, _ = fit(predictions, votes, bias=True)
    found = shrunk_params(asking, logs, votes, PRIOR, Shrinkage(strength=1e6, variance=1e-9))
    assert np.ptp(found.tau) < 1e-4
    assert found.bias is not None
    assert np.abs(found.bias).max() < 1e-4
    assert (concentration(found, predictions).argmax(axis=1) == predictions.argmax(axis=1)).all()
    assert (concentration(asking, predictions).argmax(axis=1) != predictions.argmax(axis=1)).any()


def test_with_much_variance_the_answers_are_those_of_asking():
    logs, votes = problem(num_items=3000, seed=5)
    predictions = np.exp(logs[:, 0])
    asking, _ = fit(predictions, votes, bias=True, hyperprior=PRIOR)
    found = shrunk_params(asking, logs, votes, PRIOR, Shrinkage(strength=1e6, variance=1.0, level_variance=100.0))
    expected = concentration(asking, predictions)
    np.testing.assert_allclose(concentration(found, predictions), expected, rtol=0.03)  # the priors differ still


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.permutations(range(3)))
def test_renaming_the_classes_renames_the_parameters(seed, order):
    logs, votes = problem(seed=seed, num_items=12)
    start = PriorParams(1.0, 1.0, np.ones(3), np.zeros(3))
    found = shrunk_params(start, logs, votes, PRIOR)
    renamed = shrunk_params(start, logs[..., order], votes[:, order], PRIOR)
    assert renamed.theta == pytest.approx(found.theta, rel=1e-4)
    np.testing.assert_allclose(renamed.tau, found.tau[list(order)], rtol=1e-4)
    assert found.tau.min() > 0
    assert np.isfinite(found.bias).all()


def test_without_votes_the_parameters_are_those_given():
    logs, votes = problem()
    start = PriorParams(1.0, 1.0, np.ones(3), np.zeros(3))
    assert answer_params(start, logs, 0 * votes, PRIOR) is start
    assert answer_params(start, logs[:0], votes[:0], PRIOR) is start


def test_a_fit_is_kept_until_there_is_more_to_learn_from():
    logs, votes = problem()
    start, answers = PriorParams(1.0, 1.0, np.ones(3), np.zeros(3)), AnswerFit(PRIOR)
    first = answers.params((1, 0), start, logs, votes)
    assert answers.params((1, 0), start, logs, votes) is first
    assert answers.params((1, 1), start, logs, votes) is not first
    assert AnswerFit(None).params((1, 0), start, logs, votes) is start


def test_classes_are_told_apart_only_where_that_pays_on_votes_held_out():
    logs, votes = problem(num_items=400, seed=6)
    predictions = np.exp(logs[:, 0])
    asking, _ = fit(predictions, votes, bias=True)
    fair = answer_params(asking, logs, votes, PRIOR)  # voters follow the classifier: nothing to mend
    assert np.ptp(fair.tau) == 0
    assert (concentration(fair, predictions).argmax(axis=1) == predictions.argmax(axis=1)).all()
    alike = alike_params(asking, logs, votes, PRIOR)
    assert fair.theta == alike.theta
    votes[:, 0] += 2  # everybody likes class 0, and the classifier does not know
    biased, _ = fit(predictions, votes, bias=True)
    mended = answer_params(biased, logs, votes, PRIOR)
    said = concentration(mended, predictions).argmax(axis=1)
    assert (said == 0).sum() > 1.2 * (predictions.argmax(axis=1) == 0).sum()


def test_alike_is_the_limit_of_no_variance():
    logs, votes = problem(num_classifiers=2, num_items=200)
    start = PriorParams(1.0, 1.0, np.full((2, 3), 0.5), np.zeros(3))
    limit = shrunk_params(start, logs, votes, PRIOR, Shrinkage(strength=1e6, variance=1e-9))
    found = alike_params(start, logs, votes, PRIOR)
    assert found.theta == pytest.approx(limit.theta, rel=1e-4)
    np.testing.assert_allclose(found.tau, limit.tau, rtol=1e-3)
