"""MP: our documented reading of the per-class Model Picker that the paper describes in words.

Model Picker (Karimi et al., AISTATS 2021) weighs models by exp(-eta * estimated loss), asks with a probability given
by the variance of the weighted losses, and divides the losses it sees by that probability. Here the "models" are the
classes: expert k stands for "trust the classifier when it says k". It uses only votes that were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from quorate.compiled import kernel
from quorate.decision.quota import binomial_quantile
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import bounded


class PickerState(TypedDict):
    """Importance-weighted loss of each class, and the number of closed items."""

    losses: list[float]
    rounds: int


@kernel
def picker_rate(losses: FloatArray, rounds: int, prediction: FloatArray, scale: float) -> float:
    """clip(scale * v, 0, 1), v = max_y q_y (1 - q_y), q_k proportional to f_k exp(-eta * loss_k).

    If the truth were y, expert k would lose 1{k != y}: a Bernoulli of mean 1 - q_y under q, variance q_y (1 - q_y).
    eta = sqrt(ln K / (2 (rounds + 1))), Model Picker's decreasing rate.
    """
    eta = np.sqrt(np.log(losses.shape[0]) / (2.0 * (rounds + 1.0)))
    least = losses.min()
    total = 0.0
    for k in range(losses.shape[0]):
        total += prediction[k] * np.exp(-eta * (losses[k] - least))
    spread = 0.0
    for k in range(losses.shape[0]):
        share = prediction[k] * np.exp(-eta * (losses[k] - least)) / total
        spread = max(spread, share * (1.0 - share))
    return float(min(1.0, scale * spread))


@kernel
def picker_update(
    losses: FloatArray, rounds: int, prediction: FloatArray, votes: IntArray, pool_size: int, scale: float
) -> None:
    """Add f_k * (share of the votes seen that say k is wrong) / P(any vote was asked) to every loss, in place."""
    num_votes = votes.sum()
    if num_votes == 0:
        return
    rate = picker_rate(losses, rounds, prediction, scale)
    p_asked = max(1.0 - (1.0 - rate) ** pool_size, 1e-6)
    for k in range(losses.shape[0]):
        losses[k] += prediction[k] * (1.0 - votes[k] / num_votes) / p_asked


@dataclass(frozen=True, slots=True)
class ModelPicker:
    """MP: Q ~ Binomial(N, rate), the rate from the classes' losses and this prediction."""

    scale: float = 4.0
    name = "mp"
    stop_reason = "quota"

    def __post_init__(self) -> None:
        """Check the parameter."""
        bounded(self.scale, where="scale", least=0.0)

    def init(self, num_classes: int) -> PickerState:
        """No losses seen."""
        return PickerState(losses=[0.0] * num_classes, rounds=0)

    def quota(self, item: Item, rng: np.random.Generator) -> int:
        """Q ~ Binomial(N, picker_rate)."""
        losses, rounds = np.array(item.state["losses"]), item.state["rounds"]
        rate = picker_rate(losses, rounds, item.prediction, self.scale)
        return int(binomial_quantile(rng.random(), item.pool_size, rate))

    def ask(self, item: Item) -> bool:
        """Always: the quota stops it."""
        return True

    def update(self, item: Item) -> PickerState:
        """Losses after the votes seen on this item."""
        losses, rounds = np.array(item.state["losses"]), item.state["rounds"]
        picker_update(losses, rounds, item.prediction, item.votes, item.pool_size, self.scale)
        return PickerState(losses=losses.tolist(), rounds=rounds + 1)
