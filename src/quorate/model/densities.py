"""The two densities of the model: Dirichlet-multinomial and Gamma.

Counts are whole numbers, so ln Gamma(alpha + h) - ln Gamma(alpha) is a sum of h logarithms: no special functions.
Takes concentrations and counts; called by `prior`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from quorate import core, validate
from quorate.types import FloatArray


def log_dirichlet_multinomial(votes: ArrayLike, alpha: ArrayLike) -> FloatArray:
    r"""Log probability of a histogram of votes: the likelihood of InfExp, and (votes being exchangeable) of FinExp.

    ln [n! / prod_k h_k!] + sum_k sum_{s<h_k} ln(alpha_k + s) - sum_{s<n} ln(sum_k alpha_k + s)

    votes (..., K) counts, alpha (..., K) > 0 -> (...). The multinomial coefficient IS included: over all histograms
    of n votes the probabilities sum to 1. (`learning` works with the votes in their order, hence without it.)

    >>> float(np.exp(log_dirichlet_multinomial([1, 1], [1.0, 1.0])).round(6))
    0.333333
    """
    counts, concentrations = validate.counts(votes), validate.concentrations(alpha)
    try:
        counts, concentrations = np.broadcast_arrays(counts, concentrations)
    except ValueError as cause:
        rule = f"a shape that broadcasts with {concentrations.shape}, that of `alpha`, not {counts.shape}"
        raise validate.invalid("votes", votes, rule, "pass one row of votes for each row of `alpha`.") from cause
    log_pmf = np.empty(math.prod(counts.shape[:-1]))
    flat_votes = np.array(counts, order="C").reshape(-1, counts.shape[-1])
    flat_alpha = np.array(concentrations, order="C").reshape(flat_votes.shape)
    core.log_dirichlet_multinomial(flat_votes, flat_alpha, log_pmf)
    return log_pmf.reshape(counts.shape[:-1])


def log_gamma_density(value: ArrayLike, *, shape: float, rate: float) -> FloatArray:
    """Log density of Gamma(shape, rate) at `value` (...), normalised.

    shape ln(rate) - ln Gamma(shape) + (shape - 1) ln(value) - rate value

    >>> float(log_gamma_density(1.0, shape=1.0, rate=2.0).round(6))
    -1.306853
    """
    points = np.asarray(value, dtype=np.float64)
    constant = shape * math.log(rate) - math.lgamma(shape)
    return np.asarray(constant + (shape - 1) * np.log(points) - rate * points)
