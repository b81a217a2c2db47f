"""Parts of `finite`: the weights of a class's unseen votes, the number of classes that can tie, and the Gauss-Legendre
nodes for ties. Takes concentrations and votes. Compiled; input is trusted.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray

NEGLIGIBLE = 1e-17  # probability below which a level of the maximum, or a tie of many classes, is skipped
SHIFT = 250  # weights above 2^SHIFT are scaled down by that power of two, which is exact
_LARGE = 2.0**SHIFT
_SMALL = 2.0**-SHIFT
_VANISHED = 1e-290  # smaller weights are set to 0, because arithmetic on denormal numbers is slow
UNSHIFTED_REMAINING = 160  # with at most this many unseen votes no product of weights exceeds e^160 < 2^SHIFT

_TABLED = 48


def _gauss_table() -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on [0, 1] for 1.._TABLED nodes, one after the other."""
    rules = [np.polynomial.legendre.leggauss(count) for count in range(1, _TABLED + 1)]
    nodes = np.concatenate([(rule[0] + 1) / 2 for rule in rules])
    shares = np.concatenate([rule[1] / 2 for rule in rules])
    return nodes, shares


_NODES, _SHARES = _gauss_table()


@kernel
def weights_into(concentration: float, steps: FloatArray, out: FloatArray, start: int, last: int) -> int:
    """out[start + x] = Gamma(c + x) / (Gamma(c) x!) tilt^x / 2^shift for x = 0..last; returns shift.

    steps[x] = tilt / (x + 1), the same for all classes: one multiplication a weight, no special function.
    Every tilt gives the same answer, because the number of unseen votes is always R.
    """
    value, shift = 1.0, 0
    out[start] = 1.0
    for x in range(last):
        value *= (concentration + x) * steps[x]
        if value > _LARGE:
            for earlier in range(x + 1):
                out[start + earlier] *= _SMALL
            value *= _SMALL
            shift += SHIFT
        elif value < _VANISHED:
            value = 0.0
        out[start + x + 1] = value
    return shift


@kernel
def most_tied(level: int, votes: IntArray, remaining: int) -> int:
    """How many classes can reach `level` together; votes in descending order."""
    tied = 0
    for count in votes:
        remaining -= level - count
        if remaining < 0:
            break
        tied += 1
    return tied


@kernel
def gauss_into(count: int, nodes: FloatArray, shares: FloatArray) -> None:
    """Gauss-Legendre rule on [0, 1] with `count` nodes: exact for polynomials of degree 2 count - 1."""
    if count <= _TABLED:
        first = count * (count - 1) // 2
        for i in range(count):
            nodes[i] = _NODES[first + i]
            shares[i] = _SHARES[first + i]
        return
    for i in range((count + 1) // 2):
        x = math.cos(math.pi * (i + 0.75) / (count + 0.5))
        slope = 1.0
        for _ in range(6):  # Newton from this start reaches round-off after 4 steps for every count
            here, before = x, 1.0
            for degree in range(2, count + 1):
                here, before = ((2 * degree - 1) * x * here - (degree - 1) * before) / degree, here
            slope = count * (x * here - before) / (x * x - 1.0)
            x -= here / slope
        share = 1.0 / ((1.0 - x * x) * slope * slope)
        nodes[i], nodes[count - 1 - i] = (1.0 - x) / 2, (1.0 + x) / 2
        shares[i], shares[count - 1 - i] = share, share


@kernel
def tie_nodes_into(level: int, tied: int, expected: float, nodes: FloatArray, shares: FloatArray) -> int:
    """Gauss nodes and weights that are exact for a tie of up to `tied` classes at `level`; returns how many.

    n Gauss nodes integrate ties of up to 2n classes. Counts of a pool are negatively associated, hence
    P(2n+1 classes reach the level) <= expected^(2n+1) / (2n+1)! with `expected` = sum_j P(class j reaches it):
    larger ties of negligible probability get no nodes. At level 1 as many classes tie as there are votes.
    """
    if level == 1:
        nodes[0], shares[0] = 1.0, 1.0 / tied
        return 1
    exact = (tied + 1) // 2
    bound, size, count = expected, 1, 0
    while count < exact and (count == 0 or bound >= NEGLIGIBLE):
        bound *= expected * expected / ((size + 1) * (size + 2))
        size += 2
        count += 1
    gauss_into(count, nodes, shares)
    return count
