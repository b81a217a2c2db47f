"""Newton's step: a dense Cholesky factor for few parameters, conjugate gradients for many.

Takes the traces of `objective.evaluate`; returns a descent direction even where the objective is not convex. Called by
`fit`. The factorisation is our own: it needs no library besides numba and sums in the same order on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.learning import curvature
from quorate.learning.problem import Evidence, HyperpriorNumbers, Traces
from quorate.types import FloatArray

hessian, hessian_diagonal, hessian_product = curvature.hessian, curvature.hessian_diagonal, curvature.hessian_product


@kernel
def factorise(matrix: FloatArray, damping: float, factor: FloatArray) -> float:
    """matrix + damping I = U'U -> factor (P, P), with the damping raised until the sum is positive definite.

    Returns the damping used: `damping` itself if that is enough.
    """
    largest = 0.0
    for a in range(matrix.shape[0]):
        largest = max(largest, abs(matrix[a, a]))
    for _ in range(20):
        if _cholesky(matrix, damping, 1e-12 * largest, factor):
            return damping
        damping = max(4.0 * damping, 1e-3 * largest)
    factor[:] = 0.0  # the matrix is not finite: use the gradient direction, and leave the length to the line search
    for a in range(matrix.shape[0]):
        factor[a, a] = 1.0
    return 1.0


@kernel
def dense_step(factor: FloatArray, gradient: FloatArray, step: FloatArray) -> None:
    """Solve U'U step = -gradient, with U from `factorise`."""
    size = gradient.size
    for a in range(size):
        step[a] = -gradient[a]
    for a in range(size):
        row = factor[a]
        step[a] /= row[a]
        known = step[a]
        for b in range(a + 1, size):
            step[b] -= known * row[b]
    for a in range(size - 1, -1, -1):
        row = factor[a]
        total = step[a]
        for b in range(a + 1, size):
            total -= row[b] * step[b]
        step[a] = total / row[a]


@kernel
def _cholesky(matrix: FloatArray, damping: float, least: float, factor: FloatArray) -> bool:
    """matrix + damping I = U'U with U upper triangular -> factor; False if a pivot is not above `least`."""
    size = matrix.shape[0]
    for a in range(size):
        for b in range(a, size):
            factor[a, b] = matrix[a, b]
        factor[a, a] += damping
    for a in range(size):
        row = factor[a]
        if not row[a] > least:
            return False
        scale = 1.0 / math.sqrt(row[a])
        for b in range(a, size):
            row[b] *= scale
        for c in range(a + 1, size):
            target = factor[c]
            multiple = row[c]
            for b in range(c, size):
                target[b] -= multiple * row[b]
    return True


@kernel
def conjugate_step(
    packed: FloatArray,
    evidence: Evidence,
    hyperprior: HyperpriorNumbers,
    traces: Traces,
    gradient: FloatArray,
    accuracy: float,
    step: FloatArray,
) -> None:
    """Solve Hessian step = -gradient to relative `accuracy` by conjugate gradients, preconditioned by the diagonal.

    O(P) memory besides the window. Stops at the first direction of negative curvature; the step so far is a descent.
    """
    size = gradient.size
    scale = np.empty(size)
    hessian_diagonal(packed, evidence, hyperprior, traces, gradient, scale)
    largest = 0.0
    for a in range(size):
        scale[a] = abs(scale[a])
        largest = max(largest, scale[a])
    for a in range(size):
        scale[a] = 1.0 / max(scale[a], 1e-6 * largest, 1e-12)
    step[:] = 0.0
    residual = -gradient
    direction = scale * residual
    image = np.empty(size)
    energy = _dot(residual, direction)
    goal = accuracy * accuracy * energy
    for iteration in range(10 * size):
        if energy <= goal:
            return
        hessian_product(packed, evidence, hyperprior, traces, gradient, direction, image)
        bend = _dot(direction, image)
        if not bend > 0.0:
            if iteration == 0:
                for a in range(size):
                    step[a] = direction[a]
            return
        ratio = energy / bend
        for a in range(size):
            step[a] += ratio * direction[a]
            residual[a] -= ratio * image[a]
        before = energy
        energy = 0.0
        for a in range(size):
            energy += residual[a] * residual[a] * scale[a]
        for a in range(size):
            direction[a] = scale[a] * residual[a] + energy / before * direction[a]


@kernel
def _dot(left: FloatArray, right: FloatArray) -> float:
    """Inner product, in index order."""
    total = 0.0
    for a in range(left.size):
        total += left[a] * right[a]
    return total
