"""The learning problem in the form the compiled core needs: checked arrays, parameters in one vector."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quorate import validate
from quorate.model.prior import Hyperprior
from quorate.types import FloatArray, IntArray, PriorParams


class HyperpriorNumbers(NamedTuple):
    """A `quorate.model.prior.Hyperprior` for the core; `tau_sd` 0: the tau are independent; `bias_df` 0: a Normal."""

    theta_shape: float
    theta_rate: float
    phi_shape: float
    phi_rate: float
    tau_shape: float
    tau_rate: float
    tau_sd: float
    bias_sd: float
    bias_df: float


def numbers_of(hyperprior: Hyperprior, num_classes: int) -> HyperpriorNumbers:
    """The hyperprior as the compiled core takes it."""
    densities = hyperprior.densities(num_classes)
    return HyperpriorNumbers(
        *densities.theta, *densities.phi, *densities.tau, hyperprior.tau_sd, hyperprior.bias_sd, hyperprior.bias_df
    )


def pack(params: PriorParams) -> FloatArray:
    """The parameters (not their logarithms) in one vector (P,): [theta, phi, tau row by row, bias].

    >>> pack(PriorParams(theta=4.0, phi=0.5, tau=[1.0, 2.0]))
    array([4. , 0.5, 1. , 2. ])
    """
    parts = [np.array([params.theta, params.phi]), params.tau.ravel()]
    return np.concatenate(parts if params.bias is None else [*parts, params.bias])


def unpack(packed: FloatArray, tau_shape: tuple[int, ...]) -> PriorParams:
    """The parameters of a packed vector (P,); `tau_shape` is (K,) or (M, K). Entries after tau are the bias.

    >>> unpack(np.array([4.0, 0.5, 1.0, 2.0]), (2,)).tau
    array([1., 2.])
    """
    end = 2 + math.prod(tau_shape)
    bias = packed[end:] if packed.size > end else None
    return PriorParams(float(packed[0]), float(packed[1]), packed[2:end].reshape(tau_shape), bias)


def checked_window(predictions: ArrayLike, votes: ArrayLike) -> tuple[FloatArray, IntArray, tuple[int, ...]]:
    """Validated log predictions (T, M, K), votes (T, K) and shape of tau, in C order.

    >>> checked_window([[0.5, 0.5]], [[1, 0]])[2]
    (2,)
    """
    counts = validate.counts(votes)
    probs = validate.probabilities(predictions, where="predictions")
    matches = probs.ndim in (2, 3) and counts.ndim == 2 and probs.shape[0] == counts.shape[0]
    if not matches or probs.shape[-1] != counts.shape[-1]:
        rule = f"shape (T, K), with `predictions` (T, K) or (T, M, K), not {counts.shape} with {probs.shape}"
        raise validate.invalid("votes", counts.tolist(), rule, "pass a row of votes for every prediction.")
    tau_shape = probs.shape[1:]
    num_classifiers = tau_shape[0] if len(tau_shape) == 2 else 1
    log_predictions = np.log(probs).reshape(counts.shape[0], num_classifiers, counts.shape[1])
    return np.ascontiguousarray(log_predictions), np.ascontiguousarray(counts), tau_shape
