"""Recorded votes -> the pilot of a plan: which items are used, the pool of each, and how missing votes are drawn.

An item with fewer votes than its pool is completed, kept with the pool it has, or dropped. Called by `plan`; the curves
ask a `Pilot` for the data of each ordering and for resampled pilots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from quorate.densities import log_dirichlet_multinomial
from quorate.errors import InvalidInput
from quorate.learning.fit import fit
from quorate.methods import Target
from quorate.prior import concentration
from quorate.rng import stream
from quorate.types import FloatArray, IntArray, PriorParams, VoteDataset, frozen_array
from quorate.validate import invalid, members

PartlyVoted = Literal["complete", "own-pool", "drop"]
FEWEST_ITEMS = 20
THETA_SCALES = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
PHI_SCALES = (1 / 64, 1 / 8, 1 / 2, 1.0, 4.0)
EM_STEPS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """What draws votes that were not cast: the learned prior, spread over items that agree more or less than it says.

    `params` of alpha = theta share + phi   `scales` (G, 2) of theta and of phi   `weights` (G,) how common each is
    """

    params: PriorParams
    scales: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """The votes a plan rests on.

    `dataset` the items that enter   `unused` items that were not drawn for it, to save time
    `pool_size` N, None: the pool of an item is the votes recorded for it   `left_out` items dropped for having fewer
    than N votes   `partly` items kept all the same   `missing` votes that these lack   `single` pools of one
    `smallest`, `largest` pool   `model` what completes the pools: None if all are whole
    `error_costs` (K, K) by truth and answer; None: every error is one   `target` what an answer is compared with
    `voter_costs` of a vote of each person, by number; None: all alike
    """

    dataset: VoteDataset
    pool_size: int | None
    partly_voted: PartlyVoted
    left_out: int
    partly: int
    missing: int
    single: int
    smallest: int
    largest: int
    model: Completion | None = None
    error_costs: FloatArray | None = None
    unused: int = 0
    target: Target = "plurality"
    voter_costs: tuple[float, ...] | None = None

    @property
    def num_items(self) -> int:
        """n."""
        return self.dataset.num_items

    @property
    def most_error(self) -> float:
        """The most one error can cost."""
        return 1.0 if self.error_costs is None else float(self.error_costs.max())

    @property
    def scored(self) -> float:
        """Share of the items whose errors are known: under "truth" those whose class is."""
        if self.target == "plurality" or self.dataset.truth is None:
            return 1.0
        return float((self.dataset.truth >= 0).mean())

    @property
    def most_counted(self) -> float:
        """The most one item can add to the sum of errors: each that is scored stands for 1 / `scored` of them."""
        return self.most_error / self.scored

    @property
    def seen(self) -> float:
        """Share of the pools' votes that were cast; 1 if none is drawn."""
        if self.model is None:
            return 1.0
        return 1 - self.missing / (self.num_items * self.largest)

    def met(self, seed: int) -> VoteDataset:
        """The pilot as one ordering meets it: where votes are missing, with others drawn by each seed."""
        if self.model is None:
            return self.dataset
        return completed(self.dataset, self.model, self.largest, rng=stream(seed, "plan-votes"))

    def rows_of_another(self, length: int, seed: int, number: int) -> IntArray:
        """The items of a resampled pilot."""
        return stream(seed, "plan-pilots", number).integers(self.num_items, size=length)

    def another(self, length: int, seed: int, number: int) -> VoteDataset:
        """`length` items drawn with replacement; what completes their pools is learned anew from them."""
        chosen = self.dataset.rows(self.rows_of_another(length, seed, number))
        if self.model is None:
            return chosen
        model = learned(chosen, start=self.model.params)
        return completed(chosen, model, self.largest, rng=stream(seed, "plan-pilots-votes", number))


