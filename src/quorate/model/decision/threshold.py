"""The paper's stopping rule: stop when the winner's probability is above a threshold (Acc_t > rho)."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.types import Item
from quorate.validate import fraction


@dataclass(frozen=True, slots=True)
class Threshold:
    """Ask while max p <= threshold. 0 never asks; 1 asks until the pool is settled."""

    threshold: float
    name = "threshold"
    stop_reason = "confident"

    def __post_init__(self) -> None:
        """Check the parameter."""
        fraction(self.threshold, where="threshold")

    def ask(self, item: Item) -> bool:
        """Ask while no class is above the threshold."""
        return bool(item.probs.max() <= self.threshold)
