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

from quorate import core
from quorate.people.ballots import Ballots
from quorate.people.crowd import CLOSE_TO_ZERO, REFIT_EVERY, WINDOW, CrowdItems, CrowdState, new_state, some
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
    first = int(is_known.sum())
    gold, rest = some(items, 0, first), some(items, first, n)
    known = np.zeros((0, K)) if truth is None else np.eye(K)[truth[np.argsort(position)[:first]]]
    gold.belief[:], asked[:first] = known, votes_of[:first]
    core.crowd_add(*state, *gold, asked[:first])
    core.crowd_refit_prior(*state, gold.log_f[-WINDOW:], known[-WINDOW:])
    alone = _left_out(state, gold, asked[:first])
    taught = CrowdState(*(array.copy() for array in state))
    stream(state, rest, 1.0 - threshold, rng.random((n - first, REVISED)), online[first:], asked[first:])
    core.crowd_revise(*state, *rest, asked[first:])
    later = _left_out(state, gold, asked[:first])
    if first >= FEWEST_KNOWN and _score(alone, known) > _score(later, known):
        state, later = taught, alone
        core.crowd_judge(*state, *rest, asked[first:])
        online[first:] = rest.belief
    items.belief[:first] = online[:first] = later
    return CrowdRun(online[position], items.belief[position], asked[position], state)


def _left_out(state: CrowdState, items: CrowdItems, asked: IntArray) -> FloatArray:
    """(n, K) what is believed of items if each in turn had not been learned from."""
    beliefs = np.empty_like(items.belief)
    core.crowd_left_out(*state, *items, asked, beliefs)
    return beliefs


def _score(beliefs: FloatArray, known: FloatArray) -> float:
    """The sum of log beliefs in the known classes."""
    return float(np.log(np.maximum((beliefs * known).sum(axis=1), CLOSE_TO_ZERO)).sum())


def stream(
    state: CrowdState, items: CrowdItems, doubt: float, draws: FloatArray, online: FloatArray, asked: IntArray
) -> None:
    """Run all items, without the last revision; fills online (n, K) and asked (n,).

    draws (n, REVISED) in [0, 1) select items to revise.
    """
    core.crowd_stream(*state, *items, draws, online, asked, REFIT_EVERY, WINDOW, doubt, WARM_UP)