def pilot_of(
    dataset: VoteDataset,
    *,
    pool_size: int | None = None,
    partly_voted: PartlyVoted = "complete",
    error_costs: FloatArray | None = None,
    most_items: int | None = None,
    target: Target = "plurality",
    voter_costs: tuple[float, ...] | None = None,
    seed: int = 0,
) -> Pilot:
    """The pilot of these votes; `pool_size`, `partly_voted` and `most_items` as `plan` takes them.

    Under target "truth" items of known class come first where not all are run: they alone can be scored.

    >>> from quorate.datasets import synthetic
    >>> data = synthetic(num_items=40, pool_size=5, seed=1)
    >>> pilot_of(data, pool_size=7).missing, pilot_of(data, pool_size=7, partly_voted="own-pool").largest
    (80, 5)
    """
    if not isinstance(partly_voted, str) or partly_voted not in get_args(PartlyVoted):
        raise invalid(
            "partly_voted", partly_voted, f"one of {', '.join(get_args(PartlyVoted))}", "choose one of these."
        )
    size = None if pool_size is None else members(pool_size)
    recorded = (dataset.votes >= 0).sum(axis=1)
    kept = recorded >= (size if size is not None and partly_voted == "drop" else 1)
    if kept.sum() < FEWEST_ITEMS:
        raise _too_few(int(kept.sum()), size, partly_voted)
    rows = np.flatnonzero(kept)
    unused = 0 if most_items is None else max(len(rows) - most_items, 0)
    if unused:
        rows = np.sort(_drawn_items(dataset, rows, most_items, target, seed))
    chosen = dataset if len(rows) == dataset.num_items else dataset.rows(rows)
    _check_truth(chosen, target)
    own = recorded[rows] if size is None else np.minimum(recorded[rows], size)
    completes = size is not None and partly_voted == "complete" and bool((own < size).any())
    if completes and voter_costs is not None:
        fix = "pass `partly_voted='own-pool'` or 'drop', or leave `costs` out."
        raise invalid("costs", f"{int((size - own).sum())} drawn votes", "costs of people; nobody cast these", fix)
    sizes = np.full(len(own), size) if completes else own
    return Pilot(
        dataset=chosen,
        pool_size=size,
        partly_voted=partly_voted,
        left_out=int((~kept).sum()),
        partly=0 if size is None else int((own < size).sum()),
        missing=0 if size is None else int((size - own).sum()),
        single=int((sizes == 1).sum()),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        model=learned(chosen) if completes else None,
        error_costs=error_costs,
        unused=unused,
        target=target,
        voter_costs=voter_costs,
    )


def _drawn_items(dataset: VoteDataset, rows: IntArray, most: int | None, target: Target, seed: int) -> IntArray:
    rng = stream(seed, "plan-items")
    if target == "plurality" or dataset.truth is None:
        return np.asarray(rng.choice(rows, most, replace=False))
    return known_first(dataset, rng.permutation(rows), target)[:most]


def known_first(dataset: VoteDataset, rows: IntArray, target: Target) -> IntArray:
    """The items in the order given; under target "truth" those of known class first, because only they are scored."""
    if target == "plurality" or dataset.truth is None:
        return rows
    return np.asarray(rows[np.argsort(dataset.truth[rows] < 0, kind="stable")])


def _check_truth(dataset: VoteDataset, target: Target) -> None:
    if target == "plurality":
        return
    known = 0 if dataset.truth is None else int((dataset.truth >= 0).sum())
    if known < FEWEST_ITEMS:
        rule = f"true classes of at least {FEWEST_ITEMS} items with votes, by which errors are counted"
        raise invalid("truth", known, rule, "pass them, or plan for the target 'plurality'.")


def _too_few(number: int, size: int | None, partly_voted: PartlyVoted) -> InvalidInput:
    if size is not None and partly_voted == "drop":
        rule = f"at least {FEWEST_ITEMS} items with so many votes; {number} have them"
        return invalid("pool_size", size, rule, "record more, lower `pool_size`, or pass `partly_voted='complete'`.")
    return invalid("votes", number, f"votes on at least {FEWEST_ITEMS} items", "record more.")


