"""Takes a level m, a possible winning count; adds to each class the probability that it wins the pool with m votes.

`finite_pairs` handles levels that at most two classes can reach together, `add_level` all others.
Compiled; input is trusted; contenders are in descending order of votes. Called by `finite`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel, kernel_or
from quorate.posterior.finite_weights import SHIFT, UNSHIFTED_REMAINING
from quorate.types import FloatArray, IntArray

# All polynomials are in one flat array, each identified by the offset of its constant term: in numba, creating a view
# takes longer than a short polynomial. Unsigned indices avoid the check for negative ones, so that loops vectorise.
PAD = 4  # zeros before and after a polynomial, so that `_convolve` can process four terms at a time
_LARGE = 2.0**SHIFT
_SMALL = 2.0**-SHIFT
_FEW = 16  # degrees; for fewer, NumPy takes up to 1.7 times as long as lists
_Index = np.uint64


@kernel
def _term(weights: FloatArray, row: int, x: int, needed: int, node: float) -> float:
    """Term x of a class's factor A(z) + u T(z)."""
    share = 1.0 if x < needed else node
    return share * float(weights[_Index(row + x)]) if x <= needed else 0.0


@kernel
def _clear_around(work: FloatArray, polynomial: int, low: int, high: int) -> None:
    """Write zeros before degree `low` and after degree `high`, as many as loops over four terms may read."""
    for d in range(1, 4):
        work[_Index(polynomial + low - d)] = 0.0
        work[_Index(polynomial + high + d)] = 0.0


