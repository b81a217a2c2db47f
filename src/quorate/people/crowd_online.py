"""The crowd model in a live session, where people join and leave and several items are open at once.

Calls `quorate.core` in the order of `crowd_stream`, so that both agree to the last bit if items follow one another. A
closed item is kept with its votes, for late or withdrawn votes, until the session calls `forget`; the last `window` are
revised. Rows of people are allocated by doubling: 8 (K^2 + K + 9) bytes per person, at most twice that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import core
from quorate.people.crowd import CLOSE_TO_ZERO, REFIT_EVERY, WINDOW, CrowdItems, CrowdState, new_state
from quorate.people.crowd_stream import FEWEST_KNOWN
from quorate.types import FloatArray, IntArray

FIRST_ROWS = 16
PEOPLE_FIELDS = ("confusion", "labels", "skill", "evidence")  # of CrowdState, with a row per person
Votes = Sequence[tuple[str, int]]  # person and class, in the order of the votes


class OnlineCrowd:
    """The crowd model after the items closed so far. Changes in place; the same calls give the same bits."""

    def __init__(self, num_classes: int, *, window: int | None) -> None:
        self.state = new_state(FIRST_ROWS, num_classes)
        self.rows: dict[str, int] = {}
        self._window = window
        self._closed: dict[str, CrowdItems] = {}
        self._taught: OnlineCrowd | None = None  # the same, learned from items of known class alone
        self._lead, self._num_known = 0.0, 0  # by how much it explains these less well than this one, and how many
        self._known: dict[str, FloatArray] = {}  # 1 for the true class of an item
        self._order: list[str] = []  # ids of the closed items that are kept, in closing order
        self._num_closed = 0

    def enter(self, person: str) -> None:
        """Give a person a row. There is always one extra empty row, for somebody not seen yet."""
        if person in self.rows:
            return
        if self._taught is not None:
            self._taught.enter(person)
        self.rows[person] = len(self.rows)
        if len(self.rows) == len(self.state.skill):
            more = {name: _doubled(getattr(self.state, name)) for name in PEOPLE_FIELDS}
            self.state = self.state._replace(**more)

    def row(self, person: str) -> int:
        """The person's row; the empty one for somebody without votes."""
        return self.rows.get(person, len(self.rows))

    def before_votes(self, log_f: FloatArray, *, state: CrowdState | None = None) -> FloatArray:
        """(K,) belief about an item before its votes."""
        if (taught := self._trusted()) is not None and state is None:
            return taught.before_votes(log_f)
        belief = np.empty(log_f.size)
        core.crowd_prior(*(state or self.state), log_f, belief)
        return belief

    def after_vote(self, belief: FloatArray, log_f: FloatArray, person: str, label: int) -> FloatArray:
        """(K,) belief after one more vote; the argument is not changed."""
        if (taught := self._trusted()) is not None:
            return taught.after_vote(belief, log_f, person, label)
        return self._counted(self.state, log_f, [(person, label)], belief.copy())

    def judge(self, log_f: FloatArray, votes: Votes, *, without: str | None = None) -> FloatArray:
        """(K,) belief about an item with these votes; `without`: as if this closed item had not been learned from."""
        if (taught := self._trusted()) is not None:
            return taught.judge(log_f, votes, without=without)
        return self._judge(log_f, votes, without)

    def _trusted(self) -> OnlineCrowd | None:
        """What items of known class teach alone, where it explains these better: people who share errors agree."""
        return self._taught if self._num_known >= FEWEST_KNOWN and self._lead < 0 else None

    def _judge(self, log_f: FloatArray, votes: Votes, without: str | None = None) -> FloatArray:
        state = self.state
        if without is not None and without in self._closed:
            state = CrowdState(*(array.copy() for array in state))
            core.crowd_take_back(*state, *_whole(self._closed[without]))
        return self._counted(state, log_f, votes, self.before_votes(log_f, state=state))

    def close(
        self,
        item_id: str,
        log_f: FloatArray,
        votes: Votes,
        belief: FloatArray,
        draws: Sequence[float],
        *,
        known: int | None = None,
    ) -> None:
        """Learn from an item that closes with this belief; `draws` in [0, 1) select earlier items to revise.

        `known`: its true class, which teaches instead of the belief.
        """
        if known is not None:
            self._known[item_id] = np.eye(log_f.size)[known]
            self._teach(item_id, log_f, votes, known)
        self._closed[item_id] = self._added(log_f, votes, self._known.get(item_id, belief))
        earlier = self._order if self._window is None else self._order[-self._window :]
        for draw in draws if earlier else ():
            chosen = earlier[int(draw * len(earlier))]
            if chosen not in self._known:
                core.crowd_revise(*self.state, *_whole(self._closed[chosen]))
        self._order.append(item_id)
        self._num_closed += 1
        if self._num_closed % REFIT_EVERY == 0:
            self._refit()

    def forget(self, item_id: str) -> None:
        """Drop a closed item, which cannot change any more; what was learned from it stays."""
        if self._closed.pop(item_id, None) is not None:
            self._order.remove(item_id)
            if self._known.pop(item_id, None) is not None and self._taught is not None:
                self._taught.forget(item_id)

    def change(self, item_id: str, votes: Votes | None) -> None:
        """Replace the votes of a closed item; None: it is open again. A forgotten item is not changed."""
        kept = self._closed.get(item_id)
        if kept is None:
            return
        if item_id in self._known and self._taught is not None:
            self._taught.change(item_id, votes)
        core.crowd_take_back(*self.state, *_whole(kept))
        if votes is None:
            del self._closed[item_id]
            self._order.remove(item_id)
            return
        belief = self._known.get(item_id)
        belief = self._judge(kept.log_f[0], votes) if belief is None else belief
        self._closed[item_id] = self._added(kept.log_f[0], votes, belief)

    def gains(self, people: Sequence[str], log_f: FloatArray, belief: FloatArray) -> FloatArray:
        """(len(people), 2) the expected rise of the top belief by a vote of each, and its information in nats."""
        if (taught := self._trusted()) is not None:
            return taught.gains(people, log_f, belief)
        rows, out = np.array([self.row(person) for person in people], dtype=np.int64), np.empty((len(people), 2))
        core.crowd_gains(*self.state, rows, log_f, belief, out)
        return out

    def _counted(self, state: CrowdState, log_f: FloatArray, votes: Votes, belief: FloatArray) -> FloatArray:
        """Update the belief by these votes, in place."""
        core.crowd_count_votes(*state, log_f, *self._as_arrays(votes), belief)
        return belief

    def _as_arrays(self, votes: Votes) -> tuple[IntArray, IntArray]:
        """(V,) rows of the people, and their labels."""
        rows = np.array([self.row(person) for person, _ in votes], dtype=np.int64)
        return rows, np.array([label for _, label in votes], dtype=np.int64)

    def _teach(self, item_id: str, log_f: FloatArray, votes: Votes, known: int) -> None:
        """Learn from an item of known class, after comparing how well it was explained with and without the others."""
        if self._taught is None:
            self._taught = OnlineCrowd(log_f.size, window=self._window)
            for person in self.rows:
                self._taught.enter(person)
        alone = self._taught
        mine, theirs = (max(crowd._judge(log_f, votes)[known], CLOSE_TO_ZERO) for crowd in (self, alone))
        self._lead, self._num_known = self._lead + float(np.log(mine / theirs)), self._num_known + 1
        alone.close(item_id, log_f, votes, np.eye(log_f.size)[known], ())

    def _added(self, log_f: FloatArray, votes: Votes, belief: FloatArray) -> CrowdItems:
        """Learn from one item with these votes; returns it."""
        count = len(votes)
        item = CrowdItems(
            np.array([0, count]), *self._as_arrays(votes), log_f[None].copy(), belief[None].copy(),
            np.empty(count), np.empty((count, 2, 4)), np.empty((count, log_f.size)),
        )  # fmt: skip
        core.crowd_add(*self.state, *_whole(item))
        return item

    def _refit(self) -> None:
        size = WINDOW if self._window is None else min(self._window, WINDOW)
        last = [self._closed[item_id] for item_id in self._order[-size:]]
        log_f, belief = (np.concatenate([getattr(group, name) for group in last]) for name in ("log_f", "belief"))
        core.crowd_refit_prior(*self.state, log_f, belief)


def _doubled(rows: FloatArray) -> FloatArray:
    return np.concatenate([rows, np.zeros_like(rows)])


def _whole(item: CrowdItems) -> tuple[NDArray[Any], ...]:
    """An item with all its votes, as `core` takes it."""
    return *item, item.start[1:]
