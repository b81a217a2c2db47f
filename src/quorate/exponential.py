"""The exponential of many numbers at a time, equal to the bit whether interpreted or compiled.

Takes an array, changes it in place; called by the kernels of `posterior` and `learning`.
"""

from __future__ import annotations

import numpy as np

from quorate.compiled import kernel_or
from quorate.types import FloatArray

_PER_LN2 = 1.4426950408889634  # 1 / ln 2
_LN2_HIGH = 6.93145751953125e-1  # ln 2 in two parts, the first with trailing zeros so that n * high is exact
_LN2_LOW = 1.4286068203094173e-6
_ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number in the lowest bits
_ONE = 1023 << 52  # bits of 1.0
# 1 + r + _E2 r^2 + ... + _E11 r^11 = exp(r) within 2e-17 for |r| <= ln 2 / 2: Chebyshev's approximation
_E2, _E3, _E4 = 0.5000000000000001, 0.16666666666666669, 0.04166666666662413
_E5, _E6 = 0.008333333333330062, 0.0013888888917213717
_E7, _E8, _E9 = 0.00019841269863053618, 2.4801521295954376e-05, 2.7557268459997064e-06
_E10, _E11 = 2.7620088445409746e-07, 2.510038549551032e-08
LEAST = -708.0  # e^-708 is close to the smallest normal number; lower values are raised to this


def plain_exponentiate(values: FloatArray) -> None:
    """`exponentiate` by NumPy, operation by operation: who changes one of the two changes both, or bits differ."""
    x = np.where(values > LEAST, values, LEAST)
    rounded = x * _PER_LN2 + _ROUNDER
    whole = rounded - _ROUNDER
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    rr = r * r
    r4 = rr * rr
    low = (1.0 + r) + rr * (_E2 + r * _E3)
    middle = (_E4 + r * _E5) + rr * (_E6 + r * _E7)
    high = (_E8 + r * _E9) + rr * (_E10 + r * _E11)
    values[:] = low + r4 * (middle + r4 * high)
    values *= ((rounded.view(np.int64) << 52) + _ONE).view(np.float64)


@kernel_or(plain_exponentiate)
def exponentiate(values: FloatArray) -> None:
    """values (n,) <- exp(values), in place, for values <= 0; below -708 as at -708. Good to 1 part in 10^15.

    A polynomial that the compiler turns into vector instructions for four to eight numbers at a time; the C library
    would be called once for each number. exp(x) = 2^n exp(r), n the whole number nearest to x / ln 2,
    |r| <= ln 2 / 2, exp(r) by a polynomial.
    """
    chunk = min(256, values.size)  # stays in the fastest cache
    rounded = np.empty(chunk)
    bits = rounded.view(np.int64)
    for begin in range(0, values.size, max(chunk, 1)):
        part = values[begin : begin + chunk]
        for i in range(part.size):
            x = part[i] if part[i] > LEAST else LEAST
            whole = x * _PER_LN2 + _ROUNDER
            rounded[i] = whole
            whole -= _ROUNDER
            r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
            rr = r * r
            r4 = rr * rr
            low = (1.0 + r) + rr * (_E2 + r * _E3)  # groups of four terms, which the processor computes in parallel
            middle = (_E4 + r * _E5) + rr * (_E6 + r * _E7)
            high = (_E8 + r * _E9) + rr * (_E10 + r * _E11)
            part[i] = low + r4 * (middle + r4 * high)
        for i in range(part.size):
            bits[i] = (bits[i] << 52) + _ONE
        for i in range(part.size):
            part[i] *= rounded[i]
