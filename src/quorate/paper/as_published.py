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
    """The distinct histograms H of the pool proposed for each item: one row of unseen votes each, item by item.

    `places` (E,) of each unseen vote, in a flat table (T, K, N) of class and equal votes before it; T K N for "no vote"
    `rows` (R,) where the votes of a histogram start   `items` (T,) where the histograms of an item start
    `log_weight` (R,) the part of their weight that does not depend on alpha: log [hypergeometric / proposal], how often
    they were drawn, and the equal factors of seen votes   `seen` (T, K) votes   `num_samples` drawn for each item
    """

    places: IntArray
    rows: IntArray
    items: IntArray
    log_weight: FloatArray
    seen: IntArray
    pool_size: int
    num_samples: int


def importance_samples(
    votes: IntArray, *, pool_size: int, num_samples: int, rng: np.random.Generator
) -> ImportanceSamples:
    """S histograms for each item from the paper's proposal q: votes + Multinomial(N - n, (votes + 1) / (n + K)).

    p(votes) = E_q[p(H | alpha) p(votes | H) / q(H)], where H! and (H - votes)! cancel against the coefficients.

    >>> rng = np.random.default_rng(0)
    >>> importance_samples(np.array([[2, 1, 0]]), pool_size=6, num_samples=500, rng=rng).rows.shape  # 3 unseen
    (9,)
    """
    num_classes, parts = votes.shape[1], []
    mark = np.random.default_rng(0).random(num_classes)  # histograms with equal sums of these are equal
    for item, seen in enumerate(votes):
        num_seen = int(seen.sum())
        chances = (seen + 1) / (num_seen + num_classes)
        drawn = rng.multinomial(pool_size - num_seen, chances, size=num_samples)
        _, one_of_each, times = np.unique(drawn @ mark, return_index=True, return_counts=True)
        unseen = drawn[one_of_each]
        labels = np.tile(np.arange(num_classes), len(unseen)).repeat(unseen.ravel()).reshape(len(unseen), -1)
        column = np.arange(labels.shape[1])
        first = np.maximum.accumulate(np.where(np.diff(labels, axis=1, prepend=-1) != 0, column, 0), axis=1)
        places = (item * num_classes + labels) * pool_size + seen[labels] + column - first
        if not labels.shape[1]:
            places = np.full((1, 1), votes.size * pool_size)
        parts.append((places, np.log(times) - unseen @ np.log(chances)))
    lengths = np.concatenate([np.full(len(places), places.shape[1]) for places, _ in parts])
    many = np.array([len(places) for places, _ in parts])
    return ImportanceSamples(
        places=np.concatenate([places.ravel() for places, _ in parts]),
        rows=np.cumsum(lengths) - lengths,
        items=np.cumsum(many) - many,
        log_weight=np.concatenate([log_weight for _, log_weight in parts]),
        seen=votes,
        pool_size=pool_size,
        num_samples=num_samples,
    )


def importance_log_likelihood(alpha: FloatArray, samples: ImportanceSamples) -> FloatArray:
    """Log of the importance-sampled FinExp likelihood of each item: alpha (T, K) -> (T,). Unbiased before the log.

    >>> rng = np.random.default_rng(0)
    >>> votes = np.array([[1, 0]])
    >>> samples = importance_samples(votes, pool_size=3, num_samples=4000, rng=rng)
    >>> float(np.exp(importance_log_likelihood(np.array([[3.0, 1.0]]), samples))[0].round(1))
    0.8
    """
    log_terms, highest = _log_terms(alpha, samples)
    found = highest + np.log(np.add.reduceat(np.exp(log_terms), samples.items) / samples.num_samples)
    seen, steps = samples.seen, np.arange(samples.pool_size)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(steps + 1.0))])
    found += log_factorial[seen.sum(axis=1)] - log_factorial[seen].sum(axis=1)
    found += (np.log(alpha[..., None] + steps) * (steps < seen[..., None])).sum(axis=(1, 2))
    return np.asarray(found - np.log(alpha.sum(axis=1)[:, None] + steps).sum(axis=1))


def importance_slope(alpha: FloatArray, samples: ImportanceSamples) -> FloatArray:
    """Gradient of `importance_log_likelihood` in alpha, the samples held fixed: (T, K) -> (T, K).

    >>> samples = importance_samples(np.array([[2, 0]]), pool_size=2, num_samples=2, rng=np.random.default_rng(0))
    >>> importance_slope(np.array([[1.0, 1.0]]), samples).round(4)
    array([[ 0.6667, -0.8333]])
    """
    weights = np.exp(_log_terms(alpha, samples)[0])
    ends = np.append(samples.items[1:], len(weights))
    weights /= np.add.reduceat(weights, samples.items).repeat(ends - samples.items)
    lengths = np.diff(np.append(samples.rows, len(samples.places)))
    mass = np.bincount(samples.places, weights=weights.repeat(lengths), minlength=alpha.size * samples.pool_size + 1)
    steps = np.arange(samples.pool_size)
    counted = mass[:-1].reshape(*alpha.shape, -1) + (steps < samples.seen[..., None])
    from_total = (1 / (alpha.sum(axis=1)[:, None] + steps)).sum(axis=1)
    return np.asarray((counted / (alpha[..., None] + steps)).sum(axis=-1) - from_total[:, None])


def _log_terms(alpha: FloatArray, samples: ImportanceSamples) -> tuple[FloatArray, FloatArray]:
    """Log weights (R,) of the histograms, less the largest of their item, and these (T,); without equal factors."""
    table = np.append(np.log(alpha[..., None] + np.arange(samples.pool_size)), 0.0)
    log_terms = samples.log_weight + np.add.reduceat(table.take(samples.places), samples.rows)
    highest = np.maximum.reduceat(log_terms, samples.items)
    ends = np.append(samples.items[1:], len(log_terms))
    return log_terms - highest.repeat(ends - samples.items), np.asarray(highest)


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
