"""MP: our documented reading of the per-class Model Picker that the paper describes in words.

Model Picker (Karimi et al., AISTATS 2021) weighs models by exp(-eta * estimated loss), asks with a probability given
by the variance of the weighted losses, and divides the losses it sees by that probability. Here the "models" are the
classes: expert k stands for "trust the classifier when it says k". It uses only votes that were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from quorate import core
from quorate.model.decision.quota import binomial_quantile
from quorate.types import Item
from quorate.validate import bounded


class PickerState(TypedDict):
    """Importance-weighted loss of each class, and the number of closed items."""

    losses: list[float]
    rounds: int


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
        losses, prediction = np.array(item.state["losses"]), np.ascontiguousarray(item.prediction)
        rate = core.picker_rate(losses, prediction, item.state["rounds"], self.scale)
        return binomial_quantile(rng.random(), item.pool_size, rate)

    def ask(self, item: Item) -> bool:
        """Always: the quota stops it."""
        return True

    def update(self, item: Item) -> PickerState:
        """Losses after the votes seen on this item."""
        losses, rounds = np.array(item.state["losses"]), item.state["rounds"]
        prediction, votes = np.ascontiguousarray(item.prediction), np.ascontiguousarray(item.votes)
        core.picker_update(losses, prediction, votes, rounds, item.pool_size, self.scale)
        return PickerState(losses=losses.tolist(), rounds=rounds + 1)
