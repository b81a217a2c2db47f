"""The prior of the parameters: Gamma(shape, rate) on theta, phi and tau; Normal or Student's t on the bias.

Takes a name or an object; returns its log density and its mode, where learning starts. Called by `learning`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorate import validate
from quorate.densities import log_gamma_density
from quorate.types import FloatArray, PriorParams


@dataclass(frozen=True, slots=True)
class Hyperprior:
    """theta, phi ~ Gamma(shape, rate); tau ~ Gamma(shape, rate * M) for M classifiers; bias_k ~ N(0, bias_sd^2).

    With `bias_df` above 0 the variance of the bias is learned too: bias_k ~ N(0, s^2) for every class, with s^2 unknown
    and `bias_sd`^2 worth `bias_df` classes of evidence. So the bias (K,) has Student's distribution with `bias_df`
    degrees of freedom and scale `bias_sd`. A classifier without bias between classes then gets almost none.

    `shape` must be above 1: otherwise the density has no interior mode, and the most probable parameters may be zeros.
    With M classifiers the rate of tau is M times larger, so that their summed logits have the weight of one.

    >>> Hyperprior(shape=3.0, rate=2.0).mode(3, 1, with_bias=False).theta
    1.0
    """

    shape: float
    rate: float
    bias_sd: float = 1.0
    bias_df: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values without a mode."""
        for name in ("shape", "rate", "bias_sd", "bias_df"):
            object.__setattr__(self, name, validate.bounded(getattr(self, name), where=name, least=0.0))
        if not self.shape > 1:
            rule = "a number above 1, so that there is an interior mode to start from"
            raise validate.broken("shape", self.shape, rule, "raise it, e.g. to 1.1 or 3.")
        for name in ("rate", "bias_sd"):
            if not getattr(self, name) > 0:
                raise validate.broken(name, getattr(self, name), "a number above 0", "raise it.")

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """All four numbers, for the kernels of learning."""
        return self.shape, self.rate, self.bias_sd, self.bias_df

    def mode(self, num_classes: int, num_classifiers: int = 1, *, with_bias: bool = False) -> PriorParams:
        """The most probable parameters before any vote: (shape - 1) / rate, tau divided by M, bias 0.

        `tau` is (K,) for one classifier, (M, K) for several. The start of learning.

        >>> Hyperprior(shape=3.0, rate=2.0).mode(2, 4).tau[0]
        array([0.25, 0.25])
        """
        num_classes = validate.whole(num_classes, where="num_classes", least=2)
        num_classifiers = validate.whole(num_classifiers, where="num_classifiers")
        peak = (self.shape - 1) / self.rate
        shape = (num_classes,) if num_classifiers == 1 else (num_classifiers, num_classes)
        bias = np.zeros(num_classes) if with_bias else None
        return PriorParams(peak, peak, np.full(shape, peak / num_classifiers), bias)

    def log_density(self, params: PriorParams) -> float:
        """Log density of Theta (not of its logarithms: no Jacobian), normalised.

        >>> prior = Hyperprior(shape=3.0, rate=2.0)
        >>> prior.log_density(prior.mode(2)) > prior.log_density(PriorParams(1.0, 1.0, [1.0, 1.1]))
        True
        """
        scalars = log_gamma_density([params.theta, params.phi], shape=self.shape, rate=self.rate)
        trust = log_gamma_density(params.tau, shape=self.shape, rate=self.rate * params.num_classifiers)
        total = float(scalars.sum() + trust.sum())
        return total if params.bias is None else total + self._log_density_of_bias(params.bias)

    def _log_density_of_bias(self, bias: FloatArray) -> float:
        squares, num_classes, df = float(np.sum((bias / self.bias_sd) ** 2)), bias.size, self.bias_df
        if df == 0.0:
            return -0.5 * squares - num_classes * (0.5 * math.log(2 * math.pi) + math.log(self.bias_sd))
        constant = math.lgamma((df + num_classes) / 2) - math.lgamma(df / 2)
        constant -= num_classes * (0.5 * math.log(math.pi * df) + math.log(self.bias_sd))
        return constant - 0.5 * (df + num_classes) * math.log1p(squares / df)


HYPERPRIORS: dict[str, Hyperprior] = {
    "default": Hyperprior(shape=3.0, rate=2.0),
    "paper": Hyperprior(shape=1.1, rate=1.0),  # the paper's for FinExp; its InfExp prior is our default
    "adaptive": Hyperprior(shape=3.0, rate=2.0, bias_df=3.0),  # the default, with a learned variance of the bias
}


def hyperprior(name: str | Hyperprior) -> Hyperprior:
    """The hyperprior of that name; a `Hyperprior` is returned unchanged.

    >>> hyperprior("default")
    Hyperprior(shape=3.0, rate=2.0, bias_sd=1.0, bias_df=0.0)
    """
    if isinstance(name, Hyperprior):
        return name
    found = HYPERPRIORS.get(name) if isinstance(name, str) else None
    if found is None:
        rule = f"one of {sorted(HYPERPRIORS)} or a Hyperprior(shape, rate)"
        raise validate.broken("hyperprior", name, rule, "pass one of these.")
    return found
