"""The cost of a run if people differ in cost, compared with asking until settled and asking everyone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.streams.pools import Pools
from quorate.streams.replay import ReplayResult
from quorate.types import IntArray


@dataclass(frozen=True, slots=True)
class Spending:
    """Costs of all votes asked, of asking until settled in recorded order, and of everybody recorded."""

    total: float
    until_settled: float
    ask_all: float


def spending(pools: Pools, outcome: ReplayResult, settled: IntArray, voter_costs: tuple[float, ...]) -> Spending:
    """`settled` (T,) votes of each item until its pool is settled; anonymous people cost 1."""
    stream = pools.stream
    assert stream.voters is not None  # kept if there are costs
    unknown = np.append(np.array(voter_costs), 1.0)  # number -1 indexes the last entry
    place = np.arange(stream.votes.shape[1])
    paid = np.where(place < stream.recorded[:, None], unknown[stream.voters], 0.0)  # (T, N)
    until = np.where(place < settled[:, None], paid, 0.0)
    return Spending(float(outcome.paid.sum()), float(until.sum()), float(paid.sum()))
