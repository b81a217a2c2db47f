"""The search: same optimum from every start, correct reports, cheap refits, both kinds of Newton step."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma
from tests.refusals import refused

from quorate.model.densities import log_dirichlet_multinomial
from quorate.model.learning.fit import DENSE_LIMIT, fit, fit_packed, report_of
from quorate.model.learning.objective import (
    negative_log_posterior,
    negative_log_posterior_gradient,
    negative_log_posterior_hessian,
)
from quorate.model.learning.problem import checked_window, numbers_of, pack, unpack
from quorate.model.prior import Hyperprior, concentration, hyperprior
from quorate.types import PriorParams

DEFAULT = numbers_of(hyperprior("infexp"), 2)


def voted(params, num_items, seed, num_votes=4):
    """Predictions of an uneven classifier, and votes drawn from the model at `params`; some items have none."""
    rng = np.random.default_rng(seed)
    shape = params.tau.shape
    predictions = rng.dirichlet(np.full(shape[-1], 0.3), size=(num_items, *shape[:-1]))
    alpha = concentration(params, predictions)
    counts = rng.integers(0, num_votes + 1, size=num_items)
    votes = np.array([rng.multinomial(n, rng.dirichlet(a)) for n, a in zip(counts, alpha, strict=True)])
    return predictions, votes


def truth(num_classifiers=1, num_classes=5, with_bias=False):
    rng = np.random.default_rng(11)
    shape = (num_classes,) if num_classifiers == 1 else (num_classifiers, num_classes)
    tau = rng.uniform(0.4, 1.6, size=shape) / num_classifiers
    return PriorParams(3.0, 0.05, tau, rng.normal(size=num_classes) if with_bias else None)


def wild_starts(tau_shape, with_bias):
    rng = np.random.default_rng(2)
    for theta in (1e-6, 1e6):
        for phi in (1e-6, 1e6):
            for tau in (1e-4, 1e3):
                yield PriorParams(theta, phi, np.full(tau_shape, tau))
    for _ in range(4):
        tau = 10 ** rng.uniform(-4, 3, size=tau_shape)
        bias = 5 * rng.normal(size=tau_shape[-1]) if with_bias else None
        yield PriorParams(10 ** rng.uniform(-6, 6), 10 ** rng.uniform(-6, 6), tau, bias)
    yield PriorParams(1e-300, 1e300, np.full(tau_shape, 1e300))


CASES = [(m, b, name) for m in (1, 3) for b in (False, True) for name in ("infexp", "finexp", "value")]


@pytest.mark.parametrize(("num_classifiers", "with_bias", "name"), CASES)
def test_every_start_reaches_the_same_optimum(num_classifiers, with_bias, name):
    predictions, votes = voted(truth(num_classifiers, with_bias=with_bias), 200, seed=0)
    params, report = fit(predictions, votes, hyperprior=name, bias=with_bias)
    assert report.converged
    for start in wild_starts(params.tau.shape, with_bias):
        other, other_report = fit(predictions, votes, hyperprior=name, bias=with_bias, start=start)
        assert other_report.converged
        assert other_report.log_posterior == pytest.approx(report.log_posterior, rel=1e-12)
        np.testing.assert_allclose(pack(other), pack(params), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("num_classifiers", "with_bias"), [(1, False), (3, True)])
def test_the_hessian_is_that_of_the_objective_at_the_maximum_on_request(num_classifiers, with_bias):
    predictions, votes = voted(truth(num_classifiers, with_bias=with_bias), 60, seed=0)
    params, report = fit(predictions, votes, bias=with_bias, hessian=True)
    np.testing.assert_allclose(report.hessian, negative_log_posterior_hessian(params, predictions, votes), rtol=1e-9)
    assert np.linalg.eigvalsh(report.hessian).min() > 0
    assert fit(predictions, votes, bias=with_bias)[1].hessian is None


@pytest.mark.parametrize("name", ["infexp", "finexp"])
@pytest.mark.parametrize("num_classifiers", [1, 3])
@pytest.mark.parametrize("far", [3e3, 1e4, 1e6])
def test_a_bias_however_far_reaches_the_same_optimum(far, num_classifiers, name):
    predictions, votes = voted(truth(num_classifiers, with_bias=True), 200, seed=0)
    params, _ = fit(predictions, votes, hyperprior=name, bias=True)
    biases = [far * np.eye(5)[0], -far * np.eye(5)[1], np.full(5, far), far * np.random.default_rng(3).normal(size=5)]
    for start in wild_starts(params.tau.shape, with_bias=True):
        for bias in biases:
            away = PriorParams(start.theta, start.phi, start.tau, bias)
            other, report = fit(predictions, votes, hyperprior=name, bias=True, start=away)
            assert report.converged
            np.testing.assert_allclose(pack(other), pack(params), rtol=1e-6, atol=1e-6)


def test_a_far_bias_with_hardly_any_votes_is_brought_back_in_a_few_steps():
    start = PriorParams(1, 1, [1, 1], [3000.0, 0])
    params, report = fit([[0.9, 0.1], [0.2, 0.8]], [[1, 0], [0, 2]], start=start, bias=True)
    assert report.converged
    assert report.num_iterations <= 10
    assert np.abs(params.bias).max() < 1


@pytest.mark.parametrize(("num_classifiers", "with_bias", "name"), CASES)
def test_report_says_what_is_true(num_classifiers, with_bias, name):
    predictions, votes = voted(truth(num_classifiers, with_bias=with_bias), 150, seed=1)
    params, report = fit(predictions, votes, hyperprior=name, bias=with_bias)
    value = negative_log_posterior(params, predictions, votes, hyperprior=name)
    gradient = negative_log_posterior_gradient(params, predictions, votes, hyperprior=name)
    curvature = negative_log_posterior_hessian(params, predictions, votes, hyperprior=name)
    assert report.log_posterior == pytest.approx(-value, rel=1e-13)
    assert np.abs(gradient).max() / max(1, abs(value)) < 1.01e-10
    assert report.gradient_norm < 1e-10
    assert report.num_evaluations > report.num_iterations > 0
    assert np.linalg.eigvalsh(curvature).min() > 0
    assert (params.bias is not None) == with_bias


def test_report_of_an_unfinished_search_is_not_converged():
    assert not report_of(np.array([400.0, 500.0, 1e-5, -3.0])).converged
    assert report_of(np.array([4.0, 5.0, 1e-7, -3.0])).converged


@pytest.mark.parametrize("num_classifiers", [1, 3])
@pytest.mark.parametrize("start", [None, "far"])
def test_without_votes_the_mode_of_the_prior_is_returned(num_classifiers, start):
    shape = (4,) if num_classifiers == 1 else (3, 4)
    far = None if start is None else PriorParams(40.0, 1e-3, np.full(shape, 9.0), np.full(4, 2.0))
    predictions = np.random.default_rng(0).dirichlet(np.ones(4), size=(6, *shape[:-1]))
    mode = hyperprior("finexp").mode(4, num_classifiers, with_bias=True)
    for rows in (0, 6):
        params, report = fit(predictions[:rows], np.zeros((rows, 4)), hyperprior="finexp", start=far, bias=True)
        np.testing.assert_allclose(pack(params), pack(mode), rtol=1e-9, atol=1e-9)
        assert report.converged


def test_known_parameters_are_recovered_as_items_accumulate():
    known = truth(num_classes=4, with_bias=True)
    known = PriorParams(known.theta, known.phi, known.tau, known.bias - known.bias.mean())
    errors = []
    for num_items in (100, 2000, 40_000):
        predictions, votes = voted(known, num_items, seed=4, num_votes=8)
        params, report = fit(predictions, votes, bias=True)
        assert report.converged
        errors.append(np.abs(pack(params) - pack(known)).max())
    assert errors[2] < errors[1] < errors[0]
    # At the last size: within 5 standard errors, from the curvature at the optimum (in logarithms and bias).
    spread = np.sqrt(np.diag(np.linalg.inv(negative_log_posterior_hessian(params, predictions, votes))))
    end = 2 + known.tau.size
    found, wanted = pack(params), pack(known)
    off = np.concatenate([np.log(found[:end]) - np.log(wanted[:end]), found[end:] - wanted[end:]])
    assert np.all(np.abs(off) < 5 * spread)


@pytest.mark.parametrize(("num_classifiers", "with_bias"), [(1, False), (1, True), (3, True)])
@pytest.mark.parametrize("shift", [1, 20])
def test_warm_start_takes_at_most_five_iterations(num_classifiers, with_bias, shift):
    predictions, votes = voted(truth(num_classifiers, 8, with_bias), 520, seed=5)
    last, _ = fit(predictions[:500], votes[:500], bias=with_bias)
    _, report = fit(predictions[shift : 500 + shift], votes[shift : 500 + shift], start=last, bias=with_bias)
    assert report.converged
    assert report.num_iterations <= 5


@pytest.mark.parametrize(("num_classifiers", "with_bias"), [(1, False), (1, True), (3, True)])
def test_a_refit_is_converged_and_reports_what_is_true(num_classifiers, with_bias):
    predictions, votes = voted(truth(num_classifiers, 8, with_bias), 900, seed=15)
    params, _ = fit(predictions[:500], votes[:500], bias=with_bias)
    log_predictions, counts, tau_shape = checked_window(predictions, votes)
    for first in range(20, 420, 20):
        window = slice(first, first + 500)
        exact, _ = fit(predictions[window], votes[window], start=params, bias=with_bias)
        packed, report = fit_packed(pack(params), log_predictions[window], counts[window], DEFAULT, is_refit=True)
        params = unpack(packed, tau_shape)
        value = negative_log_posterior(params, predictions[window], votes[window])
        gradient = negative_log_posterior_gradient(params, predictions[window], votes[window])
        assert report.gradient_norm == pytest.approx(np.abs(gradient).max() / max(1, abs(value)), rel=1e-3, abs=1e-14)
        assert report.log_posterior == pytest.approx(-value, rel=1e-13)
        assert report.gradient_norm < 3e-8
        np.testing.assert_allclose(pack(params), pack(exact), rtol=1e-4, atol=1e-5)
        assert report.num_evaluations == report.num_iterations + 1  # at the start, and after each step


def test_restart_at_the_optimum_stays_there():
    predictions, votes = voted(truth(), 300, seed=6)
    params, _ = fit(predictions, votes)
    again, report = fit(predictions, votes, start=params)
    assert report.num_iterations <= 1
    np.testing.assert_allclose(pack(again), pack(params), rtol=1e-9)


@pytest.mark.parametrize(("num_classifiers", "with_bias", "name"), CASES)
def test_conjugate_gradients_find_the_same_optimum_from_every_start(num_classifiers, with_bias, name):
    """So many classes that no matrix is made; a step by the whole Hessian from the optimum then leads nowhere."""
    num_classes = DENSE_LIMIT // num_classifiers
    predictions, votes = voted(truth(num_classifiers, num_classes, with_bias), 100, seed=7)
    results = []
    for start in [None, *islice(wild_starts(predictions.shape[1:], with_bias), 8, 10)]:
        params, report = fit(predictions, votes, hyperprior=name, start=start, bias=with_bias)
        assert report.converged
        results.append(pack(params))
    np.testing.assert_allclose(results, np.tile(results[0], (len(results), 1)), rtol=1e-6, atol=1e-6)
    gradient = negative_log_posterior_gradient(params, predictions, votes, hyperprior=name)
    hessian = negative_log_posterior_hessian(params, predictions, votes, hyperprior=name)
    assert np.abs(np.linalg.solve(hessian, gradient)).max() < 1e-7


def test_a_thousand_classes_are_fitted_without_a_matrix():
    num_classes = 1000
    assert 2 + num_classes > DENSE_LIMIT
    predictions, votes = voted(PriorParams(5.0, 0.01, np.ones(num_classes)), 60, seed=8)
    params, report = fit(predictions, votes)
    gradient = negative_log_posterior_gradient(params, predictions, votes)
    assert report.converged
    assert np.abs(gradient).max() < 1e-6


def test_many_votes_an_item_are_no_obstacle():
    predictions, votes = voted(PriorParams(5.0, 0.3, np.ones(3)), 300, seed=9, num_votes=1000)
    params, report = fit(predictions, votes)
    assert report.converged
    assert params.theta == pytest.approx(5.0, rel=0.3)


def test_unanimous_votes_do_not_break_the_search():
    predictions = np.tile([1.0, 0.0, 0.0], (50, 1))
    for row in ([6, 0, 0], [0, 6, 0]):
        params, report = fit(predictions, np.tile(row, (50, 1)), bias=True)
        assert report.converged
        assert np.all(np.isfinite(pack(params)))


def test_a_smaller_tau_sd_draws_the_tau_together():
    predictions, votes = voted(PriorParams(3.0, 0.05, [0.3, 2.0, 1.0, 1.0]), 60, seed=3)
    spreads = []
    for tau_sd in (0.0, 0.5, 0.2, 1e-5):
        params, report = fit(predictions, votes, hyperprior=Hyperprior(3.0, 2.0, tau_sd=tau_sd))
        assert report.converged
        spreads.append(float(np.ptp(np.log(params.tau))))
    assert spreads == sorted(spreads, reverse=True) and spreads[0] > 0.5 and spreads[-1] < 1e-6


def test_with_a_prior_for_each_parameter_the_maximum_is_the_one_that_scipy_finds():
    prior = Hyperprior(theta=(4.0, 0.5), phi=(1.2, 3.0), tau=(6.0, 5.0))
    predictions, votes = voted(truth(), 40, seed=3)
    alone, report = fit(predictions, votes, hyperprior=prior)

    def minus_log_posterior(logs):
        params = PriorParams(np.exp(logs[0]), np.exp(logs[1]), np.exp(logs[2:]))
        likelihood = log_dirichlet_multinomial(votes, concentration(params, predictions)).sum()
        values, (shapes, rates) = pack(params), np.array([(4.0, 0.5), (1.2, 3.0), *[(6.0, 5.0)] * params.tau.size]).T
        return -likelihood - gamma(a=shapes, scale=1 / rates).logpdf(values).sum()

    found = minimize(minus_log_posterior, np.zeros(2 + alone.tau.size), method="BFGS", options={"gtol": 1e-7})
    assert report.converged
    np.testing.assert_allclose(np.log(pack(alone)), found.x, atol=1e-4)
    shared, _ = fit(predictions, votes, hyperprior=Hyperprior(3.0, 2.0))
    assert np.abs(np.log(pack(alone) / pack(shared))).max() > 0.2


def test_a_start_without_bias_begins_at_bias_zero():
    predictions, votes = voted(truth(with_bias=True), 100, seed=12)
    start = PriorParams(2.0, 0.2, np.ones(5))
    with_zero = PriorParams(2.0, 0.2, np.ones(5), np.zeros(5))
    one, _ = fit(predictions, votes, bias=True, start=start)
    two, _ = fit(predictions, votes, bias=True, start=with_zero)
    np.testing.assert_array_equal(pack(one), pack(two))


def test_starts_that_do_not_fit_are_refused():
    predictions, votes = voted(truth(), 10, seed=13)
    with refused("start") as caught:
        fit(predictions, votes, start=PriorParams(1, 1, np.ones(4)))
    assert "not (4,)" in caught.value.rule
    with refused("start") as caught:
        fit(predictions, votes, start=PriorParams(1, 1, np.ones(5), np.zeros(5)))
    assert "`bias=True`" in caught.value.fix


def test_inputs_are_left_unchanged():
    predictions, votes = voted(truth(), 20, seed=14)
    copies = predictions.copy(), votes.copy()
    fit(predictions, votes)
    np.testing.assert_array_equal(predictions, copies[0])
    np.testing.assert_array_equal(votes, copies[1])


@pytest.mark.parametrize("model", [0, 4])
@pytest.mark.parametrize("first", [100, 1500])
def test_wild_starts_agree_on_the_shift_data(data_dir, model, first):
    data = np.load(data_dir / "imagenet16h_shift.npz", allow_pickle=False)
    order = np.random.default_rng(0).permutation(1200)[:500] + (first >= 1200) * 1200
    predictions = data["probs"][model, order]
    votes = np.stack([np.bincount(row[: 1 + t % 6], minlength=16) for t, row in enumerate(data["votes"][order])])
    params, report = fit(predictions, votes, bias=True)
    for start in wild_starts((16,), True):
        other, other_report = fit(predictions, votes, bias=True, start=start)
        assert other_report.log_posterior == pytest.approx(report.log_posterior, rel=1e-12)
        np.testing.assert_allclose(pack(other), pack(params), rtol=1e-6, atol=1e-6)
