"""Model Picker as its released code computes it, `mp-released`; `paper_method` builds every method by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.methods import Method, method
from quorate.model import QuotaPolicy
from quorate.types import FloatArray
from quorate.validate import bounded

RELEASED = "mp-released"


@dataclass(frozen=True, slots=True)
class ReleasedModelPicker(QuotaPolicy):
    """The rule of the released Model Picker code: rate = clip(scale * (1 - max f), 0, 1)."""

    scale: float = 1.0
    name = RELEASED

    def __post_init__(self) -> None:
        """Check the parameter."""
        bounded(self.scale, where="scale", least=0.0)

    def rates(self, predictions: FloatArray) -> FloatArray:
        """Scaled uncertainty of each prediction."""
        return np.asarray(np.clip(self.scale * (1.0 - predictions.max(axis=-1)), 0.0, 1.0))


def paper_method(name: str, **parameters: object) -> Method:
    """`quorate.method`, and `mp-released`.

    >>> paper_method("mp-released", scale=2.0).policy
    ReleasedModelPicker(scale=2.0)
    """
    if name != RELEASED:
        return method(name, **parameters)
    policy = ReleasedModelPicker(**parameters)  # type: ignore[arg-type]
    return Method(name=RELEASED, policy=policy, learner=None, posterior="vote_share")
