"""The values that flow through quorate: frozen dataclasses that only check their own fields.

`votes + prediction -> prior -> posterior/ -> decision/ -> session/ -> learning/ -> back to prior`
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate import validate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Progress = Callable[[int, int, str], None]  # done, total, what


class Frame(Protocol):
    """A data frame of pandas, polars, PyArrow or any other library that narwhals reads."""

    @property
    def columns(self) -> object:
        """Its columns, or their names."""


class HubDataset(Protocol):
    """A `datasets.Dataset` of Hugging Face."""

    @property
    def column_names(self) -> object:
        """The names of its columns."""


TableLike = str | os.PathLike[str] | Frame | HubDataset
PredictionLike = TableLike | ArrayLike
_OnePrediction = ArrayLike | Mapping[str, float] | None
PredictionValue = _OnePrediction | Sequence[_OnePrediction]  # of one item: see `quorate.Session.open`

Reason = Literal[  # append new ones at the end: sessions store their positions
    "ask", "confident", "not_worth_it", "rule", "quota", "settled", "exhausted", "closed", "nobody_left", "unconfirmed"
]  # fmt: skip
ConfidenceKind = Literal["probability", "score"]  # a score is not calibrated


def frozen_array(values: ArrayLike, dtype: type = np.float64) -> NDArray[Any]:
    """A read-only copy of `values` as an array of `dtype`."""
    array: NDArray[Any] = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, eq=False)
class PriorParams:
    """What has been learned about the classifier: the paper's Theta, plus our optional class bias.

    `theta` > 0   how many votes the classifier is worth
    `phi` > 0     the doubt left on every class
    `tau` > 0     (K,) weights of log f by class: equal ones above 1 sharpen it, below 1 flatten it; (M, K) for several
    `bias`        (K,) added to the logits: alpha = theta * softmax(tau * log f + bias) + phi; None means 0

    >>> PriorParams(theta=4, phi=0.5, tau=[1, 1, 2]).tau
    array([1., 1., 2.])
    """

    theta: float
    phi: float
    tau: FloatArray
    bias: FloatArray | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse values outside the model's support."""
        for name in ("theta", "phi"):
            number = validate.positive(getattr(self, name), where=name)
            if number.ndim != 0:
                raise validate.invalid(name, number.tolist(), "one number", "pass values by class as `tau`.")
            object.__setattr__(self, name, float(number))
        tau = frozen_array(validate.positive(self.tau, where="tau"))
        object.__setattr__(self, "tau", tau)
        if tau.ndim not in (1, 2) or tau.shape[-1] < 2:
            rule = f"shape (K,) for one classifier or (M, K) for several, K >= 2, not {tau.shape}"
            raise validate.invalid("tau", tau.tolist(), rule, "pass one number per class, e.g. np.ones(K).")
        if self.bias is not None:
            bias = frozen_array(validate.as_floats(self.bias, where="bias"))
            object.__setattr__(self, "bias", bias)
            if bias.shape != tau.shape[-1:] or not np.all(np.isfinite(bias)):
                rule = f"{tau.shape[-1]} finite numbers, one for each class of `tau`"
                raise validate.invalid("bias", bias.tolist(), rule, "pass None for no bias.")

    @property
    def num_classes(self) -> int:
        """K."""
        return int(self.tau.shape[-1])

    @property
    def num_classifiers(self) -> int:
        """M: 1 when `tau` is (K,)."""
        return int(self.tau.shape[0]) if self.tau.ndim == 2 else 1


Params = Any  # a PriorParams; or, for a prior of your own, any value that JSON can store


