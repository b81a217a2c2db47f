"""The results of a live loop: every act of every expert, the outcome of each item, and sums.

Filled by `work_list.py`; returned by `decide_all`, `adecide_all` and panels. Values only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from quorate.live.audits import NO_AUDITS, PanelAudits
from quorate.session import Session
from quorate.types import Decision

Kind = Literal["vote", "abstention", "failure"]


@dataclass(frozen=True, slots=True)
class Act:
    """One expert's act on an item. `judge` None: anonymous. `error`: why it failed. `late`: the item was closed."""

    judge: str | None
    kind: Kind
    label: str | None
    cost: float
    error: str | None = None
    late: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one item. `label` is None if somebody was asked and nobody voted: the item is unanswered.

    `decision` is the session's; for an unanswered item it is based on the classifier only. `confidence`: that the whole
    pool would give this answer, for a panel corrected by its audits. `full_cost`: of asking
    everybody. `earlier`: it was closed before this loop began, and nobody was asked. `tied`: the classes that tie with
    `label`, () if it is ahead of all others. `audited`: after the decision others were asked, too, to see
    whether it agrees.
    """

    item: str
    label: str | None
    decision: Decision
    confidence: float
    acts: tuple[Act, ...] = ()
    full_cost: float = 0.0
    earlier: bool = False
    tied: tuple[str, ...] = ()
    audited: bool = False

    @property
    def votes(self) -> dict[str, str]:
        """The votes of named judges: judge -> label."""
        return {act.judge: act.label for act in self.acts if act.judge is not None and act.label is not None}

    @property
    def cost(self) -> float:
        """The cost of its acts."""
        return sum(act.cost for act in self.acts)

    @property
    def num_failures(self) -> int:
        """Calls that failed, counted as abstentions."""
        return sum(act.kind == "failure" for act in self.acts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveResult:
    """All outcomes, in the order in which items closed, the session, which can be continued, and a panel's audits."""

    outcomes: Sequence[Outcome]
    session: Session = field(compare=False)
    audits: PanelAudits = NO_AUDITS

    @property
    def labels(self) -> dict[str, str | None]:
        """Item -> class name; None if it is unanswered."""
        return {outcome.item: outcome.label for outcome in self.outcomes}

    @property
    def unanswered(self) -> list[str]:
        """Items where somebody was asked and nobody voted."""
        return [outcome.item for outcome in self.outcomes if outcome.label is None]

    @property
    def cost(self) -> float:
        """The money spent, in the currency of the judges."""
        return sum(outcome.cost for outcome in self.outcomes)

    @property
    def full_cost(self) -> float:
        """The cost of asking everybody about the same items."""
        return sum(outcome.full_cost for outcome in self.outcomes)

    def by_judge(self) -> dict[str, dict[str, float]]:
        """Judge -> votes, abstentions, failures and cost; anonymous experts are summed under ''."""
        table: dict[str, dict[str, float]] = {}
        for act in (act for outcome in self.outcomes for act in outcome.acts):
            row = table.setdefault(act.judge or "", {"votes": 0, "abstentions": 0, "failures": 0, "cost": 0.0})
            row[f"{act.kind}s"] += 1
            row["cost"] += act.cost
        return dict(sorted(table.items()))

    def summary(self) -> dict[str, Any]:
        """The sums, as JSON types."""
        acts = [act for outcome in self.outcomes for act in outcome.acts]
        kinds = {f"{kind}s": sum(act.kind == kind for act in acts) for kind in ("vote", "abstention", "failure")}
        spent, full = self.cost, self.full_cost
        return {
            "items": len(self.outcomes),
            "answered": len(self.outcomes) - len(self.unanswered),
            "unanswered": len(self.unanswered),
            "tied": sum(bool(outcome.tied) for outcome in self.outcomes),
            "closed_earlier": sum(outcome.earlier for outcome in self.outcomes),
            **kinds,
            "late": sum(act.late for act in acts),
            "cost": spent,
            "full_cost": full,
            "saved": 1.0 - spent / full if full else 0.0,
            "audits": self._audit_summary(),
        }

    def _audit_summary(self) -> dict[str, Any] | None:
        """How often the whole panel disagreed with audited answers that were not certain; None without audits."""
        if self.audits.interval is None:
            return None
        low, high = self.audits.interval
        num, wrong = self.audits.num, self.audits.errors
        return {"num": num, "wrong": wrong, "low": low, "high": high, "warning": self.audits.warning}

    def __repr__(self) -> str:
        """A line for notebooks."""
        sums = self.summary()
        return (
            f"LiveResult({sums['items']} items, {sums['unanswered']} unanswered, {sums['votes']} votes, "
            f"{sums['abstentions']} abstentions, {sums['failures']} failures, cost {sums['cost']:.6g} "
            f"of {sums['full_cost']:.6g})"
        )
