"""Gamma variables in t = log x, as compiled kernels: density, distribution function, and bounds of the tails.

Takes shapes and points; called by `infinite_kernel`, `infinite_bound` and `duel`. A point is given by its offset from
the shape's own scale, s = t - log(shape), which avoids cancellation for large shapes:

    density in t: g(t) = exp(log_peak(shape) - shape * exp_excess(s)),   exp_excess(s) = e^s - 1 - s
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.densities import log_gamma
from quorate.types import FloatArray

NUM_NODES = 16  # Gauss-Legendre nodes of a panel: a power of two, for vector instructions; 3 panels reach 1e-11

_points, _weights = np.polynomial.legendre.leggauss(NUM_NODES)
NODES = _points / 2  # (n,) on (-1/2, 1/2), symmetric
WEIGHTS = _weights / 2  # (n,) sums to 1

_INVERSE_FACTORIALS = np.array([1 / math.factorial(k) for k in range(2, 13)])


@kernel
def exp_excess(s: float) -> float:
    """e^s - 1 - s, to full relative precision."""
    if abs(s) > 0.25:
        return math.expm1(s) - s
    total = 0.0
    for k in range(_INVERSE_FACTORIALS.size - 1, -1, -1):
        total = total * s + _INVERSE_FACTORIALS[k]
    return s * s * total


@kernel
def upper_offset(excess: float) -> float:
    """s > 0 with exp_excess(s) just above `excess`: P(Gamma(b) > b e^s) <= exp(-b * excess), by Chernoff.

    Newton from above on a convex function stays above the root, so stopping early is safe.
    """
    root = math.sqrt(2.0 * excess)
    s = min(root, math.log1p(excess + root))
    for _ in range(3):
        s -= (exp_excess(s) - excess) / math.expm1(s)
    return s


@kernel
def lower_offset(excess: float) -> float:
    """s < 0 with exp_excess(s) just above `excess`: P(Gamma(b) < b e^s) <= exp(-b * excess), by Chernoff."""
    s = -min(excess + 1.0, excess + math.sqrt(2.0 * excess))
    for _ in range(4):
        s -= (exp_excess(s) - excess) / math.expm1(s)
    return s


@kernel
def log_peak(shape: float) -> float:
    """b log b - b - log Gamma(b): the log density in t at t = log b. Stirling's series from b = 16 (to 1e-14)."""
    if shape < 16.0:
        return shape * math.log(shape) - shape - log_gamma(shape)
    z = 1.0 / (shape * shape)
    stirling_error = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / shape
    return 0.5 * math.log(shape / (2.0 * math.pi)) - stirling_error


@kernel
def lower_probability(shape: float, s: float, peak: float, density: float, log_tail: float) -> float:
    """P(Gamma(shape) <= shape e^s), given peak = log_peak(shape) and the density exp(peak - shape * exp_excess(s)).

    Tails of probability e^-log_tail may be neglected.
    """
    x = shape * math.exp(s)
    probability: float
    if shape > 30.0:
        probability = _lower_by_panels(shape, s, peak, log_tail)
    elif x <= shape + 1.0 or x < 2.0:
        probability = density / shape * _lower_series(shape, x)
    else:
        probability = 1.0 - density * _upper_fraction(shape, x)
    return probability


@kernel
def _lower_series(shape: float, x: float) -> float:
    """1 + x/(b+1) + x^2/((b+1)(b+2)) + ...: all terms positive."""
    term = 1.0
    total = 1.0
    divisor = shape
    while term > 1e-17 * total:
        divisor += 1.0
        term *= x / divisor
        total += term
    return total


def plain_lower_probabilities(shapes: FloatArray, points: FloatArray) -> FloatArray:
    """P(Gamma(b) <= x) (B, n) for shapes b (B,) and points x (n,), by the series of `_lower_series`: 200 terms.

    `infinite_bound` needs this when it is imported, where a kernel would have to be compiled. For x up to about 50.

    >>> plain_lower_probabilities(np.array([1.0]), np.array([0.5])).round(6), round(1 - math.exp(-0.5), 6)
    (array([[0.393469]]), 0.393469)
    """
    b = shapes[:, None]
    term = np.ones((shapes.size, points.size))
    total = term.copy()
    for n in range(1, 200):
        term *= points / (b + n)
        total += term
    log_factorials = np.array([[math.lgamma(shape + 1.0)] for shape in shapes])
    return np.asarray(np.exp(b * np.log(points) - points - log_factorials) * total)


@kernel
def _upper_fraction(shape: float, x: float) -> float:
    """Legendre's continued fraction of Gamma(b, x) / (x^b e^-x), for x > b + 1, by Lentz's method."""
    denominator = x + 1.0 - shape
    c = 1e300
    d = 1.0 / denominator
    fraction = d
    for i in range(1, 500):
        numerator = i * (shape - i)
        denominator += 2.0
        d = 1.0 / (numerator * d + denominator)
        c = denominator + numerator / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return fraction


@kernel
def _lower_by_panels(shape: float, s: float, peak: float, log_tail: float) -> float:
    """Integral of the density up to s: about a hundred nodes, where a series would need thousands of terms."""
    start = lower_offset(log_tail / shape)
    if s <= start:
        return 0.0
    end = min(s, upper_offset(log_tail / shape))
    panels = math.ceil((end - start) * math.sqrt(shape) / 2.5)
    width: float = (end - start) / panels
    total: float = 0.0
    for panel in range(panels):
        middle = start + (panel + 0.5) * width
        for i in range(NUM_NODES):
            total += WEIGHTS[i] * math.exp(peak - shape * exp_excess(middle + width * NODES[i]))
    return total * width