def learned(dataset: VoteDataset, start: PriorParams | None = None) -> Completion:
    """What the recorded votes, however many of each item, teach about the votes of others.

    One alpha for all items of a prediction is too even: on real sets some items are clear to everyone and some to
    nobody. Hence a mixture of multiples of its two parts, weighed by EM:  w_g ~ sum over t of P(g | votes_t).
    """
    counts = _counts(dataset)
    params, _ = fit(np.moveaxis(dataset.predictions, 0, 1), counts, start=start, bias=True)
    scales = np.array([(a, b) for a in THETA_SCALES for b in PHI_SCALES])
    log_likelihood = _log_likelihoods(params, scales, dataset, counts)  # (T, G)
    weights = np.full(len(scales), 1.0 / len(scales))
    for _ in range(EM_STEPS):
        total = _shares(log_likelihood + np.log(weights)).sum(axis=0) + 1.0 / len(scales)  # one item, spread over all
        weights = total / total.sum()
    return Completion(params, scales, weights)


def _log_likelihoods(params: PriorParams, scales: FloatArray, dataset: VoteDataset, counts: IntArray) -> FloatArray:
    alphas = _alphas(params, scales, dataset)
    return np.stack([log_dirichlet_multinomial(counts, alpha) for alpha in alphas], axis=1)


def _alphas(params: PriorParams, scales: FloatArray, dataset: VoteDataset) -> list[FloatArray]:
    """G times (T, K)."""
    prior = concentration(params, np.moveaxis(dataset.predictions, 0, 1)) - params.phi
    return [a * prior + b * params.phi for a, b in scales]


def _shares(logs: FloatArray) -> FloatArray:
    """Each row (..., G) of logarithms as shares that sum to 1."""
    risen = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(risen / risen.sum(axis=1, keepdims=True))


def completed(dataset: VoteDataset, model: Completion, pool_size: int, *, rng: np.random.Generator) -> VoteDataset:
    """Every item with at least `pool_size` votes: those that are missing are drawn given the votes seen.

    g_t ~ P(g | votes_t),   pi_t ~ Dirichlet(alpha_{t,g} + votes_t),   each missing vote ~ pi_t

    Right if votes are missing at random given the votes seen and the predictions: also where a rule stopped early.
    """
    recorded, counts = (dataset.votes >= 0).sum(axis=1), _counts(dataset)
    logs = _log_likelihoods(model.params, model.scales, dataset, counts) + np.log(model.weights)
    kinds = _drawn(_shares(logs), rng)  # (T,)
    alpha = np.stack(_alphas(model.params, model.scales, dataset))[kinds, np.arange(dataset.num_items)]
    pi = rng.standard_gamma(alpha + counts)
    votes = np.full((dataset.num_items, max(pool_size, dataset.votes.shape[1])), -1, dtype=np.int16)
    order = np.argsort(dataset.votes < 0, axis=1, kind="stable")
    votes[:, : dataset.votes.shape[1]] = np.take_along_axis(dataset.votes, order, axis=1)
    for place in range(int(recorded.min()), pool_size):
        rows = np.flatnonzero(recorded <= place)
        votes[rows, place] = _drawn(pi[rows], rng)
    return replace(dataset, votes=frozen_array(votes, np.int16), voters=None)  # nobody cast the drawn ones


def _drawn(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """One column of each row (T, G), by its weight."""
    edges = np.cumsum(weights, axis=1)
    places = (rng.random((len(edges), 1)) * edges[:, -1:] >= edges).sum(axis=1)
    return np.asarray(np.minimum(places, weights.shape[1] - 1))


def _counts(dataset: VoteDataset) -> IntArray:
    """(T, K) recorded votes by class."""
    rows, places = np.nonzero(dataset.votes >= 0)
    cells = rows * dataset.num_classes + dataset.votes[rows, places]
    shape = dataset.num_items, dataset.num_classes
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
