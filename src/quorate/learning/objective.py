"""The objective of learning: minus the log posterior of the parameters, given predictions and votes.

FinExp and InfExp share it, because their likelihoods are equal (docs/maths.md). Takes predictions and votes; returns
the value, its gradient and (by `curvature`) its Hessian. `fit` calls the kernel `evaluate`.

The value is -log [ p(votes in their order | Theta) p(Theta) ], with p(Theta) normalised. It is the probability of the
ordered votes, not of their histogram: the multinomial coefficient, which does not depend on Theta, is left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from quorate.compiled import kernel
from quorate.densities import log_gamma, rise
from quorate.learning import curvature
from quorate.learning.problem import Evidence, HyperpriorNumbers, Traces, checked_window, compress, empty_traces, pack
from quorate.learning.softmax import softmax_rows
from quorate.prior import Hyperprior
from quorate.prior import hyperprior as find_hyperprior
from quorate.types import FloatArray, PriorParams
from quorate.validate import broken

_FEW = 8  # counts up to this: `rise` written out


def negative_log_posterior(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "default"
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
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "default"
) -> FloatArray:
    """Gradient (P,) of `negative_log_posterior` in x = [log theta, log phi, log tau (M*K, row by row), bias (K)].

    With d_k = sum_{s<h_k} 1/(alpha_k+s) and s = softmax: d/dz_k = -theta s_k (d_k - sum_j d_j s_j), z the logits.

    >>> params = PriorParams(theta=1.0, phi=1.0, tau=[1.0, 2.0])
    >>> negative_log_posterior_gradient(params, [[0.5, 0.5]], [[0, 0]])
    array([0., 0., 0., 2.])
    """
    return _Evaluation(params, predictions, votes, hyperprior).gradient


def negative_log_posterior_hessian(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "default"
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
            raise broken("params", params, rule, "pass parameters for the same classifiers and classes.")
        self.packed = pack(params)
        self.evidence = compress(log_predictions, counts)
        self.hyperprior = HyperpriorNumbers(*prior.numbers)
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
    log_predictions, first, classes, sizes, more_than = evidence
    share, slopes, bends, sums = traces
    num_classifiers, num_classes = log_predictions.shape[1:]
    num_logs = 2 + num_classifiers * num_classes
    with_bias = packed.size > num_logs
    theta = packed[0]
    phi = packed[1]
    softmax_rows(packed, log_predictions, share)
    gradient[:] = 0.0  # the log likelihood's slope in Theta until the end
    log_likelihood = 0.0
    product = 1.0  # one logarithm for the factors of many classes, before they can overflow
    theta_slope = 0.0
    phi_slope = 0.0
    for t in range(first.size - 1):
        if first[t] == first[t + 1]:
            continue
        s = share[t]
        slope_share = 0.0
        bend_share = 0.0
        bend_share_share = 0.0
        for entry in range(first[t], first[t + 1]):
            own_share = s[classes[entry]]
            alpha = theta * own_share + phi
            if sizes[entry] <= _FEW and 1e-30 < alpha < 1e20:
                slope = 0.0
                bend = 0.0
                for votes in range(sizes[entry]):
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
            slope_share += slope * own_share
            bend_share += bend * own_share
            bend_share_share += bend * own_share * own_share
        sums[t, 0] = slope_share
        sums[t, 1] = bend_share
        sums[t, 2] = bend_share_share
        theta_slope += slope_share
        # d log likelihood / d z_k = theta s_k (d_k - slope_share): a multiple of s, plus the classes with votes.
        for m in range(num_classifiers):
            row = gradient[2 + m * num_classes : 2 + (m + 1) * num_classes]
            spoken = log_predictions[t, m]
            for k in range(num_classes):
                row[k] -= slope_share * s[k] * spoken[k]
            for entry in range(first[t], first[t + 1]):
                k = classes[entry]
                row[k] += slopes[entry] * s[k] * spoken[k]
        if with_bias:
            row = gradient[num_logs:]
            for k in range(num_classes):
                row[k] -= slope_share * s[k]
            for entry in range(first[t], first[t + 1]):
                row[classes[entry]] += slopes[entry] * s[classes[entry]]
    log_likelihood += math.log(product)
    total = theta + num_classes * phi
    for votes in range(more_than.size):
        log_likelihood -= more_than[votes] * math.log(total + votes)
        theta_slope -= more_than[votes] / (total + votes)
        phi_slope -= num_classes * (more_than[votes] / (total + votes))
    gradient[2:] *= theta
    gradient[0] = theta_slope
    gradient[1] = phi_slope
    value: float = _add_hyperprior(packed, num_classifiers, num_logs, hyperprior, gradient)
    return value - log_likelihood


@kernel
def _add_hyperprior(
    packed: FloatArray, num_classifiers: int, num_logs: int, hyperprior: HyperpriorNumbers, gradient: FloatArray
) -> float:
    """-log p(Theta); turns the log likelihood's slope in Theta into the objective's gradient in x."""
    shape, rate, bias_sd, bias_df = hyperprior
    value = 0.0
    log_constant = log_gamma(shape)
    first_constant = log_constant - shape * math.log(rate)  # of theta and phi
    tau_constant = log_constant - shape * math.log(rate * num_classifiers)
    for p in range(num_logs):
        own_rate = rate if p < 2 else rate * num_classifiers
        value += first_constant if p < 2 else tau_constant
        value += own_rate * packed[p] - (shape - 1.0) * math.log(packed[p])
        gradient[p] = own_rate * packed[p] - (shape - 1.0) - packed[p] * gradient[p]
    if bias_df > 0.0 and packed.size > num_logs:
        return value + _add_student(packed, num_logs, bias_sd, bias_df, gradient)
    for p in range(num_logs, packed.size):
        spread = packed[p] / bias_sd
        value += 0.5 * math.log(2.0 * math.pi) + math.log(bias_sd) + 0.5 * spread * spread
        gradient[p] = spread / bias_sd - gradient[p]
    return value


@kernel
def _add_student(packed: FloatArray, num_logs: int, bias_sd: float, bias_df: float, gradient: FloatArray) -> float:
    """-log p of a bias (K,) with Student's distribution; fills the bias part of the gradient."""
    num_classes = packed.size - num_logs
    half = 0.5 * (bias_df + num_classes)
    squares = curvature.sum_of_squares(packed, num_logs)
    scale = bias_df * bias_sd * bias_sd
    for p in range(num_logs, packed.size):
        gradient[p] = 2.0 * half * packed[p] / (scale + squares) - gradient[p]
    value = log_gamma(0.5 * bias_df) - log_gamma(half) + 0.5 * num_classes * math.log(scale * math.pi)
    return float(value + half * math.log1p(squares / scale))
