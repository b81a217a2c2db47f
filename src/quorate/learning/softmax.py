"""Softmax of all items of the window, with our own exponential: most of the time of a fit is spent here.

The exponential is a polynomial that the compiler turns into vector instructions for four to eight numbers at a time;
the C library would be called once for each number. Called by `objective.evaluate`.
"""

from __future__ import annotations

import numpy as np

from quorate.compiled import kernel, kernel_or
from quorate.types import FloatArray

_PER_LN2 = 1.4426950408889634  # 1 / ln 2
_LN2_HIGH = 6.93145751953125e-1  # ln 2 in two parts, the first with trailing zeros so that n * high is exact
_LN2_LOW = 1.4286068203094173e-6
_ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number in the lowest bits
_ONE = 1023 << 52  # bits of 1.0
_LEAST = -708.0  # e^-708 is close to the smallest normal number; lower values are raised to this


def _plain_softmax_rows(packed: FloatArray, log_predictions: FloatArray, out: FloatArray) -> None:
    """`softmax_rows` by NumPy for all items at once, in the kernel's order of operations."""
    _, num_classifiers, num_classes = log_predictions.shape
    num_logs = 2 + num_classifiers * num_classes
    tau = packed[2:num_logs].reshape(num_classifiers, num_classes)
    out[:] = packed[num_logs:] if packed.size > num_logs else 0.0
    for m in range(num_classifiers):
        out += tau[m] * log_predictions[:, m]
    out -= out.max(axis=1, keepdims=True)
    _plain_exponentiate(out.reshape(out.size))
    sums = np.zeros((4, len(out)))
    for k in range(num_classes):
        sums[k % 4 if k < num_classes & ~3 else 0] += out[:, k]
    out *= (1.0 / ((sums[0] + sums[1]) + (sums[2] + sums[3])))[:, None]


def _plain_exponentiate(values: FloatArray) -> None:
    """`exponentiate` by NumPy."""
    x = np.where(values > _LEAST, values, _LEAST)
    rounded = x * _PER_LN2 + _ROUNDER
    whole = rounded - _ROUNDER
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    rr = r * r
    r4 = rr * rr
    low = (1.0 + r) + rr * (0.5 + r * (1 / 6))
    middle = (1 / 24 + r * (1 / 120)) + rr * (1 / 720 + r * (1 / 5040))
    high = (1 / 40320 + r * (1 / 362880)) + rr * (1 / 3628800 + r * (1 / 39916800))
    last = 1 / 479001600 + r * (1 / 6227020800)
    values[:] = low + r4 * (middle + r4 * (high + r4 * last))
    values *= ((rounded.view(np.int64) << 52) + _ONE).view(np.float64)


@kernel_or(_plain_softmax_rows)
def softmax_rows(packed: FloatArray, log_predictions: FloatArray, out: FloatArray) -> None:
    """softmax(sum_m tau_m * log f_m + bias): log_predictions (T, M, K) -> out (T, K), contiguous."""
    num_items, num_classifiers, num_classes = log_predictions.shape
    num_logs = 2 + num_classifiers * num_classes
    bias = packed[num_logs:] if packed.size > num_logs else np.zeros(num_classes)
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


@kernel_or(_plain_exponentiate)
def exponentiate(values: FloatArray) -> None:
    """values (n,) <- exp(values), in place, for values <= 0; below -708 as at -708. Good to 1 part in 10^15.

    exp(x) = 2^n exp(r), n the whole number nearest to x / ln 2, |r| <= ln 2 / 2, exp(r) by its series to r^13 / 13!.
    """
    chunk = 256  # stays in the fastest cache
    rounded = np.empty(chunk)
    bits = rounded.view(np.int64)
    for begin in range(0, values.size, chunk):
        part = values[begin : begin + chunk]
        for i in range(part.size):
            x = part[i] if part[i] > _LEAST else _LEAST
            whole = x * _PER_LN2 + _ROUNDER
            rounded[i] = whole
            whole -= _ROUNDER
            r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
            rr = r * r
            r4 = rr * rr
            low = (1.0 + r) + rr * (0.5 + r * (1 / 6))  # groups of four terms, which the processor computes in parallel
            middle = (1 / 24 + r * (1 / 120)) + rr * (1 / 720 + r * (1 / 5040))
            high = (1 / 40320 + r * (1 / 362880)) + rr * (1 / 3628800 + r * (1 / 39916800))
            last = 1 / 479001600 + r * (1 / 6227020800)
            part[i] = low + r4 * (middle + r4 * (high + r4 * last))
        for i in range(part.size):
            bits[i] = (bits[i] << 52) + _ONE
        for i in range(part.size):
            part[i] *= rounded[i]
