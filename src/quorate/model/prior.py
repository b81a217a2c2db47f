"""Parameters and a prediction give alpha, the Dirichlet concentration of the voters' beliefs before any vote.

The parameters have a prior of their own, `Hyperprior`: Gamma on theta, phi and tau, the logarithms of tau shrunk
towards their mean or not, Normal or Student's t on the bias. Learning starts at its mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from quorate import core, validate
from quorate.errors import InvalidPrediction
from quorate.model.densities import log_gamma_density
from quorate.types import FloatArray, Params, PriorParams

_LEAST = 1e-5  # a smaller scale would leave nothing to learn, and the search no digits


def concentration(params: PriorParams, prediction: ArrayLike) -> FloatArray:
    r"""Dirichlet concentration of the voters' beliefs, before any vote (paper eq:alpha).

    alpha = theta * softmax(sum_m tau_m * log f_m + bias) + phi

    prediction (..., K) for one classifier, (..., M, K) when `params.tau` is (M, K) -> alpha (..., K).
    `theta` is how many votes the classifier is worth, `phi` the doubt left on every class, `tau` the weights of log f:
    equal ones above 1 sharpen the prediction, below 1 flatten it; a single one has no meaning of its own.

    >>> params = PriorParams(theta=4.0, phi=0.5, tau=np.array([1.0, 1.0, 2.0]))
    >>> concentration(params, [0.7, 0.2, 0.1]).round(3)
    array([3.577, 1.379, 0.544])
    """
    probs = validate.probabilities(prediction)
    expected = params.tau.shape
    if probs.shape[-len(expected) :] != expected:
        rule = f"shape (..., {', '.join(map(str, expected))}), like tau, not {probs.shape}"
        fix = f"pass one probability per class{' and classifier' if len(expected) == 2 else ''}."
        raise validate.invalid("prediction", probs.tolist(), rule, fix, error=InvalidPrediction)
    batch = probs.shape[: -len(expected)]
    log_prediction = np.log(probs).reshape(-1, params.num_classifiers, params.num_classes)  # (B, M, K)
    tau = params.tau.reshape(params.num_classifiers, params.num_classes)
    bias = np.zeros(params.num_classes) if params.bias is None else params.bias
    alpha = np.empty((log_prediction.shape[0], params.num_classes))
    core.concentrations(tau, bias, log_prediction, alpha, params.theta, params.phi)
    return alpha.reshape(*batch, params.num_classes)


@runtime_checkable
class Prior(Protocol):
    """What the voters believe before any vote."""

    def alpha(self, prediction: FloatArray, params: Params) -> FloatArray:
        """The Dirichlet concentration (..., K) for predictions (..., K), or (..., M, K) of M classifiers."""


@dataclass(frozen=True, slots=True)
class ClassifierPrior:
    """The paper's prior, with our class bias: `concentration`.

    >>> ClassifierPrior().alpha(np.array([0.8, 0.2]), PriorParams(theta=4.0, phi=0.5, tau=[1.0, 1.0]))
    array([3.7, 1.3])
    """

    def alpha(self, prediction: FloatArray, params: PriorParams) -> FloatArray:
        """alpha = theta * softmax(tau * log f + bias) + phi."""
        return concentration(params, prediction)


_SHARED, _OWN = ("shape", "rate"), ("theta", "phi", "tau")


class GammaDensities(NamedTuple):
    """(shape, rate) of each parameter."""

    theta: tuple[float, float]
    phi: tuple[float, float]
    tau: tuple[float, float]


@dataclass(frozen=True, slots=True, repr=False)
class Hyperprior:
    """theta, phi ~ Gamma(shape, rate); tau ~ Gamma(shape, rate * M) for M classifiers; bias_k ~ N(0, bias_sd^2).

    `theta`, `phi` and `tau`, each a pair (shape, rate), replace the shared one for that parameter.

    With `phi_sum` above 0 the most probable value of K phi is `phi_sum`, whatever the number of classes:
    phi ~ Gamma(s, (s - 1) K / phi_sum), where s is `phi_shape`, or `shape` if that is 0. Without it, more classes mean
    more doubt in total. It excludes `phi`. A larger `phi_shape` keeps phi closer to this value.

    With `tau_sd` above 0 a classifier's log tau_k are shrunk towards their mean over the classes, with this standard
    deviation: most classifiers are over- or underconfident on all classes alike, so classes share evidence. Each tau_k
    keeps its Gamma density, so their common level is known the better the more classes there are.

    With `bias_df` above 0 the variance of the bias is learned too: bias_k ~ N(0, s^2) for every class, with s^2 unknown
    and `bias_sd`^2 worth `bias_df` classes of evidence. So the bias (K,) has Student's distribution with `bias_df`
    degrees of freedom and scale `bias_sd`. A classifier without bias between classes then gets almost none.

    Each shape must be above 1: otherwise there is no interior mode, and the most probable parameters may be zeros.
    With M classifiers the rate of tau is M times larger, so that their summed logits have the weight of one.

    >>> Hyperprior(shape=3.0, rate=2.0).mode(3).theta
    1.0
    >>> Hyperprior(theta=(5.0, 1.0), phi=(1.1, 1.0)).mode(3).theta
    4.0
    """

    shape: float = 3.0
    rate: float = 2.0
    bias_sd: float = 1.0
    bias_df: float = 0.0
    phi_sum: float = 0.0
    phi_shape: float = 0.0
    tau_sd: float = 0.0
    theta: tuple[float, float] | None = None
    phi: tuple[float, float] | None = None
    tau: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse values without a mode."""
        for name in self.__dataclass_fields__:
            given = getattr(self, name)
            read = _gamma(given, name) if name in _OWN else validate.bounded(given, where=name, least=0.0)
            object.__setattr__(self, name, read)
        if self.phi is not None and self.phi_sum > 0:
            raise validate.invalid("phi", self.phi, "left out beside `phi_sum`", "use one of the two.")
        if not self.shape > 1:
            rule = "a number above 1, so that there is an interior mode to start from"
            raise validate.invalid("shape", self.shape, rule, "raise it, e.g. to 1.1 or 3.")
        if self.phi_shape != 0.0 and not (self.phi_shape > 1 and self.phi_sum > 0):
            rule = "0, or a number above 1 together with a `phi_sum` above 0"
            raise validate.invalid("phi_shape", self.phi_shape, rule, "leave it out, or pass both.")
        for name in ("phi_sum", "tau_sd"):
            if 0.0 < getattr(self, name) < _LEAST:
                raise validate.invalid(name, getattr(self, name), f"0, or at least {_LEAST:g}", "raise it.")
        for name in ("rate", "bias_sd"):
            if not getattr(self, name) > 0:
                raise validate.invalid(name, getattr(self, name), "a number above 0", "raise it.")

    def __repr__(self) -> str:
        """Shape, rate, and what is not as usual."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        shown = [f"{name}={value}" for name, (value, usual) in values.items() if name in _SHARED or value != usual]
        return f"Hyperprior({', '.join(shown)})"

    def densities(self, num_classes: int) -> GammaDensities:
        """Shape and rate of the Gamma densities of theta, phi and, for one classifier, tau.

        >>> Hyperprior(shape=3.0, rate=2.0, phi_sum=0.5).densities(10).phi
        (3.0, 40.0)
        """
        shared = self.shape, self.rate
        phi = self.phi or shared
        if self.phi_sum > 0.0:
            shape = self.phi_shape or self.shape
            phi = shape, (shape - 1) * num_classes / self.phi_sum
        return GammaDensities(self.theta or shared, phi, self.tau or shared)

    def mode(self, num_classes: int, num_classifiers: int = 1, *, with_bias: bool = False) -> PriorParams:
        """The most probable parameters before any vote: (shape - 1) / rate, tau divided by M, K phi `phi_sum`, bias 0.

        `tau` is (K,) for one classifier, (M, K) for several. The start of learning.

        >>> Hyperprior(shape=3.0, rate=2.0).mode(2, 4).tau[0]
        array([0.25, 0.25])
        """
        num_classes = validate.whole(num_classes, where="num_classes", least=2)
        num_classifiers = validate.whole(num_classifiers, where="num_classifiers")
        theta, phi, tau = ((shape - 1) / rate for shape, rate in self.densities(num_classes))
        shape = (num_classes,) if num_classifiers == 1 else (num_classifiers, num_classes)
        bias = np.zeros(num_classes) if with_bias else None
        return PriorParams(theta, phi, np.full(shape, tau / num_classifiers), bias)

    def log_density(self, params: PriorParams) -> float:
        """Log density of Theta (not of its logarithms: no Jacobian), normalised unless `tau_sd` is above 0.

        >>> prior = Hyperprior(shape=3.0, rate=2.0)
        >>> prior.log_density(prior.mode(2)) > prior.log_density(PriorParams(1.0, 1.0, [1.0, 1.1]))
        True
        """
        theta, phi, (shape, rate) = self.densities(params.num_classes)
        total = float(log_gamma_density(params.theta, shape=theta[0], rate=theta[1]))
        total += float(log_gamma_density(params.phi, shape=phi[0], rate=phi[1]))
        total += float(log_gamma_density(params.tau, shape=shape, rate=rate * params.num_classifiers).sum())
        if self.tau_sd > 0.0:
            logs = np.log(params.tau)
            total -= 0.5 * float(np.sum(((logs - logs.mean(axis=-1, keepdims=True)) / self.tau_sd) ** 2))
        return total if params.bias is None else total + self._log_density_of_bias(params.bias)

    def _log_density_of_bias(self, bias: FloatArray) -> float:
        squares, num_classes, df = float(np.sum((bias / self.bias_sd) ** 2)), bias.size, self.bias_df
        if df == 0.0:
            return -0.5 * squares - num_classes * (0.5 * math.log(2 * math.pi) + math.log(self.bias_sd))
        constant = math.lgamma((df + num_classes) / 2) - math.lgamma(df / 2)
        constant -= num_classes * (0.5 * math.log(math.pi * df) + math.log(self.bias_sd))
        return constant - 0.5 * (df + num_classes) * math.log1p(squares / df)


def _gamma(given: object, name: str) -> tuple[float, float] | None:
    """A pair (shape, rate), in JSON a list; None if absent."""
    if given is None:
        return None
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise validate.invalid(name, given, "a pair (shape, rate)", "pass two numbers.")
    shape, rate = (validate.bounded(number, where=name, least=0.0) for number in given)
    if not (shape > 1 and rate > 0):
        raise validate.invalid(name, given, "(shape, rate), the shape above 1 and the rate above 0", "raise it.")
    return shape, rate


HYPERPRIORS: dict[str, Hyperprior] = {  # by the method that has it by default
    "finexp": Hyperprior(shape=1.1, rate=1.0),  # the paper's
    "infexp": Hyperprior(shape=3.0, rate=2.0),  # the paper's
    # classes share evidence
    "value": Hyperprior(shape=3.0, rate=2.0, bias_sd=1.3, phi_sum=1.0, phi_shape=5.0, tau_sd=0.3),
}


def hyperprior(name: str | Hyperprior) -> Hyperprior:
    """The hyperprior of that name; a `Hyperprior` is returned unchanged.

    >>> hyperprior("infexp")
    Hyperprior(shape=3.0, rate=2.0)
    """
    if isinstance(name, Hyperprior):
        return name
    found = HYPERPRIORS.get(name) if isinstance(name, str) else None
    if found is None:
        rule = f"one of {sorted(HYPERPRIORS)} or a Hyperprior(shape, rate)"
        raise validate.invalid("hyperprior", name, rule, "pass one of these.")
    return found
