"""The objective of learning: minus the log posterior of the parameters, given predictions and votes.

FinExp and InfExp share it, because their likelihoods are equal (docs/maths.md). Takes predictions and votes; returns
the value, its gradient and its Hessian. The method is in core/objective.cpp and core/curvature.cpp.

The value is -log [ p(votes in their order | Theta) p(Theta) ], with p(Theta) normalised unless `tau_sd` is above 0. It
has the probability of the ordered votes, not of their histogram: the multinomial coefficient, which does not depend on
Theta, is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quorate import core
from quorate.model.learning.problem import HyperpriorNumbers, checked_window, numbers_of, pack
from quorate.model.prior import Hyperprior
from quorate.model.prior import hyperprior as find_hyperprior
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import invalid

WHOLE, DIAGONAL, PRODUCT = 1, 2, 3  # what to compute of the second derivatives


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
    return _evaluated(params, predictions, votes, hyperprior).value


def negative_log_posterior_gradient(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "infexp"
) -> FloatArray:
    """Gradient (P,) of `negative_log_posterior` in x = [log theta, log phi, log tau (M*K, row by row), bias (K)].

    With d_k = sum_{s<h_k} 1/(alpha_k+s) and s = softmax: d/dz_k = -theta s_k (d_k - sum_j d_j s_j), z the logits.

    >>> params = PriorParams(theta=1.0, phi=1.0, tau=[1.0, 2.0])
    >>> negative_log_posterior_gradient(params, [[0.5, 0.5]], [[0, 0]])
    array([0., 0., 0., 2.])
    """
    return _evaluated(params, predictions, votes, hyperprior).gradient


def negative_log_posterior_hessian(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, *, hyperprior: str | Hyperprior = "infexp"
) -> FloatArray:
    """Hessian (P, P) of `negative_log_posterior` in the x of `negative_log_posterior_gradient`.

    >>> params = PriorParams(theta=1.0, phi=1.0, tau=[1.0, 1.0])
    >>> np.diag(negative_log_posterior_hessian(params, [[0.5, 0.5]], [[0, 0]]))
    array([2., 2., 2., 2.])
    """
    return _evaluated(params, predictions, votes, hyperprior, WHOLE).second


class Evaluation(NamedTuple):
    """The objective at one point: its value, its gradient (P,), and what was asked of its second derivatives."""

    value: float
    gradient: FloatArray
    second: FloatArray


def evaluated(
    packed: FloatArray,
    log_predictions: FloatArray,
    votes: IntArray,
    hyperprior: HyperpriorNumbers,
    second: int = 0,
    direction: FloatArray | None = None,
) -> Evaluation:
    """The objective at `packed` (P,), with log_predictions (W, M, K) and votes (W, K) in C order.

    `second`: WHOLE (P, P), the DIAGONAL (P,), or the PRODUCT with `direction` (P,), without forming the matrix.
    """
    size = packed.size
    gradient, found = np.empty(size), np.empty((size if second == WHOLE else min(second, 1), size))
    along = np.empty(0) if direction is None else np.ascontiguousarray(direction)
    value = core.objective(packed, log_predictions, votes, along, gradient, found, second, *hyperprior)
    return Evaluation(value, gradient, found if second == WHOLE else found.ravel())


def _evaluated(
    params: PriorParams, predictions: ArrayLike, votes: ArrayLike, hyperprior: str | Hyperprior, second: int = 0
) -> Evaluation:
    """The objective for validated input."""
    prior = find_hyperprior(hyperprior)
    log_predictions, counts, tau_shape = checked_window(predictions, votes)
    if params.tau.shape != tau_shape:
        rule = f"tau of shape {tau_shape}, like `predictions`, not {params.tau.shape}"
        raise invalid("params", params, rule, "pass parameters for the same classifiers and classes.")
    return evaluated(pack(params), log_predictions, counts, numbers_of(prior, params.num_classes), second)
