r"""InfExp: who has the largest share of an infinite pool. Takes alpha and the votes seen; returns P(k = argmax pi).

Exact up to rounding: one integral per item instead of Monte Carlo. The method is in core/infinite.cpp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quorate import core, validate
from quorate.types import FloatArray


def plurality_infinite(alpha: ArrayLike, votes: ArrayLike) -> FloatArray:
    r"""Probability that class k is the most voted one in an infinite pool (InfExp, paper eq:post_inf_pop_dist).

    P(k) = P(k = argmax pi),   pi ~ Dirichlet(beta),   beta = alpha + votes
         = int g_k(x) prod_{j != k} G_j(x) dx,         g_j, G_j: Gamma(beta_j, 1) density and distribution function

    alpha (..., K) positive, votes (..., K) counts, broadcast together -> (..., K), each row sums to 1.

    Within 1e-9 of the integral (usually 1e-11) for beta from 1e-6 to 1e6, also mixed. The cost grows linearly with the
    number of classes whose beta is near the largest. It is about five times higher if several betas of a hundred or
    more are close together, and does not grow with beta beyond that.

    >>> plurality_infinite([2.0, 1.0, 1.0], [0, 0, 0]).round(4)
    array([0.6111, 0.1944, 0.1944])
    >>> plurality_infinite([2.0, 1.0, 1.0], [[0, 1, 0], [0, 3, 0]]).round(3)
    array([[0.435, 0.435, 0.13 ],
           [0.176, 0.779, 0.045]])
    """
    prior, seen = validate.concentrations(alpha), validate.counts(votes)
    try:
        beta = prior + seen  # (..., K)
    except ValueError as cause:
        rule = f"a shape that broadcasts with votes {seen.shape}"
        raise validate.invalid("alpha", prior.shape, rule, "pass `alpha` (..., K) and `votes` (..., K).") from cause
    flat = np.ascontiguousarray(beta).reshape(-1, beta.shape[-1])  # (T, K)
    probs = np.empty_like(flat)
    core.plurality_infinite(flat, probs)
    return probs.reshape(beta.shape)
