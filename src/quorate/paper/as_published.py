"""The paper's own estimators, in plain vectorised NumPy: importance sampling, Monte Carlo, Adam. For comparison only.

quorate does not decide with these; tests show that they converge to the exact forms, benchmarks time them.
One classifier, as in the paper's experiments. Where the paper leaves a choice open, the cheaper one is used: the
importance samples are drawn once per refit, not once per step.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.prior import HYPERPRIORS, Hyperprior
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import floored, invalid

ADAM_RATE, ADAM_STEPS, ADAM_TOLERANCE, ADAM_PATIENCE = 0.1, 1000, 0.01, 10


class ImportanceSamples(NamedTuple):
    """Histograms of the whole pool proposed for each item, and the part of their weight that does not depend on alpha.

    `places` (T, S, K) index of (item, class, count) in a flat table (T, K, N+1)   `log_weight` (T, S)
    """

    places: IntArray
    log_weight: FloatArray
    pool_size: int


def importance_samples(
    votes: IntArray, *, pool_size: int, num_samples: int, rng: np.random.Generator
) -> ImportanceSamples:
    """S histograms for each item from the paper's proposal q: votes + Multinomial(N - n, (votes + 1) / (n + K)).

    log weight = log HyperGeo(votes; H) - log q(H) + log multinomial coefficient of H, so that
    p(votes) = E_q[exp(log weight) prod_k Gamma(alpha_k + H_k)/Gamma(alpha_k) Gamma(A) / Gamma(A + N)].

    >>> rng = np.random.default_rng(0)
    >>> importance_samples(np.array([[2, 1, 0]]), pool_size=6, num_samples=5, rng=rng).places.shape
    (1, 5, 3)
    """
    num_items, num_classes = votes.shape
    num_votes = votes.sum(axis=1)
    chances = (votes + 1) / (num_votes[:, None] + num_classes)  # (T, K)
    unseen = rng.multinomial((pool_size - num_votes)[:, None], chances[:, None, :], size=(num_items, num_samples))
    histograms = votes[:, None, :] + unseen  # (T, S, K)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, pool_size + 1)))])
    # HyperGeo = prod_k C(H_k, h_k) / C(N, n); H! and (H - h)! cancel against the two multinomial coefficients.
    constant = log_factorial[num_votes] - log_factorial[votes].sum(axis=1)
    log_weight = constant[:, None] - (unseen * np.log(chances)[:, None, :]).sum(axis=-1)
    row = np.arange(num_items)[:, None, None] * num_classes + np.arange(num_classes)
    return ImportanceSamples(row * (pool_size + 1) + histograms, log_weight, pool_size)


def importance_log_likelihood(alpha: FloatArray, samples: ImportanceSamples) -> FloatArray:
    """Log of the importance-sampled FinExp likelihood of each item: alpha (T, K) -> (T,). Unbiased before the log.

    >>> rng = np.random.default_rng(0)
    >>> votes = np.array([[1, 0]])
    >>> samples = importance_samples(votes, pool_size=3, num_samples=4000, rng=rng)
    >>> float(np.exp(importance_log_likelihood(np.array([[3.0, 1.0]]), samples))[0].round(1))
    0.8
    """
    log_terms = _log_terms(alpha, samples)
    highest = log_terms.max(axis=1)
    return np.asarray(highest + np.log(np.exp(log_terms - highest[:, None]).mean(axis=1)))


def importance_slope(alpha: FloatArray, samples: ImportanceSamples) -> FloatArray:
    """Gradient of `importance_log_likelihood` in alpha, the samples held fixed: (T, K) -> (T, K).

    >>> samples = importance_samples(np.array([[2, 0]]), pool_size=2, num_samples=2, rng=np.random.default_rng(0))
    >>> importance_slope(np.array([[1.0, 1.0]]), samples).round(4)
    array([[ 0.6667, -0.8333]])
    """
    log_terms = _log_terms(alpha, samples)
    weights = np.exp(log_terms - log_terms.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    pool = np.arange(samples.pool_size)
    slopes = _running_sum(1 / (alpha[..., None] + pool)).take(samples.places)  # (T, S, K)
    from_total = (1 / (alpha.sum(axis=1)[:, None] + pool)).sum(axis=1)
    return np.asarray(np.einsum("ts,tsk->tk", weights, slopes) - from_total[:, None])


def _log_terms(alpha: FloatArray, samples: ImportanceSamples) -> FloatArray:
    """log [p(H | alpha) p(votes | H) / q(H)] of every sample: (T, S)."""
    pool = np.arange(samples.pool_size)
    table = _running_sum(np.log(alpha[..., None] + pool))
    from_total = np.log(alpha.sum(axis=1)[:, None] + pool).sum(axis=1)
    return np.asarray(samples.log_weight + table.take(samples.places).sum(axis=-1) - from_total[:, None])


def _running_sum(terms: FloatArray) -> FloatArray:
    """sum_{s<h} terms[..., s] for h = 0 .. N: (T, K, N) -> (T, K, N+1)."""
    return np.concatenate([np.zeros((*terms.shape[:-1], 1)), np.cumsum(terms, axis=-1)], axis=-1)


def winner_finite(
    alpha: FloatArray,
    votes: IntArray,
    *,
    pool_size: int,
    num_samples: int,
    rng: np.random.Generator,
    forget_votes: bool = False,
) -> FloatArray:
    """Monte-Carlo probability that each class wins the pool: H = votes + DirMult(N - n, alpha + votes), ties random.

    alpha (K,), votes (K,) -> (K,). `forget_votes=True` repeats the error of the authors' released code: the votes
    already seen are left out of the final count.

    >>> rng = np.random.default_rng(0)
    >>> winner_finite(np.ones(2), np.array([2, 0]), pool_size=3, num_samples=10, rng=rng)
    array([1., 0.])
    """
    pi = rng.dirichlet(alpha + votes, size=num_samples)  # (S, K)
    totals = rng.multinomial(pool_size - int(votes.sum()), pi)
    if not forget_votes:
        totals += votes
    return _shares(totals, rng)


def winner_infinite(alpha: FloatArray, votes: IntArray, *, num_samples: int, rng: np.random.Generator) -> FloatArray:
    """Monte-Carlo probability that each class has the largest pi, pi ~ Dirichlet(alpha + votes): (K,) -> (K,).

    >>> winner_infinite(np.array([90.0, 10.0]), np.array([0, 0]), num_samples=10, rng=np.random.default_rng(0))
    array([1., 0.])
    """
    return _shares(rng.dirichlet(alpha + votes, size=num_samples), rng)


def _shares(totals: NDArray[np.int64] | FloatArray, rng: np.random.Generator) -> FloatArray:
    """How often each column is the largest of its row, ties broken at random: (S, K) -> (K,)."""
    winners = totals.argmax(axis=1)
    is_top = totals == totals[np.arange(winners.size), winners][:, None]
    tied = np.flatnonzero(is_top.sum(axis=1) > 1)
    winners[tied] = (rng.random((tied.size, totals.shape[1])) * is_top[tied]).argmax(axis=1)
    return np.asarray(np.bincount(winners, minlength=totals.shape[1]) / winners.size)


class _Objective:
    """Gradient of the negative log posterior in (theta, phi, tau), vectorised over the window."""

    def __init__(
        self, predictions: FloatArray, votes: IntArray, prior: Hyperprior, samples: ImportanceSamples | None
    ) -> None:
        self.log_predictions, self.prior, self.samples = np.log(floored(predictions)), prior, samples
        item, label = np.nonzero(votes)
        times = votes[item, label]
        ends = np.cumsum(times)
        self.places = np.repeat(item * votes.shape[1] + label, times)  # one entry for each vote
        self.earlier = np.arange(self.places.size) - np.repeat(ends - times, times)  # earlier equal votes of the item
        num_votes = votes.sum(axis=1)
        self.steps = np.arange(num_votes.max(initial=0))
        self.more_than = (num_votes[:, None] > self.steps).sum(axis=0)

    def gradient(self, values: FloatArray) -> FloatArray:
        """values = [theta, phi, tau (K)] -> the same shape."""
        theta, phi = values[0], values[1]
        share = self.log_predictions * values[2:]  # (T, K)
        share -= share.max(axis=1, keepdims=True)
        np.exp(share, out=share)
        share /= share.sum(axis=1, keepdims=True)
        slope, from_total = self._slope(theta * share + phi)
        mean_slope = np.einsum("tk,tk->t", slope, share)
        out = np.empty_like(values)
        out[0] = mean_slope.sum() - from_total
        out[1] = slope.sum() - share.shape[1] * from_total
        slope -= mean_slope[:, None]
        share *= self.log_predictions
        out[2:] = theta * np.einsum("tk,tk->k", share, slope)
        return np.asarray(self.prior.rate - (self.prior.shape - 1) / values - out)

    def _slope(self, alpha: FloatArray) -> tuple[FloatArray, float]:
        """d log likelihood / d alpha_tk without the term common to all classes of an item, and the sum of that term."""
        if self.samples is not None:
            return importance_slope(alpha, self.samples), 0.0
        inverse = 1 / (alpha.ravel()[self.places] + self.earlier)
        counted = np.bincount(self.places, weights=inverse, minlength=alpha.size)
        slope: FloatArray = counted.astype(np.float64, copy=False).reshape(alpha.shape)
        # theta + K phi is the same for every item: the whole window needs one division per vote count.
        return slope, float((self.more_than / (alpha[:1].sum() + self.steps)).sum())


def adam(
    start: PriorParams,
    predictions: FloatArray,
    votes: IntArray,
    *,
    hyperprior: Hyperprior = HYPERPRIORS["infexp"],
    samples: ImportanceSamples | None = None,
    num_steps: int = ADAM_STEPS,
    stop_early: bool = True,
) -> tuple[PriorParams, int]:
    """The paper's optimiser: Adam, rate 0.1, on softplus^-1(Theta); predictions (T, K), votes (T, K), all n > 0.

    Ends after `num_steps`, or when no parameter has changed by 0.01 in a step for 10 steps in a row (`stop_early`).
    `samples` selects the importance-sampled FinExp likelihood, None the closed form. Returns Theta and the steps.

    >>> start = HYPERPRIORS["infexp"].mode(2)
    >>> params, steps = adam(start, np.array([[0.9, 0.1]] * 5), np.array([[3, 0]] * 5))
    >>> params.theta > 1, steps < 1000
    (True, True)
    """
    if hyperprior.phi_sum or hyperprior.tau_sd:
        raise invalid("hyperprior", hyperprior, "one without phi_sum and tau_sd, like the paper's", "pass 'infexp'.")
    objective = _Objective(predictions, votes, hyperprior, samples)
    values = np.concatenate([[start.theta, start.phi], start.tau])
    free = values + np.log(-np.expm1(-values))  # softplus^-1
    mean, square, quiet = np.zeros_like(free), np.zeros_like(free), 0
    for step in range(1, num_steps + 1):
        slope = objective.gradient(values) * -np.expm1(-values)  # d softplus(x) / dx = 1 - exp(-softplus(x))
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        free -= ADAM_RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        before, values = values, np.logaddexp(0.0, free)
        quiet = quiet + 1 if np.abs(values - before).max() < ADAM_TOLERANCE else 0
        if stop_early and quiet >= ADAM_PATIENCE:
            break
    return PriorParams(float(values[0]), float(values[1]), values[2:]), step


class StreamResult(NamedTuple):
    """The results of a stream: `costs` (T,) votes asked, `labels` (T,) answers, Adam steps of every refit."""

    costs: IntArray
    labels: IntArray
    steps: tuple[int, ...]


def stream(
    votes: NDArray[np.integer],
    predictions: FloatArray,
    *,
    method: Literal["infexp", "finexp"],
    pool_size: int,
    threshold: float,
    rng: np.random.Generator,
    window: int = 500,
    refit_every: int = 20,
    num_samples: int = 1000,
    num_items: int | None = None,
    hyperprior: Hyperprior | None = None,
    forget_votes: bool = False,
    num_steps: int = ADAM_STEPS,
    likelihood: Literal["sampled", "closed"] = "sampled",
) -> StreamResult:
    """The published algorithm over a prepared stream: votes (T, N) in asking order, -1 for none; predictions (T, K).

    Ask while the Monte-Carlo winner's probability is not above the threshold and the pool is not settled; every
    `refit_every` items refit on the last `window` items with votes. `num_items` runs only the first of them.
    The hyperprior is the paper's: Gamma(1.1, 1) for FinExp, Gamma(3, 2) for InfExp. `likelihood="closed"` fits FinExp
    to the closed form that its importance samples estimate, in a fraction of the time; the rest is as published.

    >>> votes, predictions = np.zeros((3, 4), int), np.full((3, 2), 0.5)
    >>> rng = np.random.default_rng(0)
    >>> stream(votes, predictions, method="infexp", pool_size=4, threshold=0.99, rng=rng).costs
    array([3, 3, 3])
    """
    prior = hyperprior or HYPERPRIORS[method]
    predictions = floored(np.asarray(predictions, dtype=np.float64))
    total, num_classes = (len(votes) if num_items is None else num_items), predictions.shape[1]
    params, seen = prior.mode(num_classes), np.zeros((total, num_classes), dtype=np.int64)
    labels, steps = np.zeros(total, dtype=np.int64), []
    for item in range(total):
        ballots = votes[item][votes[item] >= 0][:pool_size]
        alpha = _alpha(params, predictions[item])
        while True:
            if _is_settled(seen[item], ballots.size):
                labels[item] = _shares(seen[item][None], rng).argmax()
                break
            if method == "finexp":
                probs = winner_finite(alpha, seen[item], pool_size=ballots.size, num_samples=num_samples, rng=rng,
                                      forget_votes=forget_votes)  # fmt: skip
            else:
                probs = winner_infinite(alpha, seen[item], num_samples=num_samples, rng=rng)
            labels[item] = probs.argmax()
            if probs.max() > threshold:
                break
            seen[item, ballots[seen[item].sum()]] += 1
        if (item + 1) % refit_every == 0:
            rows = np.flatnonzero(seen[: item + 1].sum(axis=1))[-window:]
            if rows.size:
                samples = None
                if method == "finexp" and likelihood == "sampled":
                    samples = importance_samples(seen[rows], pool_size=pool_size, num_samples=num_samples, rng=rng)
                params, taken = adam(params, predictions[rows], seen[rows], hyperprior=prior, samples=samples,
                                     num_steps=num_steps)  # fmt: skip
                steps.append(taken)
    return StreamResult(seen.sum(axis=1), labels, tuple(steps))


def _alpha(params: PriorParams, prediction: FloatArray) -> FloatArray:
    """theta * softmax(tau * log f) + phi: (K,)."""
    logits = params.tau * np.log(prediction)
    share = np.exp(logits - logits.max())
    return np.asarray(params.theta * share / share.sum() + params.phi)


def _is_settled(votes: IntArray, pool_size: int) -> bool:
    """True when no remaining vote can change the winner, or none remains."""
    second, top = np.sort(votes)[-2:]
    remaining = pool_size - int(votes.sum())
    return remaining == 0 or bool(second + remaining < top)
