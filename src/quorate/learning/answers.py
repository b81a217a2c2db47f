"""Votes seen -> parameters for answers without votes, which must not be worse than the classifier alone.

Votes correct the errors of items that are asked; nothing corrects an answer without votes. So the parameters of single
classes are shrunk towards those shared by all classes, and dropped if they do not help on held-out votes
(docs/maths.md). Takes predictions and votes like `fit`, returns parameters; not stored in the journal. Called by
`Session.predict`, the estimator and the query-free part of a stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorate.learning.fit import DENSE_LIMIT
from quorate.learning.objective import DIAGONAL, PRODUCT, WHOLE, evaluated
from quorate.learning.problem import HyperpriorNumbers, unpack
from quorate.prior import Hyperprior, concentration
from quorate.types import FloatArray, IntArray, PriorParams

# does not affect the likelihood
_FLAT = HyperpriorNumbers(shape=1.0, rate=1e-20, phi_shape=1.0, phi_rate=1e-20, tau_sd=0.0, bias_sd=1e10, bias_df=0.0)
_MAX_ROUNDS, _SAME_VARIANCE = 50, 0.01  # EM for the variances stops when they change by less than 1 %
_MAX_STEPS, _MAX_STEP, _SMALL_GRADIENT = 100, 3.0, 1e-8


@dataclass(frozen=True, slots=True)
class Shrinkage:
    r"""log tau_mk = mu_m + d_mk with d_mk ~ N(0, s_t^2) and mu_m ~ N(-log M, level_variance); bias_k ~ N(0, s_b^2).

    Each s^2 has a scaled inverse chi-square prior: `variance` counts as much as `strength` classes do.
    """

    strength: float = 5.0
    variance: float = 0.02
    level_variance: float = 0.36

    def updated(self, second_moments: FloatArray) -> float:
        """The variance given the expected squares (n,) of the deviations."""
        total = self.strength * self.variance + float(second_moments.sum())
        return total / (self.strength + second_moments.size)


class ShrunkPosterior:
    """Minus the log posterior given the two variances, over y = [log theta, log phi, d (M K), bias (K), mu (M)].

    The second derivatives are those at the last call of `value`. Constants of the density are left out.
    """

    def __init__(
        self,
        log_predictions: FloatArray,
        votes: IntArray,
        hyperprior: Hyperprior,
        shrinkage: Shrinkage,
        *,
        with_bias: bool,
    ) -> None:
        self._log_predictions, self._votes = np.ascontiguousarray(log_predictions), np.ascontiguousarray(votes)
        self.shrinkage = shrinkage
        num_classifiers, num_classes = log_predictions.shape[1:]
        phi_shape, phi_rate = hyperprior.phi_density(num_classes)
        self._exponents = np.array([hyperprior.shape, phi_shape]) - 1.0  # of the densities of theta and phi
        self._rates = np.array([hyperprior.rate, phi_rate])
        end = 2 + num_classifiers * num_classes
        size = end + (num_classes if with_bias else 0)
        self.deviations, self.bias, self.levels = slice(2, end), slice(end, size), slice(size, size + num_classifiers)
        self.is_dense = self.levels.stop <= DENSE_LIMIT
        self._precision = np.zeros(self.levels.stop)
        self._precision[self.levels] = 1.0 / shrinkage.level_variance
        self.use_variances(shrinkage.variance, shrinkage.variance)

    def use_variances(self, of_tau: float, of_bias: float) -> None:
        """Set s_t^2 and s_b^2."""
        self.variances = of_tau, of_bias
        self._precision[self.deviations] = 1.0 / of_tau
        self._precision[self.bias] = 1.0 / of_bias

    def start(self, params: PriorParams) -> FloatArray:
        """The point y nearest to these parameters with equal parameters for all classes."""
        point = np.zeros(self.levels.stop)
        point[:2] = np.log([params.theta, params.phi])
        point[self.levels] = np.log(params.tau).reshape(params.num_classifiers, -1).mean(axis=1)
        return point

    def packed(self, point: FloatArray) -> FloatArray:
        """The parameters at y, in the order of `problem.pack`."""
        values = self._spread(point)
        values[: self.deviations.stop] = np.exp(values[: self.deviations.stop])
        return values

    def value(self, point: FloatArray) -> tuple[float, FloatArray]:
        """The value and its gradient at y."""
        self._packed = self.packed(point)
        value, slope, _ = evaluated(self._packed, self._log_predictions, self._votes, _FLAT)
        value += self.deviations.stop * math.log(_FLAT.rate)  # the constants of the flat densities
        exponents, rates = self._exponents, self._rates
        away = point.copy()
        away[self.levels] += math.log(away[self.levels].size)
        value += 0.5 * float(away @ (self._precision * away))
        value += float((rates * self._packed[:2] - exponents * point[:2]).sum())
        gradient = self._gathered(slope) + self._precision * away
        gradient[:2] += rates * self._packed[:2] - exponents
        return value, gradient

    def hessian(self) -> FloatArray:
        """The second derivatives (P, P)."""
        matrix = self._second(WHOLE)
        spread = np.array([self._spread(row) for row in np.eye(self.levels.stop)])
        found: FloatArray = spread @ matrix @ spread.T + np.diag(self._own_curvature())
        return found

    def hessian_product(self, direction: FloatArray) -> FloatArray:
        """`hessian` times direction (P,), without forming the matrix."""
        return self._gathered(self._second(PRODUCT, self._spread(direction))) + self._own_curvature() * direction

    def hessian_diagonal(self) -> FloatArray:
        """The diagonal of `hessian` (P,); for the levels mu only the contribution of their own classes."""
        return self._gathered(self._second(DIAGONAL)) + self._own_curvature()

    def _second(self, what: int, direction: FloatArray | None = None) -> FloatArray:
        """Of the second derivatives of the likelihood in x, at the last point of `value`."""
        return evaluated(self._packed, self._log_predictions, self._votes, _FLAT, what, direction).second

    def spreads(self) -> FloatArray:
        """The posterior variance of each coordinate (P,); with many parameters, conditional on all others."""
        if self.is_dense:
            return np.diag(np.linalg.inv(self.hessian()))
        return 1.0 / np.maximum(self.hessian_diagonal(), self._precision)

    def _own_curvature(self) -> FloatArray:
        """Second derivatives of minus the log prior, a diagonal (P,)."""
        own = self._precision.copy()
        own[:2] += self._rates * self._packed[:2]
        return own

    def _spread(self, point: FloatArray) -> FloatArray:
        """From y to x = [log theta, log phi, log tau, bias]: log tau = mu + d."""
        values = point[: self.levels.start].copy()
        levels = point[self.levels]
        values[self.deviations] += np.repeat(levels, (self.deviations.stop - 2) // levels.size)
        return values

    def _gathered(self, slope: FloatArray) -> FloatArray:
        """From derivatives in x to those in y: the transpose of `_spread`."""
        levels = self.levels.stop - self.levels.start
        return np.concatenate([slope, slope[self.deviations].reshape(levels, -1).sum(axis=1)])


def answer_params(
    params: PriorParams, log_predictions: FloatArray, votes: IntArray, hyperprior: Hyperprior
) -> PriorParams:
    """Parameters for answers without votes, learned from log predictions (T, M, K) and votes (T, K).

    Those of `shrunk_params` if they answer better than the classifier on held-out votes; otherwise parameters that are
    equal for all classes, so that the answer is the classifier's. `params`, learned for asking, are the start of the
    search, and the result if there are no votes.

    >>> from quorate.learning.fit import fit
    >>> from quorate.prior import hyperprior
    >>> predictions, votes = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]), np.array([[3, 0], [0, 2], [1, 1]])
    >>> asking, _ = fit(predictions, votes, bias=True)
    >>> answer_params(asking, np.log(predictions)[:, None], votes, hyperprior("infexp")).bias
    array([0., 0.])
    """
    voted = votes.any(axis=1)
    if not voted.any():
        return params
    if _gains(params, log_predictions[voted], votes[voted], hyperprior):
        return shrunk_params(params, log_predictions, votes, hyperprior)
    return alike_params(params, log_predictions, votes, hyperprior)


def _gains(params: PriorParams, log_predictions: FloatArray, votes: IntArray, hyperprior: Hyperprior) -> bool:
    """Do `shrunk_params` of one half of the items win more votes of the other than the classifier, by a standard error?

    The halves alternate by item, so that both cover the whole period.
    """
    gains = []
    for half in range(2):
        kept = np.arange(len(votes)) % 2 == half
        if not kept.any() or kept.all():
            return False
        fitted = shrunk_params(params, log_predictions[kept], votes[kept], hyperprior)
        logs, cast = log_predictions[~kept], votes[~kept]
        ours = concentration(fitted, np.exp(logs).reshape(-1, *params.tau.shape)).argmax(axis=1)
        rows = np.arange(len(cast))
        gains.append((cast[rows, ours] - cast[rows, logs.sum(axis=1).argmax(axis=1)]) / cast.sum(axis=1))
    gain = np.concatenate(gains)
    return bool(gain.sum() > gain.std() * math.sqrt(gain.size))


def alike_params(
    params: PriorParams, log_predictions: FloatArray, votes: IntArray, hyperprior: Hyperprior
) -> PriorParams:
    """Parameters that are equal for all classes: d = bias = 0, as with `Shrinkage(variance=0)`."""
    nearly = Shrinkage(variance=1e-9)
    objective = ShrunkPosterior(log_predictions, votes, hyperprior, nearly, with_bias=params.bias is not None)
    point = minimised(objective, objective.start(params))
    point[objective.deviations] = 0.0
    point[objective.bias] = 0.0
    return unpack(objective.packed(point), params.tau.shape)


def shrunk_params(
    params: PriorParams,
    log_predictions: FloatArray,
    votes: IntArray,
    hyperprior: Hyperprior,
    shrinkage: Shrinkage | None = None,
) -> PriorParams:
    """The most probable parameters under `Shrinkage`, searched from `params`.

    The variances come from EM with a Gaussian approximation of the posterior: s^2 <- (nu s0^2 + sum E[d^2]) / (nu + n).
    """
    objective = ShrunkPosterior(
        log_predictions, votes, hyperprior, shrinkage or Shrinkage(), with_bias=params.bias is not None
    )
    point = objective.start(params)
    for _ in range(_MAX_ROUNDS):
        point = minimised(objective, point)
        if not _update_variances(objective, point):
            break
    return unpack(objective.packed(point), params.tau.shape)


class AnswerFit:
    """`answer_params`, fitted on first use and cached until there is new evidence.

    Without a hyperprior the parameters for answers are those for asking.
    """

    def __init__(self, hyperprior: Hyperprior | None) -> None:
        self._hyperprior = hyperprior
        self._kept: tuple[object, PriorParams] | None = None

    def params(
        self, learned_from: object, params: PriorParams, log_predictions: FloatArray, votes: IntArray
    ) -> PriorParams:
        """`learned_from` identifies the other arguments: while it is unchanged, the cached parameters are returned."""
        if self._hyperprior is None:
            return params
        if self._kept is None or self._kept[0] != learned_from:
            self._kept = learned_from, answer_params(params, log_predictions, votes, self._hyperprior)
        return self._kept[1]


def minimised(objective: ShrunkPosterior, point: FloatArray) -> FloatArray:
    """The most probable y, by Newton steps from `point`."""
    value, gradient = objective.value(point)
    for _ in range(_MAX_STEPS):
        if np.abs(gradient).max() <= _SMALL_GRADIENT * max(1.0, abs(value)):
            break
        step = _dense_step(objective, gradient) if objective.is_dense else _conjugate_step(objective, gradient)
        step /= max(1.0, float(np.abs(step).max()) / _MAX_STEP)
        slope, before, length = float(step @ gradient), value, 1.0
        value, gradient = objective.value(point + step)
        while value > before + 1e-4 * length * slope + 1e-13 * abs(before) and length > 1e-9:
            length *= 0.25
            value, gradient = objective.value(point + length * step)
        point = point + length * step
    return point


def _dense_step(objective: ShrunkPosterior, gradient: FloatArray) -> FloatArray:
    """Newton's step, with the diagonal raised until the second derivatives are positive definite."""
    matrix, damping = objective.hessian(), 0.0
    largest = float(np.abs(np.diag(matrix)).max())
    while np.isfinite(damping):
        raised = matrix + damping * np.eye(gradient.size)
        try:
            np.linalg.cholesky(raised)
        except np.linalg.LinAlgError:
            damping = max(4.0 * damping, 1e-3 * largest)
        else:
            return np.asarray(np.linalg.solve(raised, -gradient))
    return -gradient


