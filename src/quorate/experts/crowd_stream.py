"""Recorded votes of a crowd, item by item: ask until the answer is sure enough, learn, revise two earlier items.

After the last item every item is revised once, so that early answers use what was learned later. Items of known class
come first and teach who is good; what is believed of them is what the others say. People who share their errors confirm
each other on the other items, so these teach only if the known ones are explained better afterwards. The stop rule of
`crowd`, here and as the policy `CrowdStop`:

    stop once 1 - max_z r(z) <= (1 - threshold) * min(1, (1 + votes) / 60)

votes: all votes so far. At first, while little is known about the people, more votes are asked per item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate import compiled
from quorate.compiled import kernel
from quorate.experts.ballots import Ballots
from quorate.experts.crowd import (
    CLOSE_TO_ZERO,
    CrowdItems,
    CrowdState,
    add_item,
    count_vote,
    new_state,
    prior_into,
    revise_item,
    take_item_back,
    top_of,
)
from quorate.experts.crowd_prior import REFIT_EVERY, WINDOW, refit_prior
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import fraction

WARM_UP = 60  # votes before the model is fully trusted: until then more votes are asked per item
FEWEST_KNOWN = 20  # items of known class before they decide whether the others teach, too
REVISED = 2  # earlier items that are revised whenever one closes


@dataclass(frozen=True, slots=True)
class CrowdStop:
    """Ask until the belief in the best class reaches `threshold`. Its state: the number of votes on closed items."""

    threshold: float
    name = "crowd"
    stop_reason = "confident"
    stops_when_settled = False  # a settled plurality may still be wrong

    def __post_init__(self) -> None:
        """Check the parameter."""
        fraction(self.threshold, where="threshold")

    def init(self, num_classes: int) -> int:
        """No votes yet."""
        return 0

    def ask(self, item: Item) -> bool:
        """Ask while the belief is below the threshold, which is higher at first."""
        num_votes = item.state + item.num_votes
        return not 1.0 - float(item.probs.max()) <= (1.0 - self.threshold) * min(1.0, (1.0 + num_votes) / WARM_UP)

    def update(self, item: Item) -> int:
        """Count the votes of the item."""
        return int(item.state + item.num_votes)


@dataclass(frozen=True, slots=True, eq=False)
class CrowdRun:
    """The crowd after a stream. Rows of `online` and `revised` are items in the order of `Ballots.items`.

    `online` (n, K) belief when the item closed   `revised` (n, K) after every item was revised once at the end
    `num_votes` (n,) votes asked   `state` what was learned about people, classes and the prediction
    """

    online: FloatArray
    revised: FloatArray
    num_votes: IntArray
    state: CrowdState


def run_crowd(
    ballots: Ballots,
    predictions: FloatArray | None = None,
    *,
    threshold: float = 1.0,
    seed: int = 0,
    truth: IntArray | None = None,
) -> CrowdRun:
    """Run items and their votes in random order, each until the belief in a class reaches `threshold`.

    `predictions` (n, K) probabilities, if there is a classifier   `truth` (n,) known classes, -1 unknown
    """
    rng = np.random.default_rng(seed)
    n, K = len(ballots.items), len(ballots.classes)
    is_known = np.zeros(n, dtype=bool) if truth is None else truth >= 0
    position = np.empty(n, dtype=np.int64)  # of each item in the stream
    position[np.lexsort((rng.permutation(n), ~is_known))] = np.arange(n)
    order = np.lexsort((rng.random(ballots.num_votes), position[ballots.item]))
    votes_of = np.bincount(position[ballots.item], minlength=n)
    start = np.concatenate([[0], np.cumsum(votes_of)])
    log_f = np.zeros((n, K))
    if predictions is not None:
        log_f[position] = np.log(predictions)
    items = CrowdItems(
        start, ballots.person[order].copy(), ballots.label[order].copy(), log_f, np.empty((n, K)),
        np.empty(ballots.num_votes), np.empty((ballots.num_votes, 2, 4)), np.empty((ballots.num_votes, K)),
    )  # fmt: skip
    state = new_state(len(ballots.people), K)
    online, asked = np.empty((n, K)), np.empty(n, dtype=np.int64)
    compiled.prepare_for(ballots.num_votes, of_experts=True)
    first = int(is_known.sum())
    known = np.zeros((0, K)) if truth is None else np.eye(K)[truth[np.argsort(position)[:first]]]
    items.belief[:first], asked[:first] = known, np.diff(start)[:first]
    for i in range(first):
        add_item(state, items, i, items.start[i + 1])
    refit_prior(state, items, max(0, first - WINDOW), first)
    alone = _left_out(state, items, known)
    taught = CrowdState(*(each.copy() for each in state))
    votes = slice(start[first], None)
    rest = CrowdItems(
        start[first:] - start[first], items.person[votes], items.label[votes], log_f[first:], items.belief[first:],
        items.careful[votes], items.gained[votes], items.if_careful[votes],
    )  # fmt: skip
    stream(state, rest, 1.0 - threshold, rng.random((n - first, REVISED)), online[first:], asked[first:])
    later = _left_out(state, items, known)
    if first >= FEWEST_KNOWN and _score(alone, known) > _score(later, known):
        state, later = taught, alone
        for i in range(first, n):
            _judge(state, items, i, items.belief[i])
        online[first:] = items.belief[first:]
    items.belief[:first] = online[:first] = later
    return CrowdRun(online[position], items.belief[position], asked[position], state)


def _left_out(state: CrowdState, items: CrowdItems, known: FloatArray) -> FloatArray:
    """(n, K) what is believed of the first items, of known class, if each in turn had not been learned from."""
    beliefs = np.empty_like(known)
    for i in range(len(known)):
        take_item_back(state, items, i)
        _judge(state, items, i, beliefs[i])
        add_item(state, items, i, items.start[i + 1])
    return beliefs


def _judge(state: CrowdState, items: CrowdItems, i: int, out: FloatArray) -> None:
    prior_into(state, items.log_f[i], out)
    for v in range(items.start[i], items.start[i + 1]):
        count_vote(state, items.person[v], items.label[v], top_of(items.log_f[i]), out)


def _score(beliefs: FloatArray, known: FloatArray) -> float:
    """The sum of log beliefs in the known classes."""
    return float(np.log(np.maximum((beliefs * known).sum(axis=1), CLOSE_TO_ZERO)).sum())


@kernel
def stream(
    state: CrowdState, items: CrowdItems, doubt: float, draws: FloatArray, online: FloatArray, asked: IntArray
) -> None:
    """Run all items. draws (n, REVISED) in [0, 1) select items to revise; fills online (n, K) and asked (n,)."""
    num_votes, kept = 0, 0
    num_items, K = online.shape
    for i in range(num_items):
        first, end = items.start[i], items.start[i + 1]
        belief = items.belief[i]
        prior_into(state, items.log_f[i], belief)
        top = top_of(items.log_f[i])
        items.start[i] = kept
        for v in range(first, end):
            if 1.0 - belief.max() <= doubt * min(1.0, (1.0 + num_votes) / WARM_UP):
                break
            count_vote(state, items.person[v], items.label[v], top, belief)
            items.person[kept], items.label[kept] = items.person[v], items.label[v]
            kept += 1
            num_votes += 1
        asked[i] = kept - items.start[i]
        for k in range(K):
            online[i, k] = belief[k]
        add_item(state, items, i, kept)
        after = items.start[i + 1]
        items.start[i + 1] = kept
        for r in range(draws.shape[1]):
            if i > 0:
                revise_item(state, items, int(draws[i, r] * i))
        items.start[i + 1] = after
        if (i + 1) % REFIT_EVERY == 0:
            refit_prior(state, items, max(0, i + 1 - WINDOW), i + 1)
    items.start[num_items] = kept
    for i in range(num_items):
        revise_item(state, items, i)
