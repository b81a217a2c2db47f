"""Parameters and a prediction give alpha, the Dirichlet concentration of the voters' beliefs before any vote.

`concentration` is public; the kernel `concentration_into` is called by `decision`, `learning` and `streams`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from quorate import validate
from quorate.compiled import kernel
from quorate.errors import InvalidPrediction
from quorate.types import FloatArray, PriorParams


def concentration(params: PriorParams, prediction: ArrayLike) -> FloatArray:
    r"""Dirichlet concentration of the voters' beliefs, before any vote (paper eq:alpha).

    alpha = theta * softmax(sum_m tau_m * log f_m + bias) + phi

    prediction (..., K) for one classifier, (..., M, K) when `params.tau` is (M, K) -> alpha (..., K).
    `theta` is how many votes the classifier is worth, `phi` the doubt left on every class,
    `tau[k]` how much to trust what the classifier says about class k.

    >>> params = PriorParams(theta=4.0, phi=0.5, tau=np.array([1.0, 1.0, 2.0]))
    >>> concentration(params, [0.7, 0.2, 0.1]).round(3)
    array([3.577, 1.379, 0.544])
    """
    probs = validate.probabilities(prediction)
    expected = params.tau.shape
    if probs.shape[-len(expected) :] != expected:
        rule = f"shape (..., {', '.join(map(str, expected))}), like tau, not {probs.shape}"
        fix = f"pass one probability per class{' and classifier' if len(expected) == 2 else ''}."
        raise validate.broken("prediction", probs.tolist(), rule, fix, error=InvalidPrediction)
    batch = probs.shape[: -len(expected)]
    log_prediction = np.log(probs).reshape(-1, params.num_classifiers, params.num_classes)  # (B, M, K)
    # Copies: frozen arrays would make numba compile the kernel a second time, for read-only arguments.
    tau = np.array(params.tau).reshape(params.num_classifiers, params.num_classes)
    bias = np.zeros(params.num_classes) if params.bias is None else np.array(params.bias)
    alpha = np.empty((log_prediction.shape[0], params.num_classes))
    _concentrations(params.theta, params.phi, tau, bias, log_prediction, alpha)
    return alpha.reshape(*batch, params.num_classes)


@kernel
def concentration_into(
    theta: float, phi: float, tau: FloatArray, bias: FloatArray, log_prediction: FloatArray, out: FloatArray
) -> None:
    """`concentration` of ONE item: tau (M, K), bias (K,), log_prediction (M, K) -> out (K,)."""
    num_classifiers, num_classes = tau.shape
    highest = -math.inf
    for k in range(num_classes):
        logit = bias[k]
        for m in range(num_classifiers):
            logit += tau[m, k] * log_prediction[m, k]
        out[k] = logit
        highest = max(highest, logit)
    total = 0.0
    for k in range(num_classes):
        out[k] = math.exp(out[k] - highest)
        total += out[k]
    for k in range(num_classes):
        out[k] = theta * (out[k] / total) + phi


@kernel
def _concentrations(
    theta: float, phi: float, tau: FloatArray, bias: FloatArray, log_predictions: FloatArray, out: FloatArray
) -> None:
    """`concentration_into` row by row: log_predictions (B, M, K) -> out (B, K)."""
    for row in range(log_predictions.shape[0]):
        concentration_into(theta, phi, tau, bias, log_predictions[row], out[row])
