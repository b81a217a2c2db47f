"""The paper's estimators converge to our exact forms."""

import numpy as np
import pytest

from quorate.model.densities import log_dirichlet_multinomial
from quorate.model.learning.fit import fit
from quorate.model.learning.objective import negative_log_posterior
from quorate.model.posterior.finite import plurality_finite
from quorate.model.posterior.infinite import plurality_infinite
from quorate.model.prior import concentration, hyperprior
from quorate.types import PriorParams
from quorate_paper.as_published import (
    _at_once,
    _one_by_one,
    adam,
    importance_log_likelihood,
    importance_samples,
    importance_slope,
    stream,
    winner_finite,
    winner_infinite,
)


def window(num_items=60, num_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    predictions = rng.dirichlet(np.full(num_classes, 0.4), size=num_items)
    alpha = concentration(PriorParams(3.0, 0.1, np.ones(num_classes)), predictions)
    votes = np.array([rng.multinomial(1 + t % 4, rng.dirichlet(a)) for t, a in enumerate(alpha)])
    return predictions, votes, alpha


def sampled_error(num_samples, seed):
    """(error, standard error) of the importance-sampled probability of each item, from independent batches."""
    _, votes, alpha = window()
    batches = 20
    rng = np.random.default_rng(seed)
    samples = [importance_samples(votes, pool_size=6, num_samples=num_samples, rng=rng) for _ in range(batches)]
    estimates = np.exp([importance_log_likelihood(alpha, batch) for batch in samples])  # (batches, T)
    exact = np.exp(log_dirichlet_multinomial(votes, alpha))
    return estimates.mean(axis=0) - exact, estimates.std(axis=0, ddof=1) / np.sqrt(batches)


def test_importance_sampled_likelihood_is_unbiased_for_the_closed_form():
    error, standard_error = sampled_error(2000, seed=1)
    # 60 items, 19 degrees of freedom: |t| > 4 has probability 8e-4 an item; allow one.
    assert np.sum(np.abs(error) > 4 * standard_error) <= 1


def test_gradient_of_the_sampled_likelihood_matches_finite_differences():
    _, votes, alpha = window(num_items=5)
    samples = importance_samples(votes, pool_size=6, num_samples=50, rng=np.random.default_rng(0))
    slope, width = importance_slope(alpha, samples), 1e-6
    for k in range(4):
        move = width * np.eye(4)[k]
        up, down = (importance_log_likelihood(alpha + sign * move, samples) for sign in (1, -1))
        np.testing.assert_allclose(slope[:, k], (up - down) / (2 * width), atol=1e-6)


@pytest.mark.parametrize("votes", [[0, 0, 0], [2, 1, 0], [1, 1, 1], [3, 3, 0]])
def test_monte_carlo_finite_winner_agrees_with_the_exact_one(votes):
    alpha, size = np.array([1.5, 0.4, 0.2]), 200_000
    exact = plurality_finite(alpha, np.array(votes), pool_size=7)
    sampled = winner_finite(alpha, np.array(votes), pool_size=7, num_samples=size, rng=np.random.default_rng(3))
    assert np.all(np.abs(sampled - exact) <= 4 * np.sqrt(exact * (1 - exact) / size) + 1e-12)


@pytest.mark.parametrize("votes", [[0, 0, 0], [2, 1, 0], [1, 1, 1]])
def test_monte_carlo_infinite_winner_agrees_with_the_exact_one(votes):
    alpha, size = np.array([1.5, 0.4, 0.2]), 200_000
    exact = plurality_infinite(alpha, np.array(votes))
    sampled = winner_infinite(alpha, np.array(votes), num_samples=size, rng=np.random.default_rng(4))
    assert np.all(np.abs(sampled - exact) <= 4 * np.sqrt(exact * (1 - exact) / size) + 1e-12)


@pytest.mark.parametrize(("method", "forget"), [("infexp", False), ("finexp", False), ("finexp", True)])
def test_drawn_at_once_the_winner_has_the_distribution_of_single_draws(method, forget):
    alpha, votes, size, repeats = np.array([1.5, 0.4, 0.2]), np.array([1, 1, 0]), 50, 400
    rng = np.random.default_rng(5)
    single, at_once = (
        np.array([draw(method, alpha, votes, 6, size, rng, forget) for _ in range(repeats)])
        for draw in (_one_by_one, _at_once)
    )
    error = np.sqrt(single.var(axis=0) / repeats + at_once.var(axis=0) / repeats)
    assert np.all(np.abs(single.mean(axis=0) - at_once.mean(axis=0)) <= 4 * error + 1e-12)
    assert np.allclose(single.std(axis=0), at_once.std(axis=0), rtol=0.2, atol=1e-3)


def test_forgetting_the_votes_makes_the_winner_far_less_sure():
    alpha, votes = np.full(16, 0.05), np.zeros(16, dtype=np.int64)
    alpha[0], votes[0] = 2.0, 3
    right, released = (
        winner_finite(alpha, votes, pool_size=6, num_samples=20_000, rng=np.random.default_rng(5), forget_votes=bug)[0]
        for bug in (False, True)
    )
    assert right > 0.98
    assert released < right - 0.02


def test_ties_are_drawn_at_random():
    size = 40_000
    rng = np.random.default_rng(6)
    shares = winner_finite(np.ones(3), np.array([2, 2, 0]), pool_size=4, num_samples=size, rng=rng)
    assert shares[2] == 0
    assert abs(shares[0] - 0.5) < 4 * np.sqrt(0.25 / size)


@pytest.mark.parametrize("name", ["infexp", "finexp"])
def test_adam_reaches_the_optimum_as_closely_as_its_tolerance_allows(name):
    predictions, votes, _ = window(num_items=200)
    prior = hyperprior(name)
    best, report = fit(predictions, votes, hyperprior=name)
    found, steps = adam(prior.mode(4), predictions, votes, hyperprior=prior)
    assert steps < 1000
    gap = negative_log_posterior(found, predictions, votes, hyperprior=name) + report.log_posterior
    assert 0 <= gap < 0.5
    found, steps = adam(prior.mode(4), predictions, votes, hyperprior=prior, stop_early=False)
    assert steps == 1000
    gap = negative_log_posterior(found, predictions, votes, hyperprior=name) + report.log_posterior
    assert -1e-9 <= gap < 1e-3
    assert found.theta == pytest.approx(best.theta, abs=0.05)


@pytest.mark.parametrize("method", ["infexp", "finexp"])
def test_published_stream_runs_repeats_and_learns(method):
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 3, size=60)
    predictions = np.full((60, 3), 0.05) + 0.85 * np.eye(3)[labels]
    votes = np.where(rng.random((60, 5)) < 0.9, labels[:, None], rng.integers(0, 3, size=(60, 5)))

    def run(threshold, **options):
        return stream(votes, predictions, method=method, pool_size=5, threshold=threshold, num_samples=200,
                      rng=np.random.default_rng(9), **options)  # fmt: skip

    first, again = run(0.9), run(0.9)
    np.testing.assert_array_equal(first.costs, again.costs)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert len(first.steps) == 3
    assert np.mean(first.labels == labels) > 0.85
    assert first.costs[40:].mean() < first.costs[:20].mean()
    assert run(0.0).costs.sum() == 0
    eager = run(1.0)
    assert np.all((eager.costs >= 3) & (eager.costs <= 5))
    assert run(0.9, num_items=10).costs.size == 10


def test_published_stream_counts_only_the_votes_there_are():
    votes = np.array([[0, -1, -1], [1, 1, -1], [-1, -1, -1]])
    rng = np.random.default_rng(0)
    result = stream(votes, np.full((3, 2), 0.5), method="finexp", pool_size=3, threshold=1.0, rng=rng)
    assert result.costs.tolist() == [1, 2, 0]
    assert result.labels[:2].tolist() == [0, 1]
