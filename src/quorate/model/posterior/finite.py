"""Takes alpha and the votes seen; returns the exact probability of each class to win the pool (FinExp).

The method is in core/finite.cpp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quorate import core, validate
from quorate.types import FloatArray, IntArray


def plurality_finite(alpha: ArrayLike, votes: ArrayLike, *, pool_size: ArrayLike) -> FloatArray:
    r"""Probability of each class to win the whole pool, given the votes seen so far (FinExp).

    H = votes + X,  X ~ DirMult(R, alpha + votes),  R = pool_size - votes.sum()    (paper eq:post_fin_pop_dist)
    P(k wins) = E[ 1{H_k = max H} / (number of classes at the maximum) ]

    alpha, votes (..., K) and pool_size (...), broadcast against each other -> (..., K), which sums to 1.
    Exact to round-off. With the weights = Gamma(beta_j + x) / (Gamma(beta_j) x!),
    beta = alpha + votes, and u the uniform draw that breaks ties,

    P(k wins) = sum_m int_0^1 [z^R] w_k(m - v_k) z^(m - v_k) prod_{j != k} (sum_{x < m - v_j} w_j(x) z^x
                + u w_j(m - v_j) z^(m - v_j)) du  /  [z^R] prod_j (1 - z)^-beta_j

    A settled pool gives exactly 1 (or the tie, shared equally); a class that can no longer win gets exactly 0.
    Sums of positive terms, less pairs: K R^2 for each m up to N/3 of non-negligible probability, so at most K N^3 / 3.
    With ten classes a pool of 500 takes up to 30 ms, one of 1000 0.2 s, one of 2000 over a second: for larger pools
    use `plurality_infinite`, the limit.

    Six experts, three have voted; the first class leads 2 to 1:

    >>> plurality_finite([1.0, 1.0, 1.0], [2, 1, 0], pool_size=6).round(4)
    array([0.753 , 0.2173, 0.0298])
    >>> plurality_finite([1.0, 1.0, 1.0], [3, 0, 0], pool_size=5)
    array([1., 0., 0.])
    """
    prior, seen = validate.concentrations(alpha), validate.counts(votes)
    if prior.shape[-1] != seen.shape[-1]:
        rule = f"{prior.shape[-1]} classes on the last axis, like `alpha`"
        raise validate.invalid("votes", seen.shape, rule, "pass one count per class, 0 for a class without votes.")
    pool_sizes = _pool_sizes(pool_size)
    try:
        batch = np.broadcast_shapes(prior.shape[:-1], seen.shape[:-1], pool_sizes.shape)
    except ValueError as cause:
        rule = f"a shape that broadcasts with votes {seen.shape} and pool_size {pool_sizes.shape}"
        fix = "pass `alpha` (..., K), `votes` (..., K) and `pool_size` (...)."
        raise validate.invalid("alpha", prior.shape, rule, fix) from cause
    shape = (*batch, prior.shape[-1])
    pool_sizes = np.broadcast_to(pool_sizes, batch).ravel()
    seen = np.broadcast_to(seen, shape).reshape(-1, shape[-1])
    short = seen.sum(axis=-1) > pool_sizes
    if np.any(short):
        item = int(np.argmax(short))
        rule = f"at least the number of votes seen, {seen[item].sum()}"
        fix = "pass the size of the whole pool, including the votes seen."
        raise validate.invalid("pool_size", int(pool_sizes[item]), rule, fix)
    probs = np.empty(seen.shape)  # (items, K)
    prior = np.ascontiguousarray(np.broadcast_to(prior, shape)).reshape(seen.shape)
    sizes, mass = np.ascontiguousarray(pool_sizes), np.empty(len(seen))
    core.plurality_finite(prior, np.ascontiguousarray(seen), sizes, probs, mass)
    return probs.reshape(shape)


def _pool_sizes(pool_size: ArrayLike) -> IntArray:
    """Pool sizes as an array of whole numbers."""
    if np.ndim(pool_size) == 0:
        return np.asarray(validate.members(pool_size), dtype=np.int64)
    sizes = validate.as_floats(pool_size, where="pool_size")
    bad = ~np.isfinite(sizes) | (sizes < 1) | (sizes != np.floor(sizes)) | (sizes > validate.MOST_VOTES)
    if np.any(bad):
        rule = f"whole numbers >= 1 and <= {validate.MOST_VOTES}"
        raise validate.invalid("pool_size", float(sizes[bad].flat[0]), rule, "pass how many experts each pool has.")
    return np.asarray(sizes, dtype=np.int64)
