"""Takes alpha and the votes seen; returns the exact probability of each class to win the pool (FinExp).

`plurality_finite` is for users; `finite_into`, the same for one item, is called by the kernels of the live session and
of the compiled stream.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from quorate import compiled, validate
from quorate.compiled import kernel, shared_kernel
from quorate.posterior.finite_bounds import circle_of, lowest_level
from quorate.posterior.finite_circle import add_levels_on_circle
from quorate.posterior.finite_levels import PAD, add_level
from quorate.posterior.finite_pairs import add_pair_levels, add_pairs
from quorate.posterior.finite_weights import NEGLIGIBLE, most_tied, tie_nodes_into, weights_into
from quorate.posterior.settled import is_settled, plurality_share_into
from quorate.types import FloatArray, IntArray

SMALL_POOL = 150  # up to this size the method for small pools is used, whose last digits must not change
_FEW_LEVELS = 2  # up to this many levels, polynomials are cheaper
_OFF = 8e-11  # if the probabilities' sum is further from 1 than this, a large pool needs the other method
_SMALLEST_ALPHA, _LARGEST_ALPHA = 1e-100, 1e100


@kernel
def finite_into(alpha: FloatArray, votes: IntArray, pool_size: int, out: FloatArray) -> float:
    """Write to out (K,) the probability of each class to win the pool; `plurality_finite` for one item.

    Returns the sum of the probabilities before normalisation: 1 except for round-off.
    """
    if pool_size > SMALL_POOL:
        for log_loss in (7.0, 1.0):
            mass = winners_into(alpha, votes, pool_size, log_loss, out)
            if abs(mass - 1.0) < _OFF:
                return mass
    return winners_into(alpha, votes, pool_size, -1.0, out)


@shared_kernel
def winners_into(alpha: FloatArray, votes: IntArray, pool_size: int, log_loss: float, out: FloatArray) -> float:
    """`finite_into` by the method for small pools, which works for every pool, if `log_loss` is negative.

    Otherwise by the method for large pools, whose round-off may grow by e^log_loss.
    """
    large = log_loss >= 0.0
    if is_settled(votes, pool_size):
        plurality_share_into(votes, out)
        return 1.0
    remaining = pool_size - votes.sum()
    top = votes.max()

    # Beyond these sizes the answer no longer depends on alpha (one vote decides everything, or votes do not matter).
    largest = alpha.max()
    factor = min(max(largest, _SMALLEST_ALPHA), _LARGEST_ALPHA) / largest

    # Classes too far behind to win are merged into one: their separate counts do not matter.
    integers = np.empty((6, votes.size), np.int64)
    classes, num, others_beta = integers[0], 0, 0.0
    for k in range(votes.size):
        if votes[k] + remaining < top:
            others_beta += factor * alpha[k] + votes[k]
            continue
        place = num
        while place > 0 and votes[classes[place - 1]] < votes[k]:
            classes[place] = classes[place - 1]
            place -= 1
        classes[place] = k
        num += 1
    seen, shifts, bounds = integers[1, :num], integers[2, :num], integers[3:, :num]  # seen (C,) descending
    floats = np.empty((6, num))
    beta, rest, win, reached, nodes, shares = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
    total_beta = others_beta
    for i in range(num):
        seen[i] = votes[classes[i]]
        beta[i] = factor * alpha[classes[i]] + seen[i]
        rest[i] = total_beta  # concentration of all other classes, summed without cancellation
        total_beta += beta[i]
    running = 0.0
    for i in range(num - 1, -1, -1):
        rest[i] += running
        running += beta[i]

    # One tilt for all classes, so that the mean of the unseen votes is R and no weight is far from 1.
    steps, scratch = np.empty(remaining + 1), np.empty(remaining + 1)
    tilt = remaining / (remaining + total_beta)
    for x in range(remaining + 1):
        steps[x] = tilt / (x + 1)
    total_shift = weights_into(total_beta, steps, scratch, 0, remaining)
    total = scratch[remaining]

    stride = remaining + 1 + PAD
    weights = np.zeros((num + 1) * stride)
    work = np.empty((num + 2) * (remaining + 1 + 2 * PAD))
    if large and num == 2 and others_beta == 0.0:
        # Two classes are a single pair: the first, which leads, loses what the second wins.
        for i in range(2):
            shifts[i] = weights_into(beta[i], steps, weights, i * stride, remaining)
            reached[i], win[i] = 1.0, 0.0
        add_pairs(top, beta, 0.0, seen, remaining, weights, shifts, reached, total, total_shift, steps, work, win)
        won = min(max(-win[0], 0.0), 1.0)  # a sum of differences may leave [0, 1] by round-off
        out[classes[0]], out[classes[1]] = 1.0 - won, won
        return 1.0

    # The marginals of the classes bound the level m of the maximum, here indexed by m - top:
    # P(max <= m) <= under (the counts are negatively associated), P(max >= m) <= over.
    tails = np.empty((num, remaining + 2))  # P(X_k >= a)
    under, over = np.ones(remaining + 1), np.zeros(remaining + 1)
    for i in range(num):
        row, behind = i * stride, top - seen[i]
        shifts[i] = weights_into(beta[i], steps, weights, row, remaining)
        shift = weights_into(rest[i], steps, scratch, 0, remaining) + shifts[i] - total_shift
        scale = math.ldexp(1.0 / total, int(shift))
        running = 0.0
        for a in range(remaining + 1):
            tails[i, a] = weights[row + a] * scale * scratch[remaining - a]
            running += tails[i, a]
            if a >= behind:
                under[a - behind] *= running
        running = 0.0
        tails[i, remaining + 1] = 0.0
        for a in range(remaining, -1, -1):
            running += tails[i, a]
            tails[i, a] = running
            if a >= behind:
                over[a - behind] += running
    lowest, highest = top, top + remaining
    while lowest < highest and under[lowest - top] < NEGLIGIBLE:
        lowest += 1
    while highest > lowest and over[highest - top] < NEGLIGIBLE:
        highest -= 1

    # Levels that only one class can reach need the tail of its marginal; two classes: the tail less the pairs.
    alone = lowest
    while alone <= highest and most_tied(alone, seen, remaining) > 1:
        alone += 1
    paired = lowest
    while paired < alone and most_tied(paired, seen, remaining) > 2:
        paired += 1
    if not _pairs_are_cheaper(paired, alone, seen, remaining, large):
        paired = alone
    log_scale = 0.0
    if large:
        log_scale = (shifts.sum() - total_shift) * math.log(2.0) - math.log(total)
        if others_beta == 0.0:
            lowest = lowest_level(lowest, paired, seen, remaining, weights, stride, log_scale)
    for i in range(num):
        reached[i] = tails[i, min(paired - seen[i], remaining + 1)]
        win[i] = reached[i]
    if paired < alone and large:
        add_pairs(
            paired, beta, others_beta, seen, remaining, weights, shifts, reached, total, total_shift, steps, work, win
        )
    elif paired < alone:
        add_pair_levels(
            paired, alone - 1, beta, others_beta, seen, remaining, weights, shifts, reached, total, total_shift, steps,
            work, win,
        )  # fmt: skip
    if large and paired - lowest > _FEW_LEVELS:
        split = min(max(lowest, pool_size // 5), paired)  # lower levels need fewer points
        for first, end in ((lowest, split), (split, paired)):
            if first < end:
                size, shrink = circle_of(
                    end - 1, total_beta, others_beta, seen, remaining, weights, stride, log_scale, log_loss
                )
                add_levels_on_circle(first, end - 1, beta, others_beta, total_beta, seen, remaining, size, shrink, win)
    elif lowest < paired:
        others = num * stride
        others_shift = weights_into(others_beta, steps, weights, others, remaining)
        for level in range(lowest, paired):
            tied = most_tied(level, seen, remaining)
            count = tie_nodes_into(level, tied, over[level - top], nodes, shares)
            add_level(
                level, seen, remaining, weights, shifts, others, others_shift, total, total_shift, count, nodes, shares,
                work, bounds, win,
            )  # fmt: skip

    mass, lost = 0.0, 0.0  # compensated sum: at K = 1000 a plain sum is off by 1e-14
    for i in range(num):
        win[i] = max(win[i], 0.0)  # differences of tails may be below 0 by round-off
        grown = mass + (win[i] - lost)
        lost = (grown - mass) - (win[i] - lost)
        mass = grown
    out[:] = 0.0
    for i in range(num):
        out[classes[i]] = win[i] / mass
    return mass


@kernel
def _pairs_are_cheaper(paired: int, alone: int, votes: IntArray, remaining: int, large: bool) -> bool:
    """Are levels paired..alone-1 cheaper from pairs of classes than from polynomials? The costs were measured."""
    num = votes.size
    if large:
        return bool(3 * (num - 1) * (remaining - 2 * paired + votes[0] + votes[1]) < (alone - paired) * remaining)
    by_pairs, by_levels = 0, 0
    for level in range(paired, alone):
        left = remaining - 2 * level + votes[0] + votes[1]
        by_pairs += 2 * left + 5
        by_levels += num * (30 + (remaining - level + votes[0]) * (level - votes[0] + 4) // 4)
    by_pairs += 10 + 4 * max(0, remaining - 2 * paired + votes[0] + votes[1])
    return bool(num * (num - 1) // 2 * by_pairs < by_levels)


@kernel
def finite_batch_into(alpha: FloatArray, votes: IntArray, pool_sizes: IntArray, out: FloatArray) -> None:
    """`finite_into` for T items: alpha, votes, out (T, K), pool_sizes (T,)."""
    for item in range(alpha.shape[0]):
        finite_into(alpha[item], votes[item], pool_sizes[item], out[item])


def plurality_finite(alpha: ArrayLike, votes: ArrayLike, *, pool_size: ArrayLike) -> FloatArray:
    r"""Probability of each class to win the whole pool, given the votes seen so far (FinExp).

    H = votes + X,  X ~ DirMult(R, alpha + votes),  R = pool_size - votes.sum()    (paper eq:post_fin_pop_dist)
    P(k wins) = E[ 1{H_k = max H} / (number of classes at the maximum) ]

    alpha, votes (..., K) and pool_size (...), broadcast against each other -> (..., K), which sums to 1.
    Exact to round-off for pools of up to 150, within 1e-10 for larger ones (measured: within 1e-11). With the weights
    w_j(x) = Gamma(beta_j + x) / (Gamma(beta_j) x!), beta = alpha + votes, and u the uniform draw that breaks ties,

    P(k wins) = sum_m int_0^1 [z^R] w_k(m - v_k) z^(m - v_k) prod_{j != k} (sum_{x < m - v_j} w_j(x) z^x
                + u w_j(m - v_j) z^(m - v_j)) du  /  [z^R] prod_j (1 - z)^-beta_j

    A settled pool gives exactly 1 (or the tie, shared equally); a class that can no longer win gets exactly 0.
    Pools of up to 150: sums of positive terms, less pairs, K R^2 for each m up to N/3 of non-negligible probability,
    so at most K N^3 / 3. Larger pools: coefficients from values on a circle, at most K N^2, and K^2 N for m above N/3.

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
    compiled.prepare_for(len(seen))
    probs = np.empty(seen.shape)  # (items, K)
    prior = np.broadcast_to(prior, shape).reshape(seen.shape)
    # Copies: numba would compile the kernel again for read-only arrays.
    finite_batch_into(np.array(prior, order="C"), np.array(seen, order="C"), np.array(pool_sizes), probs)
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
