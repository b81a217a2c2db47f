"""The panel model in a live session, where members join and leave: maps names to columns and items to the window.

Calls `learn_item` when an item closes and `advise` when somebody may be asked, like `panel_stream`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.model import optimistic_gain
from quorate.people.panel import GONE, UNSEEN, WINDOW, new_panel, with_members
from quorate.people.panel_learning import learn_item, revise_item
from quorate.people.panel_plan import PanelAdvice, advise
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import above_zero

Votes = Sequence[tuple[str, int]]  # person and class


@dataclass(frozen=True, slots=True)
class PanelValue:
    """Ask while the best plan saves more than it costs; a wrong answer costs `error_cost` votes at price 1.

    The session computes the plan from the members. If they are not known, the value of a vote is the optimistic gain.
    """

    error_cost: float
    name = "panel"
    stop_reason = "not_worth_it"

    def __post_init__(self) -> None:
        """Check the parameter."""
        object.__setattr__(self, "error_cost", above_zero(self.error_cost, where="error_cost"))

    @property
    def min_gain(self) -> float:
        """The gain in probability of a right answer that is worth one unit of cost."""
        return 1.0 / self.error_cost

    def ask(self, item: Item) -> bool:
        """Ask while the optimistic gain is above `min_gain`."""
        return bool(optimistic_gain(item.probs, item.votes, item.num_remaining) > self.min_gain)


class OnlinePanel:
    """The panel model after the items closed so far. Changes in place; the same calls give the same bits."""

    def __init__(
        self, members: Iterable[str], num_classes: int, num_classifiers: int, *, window: int | None = WINDOW
    ) -> None:
        self.columns = {name: column for column, name in enumerate(members)}
        size = WINDOW if window is None else window
        self.state = new_panel(len(self.columns), num_classes, num_classifiers, window=size)
        self._numbers: dict[str, int] = {}  # of the closed items in the window
        self._window = size

    def enter(self, name: str) -> None:
        """Add a member."""
        if name not in self.columns:
            self.columns[name] = len(self.columns)
            self.state = with_members(self.state, len(self.columns))

    def row(self, votes: Votes, gone: Collection[str] = ()) -> IntArray:
        """(N,) an item's votes by member; `gone`: those no longer in its pool."""
        cast = np.full(len(self.columns), UNSEEN, dtype=np.int64)
        for name in gone:
            cast[self.columns[name]] = GONE
        for name, label in votes:
            cast[self.columns[name]] = label
        return cast

    def advise(
        self, log_f: FloatArray, cast: IntArray, available: Collection[str], costs: Mapping[str, float], min_gain: float
    ) -> PanelAdvice:
        """Which of `available` to ask, given votes (N,) so far; `costs` of every member."""
        can_ask = np.array([name in available for name in self.columns])
        prices = np.array([costs[name] for name in self.columns])
        return advise(self.state, log_f, cast, available=can_ask, costs=prices, min_gain=min_gain)

    def close(self, item_id: str, log_f: FloatArray, cast: IntArray) -> None:
        """Learn from an item that closes with votes (N,)."""
        number = int(learn_item(self.state, log_f, cast))
        if number < 0:
            return
        self._numbers[item_id] = number
        oldest = next(iter(self._numbers))
        if self._numbers[oldest] <= number - self._window:
            del self._numbers[oldest]

    def change(self, item_id: str, cast: IntArray | None) -> None:
        """Replace the votes of a closed item; None: it is open again."""
        number = self._numbers.get(item_id)
        if number is None:
            return
        revise_item(self.state, number, self.row([]) if cast is None else cast)
        if cast is None:
            del self._numbers[item_id]

    def name_of(self, column: int) -> str:
        """The member in that column."""
        return list(self.columns)[column]
