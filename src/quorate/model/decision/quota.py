"""The paper's baselines that use only the classifier: they draw Q ~ Binomial(N, rate) votes when the item opens.

RANDOM has one rate for all items; ENTROPY computes the rate from the prediction. The
draw inverts the binomial CDF at one uniform number, so that similar parameters give similar quotas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate import core
from quorate.types import FloatArray, Item
from quorate.validate import bounded, fraction


def binomial_quantile(uniform: float, trials: int, rate: float) -> int:
    """Smallest q with P(Binomial(trials, rate) <= q) > uniform; O(trials)."""
    return int(core.binomial_quantile(trials, uniform, rate))


class QuotaPolicy:
    """Shared by both: ask until the quota drawn when the item opened is used up."""

    stop_reason = "quota"

    def rates(self, predictions: FloatArray) -> FloatArray:
        """Query rate in [0, 1] for each row of predictions (..., K) -> (...)."""
        raise NotImplementedError

    def quota(self, item: Item, rng: np.random.Generator) -> int:
        """Q ~ Binomial(N, rate of this prediction)."""
        return binomial_quantile(rng.random(), item.pool_size, float(self.rates(item.prediction)))

    def ask(self, item: Item) -> bool:
        """Always: the quota stops it."""
        return True


@dataclass(frozen=True, slots=True)
class RandomQuota(QuotaPolicy):
    """RANDOM: rate = query_rate for every item."""

    query_rate: float = 0.5
    name = "random"

    def __post_init__(self) -> None:
        """Check the parameter."""
        fraction(self.query_rate, where="query_rate")

    def rates(self, predictions: FloatArray) -> FloatArray:
        """The same for all."""
        return np.full(predictions.shape[:-1], self.query_rate)


@dataclass(frozen=True, slots=True)
class EntropyQuota(QuotaPolicy):
    """ENTROPY: rate = clip(scale * H(f), 0, 1) with H(f) = -(1/K) sum f ln f, as the paper writes it."""

    scale: float = 10.0
    name = "entropy"

    def __post_init__(self) -> None:
        """Check the parameter."""
        bounded(self.scale, where="scale", least=0.0)

    def rates(self, predictions: FloatArray) -> FloatArray:
        """Scaled entropy of each prediction."""
        entropy = -(predictions * np.log(predictions)).mean(axis=-1)
        return np.asarray(np.clip(self.scale * entropy, 0.0, 1.0))
