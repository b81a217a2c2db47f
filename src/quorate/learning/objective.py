"""The objective of learning: minus the log posterior of the parameters, given predictions and votes.

FinExp and InfExp share it, because their likelihoods are equal (docs/maths.md). Takes predictions and votes; returns
the value, its gradient and (by `curvature`) its Hessian. `fit` calls the kernel `evaluate`.

The value is -log [ p(votes in their order | Theta) p(Theta) ], with p(Theta) normalised unless `tau_sd` is above 0. It
has the probability of the ordered votes, not of their histogram: the multinomial coefficient, which does not depend on
Theta, is left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from quorate.compiled import kernel, kernel_or
from quorate.densities import rise
from quorate.learning import curvature
from quorate.learning.hyperprior_terms import add_hyperprior
from quorate.learning.problem import (
    Evidence,
    HyperpriorNumbers,
    Traces,
    checked_window,
    compress,
    empty_traces,
    numbers_of,
    pack,
)
from quorate.learning.softmax import softmax_rows
from quorate.prior import Hyperprior
from quorate.prior import hyperprior as find_hyperprior
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import invalid

_FEW = 8  # counts up to this: `rise` written out


def negative_log_posterior(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "infexp"
) -> float:
    r"""-log p(votes | Theta) - log p(Theta), the MAP objective: density over Theta itself, no Jacobian.

    -sum_t [ sum_k sum_{s<h_tk} ln(alpha_tk + s) - sum_{s<n_t} ln(sum_k alpha_tk + s) ] - log p(Theta)

    predictions (T, K) or (T, M, K), votes (T, K) counts. Items without votes contribute nothing.

    >>> params = PriorParams(theta=1.0, phi=1.0, tau=[1.0, 1.0])
    >>> round(negative_log_posterior(params, [[0.5, 0.5]], [[1, 0]]), 6)
    3.14797
    """
    return _Evaluation(params, predictions, votes, hyperprior).value


def negative_log_posterior_gradient(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "infexp"
) -> FloatArray:
    """Gradient (P,) of `negative_log_posterior` in x = [log theta, log phi, log tau (M*K, row by row), bias (K)].

    With d_k = sum_{s<h_k} 1/(alpha_k+s) and s = softmax: d/dz_k = -theta s_k (d_k - sum_j d_j s_j), z the logits.

    >>> params = PriorParams(theta=1.0, phi=1.0, tau=[1.0, 2.0])
    >>> negative_log_posterior_gradient(params, [[0.5, 0.5]], [[0, 0]])
    array([0., 0., 0., 2.])
    """
    return _Evaluation(params, predictions, votes, hyperprior).gradient


def negative_log_posterior_hessian(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "infexp"
) -> FloatArray:
    """Hessian (P, P) of `negative_log_posterior` in the x of `negative_log_posterior_gradient`.

    >>> params = PriorParams(theta=1.0, phi=1.0, tau=[1.0, 1.0])
    >>> np.diag(negative_log_posterior_hessian(params, [[0.5, 0.5]], [[0, 0]]))
    array([2., 2., 2., 2.])
    """
    return _Evaluation(params, predictions, votes, hyperprior).hessian()


class _Evaluation:
    """The objective at one point of validated input."""

    def __init__(
        self, params: PriorParams, predictions: ArrayLike, votes: ArrayLike, hyperprior: str | Hyperprior
    ) -> None:
        prior = find_hyperprior(hyperprior)
        log_predictions, counts, tau_shape = checked_window(predictions, votes)
        if params.tau.shape != tau_shape:
            rule = f"tau of shape {tau_shape}, like `predictions`, not {params.tau.shape}"
            raise invalid("params", params, rule, "pass parameters for the same classifiers and classes.")
        self.packed = pack(params)
        self.evidence = compress(log_predictions, counts)
        self.hyperprior = numbers_of(prior, params.num_classes)
        self.traces = empty_traces(self.evidence)
        self.gradient = np.empty(self.packed.size)
        self.value = float(evaluate(self.packed, self.evidence, self.hyperprior, self.traces, self.gradient))

    def hessian(self) -> FloatArray:
        """(P, P)."""
        out = np.empty((self.packed.size, self.packed.size))
        curvature.hessian(self.packed, self.evidence, self.hyperprior, self.traces, self.gradient, out)
        return out


@kernel
def evaluate(
    packed: FloatArray, evidence: Evidence, hyperprior: HyperpriorNumbers, traces: Traces, gradient: FloatArray
) -> float:
    """Value at the parameters `packed` (P,); fills the gradient (P,) in x and the traces."""
    log_predictions, first, classes, sizes, more_than, items = evidence
    share, slopes, bends, sums = traces
    num_classifiers, num_classes = log_predictions.shape[1:]
    num_logs = 2 + num_classifiers * num_classes
    theta = packed[0]
    phi = packed[1]
    softmax_rows(packed, log_predictions, share)
    own = np.empty(classes.size)  # shares of the classes voted for
    for entry in range(own.size):
        own[entry] = share[items[entry], classes[entry]]
    log_likelihood, phi_slope = _rises(theta, phi, own, sizes, slopes, bends)
    theta_slope = 0.0
    for t in range(first.size - 1):
        slope_share = 0.0
        bend_share = 0.0
        bend_share_share = 0.0
        for entry in range(first[t], first[t + 1]):
            bent = bends[entry] * own[entry]
            slope_share += slopes[entry] * own[entry]
            bend_share += bent
            bend_share_share += bent * own[entry]
        sums[t, 0] = slope_share
        sums[t, 1] = bend_share
        sums[t, 2] = bend_share_share
        theta_slope += slope_share
    gradient[:] = 0.0  # the log likelihood's slope in Theta until the end
    # d log likelihood / d z_k = theta s_k (d_k - slope_share): the classes with votes, and a multiple of s.
    for m in range(num_classifiers):
        row = gradient[2 + m * num_classes : 2 + (m + 1) * num_classes]
        for entry in range(own.size):
            k = classes[entry]
            row[k] += slopes[entry] * own[entry] * log_predictions[items[entry], m, k]
        _subtract_means(sums, share, log_predictions, m, row)
    if packed.size > num_logs:
        row = gradient[num_logs:]
        for entry in range(own.size):
            row[classes[entry]] += slopes[entry] * own[entry]
        for t in range(first.size - 1):
            s = share[t]
            for k in range(num_classes):
                row[k] -= sums[t, 0] * s[k]
    total = theta + num_classes * phi
    for votes in range(more_than.size):
        log_likelihood -= more_than[votes] * math.log(total + votes)
        theta_slope -= more_than[votes] / (total + votes)
        phi_slope -= num_classes * (more_than[votes] / (total + votes))
    gradient[2:] *= theta
    gradient[0] = theta_slope
    gradient[1] = phi_slope
    value: float = add_hyperprior(packed, num_classifiers, num_logs, hyperprior, gradient)
    return value - log_likelihood


@kernel
def _rises(
    theta: float, phi: float, own: FloatArray, sizes: IntArray, slopes: FloatArray, bends: FloatArray
) -> tuple[float, float]:
    """The sum of ln Gamma(alpha + h) - ln Gamma(alpha), alpha = theta own + phi, and its slope in phi.

    Fills the first two derivatives in alpha. The terms of first votes come first, because their loop has no branches
    and becomes vector instructions.
    """
    for entry in range(own.size):
        inverse = 1.0 / (theta * own[entry] + phi)
        slopes[entry] = inverse
        bends[entry] = -inverse * inverse
    log_likelihood = 0.0
    phi_slope = 0.0
    product = 1.0  # one logarithm for the factors of many classes, before they can overflow
    for entry in range(own.size):
        alpha = theta * own[entry] + phi
        if sizes[entry] <= _FEW and 1e-30 < alpha < 1e20:
            product *= alpha
            slope = slopes[entry]
            bend = bends[entry]
            for votes in range(1, sizes[entry]):
                factor = alpha + votes
                inverse = 1.0 / factor
                product *= factor
                slope += inverse
                bend -= inverse * inverse
            if product > 1e100 or product < 1e-100:
                log_likelihood += math.log(product)
                product = 1.0
        else:
            log_rise, slope, bend = rise(alpha, sizes[entry])
            log_likelihood += log_rise
        slopes[entry] = slope
        bends[entry] = bend
        phi_slope += slope
    return log_likelihood + math.log(product), phi_slope


def _plain_subtract_means(
    sums: FloatArray, share: FloatArray, log_predictions: FloatArray, m: int, row: FloatArray
) -> None:
    """`_subtract_means` by NumPy."""
    terms = sums[:, :1] * (share * log_predictions[:, m])
    whole = len(terms) & ~3
    for i in range(0, whole, 4):
        row -= (terms[i] + terms[i + 1]) + (terms[i + 2] + terms[i + 3])
    for i in range(whole, len(terms)):
        row -= terms[i]


@kernel_or(_plain_subtract_means)
def _subtract_means(sums: FloatArray, share: FloatArray, log_predictions: FloatArray, m: int, row: FloatArray) -> None:
    """row[k] -= sum_t (sum_j d_j s_j)_t s_tk log f_tmk, four items t in one pass."""
    whole = len(share) & ~3
    for t in range(0, whole, 4):
        s0, s1, s2, s3 = share[t], share[t + 1], share[t + 2], share[t + 3]
        l0, l1 = log_predictions[t, m], log_predictions[t + 1, m]
        l2, l3 = log_predictions[t + 2, m], log_predictions[t + 3, m]
        c0, c1, c2, c3 = sums[t, 0], sums[t + 1, 0], sums[t + 2, 0], sums[t + 3, 0]
        for k in range(row.size):
            row[k] -= (c0 * (s0[k] * l0[k]) + c1 * (s1[k] * l1[k])) + (c2 * (s2[k] * l2[k]) + c3 * (s3[k] * l3[k]))
    for t in range(whole, len(share)):
        for k in range(row.size):
            row[k] -= sums[t, 0] * (share[t, k] * log_predictions[t, m, k])
