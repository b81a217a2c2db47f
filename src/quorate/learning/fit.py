"""Votes seen -> the most probable parameters, with a report of how the search went.

Safeguarded Newton in the logarithms of the parameters: exact Hessian, backtracking, from any start. `fit` is for
users; `fit_kernel` is the same search for the session and for compiled streams, equal bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from quorate.compiled import kernel, shared_kernel
from quorate.learning.newton import conjugate_step, dense_step, factorise
from quorate.learning.newton import hessian as second_derivatives
from quorate.learning.objective import evaluate
from quorate.learning.problem import (
    Evidence,
    HyperpriorNumbers,
    checked_window,
    compress,
    empty_traces,
    numbers_of,
    pack,
    unpack,
)
from quorate.prior import Hyperprior
from quorate.prior import hyperprior as find_hyperprior
from quorate.types import FitReport, FloatArray, IntArray, PriorParams
from quorate.validate import invalid

CONVERGED = 1e-6  # gradient norm below which a report says converged; see FitReport
DENSE_LIMIT = 150  # parameters above this: conjugate gradients instead of a Cholesky factor
INFO_SIZE = 4  # of what `fit_kernel` reports: iterations, evaluations, gradient norm, log posterior

TIGHT = 1e-10  # gradient norm that `fit` aims at; Newton's last step usually ends far below it
WARM = 1e-8  # gradient norm that refits in a stream aim at: a hundred times below CONVERGED, one step fewer than TIGHT
_SAFETY = 2.0  # a refit does not evaluate a last step that is expected to end at WARM / _SAFETY or below
_MAX_ITERATIONS = 400
_NEW_HESSIAN = 1e-100  # a norm so small that the next step recomputes the Hessian; its square does not underflow
_MAX_STEP = 3.0  # longest move of a logarithm: a factor of e^3 = 20 for theta, phi, tau; a bias b moves 3 + 2 |b|
_MAX_LOG = 40.0  # theta, phi, tau stay within e^-40 .. e^40; at these limits the likelihood is flat to the last digit


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
    out, info = np.empty(packed.size), np.empty(INFO_SIZE)
    fit_kernel(packed, log_predictions, counts, counts.shape[0], numbers_of(prior, tau_shape[-1]), False, out, info)
    report = report_of(info)
    if hessian:
        report = replace(report, hessian=_hessian_at(out, log_predictions, counts, prior))
    return unpack(out, tau_shape), report


def _hessian_at(packed: FloatArray, log_predictions: FloatArray, votes: IntArray, prior: Hyperprior) -> FloatArray:
    """(P, P) second derivatives of the negative log posterior in (log theta, log phi, log tau, bias)."""
    evidence, numbers = compress(log_predictions, votes), numbers_of(prior, votes.shape[1])
    traces, gradient, matrix = empty_traces(evidence), np.empty(packed.size), np.empty((packed.size, packed.size))
    evaluate(packed, evidence, numbers, traces, gradient)
    second_derivatives(packed, evidence, numbers, traces, gradient, matrix)
    return matrix


def report_of(info: FloatArray) -> FitReport:
    """The report from the `info` of `fit_kernel`.

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


@shared_kernel
def fit_kernel(
    start: FloatArray,
    log_predictions: FloatArray,
    votes: IntArray,
    num_items: int,
    hyperprior: HyperpriorNumbers,
    is_refit: bool,
    out: FloatArray,
    info: FloatArray,
) -> None:
    """`fit` on the first `num_items` rows of log_predictions (W, M, K) and votes (W, K), in slot order.

    A refit (`is_refit`) aims at WARM, not TIGHT. It does not evaluate a last step that is expected to end at half of
    WARM or below; it can miss WARM (tests allow 3e-8).

    `start` and `out` (P,) are parameters in the order of `problem.pack` (they may be the same array); a bias is learned
    iff P = 2 + M K + K. `info` (INFO_SIZE,) is read by `report_of`; with an empty one nothing is reported, else
    the objective is evaluated at the result.
    """
    evidence = compress(log_predictions[:num_items], votes[:num_items])
    minimise(start, evidence, hyperprior, start.size <= DENSE_LIMIT, is_refit, out, info)


