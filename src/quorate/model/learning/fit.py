"""Votes seen -> the most probable parameters, with a report of how the search went.

Safeguarded Newton in the logarithms of the parameters: exact Hessian, backtracking, from any start. The method is in
core/fit.cpp. `fit` is for users; `fit_packed` is the same search for the session; streams call it in the core.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from quorate import core
from quorate.model.learning.objective import WHOLE, evaluated
from quorate.model.learning.problem import HyperpriorNumbers, checked_window, numbers_of, pack, unpack
from quorate.model.prior import Hyperprior
from quorate.model.prior import hyperprior as find_hyperprior
from quorate.types import FitReport, FloatArray, IntArray, PriorParams
from quorate.validate import invalid

CONVERGED = 1e-6  # gradient norm below which a report says converged; see FitReport
DENSE_LIMIT = 150  # parameters above this: conjugate gradients instead of a Cholesky factor


def fit(
    predictions: ArrayLike,
    votes: ArrayLike,
    *,
    hyperprior: str | Hyperprior = "infexp",
    start: PriorParams | None = None,
    bias: bool = False,
    hessian: bool = False,
) -> tuple[PriorParams, FitReport]:
    r"""MAP estimate of Theta = (theta, phi, tau[, bias]) from predictions and the votes seen (paper eq. Theta*).

    argmax_Theta  sum_t log DirMult(votes_t; alpha_t(Theta)) + log p(Theta)

    predictions (T, K), or (T, M, K) for M classifiers; votes (T, K) counts, partial or whole: items without votes
    contribute nothing. `start` defaults to the hyperprior's mode; the last optimum makes a refit cheap. With
    `bias=True` the class bias is learned too (from 0 if `start` has none); without it, a bias in `start` is refused.
    `hessian=True`: the report has the second derivatives at the maximum.

    >>> params, report = fit([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]], [[3, 0], [0, 2], [1, 1]])
    >>> report.converged, round(params.theta, 2)
    (True, 1.24)
    """
    prior = find_hyperprior(hyperprior)
    log_predictions, counts, tau_shape = checked_window(predictions, votes)
    packed = _packed_start(start, prior, tau_shape, bias=bias)
    numbers = numbers_of(prior, tau_shape[-1])
    out, report = fit_packed(packed, log_predictions, counts, numbers, is_refit=False)
    if hessian:
        report = replace(report, hessian=evaluated(out, log_predictions, counts, numbers, WHOLE).second)
    return unpack(out, tau_shape), report


def fit_packed(
    start: FloatArray, log_predictions: FloatArray, votes: IntArray, hyperprior: HyperpriorNumbers, *, is_refit: bool
) -> tuple[FloatArray, FitReport]:
    """`fit` on log_predictions (W, M, K) and votes (W, K), in C order: parameters (P,) in the order of `problem.pack`.

    A bias is learned iff P = 2 + M K + K. A refit aims at a gradient norm of 1e-8 instead of 1e-10 and does not
    evaluate a last step that is expected to end below half of it; it can miss it (tests allow 3e-8).
    """
    out, info = np.empty(start.size), np.empty(4)
    core.fit(start, log_predictions, votes, out, info, is_refit, *hyperprior)
    return out, report_of(info)


def report_of(info: FloatArray) -> FitReport:
    """The report from the `info` of the core's `fit`.

    >>> report_of(np.array([3.0, 4.0, 1e-13, -12.5])).num_iterations
    3
    """
    return FitReport(
        num_iterations=int(info[0]),
        num_evaluations=int(info[1]),
        converged=bool(info[2] < CONVERGED),
        gradient_norm=float(info[2]),
        log_posterior=float(info[3]),
    )


def _packed_start(
    start: PriorParams | None, prior: Hyperprior, tau_shape: tuple[int, ...], *, bias: bool
) -> FloatArray:
    """The start as a vector (P,), checked against the shape of the predictions."""
    num_classes = tau_shape[-1]
    num_classifiers = tau_shape[0] if len(tau_shape) == 2 else 1
    if start is None:
        return pack(prior.mode(num_classes, num_classifiers, with_bias=bias))
    if start.tau.shape != tau_shape:
        rule = f"tau of shape {tau_shape}, like `predictions`, not {start.tau.shape}"
        raise invalid("start", start, rule, "pass parameters for the same classifiers and classes.")
    if start.bias is not None and not bias:
        rule = "parameters without a bias, because `bias` is False"
        raise invalid("start", start, rule, "pass `bias=True` to keep learning it, or a start without a bias.")
    packed = pack(start)
    return packed if start.bias is not None or not bias else np.concatenate([packed, np.zeros(num_classes)])