def _conjugate_step(objective: ShrunkPosterior, gradient: FloatArray) -> FloatArray:
    """`_dense_step` to 1 %, by conjugate gradients; stops at the first direction of negative curvature."""
    scale = 1.0 / np.abs(objective.hessian_diagonal())
    step, residual = np.zeros_like(gradient), -gradient
    direction = scale * residual
    energy = float(residual @ direction)
    goal = 1e-4 * energy
    for _ in range(gradient.size):
        if energy <= goal:
            break
        image = objective.hessian_product(direction)
        bend = float(direction @ image)
        if not bend > 0.0:
            return step if step.any() else direction
        step += energy / bend * direction
        residual -= energy / bend * image
        before, energy = energy, float(residual @ (scale * residual))
        direction = scale * residual + energy / before * direction
    return step


def _update_variances(objective: ShrunkPosterior, point: FloatArray) -> bool:
    """Update the variances; False if they have converged."""
    squares = point * point + objective.spreads()
    before, shrinkage = objective.variances, objective.shrinkage
    objective.use_variances(
        shrinkage.updated(squares[objective.deviations]), shrinkage.updated(squares[objective.bias])
    )
    moved = np.abs(np.log(objective.variances) - np.log(before))
    return bool(moved.max() > _SAME_VARIANCE)
