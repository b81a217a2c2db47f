"""`Plan`: what `quorate.plan` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quorate.commands.lost_class import LostClass
from quorate.commands.plan import report
from quorate.commands.plan.forecast import Goal, Range, Recall
from quorate.commands.plan.notes import ERROR_COSTS
from quorate.files import Content, check_free, write_folder
from quorate.methods import Method
from quorate.reports.format import json_page
from quorate.tables import Report
from quorate.version import __version__


@dataclass(frozen=True, slots=True)
class Point:
    """A setting on the curve: its value, and what the pilot shows. `is_fine`: replayed beside the one chosen."""

    method: Method
    value: float | None
    votes: float
    error: float
    chance: float
    is_fine: bool
    is_chosen: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """The setting for the next batch, and what to expect of it.

    `met` whether it keeps the goal with the confidence level; `chance` with which it does   `method` for `quorate.run`,
    with the table of error costs if there is one; `error_cost` is that table by names   `votes` per item, `error` the
    share of wrong answers, or their cost: each expected, low, high   `recall` of every class   `lost` one that loses
    more than a tenth of its items   `curve` of all settings by rising votes   `floor` the error when asking until
    settled, `settled` its votes per item   `cost_per_vote` 1 unless people differ
    """

    met: bool
    chance: float
    method: Method
    error_cost: Mapping[str, Mapping[str, float]] | None
    parameter: str
    value: float | None
    votes: Range
    error: Range
    recall: tuple[Recall, ...]
    lost: LostClass | None
    curve: tuple[Point, ...]
    floor: float
    settled: float
    goal: Goal
    num_items: int
    batch_size: int
    price: float | None
    cost_per_vote: float
    command: str
    notes: tuple[str, ...]
    tables: Report

    @property
    def money(self) -> Range | None:
        """What the votes of the next batch cost; None without a price."""
        if self.price is None:
            return None
        each = self.price * self.cost_per_vote * self.batch_size
        return Range(each * self.votes.expected, each * self.votes.low, each * self.votes.high)

    def summary(self) -> dict[str, Any]:
        """Plain values: what plan.json holds."""
        point = {"votes_per_item": "votes", "error": "error", "chance": "chance"}
        return {
            "quorate": __version__,
            "sentence": report.sentence(self),
            "command": self.command,
            "notes": list(self.notes),
            "goal": asdict(self.goal),
            "met": self.met,
            "chance": self.chance,
            "method": self.method.describe(),
            "error_cost": self.error_cost,
            "votes_per_item": asdict(self.votes),
            "error": asdict(self.error),
            "money": None if self.money is None else asdict(self.money),
            "recall": [asdict(each) for each in self.recall],
            "lost_class": None if self.lost is None else asdict(self.lost) | {"sentence": str(self.lost)},
            "curve": [
                {"setting": report.label(self, each)} | {key: getattr(each, name) for key, name in point.items()}
                for each in self.curve
            ],
            "until_settled": {"votes_per_item": self.settled, "error": self.floor},
            "num_items": self.num_items,
            "batch_size": self.batch_size,
            "data": self.tables.as_dict(),
        }

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write report.html, rejects.csv, plan.json and a table of error costs into a new folder."""
        files: dict[str, Content] = {"rejects.csv": self.tables.write_rejects, "report.html": report.page(self)}
        if self.method.costs is not None:
            files[ERROR_COSTS] = report.cost_table(self)
        if self.lost is not None and self.lost.table is not None:
            files["class-costs.csv"] = self.lost.table
        files["plan.json"] = json_page(self.summary())
        write_folder(check_free(folder, overwrite=overwrite), files)

    def __repr__(self) -> str:
        """The advice in a line."""
        return f"Plan({report.sentence(self)})"
