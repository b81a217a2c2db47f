"""The slow, obvious twin of `quorate.model.posterior.infinite`: the integral at 30 digits, with mpmath.

P(k) = int g_k(t) prod_{j != k} G_j(t) dt in t = log x. Every G_j starts from its power series and is carried from
node to node by Gauss-Legendre over the gap between them. Classes of equal beta are computed once, so K = 1000 is
affordable if there are few distinct values. Each answer is checked to sum to 1.
"""

import math
from collections import Counter
from functools import cache

import mpmath as mp
import numpy as np

DIGITS = 30
CLOSURE = 1e-16
OUTER, INNER = 16, 6  # nodes of a panel; nodes of a gap between two of them


def plurality_by_integration(beta):
    """(K,) P(k = argmax pi), pi ~ Dirichlet(beta), to about 1e-16; raises if the classes do not sum to 1."""
    with mp.workdps(DIGITS):
        groups = sorted(Counter(float(b) for b in beta).items())
        probs = _integrate([mp.mpf(b) for b, _ in groups], [count for _, count in groups])
        closure = abs(sum(p * count for p, (_, count) in zip(probs, groups, strict=True)) - 1)
    assert closure < CLOSURE, f"the oracle itself is off by {closure} for beta={beta!r}"
    answer = {value: float(p) for p, (value, _) in zip(probs, groups, strict=True)}
    return np.array([answer[float(b)] for b in beta])


def distribution(shape, x):
    """P(Gamma(shape) <= x) by the power series, all of whose terms are positive; 1 beyond a tail of 1e-19."""
    shape, x = mp.mpf(shape), mp.mpf(x)
    if x > shape + _far(shape):
        return mp.mpf(1)
    total = term = mp.mpf(1)
    divisor = shape
    while term > total * mp.mpf(10) ** (-mp.mp.dps):
        divisor += 1
        term *= x / divisor
        total += term
    return total * mp.exp(shape * mp.log(x) - x - mp.loggamma(shape + 1))


def _far(shape):
    """P(Gamma(shape) > shape + far) < 1e-19: exp(-far^2 / (2 (shape + far))) bounds it."""
    return 12 * math.sqrt(shape) + 100


def _bracket(shapes, counts):
    """The range of the maximum up to 1e-19, or where the power law holds (x < e^-60)."""
    top, total = float(max(shapes)), float(sum(b * m for b, m in zip(shapes, counts, strict=True)))
    log_factorials = float(sum(mp.loggamma(b + 1) * m for b, m in zip(shapes, counts, strict=True)))
    low, high = -60.0 / top - 2.0, 0.0  # bisect the Chernoff bound P(Gamma(b) < b e^s) < exp(-b (e^s - 1 - s))
    for _ in range(60):
        s = (low + high) / 2
        low, high = (s, high) if top * (math.expm1(s) - s) > 46 else (low, s)
    start = max(math.log(top) + low, (log_factorials - 46) / total - 1e-3 / math.sqrt(top), -60.0)
    return start, math.log(top + _far(top) + 2 * math.log(sum(counts)))


def _integrate(shapes, counts):
    start, end = _bracket(shapes, counts)
    sharpness = (1 + math.sqrt(float(max(shapes)))) * math.sqrt(1 + math.log(sum(counts)) / 3)
    panels = max(4, math.ceil((end - start) * sharpness / 1.6))
    width = (mp.mpf(end) - mp.mpf(start)) / panels
    steps = [_growth(step, shapes, width) for step in _steps()]
    norms = [mp.loggamma(b) for b in shapes]
    cdfs = [distribution(b, mp.exp(start)) for b in shapes]
    left, total = _product(cdfs, counts), mp.fdot(shapes, counts)
    probs = [left * b / total for b in shapes]
    for panel in range(panels):
        begin = start + panel * width
        x = mp.exp(begin)
        scales = [width * mp.exp(b * begin - norm) for b, norm in zip(shapes, norms, strict=True)]
        for factors, weights, powers in steps:
            *between, here = [weight * mp.exp(-x * factor) for factor, weight in zip(factors, weights, strict=True)]
            cdfs = [
                cdf + scale * mp.fdot(between, power[:INNER])
                for cdf, scale, power in zip(cdfs, scales, powers, strict=True)
            ]
            product = here * _product(cdfs, counts)
            for d, (scale, power) in enumerate(zip(scales, powers, strict=True)):
                probs[d] += scale * power[INNER] * product / cdfs[d]
    return probs


@cache
def _steps():
    """A panel [0, 1] from node to node: the places in the gap before each, then the node itself, and their weights.

    The gap carries every G_j to the node. The last step ends at 1, which is no node and weighs nothing.
    """
    points, weights = _gauss_legendre(OUTER)
    places, shares = _gauss_legendre(INNER)
    steps, here = [], mp.mpf(0)
    for node, weight in [*zip(points, weights, strict=True), (mp.mpf(1), mp.mpf(0))]:
        gap = node - here
        steps.append(([*(here + gap * place for place in places), node], [*(gap * share for share in shares), weight]))
        here = node
    return steps


def _growth(step, shapes, width):
    """x and x^b at the places of a step, as multiples of their values where the panel begins: alike in all panels."""
    places, weights = step
    return (
        [mp.exp(width * place) for place in places],
        weights,
        [[mp.exp(b * width * place) for place in places] for b in shapes],
    )


def _product(cdfs, counts):
    return mp.fprod(cdf**count for cdf, count in zip(cdfs, counts, strict=True))


def _gauss_legendre(order):
    """Nodes and weights on [0, 1]: double-precision roots polished by Newton at full precision."""
    points, weights = [], []
    for root in np.polynomial.legendre.leggauss(order)[0]:
        y = mp.mpf(float(root))
        for _ in range(3):
            slope = order * (y * mp.legendre(order, y) - mp.legendre(order - 1, y)) / (y * y - 1)
            y -= mp.legendre(order, y) / slope
        slope = order * (y * mp.legendre(order, y) - mp.legendre(order - 1, y)) / (y * y - 1)
        points.append((1 + y) / 2)
        weights.append(1 / ((1 - y * y) * slope**2))
    return points, weights
