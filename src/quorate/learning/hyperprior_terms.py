"""What the hyperprior adds to the objective, in x (logarithms, then the bias): value, gradient and second derivatives.

Takes the packed parameters; called by `objective` and `curvature`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.densities import log_gamma
from quorate.learning.problem import HyperpriorNumbers
from quorate.types import FloatArray


@kernel
def add_hyperprior(
    packed: FloatArray, num_classifiers: int, num_logs: int, hyperprior: HyperpriorNumbers, gradient: FloatArray
) -> float:
    """-log p(Theta); turns the log likelihood's slope in Theta into the objective's gradient in x."""
    shape, rate, phi_shape, phi_rate, tau_sd, bias_sd, bias_df = hyperprior
    value = 0.0
    log_constant = log_gamma(shape)
    theta_constant = log_constant - shape * math.log(rate)
    phi_constant = log_gamma(phi_shape) - phi_shape * math.log(phi_rate)
    tau_rate = rate * num_classifiers
    tau_constant = log_constant - shape * math.log(tau_rate)
    for p in range(num_logs):
        own_shape, own_rate, constant = shape, tau_rate, tau_constant
        if p == 0:
            own_rate, constant = rate, theta_constant
        elif p == 1:
            own_shape, own_rate, constant = phi_shape, phi_rate, phi_constant
        value += constant
        value += own_rate * packed[p] - (own_shape - 1.0) * math.log(packed[p])
        gradient[p] = own_rate * packed[p] - (own_shape - 1.0) - packed[p] * gradient[p]
    if tau_sd > 0.0:
        slopes = _tau_slopes(packed, num_classifiers, num_logs, tau_sd)
        for p in range(2, num_logs):
            value += 0.5 * (tau_sd * slopes[p]) * (tau_sd * slopes[p])
            gradient[p] += slopes[p]
    if bias_df > 0.0 and packed.size > num_logs:
        return value + _add_student(packed, num_logs, bias_sd, bias_df, gradient)
    for p in range(num_logs, packed.size):
        spread = packed[p] / bias_sd
        value += 0.5 * math.log(2.0 * math.pi) + math.log(bias_sd) + 0.5 * spread * spread
        gradient[p] = spread / bias_sd - gradient[p]
    return value


@kernel
def _add_student(packed: FloatArray, num_logs: int, bias_sd: float, bias_df: float, gradient: FloatArray) -> float:
    """-log p of a bias (K,) with Student's distribution; fills the bias part of the gradient."""
    num_classes = packed.size - num_logs
    half = 0.5 * (bias_df + num_classes)
    squares = _sum_of_squares(packed, num_logs)
    scale = bias_df * bias_sd * bias_sd
    for p in range(num_logs, packed.size):
        gradient[p] = 2.0 * half * packed[p] / (scale + squares) - gradient[p]
    value = log_gamma(0.5 * bias_df) - log_gamma(half) + 0.5 * num_classes * math.log(scale * math.pi)
    return float(value + half * math.log1p(squares / scale))


@kernel
def chain_rule_diagonal(
    packed: FloatArray, num_classifiers: int, num_logs: int, hyperprior: HyperpriorNumbers, gradient: FloatArray
) -> FloatArray:
    """(num_logs,) what first derivatives in Theta add to the diagonal of the second derivatives in x = log Theta.

    It is Theta dF / dTheta of the likelihood and the Gamma densities: the gradient in x, plus shape - 1, without the
    part of `tau_sd`, which is quadratic in x itself.
    """
    found = np.empty(num_logs)
    for p in range(num_logs):
        found[p] = gradient[p] + (hyperprior.phi_shape if p == 1 else hyperprior.shape) - 1.0
    if hyperprior.tau_sd > 0.0:
        slopes = _tau_slopes(packed, num_classifiers, num_logs, hyperprior.tau_sd)
        for p in range(2, num_logs):
            found[p] -= slopes[p]
    return found


@kernel
def bias_curvature(packed: FloatArray, num_logs: int, hyperprior: HyperpriorNumbers) -> tuple[float, float]:
    """c and e of the second derivatives of -log p(bias), which are c I - e bias bias'; e = 0 for a Normal."""
    variance = hyperprior.bias_sd * hyperprior.bias_sd
    if hyperprior.bias_df == 0.0 or packed.size == num_logs:
        return 1.0 / variance, 0.0
    total = hyperprior.bias_df * variance + _sum_of_squares(packed, num_logs)
    bend = (hyperprior.bias_df + (packed.size - num_logs)) / total
    return bend, 2.0 * bend / total


@kernel
def _tau_slopes(packed: FloatArray, num_classifiers: int, num_logs: int, tau_sd: float) -> FloatArray:
    """The gradient of `Hyperprior.tau_sd` in x: (log tau_mk - their mean over k) / tau_sd^2; 0 for theta and phi."""
    logs = np.zeros(num_logs)
    for p in range(2, num_logs):
        logs[p] = math.log(packed[p])
    slopes = from_mean(logs, num_classifiers, num_logs)
    for p in range(2, num_logs):
        slopes[p] /= tau_sd * tau_sd
    return slopes


@kernel
def from_mean(values: FloatArray, num_classifiers: int, num_logs: int) -> FloatArray:
    """(num_logs,) how far the tau in `values` are from their mean for each classifier; 0 for theta and phi."""
    num_classes = (num_logs - 2) // num_classifiers
    away = np.zeros(num_logs)
    for m in range(num_classifiers):
        first = 2 + m * num_classes
        mean = 0.0
        for p in range(first, first + num_classes):
            mean += values[p]
        mean /= num_classes
        for p in range(first, first + num_classes):
            away[p] = values[p] - mean
    return away


@kernel
def _sum_of_squares(packed: FloatArray, first: int) -> float:
    """The sum of squares of packed[first:], in index order."""
    total = 0.0
    for p in range(first, packed.size):
        total += packed[p] * packed[p]
    return total
