"""The learning problem in the form the kernels need: votes without their zeros, parameters in one vector.

Takes user input (checked here) or the arrays of a window; called by `objective` and `fit`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quorate import validate
from quorate.compiled import kernel
from quorate.prior import Hyperprior
from quorate.types import FloatArray, IntArray, PriorParams


class Evidence(NamedTuple):
    """Predictions and votes of the T items that have votes.

    `log_predictions` (T, M, K)   `first` (T+1,): item t voted for classes[first[t]:first[t+1]], in rising order,
    sizes[...] times each; items[...] is t
    `more_than` (max n,) how many items have more than s votes
    """

    log_predictions: FloatArray
    first: IntArray
    classes: IntArray
    sizes: IntArray
    more_than: IntArray
    items: IntArray


class HyperpriorNumbers(NamedTuple):
    """A `quorate.prior.Hyperprior` for kernels; `tau_sd` 0: the tau are independent; `bias_df` 0: a Normal."""

    shape: float
    rate: float
    phi_shape: float
    phi_rate: float
    tau_sd: float
    bias_sd: float
    bias_df: float


def numbers_of(hyperprior: Hyperprior, num_classes: int) -> HyperpriorNumbers:
    """The hyperprior as kernels take it."""
    phi_shape, phi_rate = hyperprior.phi_density(num_classes)
    return HyperpriorNumbers(
        shape=hyperprior.shape,
        rate=hyperprior.rate,
        phi_shape=phi_shape,
        phi_rate=phi_rate,
        tau_sd=hyperprior.tau_sd,
        bias_sd=hyperprior.bias_sd,
        bias_df=hyperprior.bias_df,
    )


class Traces(NamedTuple):
    """Intermediate results of `objective.evaluate` for `curvature`.

    `share` (T, K) softmax s   `slopes`, `bends` d_k = sum_{s<h_k} 1/(alpha_k+s) and e_k = -sum 1/(alpha_k+s)^2 of the
    classes voted for   `sums` (T, 3) = sum_k d_k s_k, sum_k e_k s_k, sum_k e_k s_k^2
    """

    share: FloatArray
    slopes: FloatArray
    bends: FloatArray
    sums: FloatArray


@kernel
def compress(log_predictions: FloatArray, votes: IntArray) -> Evidence:
    """The votes of some items without their zeros, so that an item with n votes costs n, not K.

    log_predictions (., M, K), votes (., K). Items without votes are left out: they contribute nothing.

    sum_k alpha_k is the same for every item, so all denominators together need one logarithm for each vote count that
    occurs, not for each vote: hence `more_than`.
    """
    num_items, num_classes = votes.shape
    filled = 0
    most = 0
    num_voted = 0
    for item in range(num_items):
        total = 0
        for k in range(num_classes):
            total += votes[item, k]
            filled += votes[item, k] > 0
        most = max(most, total)
        num_voted += total > 0
    voted = np.empty(num_voted, np.int64)
    first = np.zeros(num_voted + 1, np.int64)
    classes = np.empty(filled, np.int64)
    sizes = np.empty(filled, np.int64)
    items = np.empty(filled, np.int64)
    more_than = np.zeros(most, np.int64)
    place = 0
    t = 0
    for item in range(num_items):
        total = 0
        for k in range(num_classes):
            if votes[item, k] > 0:
                classes[place] = k
                sizes[place] = votes[item, k]
                items[place] = t
                total += votes[item, k]
                place += 1
        if total > 0:
            more_than[total - 1] += 1
            voted[t] = item
            t += 1
            first[t] = place
    for s in range(most - 2, -1, -1):
        more_than[s] += more_than[s + 1]
    kept = log_predictions if num_voted == num_items else log_predictions[voted]
    return Evidence(kept, first, classes, sizes, more_than, items)


@kernel
def empty_traces(evidence: Evidence) -> Traces:
    """Uninitialised traces for this evidence."""
    num_items, _, num_classes = evidence.log_predictions.shape
    filled = evidence.classes.size
    return Traces(np.empty((num_items, num_classes)), np.empty(filled), np.empty(filled), np.empty((num_items, 3)))


def pack(params: PriorParams) -> FloatArray:
    """The parameters (not their logarithms) in one vector (P,): [theta, phi, tau row by row, bias].

    >>> pack(PriorParams(theta=4.0, phi=0.5, tau=[1.0, 2.0]))
    array([4. , 0.5, 1. , 2. ])
    """
    parts = [np.array([params.theta, params.phi]), params.tau.ravel()]
    return np.concatenate(parts if params.bias is None else [*parts, params.bias])


def unpack(packed: FloatArray, tau_shape: tuple[int, ...]) -> PriorParams:
    """The parameters of a packed vector (P,); `tau_shape` is (K,) or (M, K). Entries after tau are the bias.

    >>> unpack(np.array([4.0, 0.5, 1.0, 2.0]), (2,)).tau
    array([1., 2.])
    """
    end = 2 + math.prod(tau_shape)
    bias = packed[end:] if packed.size > end else None
    return PriorParams(float(packed[0]), float(packed[1]), packed[2:end].reshape(tau_shape), bias)


@kernel
def unpacked(packed: FloatArray, num_classifiers: int, num_classes: int) -> tuple[float, float, FloatArray, FloatArray]:
    """theta, phi, tau (M, K), bias (K,) of a packed vector (P,), for kernels; the bias is 0 if none is learned."""
    end = 2 + num_classifiers * num_classes
    tau = packed[2:end].reshape((num_classifiers, num_classes))
    bias = packed[end:] if packed.size > end else np.zeros(num_classes)
    return packed[0], packed[1], tau, bias


def checked_window(predictions: ArrayLike, votes: ArrayLike) -> tuple[FloatArray, IntArray, tuple[int, ...]]:
    """Validated log predictions (T, M, K), votes (T, K) and shape of tau, contiguous for the kernels.

    >>> checked_window([[0.5, 0.5]], [[1, 0]])[2]
    (2,)
    """
    counts = validate.counts(votes)
    probs = validate.probabilities(predictions, where="predictions")
    matches = probs.ndim in (2, 3) and counts.ndim == 2 and probs.shape[0] == counts.shape[0]
    if not matches or probs.shape[-1] != counts.shape[-1]:
        rule = f"shape (T, K), with `predictions` (T, K) or (T, M, K), not {counts.shape} with {probs.shape}"
        raise validate.invalid("votes", counts.tolist(), rule, "pass a row of votes for every prediction.")
    tau_shape = probs.shape[1:]
    num_classifiers = tau_shape[0] if len(tau_shape) == 2 else 1
    log_predictions = np.log(probs).reshape(counts.shape[0], num_classifiers, counts.shape[1])
    return np.ascontiguousarray(log_predictions), np.ascontiguousarray(counts), tau_shape