@dataclass(frozen=True, slots=True, eq=False)
class FitReport:
    """How a fit went: returned with the parameters, as a separate value.

    `hessian` (P, P), if requested: second derivatives of the negative log posterior at the result, in (log theta,
    log phi, log tau row by row, bias). Its inverse is the covariance of a Laplace approximation.
    `gradient_norm` is the largest |d negative_log_posterior / d parameter| over (log theta, log phi, log tau, bias),
    divided by max(1, |negative log posterior|): the "scale" of the convergence rule.
    """

    num_iterations: int
    num_evaluations: int
    converged: bool
    gradient_norm: float
    log_posterior: float
    hessian: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What a policy sees of one item: the prediction and the votes so far, never votes that were not asked for.

    `prediction` (K,) the classifiers' mean; `predictions` (M, K) each of them; `votes` (K,) counts;
    `pool_size` N less the abstentions; `quota` what the policy drew when the item opened (None: no quota);
    `state` the policy's own, None if it keeps none. Only when the policy decides: `probs` (K,) who will win the pool,
    and `alpha` (K,) the concentration of this belief before the first vote.
    """

    prediction: FloatArray
    predictions: FloatArray
    votes: IntArray
    pool_size: int
    quota: int | None = None
    alpha: FloatArray | None = None
    probs: FloatArray = field(default_factory=lambda: np.empty(0))
    state: Any = None

    @property
    def num_votes(self) -> int:
        """n: votes seen."""
        return int(self.votes.sum())

    @property
    def num_remaining(self) -> int:
        """R: members of the pool who have not voted."""
        return self.pool_size - self.num_votes


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What to do with an item now, and the answer if asking stopped here.

    `ask` ask one more expert?   `label` class name   `confidence` probability that `label` is the pool's verdict
    `probs` (K,) the same for every class, or None for an old item of which only a summary is kept
    `num_votes` votes behind this decision   `reason` why: see `quorate.types.Reason`
    `confidence_is` "probability", or "score" where the target is the truth and too few known answers calibrate it
    """

    ask: bool
    label: str
    confidence: float
    probs: FloatArray | None
    num_votes: int
    reason: Reason
    confidence_is: ConfidenceKind = "probability"


@dataclass(frozen=True, slots=True, eq=False)
class VoteDataset:
    """Recorded votes of whole pools with classifiers' predictions: what simulations replay.

    `votes` (T, N) class of each vote, -1 where there is none; a column is not a person
    `predictions` (M, T, K) probabilities   `models` M names   `classes` K names
    `blocks` (T,) non-decreasing block numbers: items are shuffled within a block, never across blocks
    `voters` (T, N) number of the person behind each vote, -1 where unknown; None: all votes are anonymous
    `truth` (T,) the true class, -1 where unknown; None: always unknown. Used to score methods whose target is the truth
    """

    name: str
    votes: NDArray[np.int16]
    predictions: FloatArray
    models: tuple[str, ...]
    classes: tuple[str, ...]
    blocks: IntArray
    notes: tuple[str, ...] = field(default=())
    voters: IntArray | None = None
    truth: IntArray | None = None

    def __repr__(self) -> str:
        """Its name and sizes."""
        sizes = f"{self.num_items} items, {self.num_classes} classes, pools of {self.votes.shape[1]}"
        return f"VoteDataset({self.name}: {sizes}, {len(self.models)} classifiers)"

    def rows(self, items: IntArray | NDArray[np.bool_] | slice) -> VoteDataset:
        """The data set with these items only, in this order."""
        return replace(
            self,
            votes=frozen_array(self.votes[items], np.int16),
            predictions=frozen_array(self.predictions[:, items]),
            blocks=frozen_array(self.blocks[items], np.int64),
            voters=None if self.voters is None else frozen_array(self.voters[items], np.int64),
            truth=None if self.truth is None else frozen_array(self.truth[items], np.int64),
        )

    @property
    def people(self) -> tuple[str, ...]:
        """The names of the voters: their numbers; () if all votes are anonymous."""
        if self.voters is None:
            return ()
        return tuple(str(number) for number in range(int(self.voters.max(initial=-1)) + 1))

    @property
    def num_items(self) -> int:
        """T."""
        return int(self.votes.shape[0])

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)
