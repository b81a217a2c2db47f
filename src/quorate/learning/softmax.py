"""Softmax of all items of the window, with our own exponential: most of the time of a fit is spent here.

Called by `objective.evaluate`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel, kernel_or
from quorate.exponential import LEAST, exponentiate, plain_exponentiate
from quorate.types import FloatArray
from quorate.validate import PREDICTION_FLOOR

# below the logarithm of any prediction; the margin is for the renormalisation after flooring
_LOWEST_LOG = math.log(PREDICTION_FLOOR) - 0.1


def _plain_softmax_rows(packed: FloatArray, log_predictions: FloatArray, out: FloatArray) -> None:
    """`softmax_rows` by NumPy for all items at once, in the kernel's order of operations."""
    _, num_classifiers, num_classes = log_predictions.shape
    num_logs = 2 + num_classifiers * num_classes
    tau = packed[2:num_logs].reshape(num_classifiers, num_classes)
    bias, lowest = _shifted(packed, num_classifiers, num_classes)
    out[:] = bias
    for m in range(num_classifiers):
        out += tau[m] * log_predictions[:, m]
    if not lowest > LEAST:
        out -= out.max(axis=1, keepdims=True)
    plain_exponentiate(out.reshape(out.size))
    sums = np.zeros((4, len(out)))
    for k in range(num_classes):
        sums[k % 4 if k < num_classes & ~3 else 0] += out[:, k]
    out *= (1.0 / ((sums[0] + sums[1]) + (sums[2] + sums[3])))[:, None]


@kernel
def _shifted(packed: FloatArray, num_classifiers: int, num_classes: int) -> tuple[FloatArray, float]:
    """The bias (K,) less its largest entry, so that no logit is above 0; and a lower bound of all logits.

    If the bound is above LEAST, no exponential underflows, and the largest logit of an item need not be subtracted.
    """
    num_logs = 2 + num_classifiers * num_classes
    bias = np.zeros(num_classes)
    lowest = 0.0
    if packed.size > num_logs:
        highest = packed[num_logs]
        for k in range(num_classes):
            highest = max(highest, packed[num_logs + k])
        for k in range(num_classes):
            bias[k] = packed[num_logs + k] - highest
            lowest = min(lowest, bias[k])
    for m in range(num_classifiers):
        steepest = 0.0
        for k in range(num_classes):
            steepest = max(steepest, packed[2 + m * num_classes + k])
        lowest += steepest * _LOWEST_LOG
    return bias, lowest


@kernel_or(_plain_softmax_rows)
def softmax_rows(packed: FloatArray, log_predictions: FloatArray, out: FloatArray) -> None:
    """softmax(sum_m tau_m * log f_m + bias): log_predictions (T, M, K) -> out (T, K), contiguous."""
    num_items, num_classifiers, num_classes = log_predictions.shape
    bias, lowest = _shifted(packed, num_classifiers, num_classes)
    first_tau = packed[2 : 2 + num_classes]
    for t in range(num_items):
        row = out[t]
        spoken = log_predictions[t, 0]
        for k in range(num_classes):
            row[k] = bias[k] + first_tau[k] * spoken[k]
        for m in range(1, num_classifiers):
            tau = packed[2 + m * num_classes : 2 + (m + 1) * num_classes]
            spoken = log_predictions[t, m]
            for k in range(num_classes):
                row[k] += tau[k] * spoken[k]
    if not lowest > LEAST:
        for t in range(num_items):
            row = out[t]
            highest = _highest(row)
            for k in range(num_classes):
                row[k] -= highest
    exponentiate(out.reshape(out.size))
    for t in range(num_items):
        row = out[t]
        scale = 1.0 / _total(row)
        for k in range(num_classes):
            row[k] *= scale


@kernel
def _highest(row: FloatArray) -> float:
    """The largest of row (n,); four running maxima, so that comparisons run in parallel."""
    a = b = c = d = row[0]
    whole = row.size & ~3
    for k in range(0, whole, 4):
        a = row[k] if row[k] > a else a
        b = row[k + 1] if row[k + 1] > b else b
        c = row[k + 2] if row[k + 2] > c else c
        d = row[k + 3] if row[k + 3] > d else d
    for k in range(whole, row.size):
        a = row[k] if row[k] > a else a
    a = b if b > a else a
    c = d if d > c else c
    highest: float = c if c > a else a
    return highest


@kernel
def _total(row: FloatArray) -> float:
    """The sum of row (n,), four partial sums at a time."""
    a = b = c = d = 0.0
    whole = row.size & ~3
    for k in range(0, whole, 4):
        a += row[k]
        b += row[k + 1]
        c += row[k + 2]
        d += row[k + 3]
    for k in range(whole, row.size):
        a += row[k]
    return (a + b) + (c + d)
