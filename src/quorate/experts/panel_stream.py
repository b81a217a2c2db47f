"""Runs recorded votes of a panel, item by item in the given order: plan, ask, stop, learn, next item.

Calls the kernels of a live session in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate import compiled
from quorate.compiled import kernel
from quorate.experts.panel import GONE, UNSEEN, WINDOW, PanelState, new_panel
from quorate.experts.panel_learning import learn_item
from quorate.experts.panel_plan import BoolArray, advise_into, check_panel_size
from quorate.posterior.settled import plurality_shares
from quorate.types import FloatArray, IntArray
from quorate.validate import as_floats, bounded, invalid, probabilities


@dataclass(frozen=True, slots=True, eq=False)
class PanelRun:
    """A panel after a stream of T items.

    `probs` (T, K) belief in who wins the plurality of the panel when the item closed   `asked` (T, N) the members who
    were asked, in order, -1 after the last   `costs` (T,) of these votes   `expected_errors` (T,) of the answers, with
    ties of the panel broken at random   `state` what was learned
    """

    probs: FloatArray
    asked: IntArray
    costs: FloatArray
    expected_errors: FloatArray
    state: PanelState

    @property
    def num_votes(self) -> IntArray:
        """(T,) votes asked for."""
        return np.asarray((self.asked >= 0).sum(axis=1))

    @property
    def labels(self) -> IntArray:
        """(T,) the answers."""
        return np.asarray(self.probs.argmax(axis=1))


def run_panel(
    votes: ArrayLike,
    predictions: ArrayLike,
    *,
    min_gain: float,
    costs: ArrayLike | None = None,
    available: ArrayLike | None = None,
    window: int = WINDOW,
) -> PanelRun:
    """Replay votes (T, N), a column for each member; -1: the member did not vote and is not in the item's pool.

    `predictions` (T, K) or (T, M, K)   `min_gain` required gain per unit of cost   `costs` (N,) of one vote of each
    member (None: 1)   `available` (T, N) who can be asked (None: everybody)

    >>> run = run_panel([[0, 0, 1], [1, 1, 1], [0, 1, 0]], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], min_gain=0.05)
    >>> run.num_votes, run.labels
    (array([2, 2, 3]), array([0, 1, 0]))
    """
    table, log_f = _checked(votes, predictions)
    T, N = table.shape
    K = log_f.shape[2]
    check_panel_size(int((table >= 0).sum(axis=1).max(initial=0)), K, where="votes")
    prices = np.ones(N) if costs is None else np.array(as_floats(costs, where="costs"))
    if prices.shape != (N,) or not np.all(np.isfinite(prices) & (prices >= 0)):
        raise invalid("costs", prices.tolist(), f"{N} numbers >= 0", "pass the cost of one vote of each member.")
    present = np.ones((T, N), dtype=bool) if available is None else np.array(available, dtype=bool)
    if present.shape != (T, N):
        raise invalid("available", present.shape, f"an array ({T}, {N})", "pass one value per item and member.")
    state = new_panel(N, K, log_f.shape[1], window=window)
    probs, asked, paid = np.empty((T, K)), np.full((T, N), -1), np.zeros(T)
    compiled.prepare_for(T, of_experts=True)
    least = bounded(min_gain, where="min_gain", least=0.0)
    stream(state, log_f, table, present, prices, least, probs, asked, paid)
    counts = (table[:, :, None] == np.arange(K)).sum(axis=1)
    right = plurality_shares(counts)[np.arange(T), probs.argmax(axis=1)]
    return PanelRun(probs, asked, paid, 1.0 - right, state)


def _checked(votes: ArrayLike, predictions: ArrayLike) -> tuple[IntArray, FloatArray]:
    table: NDArray[np.int64] = np.array(votes, dtype=np.int64)
    probs = probabilities(predictions, where="predictions")
    if probs.ndim not in (2, 3) or table.ndim != 2 or len(probs) != len(table):
        rule = f"an array (items, members) for predictions of {len(probs)} items"
        raise invalid("votes", table.shape, rule, "pass one row per item in both.")
    K = probs.shape[-1]
    if table.max(initial=-1) >= K or table.min(initial=-1) < -1:
        rule = f"class numbers 0 .. {K - 1}, and -1 where a member did not vote"
        raise invalid("votes", int(table.max()), rule, "check the classes of votes and predictions.")
    return table, np.ascontiguousarray(np.log(probs).reshape(len(table), -1, K))


@kernel
def stream(
    state: PanelState,
    log_f: FloatArray,
    recorded: IntArray,
    available: BoolArray,
    costs: FloatArray,
    min_gain: float,
    probs: FloatArray,
    asked: IntArray,
    paid: FloatArray,
) -> None:
    """Run all items: log_f (T, M, K), recorded, available (T, N), costs (N,); writes probs, asked and paid."""
    T, N = recorded.shape
    votes, net_gains = np.empty(N, np.int64), np.empty(N)
    for t in range(T):
        for e in range(N):
            votes[e] = UNSEEN if recorded[t, e] >= 0 else GONE
        for place in range(N + 1):
            e, _, _ = advise_into(state, log_f[t], votes, available[t], costs, min_gain, probs[t], net_gains)
            if e < 0:
                break
            votes[e] = recorded[t, e]
            asked[t, place] = e
            paid[t] += costs[e]
        learn_item(state, log_f[t], votes)
