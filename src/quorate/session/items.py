"""The state of one item as a frozen value: `advance(item, event)` returns the next state. Pure; uses no other item.

A service can fold an item's own events through `advance` without loading anything else. The arrays are never
written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from quorate.model import PolicyState
from quorate.types import ConfidenceKind, FloatArray, IntArray, Item, Params, Reason

ABSTAINED = -1
Numbers = TypeVar("Numbers", FloatArray, IntArray)


@dataclass(frozen=True, slots=True)
class Learned:
    """Parameters for the core: tau (M, K), bias (K,), zeros if there is none; `seq` of their "learn" event.

    `own`: the parameters as learned; of a prior that is not ours, only these are of use.
    `alone`: those for answers without votes, if they are not the same (`learning.answers`).
    """

    theta: float
    phi: float
    tau: FloatArray
    bias: FloatArray
    seq: int
    own: Params = None
    alone: Learned | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The item's current decision, and what it was computed from, so that it can be recomputed."""

    ask: bool
    label: int
    confidence: float
    num_votes: int
    reason: Reason
    votes: IntArray
    pool_size: int
    learned: Learned


@dataclass(frozen=True, slots=True)
class Ballot:
    """A named voter's class for an item, or ABSTAINED; `late` if the item was already closed; `time` in seconds."""

    label: int
    late: bool = False
    time: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """The result of a model of the people for an item at its last decision.

    `probs` (K,) by name of the posterior   `confidence_is` probability or score   `asks` whether anybody is worth
    asking, if that depends on who is available; None: the policy's rule decides
    """

    probs: Mapping[str, FloatArray]
    confidence_is: ConfidenceKind = "probability"
    asks: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ItemState:
    """Everything known about an item. `votes` includes late votes; `standing` is None before the first decision."""

    number: int
    predictions: FloatArray  # (M, K)
    pool_size: int
    quota: int | None
    tie_draw: float
    min_votes: int
    max_votes: int | None
    votes: IntArray  # (K,)
    log_predictions: FloatArray  # (M, K)
    prediction: FloatArray  # (K,), mean of the classifiers
    abstentions: int = 0
    ballots: Mapping[str, Ballot] = field(default_factory=lambda: MappingProxyType({}))
    standing: Standing | None = None
    seen_by_policy: bool = False
    judgement: Judgement | None = None  # in sessions with a model of the people

    @property
    def is_closed(self) -> bool:
        """Whether the item is closed."""
        return self.standing is not None and not self.standing.ask

    @property
    def pool_left(self) -> int:
        """N less the abstentions: the size of the pool that decides."""
        return max(self.pool_size - self.abstentions, int(self.votes.sum()))

    def view(self, state: PolicyState = None, alpha: FloatArray | None = None, probs: FloatArray | None = None) -> Item:
        """What the policy sees of the item; `alpha` and `probs` only when it decides."""
        seen = _read_only(self.prediction), _read_only(self.predictions), _read_only(self.votes)
        item = Item(*seen, self.pool_left, self.quota, state=state)
        if alpha is None or probs is None:
            return item
        return replace(item, alpha=_read_only(alpha), probs=_read_only(probs))


def opened(event: Mapping[str, Any], number: int) -> ItemState:
    """The item described by its "open" event."""
    predictions, absent = np.array(event["prediction"]), event.get("absent", ())
    return ItemState(
        number=number,
        predictions=predictions,
        pool_size=event["pool_size"],
        quota=event["quota"],
        tie_draw=event["tie_draw"],
        min_votes=event["min_votes"],
        max_votes=event["max_votes"],
        votes=np.zeros(predictions.shape[1], dtype=np.int64),
        log_predictions=np.log(predictions),
        prediction=predictions.mean(axis=0),
        abstentions=len(absent),
        ballots=MappingProxyType({name: Ballot(ABSTAINED) for name in absent}),
    )


def lone_item(prediction: FloatArray, pool_size: int, quota: int | None = None) -> ItemState:
    """An item outside any session: prediction (M, K), no limits but the quota; of tied classes the first wins."""
    event = {"prediction": prediction, "pool_size": pool_size, "quota": quota, "tie_draw": 0.0}
    return opened(event | {"min_votes": 0, "max_votes": None}, 0)


def advance(item: ItemState, event: Mapping[str, Any], label: int | None) -> ItemState:
    """The item after a "vote", "abstain", "timeout", "retract" or "close" event; `label`: the class of the vote."""
    kind, voter = event["type"], event.get("voter")
    if kind == "vote" and label is not None:
        return _with_ballot(item, voter, Ballot(label, item.is_closed, event["time"]))
    if kind in ("abstain", "timeout"):
        return _with_ballot(item, voter, Ballot(ABSTAINED, item.is_closed, event["time"]))
    if kind == "retract":
        return _without_ballot(item, str(voter))
    return item


def _with_ballot(item: ItemState, voter: str | None, ballot: Ballot) -> ItemState:
    ballots = item.ballots
    if voter is not None:
        ballots = MappingProxyType({**ballots, voter: ballot})
    if ballot.label == ABSTAINED:
        return replace(item, abstentions=item.abstentions + 1, ballots=ballots)
    return replace(item, votes=_changed(item.votes, ballot.label, 1), ballots=ballots)


def _without_ballot(item: ItemState, voter: str) -> ItemState:
    """Remove a ballot. If the decision used it, the item needs a new decision, which then includes late ballots."""
    ballot = item.ballots[voter]
    kept = {name: other for name, other in item.ballots.items() if name != voter}
    standing = item.standing if ballot.late else None
    if standing is None:
        kept = {name: replace(other, late=False) for name, other in kept.items()}
    ballots = MappingProxyType(kept)
    if ballot.label == ABSTAINED:
        return replace(item, ballots=ballots, abstentions=item.abstentions - 1, standing=standing)
    return replace(item, ballots=ballots, votes=_changed(item.votes, ballot.label, -1), standing=standing)


def _changed(votes: IntArray, label: int, change: int) -> IntArray:
    counts = votes.copy()
    counts[label] += change
    return counts


def _read_only(array: Numbers) -> Numbers:
    shown = array.view()
    shown.flags.writeable = False
    return shown
