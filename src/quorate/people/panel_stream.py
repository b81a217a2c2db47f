"""Runs recorded votes of a panel, item by item in the given order: plan, ask, stop, learn, next item.

Calls what a live session calls, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.model import plurality_shares
from quorate.people.panel import GONE, UNSEEN, WINDOW, PanelState, new_panel
from quorate.people.panel_learning import learn_item
from quorate.people.panel_plan import advise, check_panel_size
from quorate.types import FloatArray, IntArray
from quorate.validate import as_floats, invalid, probabilities


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
    for t in range(T):
        cast = np.where(table[t] >= 0, UNSEEN, GONE)
        for step in range(N + 1):
            advice = advise(state, log_f[t], cast, available=present[t], costs=prices, min_gain=min_gain)
            if advice.expert < 0:
                break
            cast[advice.expert] = table[t, advice.expert]
            asked[t, step] = advice.expert
            paid[t] += prices[advice.expert]
        probs[t] = advice.probs
        learn_item(state, log_f[t], cast)
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
