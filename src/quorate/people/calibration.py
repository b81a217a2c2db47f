"""Scores of the crowd model -> confidence, by one temperature fitted to items whose true class is known.

    p_k ~ r_k^(1/T),   T maximises sum_i log p_i[truth of i]

The crowd model is overconfident, because people err on the same items. One number learned from known items corrects
most of that. T is at least 1: the confidence is never raised.
"""

from __future__ import annotations

import numpy as np

from quorate.numerics import find_minimum
from quorate.types import FloatArray, IntArray

LOG_RANGE = (0.0, 5.0)  # of log T: a few right answers must not raise the confidence
FLOOR = 1e-12


def temperature(beliefs: FloatArray, truth: IntArray) -> float:
    """T for beliefs (n, K) of items with true classes (n,).

    >>> round(temperature(np.array([[0.99, 0.01]] * 10), np.array([0] * 8 + [1] * 2)), 1)
    3.3
    """
    rows, logs = np.arange(len(truth)), np.log(np.maximum(beliefs, FLOOR))

    def negative_log_likelihood(log_t: float) -> float:
        return -float(np.log(np.maximum(_at_temperature(logs, float(np.exp(log_t)))[rows, truth], FLOOR)).sum())

    return float(np.exp(find_minimum(negative_log_likelihood, *LOG_RANGE)))


def calibrated(beliefs: FloatArray, t: float) -> FloatArray:
    """Beliefs (n, K) at temperature `t`.

    >>> calibrated(np.array([[0.8, 0.2]]), 2.0).round(3)
    array([[0.667, 0.333]])
    """
    return _at_temperature(np.log(np.maximum(beliefs, FLOOR)), t)


def _at_temperature(log_beliefs: FloatArray, t: float) -> FloatArray:
    logs = log_beliefs / t
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
