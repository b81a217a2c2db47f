"""The paper's own estimators, in plain vectorised NumPy: importance sampling, Monte Carlo, Adam. For comparison only.

quorate does not decide with these; tests show that they converge to the exact forms, benchmarks time them.
One classifier, as in the paper's experiments. Where the paper leaves a choice open, the cheaper one is used: the
importance samples are drawn once for each item, not once per refit or step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.model import Hyperprior, plurality_finite, plurality_infinite
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import floored, invalid
from quorate_paper.settings import (
    ADAM_PATIENCE,
    ADAM_RATE,
    ADAM_STEPS,
    ADAM_TOLERANCE,
    FINEXP,
    INFEXP,
    REFIT_EVERY,
    SAMPLES,
    WINDOW,
)


class Proposed(NamedTuple):
    """The distinct histograms H of the pool proposed for one item, of D drawn.

    `places` (N - n, D) of each unseen vote in a flat table (K, N) of class and equal votes before it
    `log_weight` (D,) the part of their weight that does not depend on alpha: log [hypergeometric / proposal], how often
    they were drawn, and the equal factors of seen votes
    """

    places: IntArray
    log_weight: FloatArray


class ImportanceSamples(NamedTuple):
    """The proposed histograms of T items, those with the most unseen votes first.

    `order` (T,) of the items   `starts` (T,) where the histograms of each begin   `places`: of the first, second, ...
    unseen vote in a flat table (T, K, N), for the histograms that have it, which come first   `log_weight` (R,)
    `seen` (T, K) votes, in the items' own order   `num_samples` drawn for each item
    """

    order: IntArray
    starts: IntArray
    places: tuple[IntArray, ...]
    log_weight: FloatArray
    seen: IntArray
    pool_size: int
    num_samples: int


def proposed(seen: IntArray, *, pool_size: int, num_samples: int, rng: np.random.Generator) -> Proposed:
    """Histograms from the paper's proposal q: votes + Multinomial(N - n, (votes + 1) / (n + K)).

    p(votes) = E_q[p(H | alpha) p(votes | H) / q(H)], where H! and (H - votes)! cancel against the coefficients.
    """
    num_classes, num_unseen = len(seen), pool_size - int(seen.sum())
    chances = (seen + 1) / (pool_size - num_unseen + num_classes)
    drawn = rng.multinomial(num_unseen, chances, size=num_samples)
    mark = np.random.default_rng(0).random(num_classes)  # histograms with equal sums of these are equal
    _, one_of_each, times = np.unique(drawn @ mark, return_index=True, return_counts=True)
    unseen = drawn[one_of_each]
    labels = np.tile(np.arange(num_classes), len(unseen)).repeat(unseen.ravel()).reshape(len(unseen), -1)
    column = np.arange(num_unseen)
    first = np.maximum.accumulate(np.where(np.diff(labels, axis=1, prepend=-1) != 0, column, 0), axis=1)
    places = labels * pool_size + seen[labels] + column - first
    return Proposed(np.ascontiguousarray(places.T), np.log(times) - unseen @ np.log(chances))


def joined(items: Sequence[Proposed], seen: IntArray, *, pool_size: int, num_samples: int) -> ImportanceSamples:
    """The histograms of these items, whose votes `seen` (T, K) are, for one fit."""
    order = np.argsort(seen.sum(axis=1), kind="stable")  # by falling number of unseen votes
    sizes = np.array([len(items[item].log_weight) for item in order])
    size = seen.shape[1] * pool_size
    votes: list[list[IntArray]] = [[] for _ in range(pool_size)]
    for item in order:
        for number, places in enumerate(items[item].places):
            votes[number].append(places + item * size)
    return ImportanceSamples(
        order=order,
        starts=np.cumsum(sizes) - sizes,
        places=tuple(np.concatenate(parts) for parts in votes if parts),
        log_weight=np.concatenate([items[item].log_weight for item in order]),
        seen=seen,
        pool_size=pool_size,
        num_samples=num_samples,
    )


def importance_samples(
    votes: IntArray, *, pool_size: int, num_samples: int, rng: np.random.Generator
) -> ImportanceSamples:
    """Proposed histograms for each item: votes (T, K).

    >>> rng = np.random.default_rng(0)
    >>> importance_samples(np.array([[2, 1, 0]]), pool_size=6, num_samples=500, rng=rng).log_weight.shape  # 3 unseen
    (9,)
    """
    items = [proposed(seen, pool_size=pool_size, num_samples=num_samples, rng=rng) for seen in votes]
    return joined(items, votes, pool_size=pool_size, num_samples=num_samples)


def importance_log_likelihood(alpha: FloatArray, samples: ImportanceSamples) -> FloatArray:
    """Log of the importance-sampled FinExp likelihood of each item: alpha (T, K) -> (T,). Unbiased before the log.

    >>> rng = np.random.default_rng(0)
    >>> votes = np.array([[1, 0]])
    >>> samples = importance_samples(votes, pool_size=3, num_samples=4000, rng=rng)
    >>> float(np.exp(importance_log_likelihood(np.array([[3.0, 1.0]]), samples))[0].round(1))
    0.8
    """
    log_terms, highest = _log_terms(alpha, samples)
    found = np.empty(len(alpha))
    found[samples.order] = highest + np.log(np.add.reduceat(np.exp(log_terms), samples.starts) / samples.num_samples)
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
    weights /= np.add.reduceat(weights, samples.starts).repeat(_sizes(samples))
    mass = np.zeros(alpha.size * samples.pool_size)
    for places in samples.places:
        mass += np.bincount(places, weights=weights[: len(places)], minlength=mass.size)
    steps = np.arange(samples.pool_size)
    counted = mass.reshape(*alpha.shape, -1) + (steps < samples.seen[..., None])
    from_total = (1 / (alpha.sum(axis=1)[:, None] + steps)).sum(axis=1)
    return np.asarray((counted / (alpha[..., None] + steps)).sum(axis=-1) - from_total[:, None])


def _log_terms(alpha: FloatArray, samples: ImportanceSamples) -> tuple[FloatArray, FloatArray]:
    """Log weights (R,) of the histograms, less the largest of their item, and these (T,); without equal factors."""
    table = np.log(alpha[..., None] + np.arange(samples.pool_size)).ravel()
    log_terms = samples.log_weight.copy()
    for places in samples.places:
        log_terms[: len(places)] += table.take(places)
    highest = np.maximum.reduceat(log_terms, samples.starts)
    return log_terms - highest.repeat(_sizes(samples)), np.asarray(highest)


def _sizes(samples: ImportanceSamples) -> IntArray:
    return np.diff(np.append(samples.starts, len(samples.log_weight)))


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
    num_classes, num_unseen = len(alpha), pool_size - int(votes.sum())
    total, chance = float(alpha.sum() + votes.sum()), np.cumsum(alpha + votes)
    drawn = np.searchsorted(chance, rng.random((num_unseen, num_samples)) * chance[-1], side="right")  # from the prior
    column, copied = np.arange(num_samples), rng.random((num_unseen, num_samples))
    for vote in range(1, num_unseen):  # Polya's urn: the next vote copies an earlier one, or is new
        earlier = (copied[vote] * (total + vote)).astype(np.int64)
        repeats = earlier < vote
        drawn[vote, repeats] = drawn[earlier[repeats], column[repeats]]
    totals = np.bincount((drawn + column * num_classes).ravel(), minlength=num_samples * num_classes)
    totals = totals.reshape(num_samples, num_classes)
    return _shares(totals if forget_votes else totals + votes, rng)


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
    hyperprior: Hyperprior = INFEXP,
    samples: ImportanceSamples | None = None,
    num_steps: int = ADAM_STEPS,
    stop_early: bool = True,
) -> tuple[PriorParams, int]:
    """The paper's optimiser: Adam, rate 0.1, on softplus^-1(Theta); predictions (T, K), votes (T, K), all n > 0.

    Ends after `num_steps`, or when no parameter has changed by 0.01 in a step for 10 steps in a row (`stop_early`).
    `samples` selects the importance-sampled FinExp likelihood, None the closed form. Returns Theta and the steps.

    >>> start = INFEXP.mode(2)
    >>> params, steps = adam(start, np.array([[0.9, 0.1]] * 5), np.array([[3, 0]] * 5))
    >>> params.theta > 1, steps < 1000
    (True, True)
    """
    if hyperprior != Hyperprior(hyperprior.shape, hyperprior.rate):
        raise invalid("hyperprior", hyperprior, "a shape and a rate only, like the paper's", "pass 'infexp'.")
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
    window: int | None = WINDOW,
    refit_every: int = REFIT_EVERY,
    num_samples: int = SAMPLES,
    num_items: int | None = None,
    hyperprior: Hyperprior | None = None,
    forget_votes: bool = False,
    num_steps: int = ADAM_STEPS,
    likelihood: Literal["sampled", "closed"] = "sampled",
    at_once: bool = False,
) -> StreamResult:
    """The published algorithm over a prepared stream: votes (T, N) in asking order, -1 for none; predictions (T, K).

    Ask while the Monte-Carlo winner's probability is not above the threshold and the pool is not settled; every
    `refit_every` items refit on the last `window` items with votes. `num_items` runs only the first of them.
    The hyperprior is the paper's: Gamma(1.1, 1) for FinExp, Gamma(3, 2) for InfExp. `likelihood="closed"` fits FinExp
    to the closed form that its importance samples estimate, in a fraction of the time; the rest is as published.
    `at_once`: how often each class wins in `num_samples` draws is drawn from its exact probability, as one multinomial
    draw: the same distribution, in a fraction of the time.

    >>> votes, predictions = np.zeros((3, 4), int), np.full((3, 2), 0.5)
    >>> rng = np.random.default_rng(0)
    >>> stream(votes, predictions, method="infexp", pool_size=4, threshold=0.99, rng=rng).costs
    array([3, 3, 3])
    """
    prior = hyperprior or {"finexp": FINEXP, "infexp": INFEXP}[method]
    predictions = floored(np.asarray(predictions, dtype=np.float64))
    total, num_classes = (len(votes) if num_items is None else num_items), predictions.shape[1]
    params, seen = prior.mode(num_classes), np.zeros((total, num_classes), dtype=np.int64)
    labels, steps, drawn = np.zeros(total, dtype=np.int64), [], dict[int, Proposed]()
    for item in range(total):
        ballots = votes[item][votes[item] >= 0][:pool_size]
        alpha = _alpha(params, predictions[item])
        while True:
            if _is_settled(seen[item], ballots.size):
                labels[item] = _shares(seen[item][None], rng).argmax()
                break
            winner = _at_once if at_once else _one_by_one
            probs = winner(method, alpha, seen[item], ballots.size, num_samples, rng, forget_votes)
            labels[item] = probs.argmax()
            if probs.max() > threshold:
                break
            seen[item, ballots[seen[item].sum()]] += 1
        if (item + 1) % refit_every == 0:
            rows = np.flatnonzero(seen[: item + 1].sum(axis=1))[-(window or total) :]
            if rows.size:
                samples = None
                if method == "finexp" and likelihood == "sampled":
                    for row in rows:
                        if row not in drawn:
                            drawn[row] = proposed(seen[row], pool_size=pool_size, num_samples=num_samples, rng=rng)
                    items = [drawn[row] for row in rows]
                    samples = joined(items, seen[rows], pool_size=pool_size, num_samples=num_samples)
                params, taken = adam(params, predictions[rows], seen[rows], hyperprior=prior, samples=samples,
                                     num_steps=num_steps)  # fmt: skip
                steps.append(taken)
    return StreamResult(seen.sum(axis=1), labels, tuple(steps))


def _one_by_one(
    method: str, alpha: FloatArray, seen: IntArray, size: int, num_samples: int, rng: np.random.Generator, forget: bool
) -> FloatArray:
    if method == "infexp":
        return winner_infinite(alpha, seen, num_samples=num_samples, rng=rng)
    return winner_finite(alpha, seen, pool_size=size, num_samples=num_samples, rng=rng, forget_votes=forget)


def _at_once(
    method: str, alpha: FloatArray, seen: IntArray, size: int, num_samples: int, rng: np.random.Generator, forget: bool
) -> FloatArray:
    if method == "infexp":
        exact = plurality_infinite(alpha, seen)
    elif forget:  # the winner of the unseen votes alone
        exact = plurality_finite(alpha + seen, np.zeros_like(seen), pool_size=size - int(seen.sum()))
    else:
        exact = plurality_finite(alpha, seen, pool_size=size)
    return np.asarray(rng.multinomial(num_samples, exact / exact.sum()) / num_samples)


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