@kernel
def minimise(
    start: FloatArray,
    evidence: Evidence,
    hyperprior: HyperpriorNumbers,
    dense: bool,
    is_refit: bool,
    out: FloatArray,
    info: FloatArray,
) -> None:
    """Minimise the negative log posterior from `start` (P,) -> out (P,), by dense Newton or by Newton-CG.

    `is_refit` and `info` are those of `fit_kernel`.
    """
    tolerance = WARM if is_refit else TIGHT
    size = start.size
    num_logs = 2 + evidence.log_predictions.shape[1] * evidence.log_predictions.shape[2]
    traces = empty_traces(evidence)
    matrix = np.empty((size, size)) if dense else np.empty((0, 0))
    factor = np.empty((size, size)) if dense else np.empty((0, 0))
    point = start.copy()  # x: logarithms, then the bias
    for p in range(num_logs):
        point[p] = min(max(math.log(start[p]), -_MAX_LOG), _MAX_LOG)
    trial = point.copy()
    packed = np.empty(size)
    gradient = np.empty(size)
    trial_gradient = np.empty(size)
    step = np.empty(size)
    _exponentiate(point, num_logs, packed)
    value = evaluate(packed, evidence, hyperprior, traces, gradient)
    norm = _norm(gradient, value)
    evaluations = 1
    iterations = 0
    damping = 0.0
    is_new_hessian = True  # whether the last step had a Hessian of its own
    norm_before = _NEW_HESSIAN
    is_evaluated = True  # whether value and norm are those of the point
    while norm > tolerance and iterations < _MAX_ITERATIONS:
        if dense:
            # A step with the old factor costs less than half of one with a new Hessian, and should reduce the norm by
            # the same factor as the last step: keep it if two such steps are enough. After a step with a new Hessian
            # the factor is about twice that of the last step.
            ratio = norm / norm_before
            if 2.0 * norm * (ratio * ratio) > tolerance or damping > 0.0:
                second_derivatives(packed, evidence, hyperprior, traces, gradient, matrix)
                damping = factorise(matrix, 0.1 * damping if damping > 1e-9 else 0.0, factor)
                is_new_hessian = True
            else:
                expected = (2.0 if is_new_hessian else 1.0) * ratio * norm
                is_evaluated = not is_refit or _SAFETY * expected > tolerance
                is_new_hessian = False
            dense_step(factor, gradient, step)
            if not is_evaluated:
                for p in range(size):
                    point[p] += step[p]
                for p in range(num_logs):
                    point[p] = min(max(point[p], -_MAX_LOG), _MAX_LOG)
                iterations += 1
                break
        else:
            conjugate_step(packed, evidence, hyperprior, traces, gradient, min(0.1, math.sqrt(norm)), step)
        slope = _shorten(step, point, num_logs, gradient)
        length = 1.0
        accepted = False
        for _ in range(40):
            for p in range(size):
                trial[p] = point[p] + length * step[p]
            for p in range(num_logs):
                trial[p] = min(max(trial[p], -_MAX_LOG), _MAX_LOG)
            _exponentiate(trial, num_logs, packed)
            trial_value = evaluate(packed, evidence, hyperprior, traces, trial_gradient)
            trial_norm = _norm(trial_gradient, trial_value)
            evaluations += 1
            noise = 1e-13 * max(1.0, abs(value))  # smaller differences of the value are round-off; the slope decides
            accepted = trial_value <= value + 1e-4 * length * slope
            if -length * slope < 1e3 * noise:
                accepted = trial_value <= value + noise and trial_norm < norm
            if accepted or -length * slope < 1e-3 * noise:
                break
            length *= 0.25
        if not accepted:
            break
        point, trial = trial, point
        gradient, trial_gradient = trial_gradient, gradient
        value = trial_value
        norm_before = norm if length == 1.0 else _NEW_HESSIAN
        norm = trial_norm
        iterations += 1
    _exponentiate(point, num_logs, out)
    if info.size == 0:
        return
    if not is_evaluated:
        value = evaluate(out, evidence, hyperprior, traces, gradient)
        norm = _norm(gradient, value)
        evaluations += 1
    info[0] = iterations
    info[1] = evaluations
    info[2] = norm
    info[3] = -value


@kernel
def _shorten(step: FloatArray, point: FloatArray, num_logs: int, gradient: FloatArray) -> float:
    """Scale the step so that no coordinate moves further than _MAX_STEP allows; returns gradient' step, below 0."""
    longest = 0.0
    slope = 0.0
    for p in range(step.size):
        reach = _MAX_STEP if p < num_logs else _MAX_STEP + 2.0 * abs(point[p])
        longest = max(longest, abs(step[p]) / reach)
        slope += step[p] * gradient[p]
    if longest > 1.0:
        for p in range(step.size):
            step[p] /= longest
        slope /= longest
    return slope


@kernel
def _exponentiate(point: FloatArray, num_logs: int, packed: FloatArray) -> None:
    """From x to the parameters."""
    for p in range(point.size):
        packed[p] = math.exp(point[p]) if p < num_logs else point[p]


@kernel
def _norm(gradient: FloatArray, value: float) -> float:
    """Largest |gradient| over max(1, |value|): FitReport.gradient_norm."""
    largest = 0.0
    for p in range(gradient.size):
        largest = max(largest, abs(gradient[p]))
    return largest / max(1.0, abs(value))
