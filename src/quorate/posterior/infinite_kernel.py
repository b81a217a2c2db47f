"""The integral behind InfExp for one item, compiled. Takes beta (K,); fills P(class k has the largest share) (K,).

With independent x_j ~ Gamma(beta_j, 1) of density g_j and distribution function G_j in t = log x,

    P(k) = int g_k(t) prod_{j != k} G_j(t) dt

is summed over Gauss-Legendre panels between two Chernoff bounds. Only the densities are evaluated: each G_j is
their running integral, by one constant matrix per panel. Called by `infinite`, by simulations and by live sessions.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel, shared_kernel
from quorate.exponential import exponentiate
from quorate.posterior.gamma_cdf import (
    NODES,
    NUM_NODES,
    WEIGHTS,
    exp_excess,
    log_peak,
    lower_offset,
    lower_probability,
    upper_offset,
)
from quorate.types import FloatArray, IntArray

LOG_TAIL = 28.0  # e^-28 = 7e-13 is left outside the panels at each end
LOG_DROP = 34.0  # a class that reaches the first panel with probability below e^-34 is dropped
LEFT_END = -28.0  # below t = -28, G = x^b / Gamma(b + 1) to 7e-13, and the rest of the integral has a closed form
CLOSURE = 1e-11  # if the sum over classes differs from 1 by more, the number of panels is doubled
MAX_ATTEMPTS = 5
SHAPE, SHIFT, PEAK, START, DENSITY = 0, 1, 2, 3, 4  # rows of the array `classes`
SMALLEST = 1e-290  # smaller shapes overflow the offset t - log(shape), and cannot win against larger ones


HALF = NUM_NODES // 2
# The nodes of a panel in mirrored order: first those left of its middle, then their mirror images.
MIRRORED = np.concatenate([NODES[:HALF], -NODES[:HALF]])
MIRRORED_WEIGHTS = np.concatenate([WEIGHTS[:HALF], WEIGHTS[:HALF]])


def _running_integrals() -> tuple[FloatArray, FloatArray]:
    """(n/2, n/2) twice: see `_accumulate`.

    With R[q, i] the integral of the Lagrange polynomial of node q from -1/2 to node i, and q', i' the mirror images,
    R[q, i] - WEIGHTS[q] / 2 changes sign under (q, i) -> (q', i'): half of the matrix determines the rest.
    """
    legendre = np.polynomial.legendre.legvander(2 * NODES, NUM_NODES)  # (n, n + 1)
    degree = np.arange(1, NUM_NODES)
    integral = np.empty((NUM_NODES, NUM_NODES))  # [i, m] = (2 m + 1) int_{-1}^{y_i} P_m(y) dy
    integral[:, 0] = legendre[:, 1] + 1
    integral[:, 1:] = legendre[:, degree + 1] - legendre[:, degree - 1]
    centred = WEIGHTS[:, None] / 2 * (legendre[:, :NUM_NODES] @ integral.T - 1)  # R - WEIGHTS / 2
    near, far = centred[:HALF, :HALF], centred[::-1][:HALF, :HALF]
    return np.ascontiguousarray((near - far) / 2), np.ascontiguousarray((near + far) / 2)


EVEN, ODD = _running_integrals()


@shared_kernel
def infinite_into(beta: FloatArray, out: FloatArray) -> None:
    """Fill out (K,) with P(k = argmax pi), pi ~ Dirichlet(beta); beta (K,) positive and finite.

    Points are offsets from log(max beta). If x stays below a few hundred ("direct"), densities are products of powers;
    otherwise they are computed relative to their peaks, so that beta = 1e6 is as accurate as 1.
    """
    num_classes = beta.size
    top = 0.0
    for j in range(num_classes):
        top = max(top, beta[j])
    rivals = 0.0
    for j in range(num_classes):
        rivals += beta[j] / top
    if top * rivals < 1e-14:  # the limit of small beta: pi is a corner, k with probability beta_k / sum
        for j in range(num_classes):
            out[j] = beta[j] / top / rivals
        return
    classes = np.empty((5, num_classes))
    active = np.empty(num_classes, np.int64)
    _describe(beta, top, classes)
    end = upper_offset(min((LOG_TAIL + math.log(num_classes)) / top, 1e300))
    # Factorised densities have rounding errors of x * 1e-16 each, so many classes need the other form earlier.
    direct = top * math.exp(end) < (400.0 if num_classes <= 64 else 100.0)
    start = _first_offset(classes, top, direct)
    size = _keep_contenders(classes, start, active)
    for j in range(num_classes):
        out[j] = 0.0
    if size == 1:
        out[active[0]] = 1.0
        return
    panels = max(3 + int(0.5 * math.log2(rivals)), math.ceil((end - start) / 2.9))
    probs = np.empty(size)
    for _ in range(MAX_ATTEMPTS):
        defect = _integrate(classes[:, :size], top, start, end, panels, direct, probs)
        if defect < CLOSURE + 1e-14 * num_classes:
            break
        panels *= 2
    total = 0.0
    for j in range(size):
        probs[j] = max(0.0, probs[j])
        total += probs[j]
    for j in range(size):
        out[active[j]] = probs[j] / total


@kernel
def _describe(beta: FloatArray, top: float, classes: FloatArray) -> None:
    """Fill three rows of classes (5, K): shape, shift = log(top / shape) without cancellation, log_peak."""
    log_top = math.log(top)
    for j in range(beta.size):
        shape = max(beta[j], SMALLEST)
        classes[SHAPE, j] = shape
        classes[SHIFT, j] = math.log1p((top - shape) / shape) if shape > 0.5 * top else log_top - math.log(shape)
        classes[PEAK, j] = log_peak(shape)


@kernel
def _first_offset(classes: FloatArray, top: float, direct: bool) -> float:
    """The offset where integration starts: the largest x is below it with probability at most e^-LOG_TAIL, or the
    integral below it has a closed form.

    The largest of three bounds: the lower tail of the largest shape; prod G_j <= x^S / prod Gamma(b_j + 1);
    and the product of all Chernoff bounds, by Newton steps from below (convex, hence no overshoot).
    """
    shapes, shifts, peaks = classes[SHAPE], classes[SHIFT], classes[PEAK]
    log_top = math.log(top)
    start: float = lower_offset(min(LOG_TAIL / top, 1e300))
    if direct:
        total = 0.0
        log_factorials = 0.0
        for j in range(shapes.size):
            total += shapes[j]
            log_factorials += (shapes[j] + 1.0) * (log_top - shifts[j]) - shapes[j] - peaks[j]  # log Gamma(b + 1)
        start = max(start, max((log_factorials - LOG_TAIL) / total, LEFT_END) - log_top)
    for _ in range(3):
        surplus = -LOG_TAIL
        slope = 0.0
        for j in range(shapes.size):
            s = start + shifts[j]
            if s < 0.0:
                rise = math.expm1(s)
                surplus += shapes[j] * (rise - s if s < -0.25 else exp_excess(s))
                slope += shapes[j] * rise
        if surplus <= 0.0:
            break
        start -= surplus / slope
    return start


@kernel
def _keep_contenders(classes: FloatArray, start: float, active: IntArray) -> int:
    """Move the classes that can win to the front, with G_j and g_j at start; `active` lists them; returns how many."""
    size = 0
    for j in range(active.size):
        shape, shift, peak = classes[SHAPE, j], classes[SHIFT, j], classes[PEAK, j]
        s = start + shift
        depth = shape * exp_excess(s)
        if s > 0.0 and depth > LOG_DROP:
            continue
        density = math.exp(peak - depth)
        active[size] = j
        classes[SHAPE, size] = shape
        classes[SHIFT, size] = shift
        classes[PEAK, size] = peak
        classes[START, size] = lower_probability(shape, s, peak, density, LOG_DROP)
        classes[DENSITY, size] = density
        size += 1
    return size


@kernel
def _integrate(
    classes: FloatArray, top: float, start: float, end: float, panels: int, direct: bool, probs: FloatArray
) -> float:
    """Fill probs (size,); return how far their sum, or any G_j at the end, is from 1.

    Each pass of the panel loop evaluates g_j (densities) and G_j (cdfs) at the nodes, then multiplies the G_j
    before and after k, which gives every leave-one-out product without a division.
    """
    size = probs.size
    shapes, shifts, peaks = classes[SHAPE], classes[SHIFT], classes[PEAK]
    nodes = min(NUM_NODES, HALF * size)  # NUM_NODES; a length the compiler knew would be unrolled, not vectorised
    width = (end - start) / panels
    scratch = np.empty((6, size + 1, NUM_NODES))
    factors, densities, cdfs, sums = scratch[0], scratch[1], scratch[2], scratch[3]
    before, after = scratch[4], scratch[5]  # products of the G_j before k; of those from k on, times the weights
    dampings = np.empty((panels, NUM_NODES))
    edges = classes[START].copy()  # G_j where the panel begins
    amplitudes = np.empty(size)  # of g_j in the current panel, without factors and damping
    growth = np.empty(size)
    for j in range(size):
        for i in range(nodes):
            sums[j, i] = 0.0
    if direct:
        _factorise(shapes, width, factors)
        for j in range(size):
            half = math.exp(0.5 * shapes[j] * width)
            growth[j] = half * half
            amplitudes[j] = width * half * classes[DENSITY, j]
        x_start = top * math.exp(start)
        for panel in range(panels):
            x_middle = top * math.exp(start + (panel + 0.5) * width)
            for i in range(nodes):
                dampings[panel, i] = x_start - x_middle * factors[size, i]
        exponentiate(dampings.reshape(dampings.size))
    for panel in range(panels):
        middle = start + (panel + 0.5) * width
        for i in range(nodes):
            before[0, i] = 1.0
            after[size, i] = MIRRORED_WEIGHTS[i]
        for j in range(size):
            if direct:
                for i in range(nodes):
                    densities[j, i] = amplitudes[j] * factors[j, i] * dampings[panel, i]
                amplitudes[j] *= growth[j]
            else:
                for i in range(nodes):
                    s = middle + width * MIRRORED[i] + shifts[j]
                    densities[j, i] = width * math.exp(peaks[j] - shapes[j] * exp_excess(s))
            edges[j] = _accumulate(edges[j], j, densities, cdfs, nodes // 2)
            for i in range(nodes):
                before[j + 1, i] = before[j, i] * cdfs[j, i]
        for j in range(size - 1, -1, -1):
            for i in range(nodes):
                after[j, i] = after[j + 1, i] * cdfs[j, i]
        for j in range(size):
            for i in range(nodes):
                sums[j, i] += densities[j, i] * before[j, i] * after[j + 1, i]
    defect: float = _collect(shapes, classes[START], edges, sums, probs)
    return defect


@kernel
def _factorise(shapes: FloatArray, width: float, factors: FloatArray) -> None:
    """e^(shape * width * MIRRORED) for the shapes (n,) and 1 -> factors (n + 1, NUM_NODES), half by reciprocals."""
    left = np.empty((factors.shape[0], HALF))
    for j in range(factors.shape[0]):
        scale = width * (shapes[j] if j < shapes.size else 1.0)
        for i in range(HALF):
            left[j, i] = scale * MIRRORED[i]
    exponentiate(left.reshape(left.size))
    for j in range(factors.shape[0]):
        for i in range(HALF):
            factors[j, i] = left[j, i]
            factors[j, HALF + i] = 1.0 / left[j, i]


@kernel
def _accumulate(edge: float, j: int, densities: FloatArray, cdfs: FloatArray, half: int) -> float:
    """Fill cdfs[j] (n,) with G_j at the nodes from G_j = edge where the panel begins; return G_j where it ends.

    The even part of the density about the middle of the panel has an odd running integral, and the odd part an even
    one: two matrices of a quarter of the size. Their eight rows are written out, so that sums stay in registers.
    """
    d0, d1, d2, d3 = densities[j, 0], densities[j, 1], densities[j, 2], densities[j, 3]
    d4, d5, d6, d7 = densities[j, 4], densities[j, 5], densities[j, 6], densities[j, 7]
    m0, m1, m2, m3 = densities[j, 8], densities[j, 9], densities[j, 10], densities[j, 11]
    m4, m5, m6, m7 = densities[j, 12], densities[j, 13], densities[j, 14], densities[j, 15]
    e0, e1, e2, e3, e4, e5, e6, e7 = d0 + m0, d1 + m1, d2 + m2, d3 + m3, d4 + m4, d5 + m5, d6 + m6, d7 + m7
    o0, o1, o2, o3, o4, o5, o6, o7 = d0 - m0, d1 - m1, d2 - m2, d3 - m3, d4 - m4, d5 - m5, d6 - m6, d7 - m7
    total: float = (WEIGHTS[0] * e0 + WEIGHTS[1] * e1) + (WEIGHTS[2] * e2 + WEIGHTS[3] * e3)
    total += (WEIGHTS[4] * e4 + WEIGHTS[5] * e5) + (WEIGHTS[6] * e6 + WEIGHTS[7] * e7)
    middle = edge + 0.5 * total
    for i in range(half):
        even = (EVEN[0, i] * o0 + EVEN[1, i] * o1) + (EVEN[2, i] * o2 + EVEN[3, i] * o3)
        even += (EVEN[4, i] * o4 + EVEN[5, i] * o5) + (EVEN[6, i] * o6 + EVEN[7, i] * o7)
        odd = (ODD[0, i] * e0 + ODD[1, i] * e1) + (ODD[2, i] * e2 + ODD[3, i] * e3)
        odd += (ODD[4, i] * e4 + ODD[5, i] * e5) + (ODD[6, i] * e6 + ODD[7, i] * e7)
        cdfs[j, i] = middle + even + odd
        cdfs[j, half + i] = middle + even - odd
    return edge + total


@kernel
def _collect(shapes: FloatArray, starts: FloatArray, edges: FloatArray, sums: FloatArray, probs: FloatArray) -> float:
    """Add up the nodes and, left of the first panel, int g_k prod G_j = b_k / S prod G_j(start)."""
    left = 1.0
    all_shapes = 0.0
    for j in range(probs.size):
        left *= starts[j]
        all_shapes += shapes[j]
    total = 0.0
    defect = 0.0
    for j in range(probs.size):
        probs[j] = left * (shapes[j] / all_shapes)
        for i in range(NUM_NODES):
            probs[j] += sums[j, i]
        total += probs[j]
        defect = max(defect, abs(edges[j] - 1.0))
    return max(defect, abs(total - 1.0))