def _plain_convolve(
    work: FloatArray,
    source: int,
    low: int,
    high: int,
    weights: FloatArray,
    row: int,
    needed: int,
    node: float,
    target: int,
    first: int,
    last: int,
) -> None:
    """`_convolve` with NumPy for the loops over degrees; with lists if there are `_FEW`."""
    work[target + first - 3 : target + last + 4] = 0.0
    for at in range(max(0, (first - high) // 4 * 4), min(needed, last) + 1, 4):
        start, stop = max(first, low + at), min(last, high + at + 3) + 1
        if stop <= start:
            continue
        terms = weights[row + at : row + min(at + 3, needed) + 1].tolist()
        if needed < at + 4:
            terms[-1] *= node
            terms += [0.0] * (4 - len(terms))
        term0, term1, term2, term3 = terms
        given, into = work[source + start - at - 3 : source + stop - at], work[target + start : target + stop]
        if stop - start > _FEW:
            into += (term0 * given[3:] + term1 * given[2:-1]) + (term2 * given[1:-2] + term3 * given[:-3])
            continue
        old = given.tolist()
        into[:] = [
            so_far + ((term0 * w + term1 * x) + (term2 * y + term3 * z))
            for so_far, w, x, y, z in zip(into.tolist(), old[3:], old[2:-1], old[1:-2], old[:-3], strict=True)
        ]


@kernel_or(_plain_convolve)
def _convolve(
    work: FloatArray,
    source: int,
    low: int,
    high: int,
    weights: FloatArray,
    row: int,
    needed: int,
    node: float,
    target: int,
    first: int,
    last: int,
) -> None:
    """target = source * (A + u T) at degrees first..last; source has degrees low..high."""
    _clear_around(work, target, first, last)
    begin = max(0, (first - high) // 4 * 4)
    for x in range(begin, min(needed, last) + 1, 4):
        start, stop = max(first, low + x), min(last, high + x + 3) + 1
        term0, term1 = _term(weights, row, x, needed, node), _term(weights, row, x + 1, needed, node)
        term2, term3 = _term(weights, row, x + 2, needed, node), _term(weights, row, x + 3, needed, node)
        here = _Index(target + start)
        from0, from1 = _Index(source + start - x), _Index(source + start - x - 1)
        from2, from3 = _Index(source + start - x - 2), _Index(source + start - x - 3)
        if x > begin:
            for i in range(_Index(max(0, stop - start))):
                work[here + i] += (term0 * work[from0 + i] + term1 * work[from1 + i]) + (
                    term2 * work[from2 + i] + term3 * work[from3 + i]
                )
            continue
        for i in range(_Index(max(0, stop - start))):
            work[here + i] = (term0 * work[from0 + i] + term1 * work[from1 + i]) + (
                term2 * work[from2 + i] + term3 * work[from3 + i]
            )
        for d in range(first, start):
            work[_Index(target + d)] = 0.0
        for d in range(max(first, stop), last + 1):
            work[_Index(target + d)] = 0.0


@kernel
def _inner(work: FloatArray, left: int, right: int, degree: int, first: int, last: int) -> float:
    """[z^degree] left(z) right(z), from the terms first..last of left; four partial sums, which run in parallel."""
    sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
    d = first
    while d + 3 <= last:
        up, down = _Index(left + d), _Index(right + degree - d - 3)
        sum0 += work[up] * work[down + _Index(3)]
        sum1 += work[up + _Index(1)] * work[down + _Index(2)]
        sum2 += work[up + _Index(2)] * work[down + _Index(1)]
        sum3 += work[up + _Index(3)] * work[down]
        d += 4
    while d <= last:
        sum0 += work[_Index(left + d)] * work[_Index(right + degree - d)]
        d += 1
    return (sum0 + sum1) + (sum2 + sum3)


@kernel
def _rescale(work: FloatArray, polynomial: int, low: int, high: int) -> int:
    """Divide by 2^SHIFT if any term exceeds it; returns the exponent removed."""
    largest = 0.0
    for d in range(polynomial + low, polynomial + high + 1):
        largest = max(largest, work[d])
    if largest <= _LARGE:
        return 0
    for d in range(polynomial + low, polynomial + high + 1):
        work[d] *= _SMALL
    return SHIFT


@kernel
def add_level(
    level: int,
    votes: IntArray,
    remaining: int,
    weights: FloatArray,
    shifts: IntArray,
    others: int,
    others_shift: int,
    total: float,
    total_shift: int,
    count: int,
    nodes: FloatArray,
    shares: FloatArray,
    work: FloatArray,
    bounds: IntArray,
    win: FloatArray,
) -> None:
    """win[k] += int_0^1 [z^R] T_k(z) prod_{j != k} (A_j(z) + u T_j(z)) du / [z^R] prod_j (1 - z)^-beta_j.

    Weights of class i start at i * stride, stride = R + 1 + PAD; at `others` are the joint weights of all classes that
    cannot win: 1, 0, 0, ... if there are none. Workspace: work of (C + 2) (R + 1 + 2 PAD), bounds (3, C).
    Products over the classes before k are stored for every k, those over the classes after k are built in a backward
    pass; each only at the degrees that can still contribute.
    """
    num, stride, pitch = votes.size, remaining + 1 + PAD, remaining + 1 + 2 * PAD
    large = remaining > UNSHIFTED_REMAINING
    capacity, reach = 0, 0
    for i in range(num):
        capacity += level - votes[i]
        reach += level - votes[i] <= remaining
    least = level - votes[0]
    spread = weights[others + 1] > 0.0
    if capacity < remaining and not spread:
        return
    bounds[0, 0], bounds[1, 0], bounds[2, 0] = 0, 0, others_shift
    if spread:
        bounds[0, 0], bounds[1, 0] = max(0, remaining - capacity), remaining - least
    for d in range(bounds[0, 0], bounds[1, 0] + 1):
        work[PAD + d] = weights[others + d]
    _clear_around(work, PAD, bounds[0, 0], bounds[1, 0])
    for n in range(count):
        node, scale = nodes[n], shares[n] / total
        after = capacity
        prefix, low, high = PAD, bounds[0, 0], bounds[1, 0]
        for i in range(reach - 1):
            needed = level - votes[i]
            after -= needed
            new_low, new_high = max(0, remaining - after), min(high + needed, remaining - (level - votes[i + 1]))
            _convolve(work, prefix, low, high, weights, i * stride, needed, node, prefix + pitch, new_low, new_high)
            prefix, low, high = prefix + pitch, new_low, new_high
            bounds[0, i + 1], bounds[1, i + 1], bounds[2, i + 1] = low, high, bounds[2, i] + shifts[i]
            if large:
                bounds[2, i + 1] += _rescale(work, prefix, low, high)
        suffix, spare = PAD + num * pitch, PAD + (num + 1) * pitch
        low, high, suffix_shift = 0, 0, 0
        work[suffix] = 1.0
        _clear_around(work, suffix, 0, 0)
        before = capacity
        for i in range(num - 1, -1, -1):
            needed = level - votes[i]
            if i < reach:
                degree = remaining - needed
                first, last = max(bounds[0, i], degree - high), min(bounds[1, i], degree - low)
                inner = _inner(work, PAD + i * pitch, suffix, degree, first, last)
                value = scale * inner * weights[i * stride + needed]
                exponent = bounds[2, i] + suffix_shift + shifts[i] - total_shift
                win[i] += value if exponent == 0 else math.ldexp(value, int(exponent))
            if i > 0:
                before -= needed
                new_low = 0 if spread else max(0, remaining - before)
                new_high = min(high + needed, remaining - least)
                _convolve(work, suffix, low, high, weights, i * stride, needed, node, spare, new_low, new_high)
                suffix, spare, low, high = spare, suffix, new_low, new_high
                suffix_shift += shifts[i]
                if large:
                    suffix_shift += _rescale(work, suffix, low, high)
