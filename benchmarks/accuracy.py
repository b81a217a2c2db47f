"""Slower, more accurate versions of the timed computations, to report errors next to speeds. Called by run.py."""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import gammainc, gammaln

from common import ROOT, Beliefs
from quorate import plurality_finite, plurality_infinite

sys.path.insert(0, str(ROOT))

from tests.oracles_finite import by_counting_ties


def infinite_error(beliefs: Beliefs, items: int) -> float:
    """Largest error of plurality_infinite over the first items, against the trapezoidal rule below."""
    ours = plurality_infinite(beliefs.alpha[:items], beliefs.votes[:items])
    beta = beliefs.alpha[:items] + beliefs.votes[:items]
    return max(float(np.abs(mine - trapezoid(row)).max()) for mine, row in zip(ours, beta, strict=True))


def trapezoid(beta: np.ndarray, step: float = 0.05) -> np.ndarray:
    """P(k) = int g_k prod_{j != k} G_j dt over t = log x: about 1000 nodes per item, SciPy's gammainc for the G_j.

    The integrand is analytic for |Im t| < pi / 2, so the rule's own error is below exp(-pi^2 / step) = 1e-85.
    """
    t = np.arange(-45 / beta.sum() - 5, np.log(beta.max() + 60), step)
    below = gammainc(beta[:, None], np.exp(t))  # (K, nodes)
    density = np.exp(beta[:, None] * t - np.exp(t) - gammaln(beta)[:, None])
    others = np.stack([np.delete(below, k, axis=0).prod(axis=0) for k in range(beta.size)])
    return (density * others).sum(axis=1) * step


def finite_error(beliefs: Beliefs, items: int) -> float:
    """Largest error of plurality_finite over the first items, against the tests' oracle in extended precision."""
    alpha, votes, sizes = (part[:items] for part in beliefs)
    ours = plurality_finite(alpha, votes, pool_size=sizes)
    classes = range(alpha.shape[1])
    return max(
        float(np.abs(ours[i] - np.array(by_counting_ties(alpha[i], votes[i], int(sizes[i]), classes))).max())
        for i in range(items)
    )
