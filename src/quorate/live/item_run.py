"""One item being decided: who is next, what was answered, what it cost. Every answer goes to the session at once.

Made by the work list for each item; driven by the plain and by the asyncio loop.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import cast

from quorate.errors import UnknownItem
from quorate.live.judges import ExpertPanel, Judge
from quorate.live.results import Act, Kind, Outcome
from quorate.session import Session
from quorate.session.inputs import class_number
from quorate.types import Decision, PredictionValue

log = logging.getLogger("quorate.live")


class ItemRun:
    """An item from its opening, or from where a resumed session has it, to its decision."""

    def __init__(self, session: Session, panel: ExpertPanel, item_id: str, prediction: PredictionValue) -> None:
        self.session, self.item_id = session, item_id
        try:
            decision, known = session.decision(item_id), True
        except UnknownItem:
            decision, known = session.open(item_id, prediction), False
        ballots = _ballots(session, item_id) if known else {}
        self._earlier = known and not decision.ask
        self._was_asked = bool(ballots)
        self._acts = [] if self._earlier else _earlier_acts(panel, ballots, decision.num_votes)
        self._full_cost = 0.0 if self._earlier else panel.full_cost(session.settings["pool_size"])
        self._line: Iterator[Judge] = panel.line(item_id, ballots)

    @property
    def asks(self) -> bool:
        """Does the session want one more vote? Asked anew each time: others may hold the same session."""
        return self.session.decision(self.item_id).ask

    def next_judges(self, most: int = 1) -> list[Judge]:
        """The next in line; when nobody is left the item is closed with what there is."""
        judges = list(islice(self._line, most))
        if not judges:
            self.session.close(self.item_id)
        return judges

    def checked(self, answer: object) -> str | None:
        """The answer if it is a class or an abstention; anything else is the expert's failure, as is an exception."""
        if answer is not None:
            class_number(answer, self.session.settings["classes"], where="answer")
        return cast("str | None", answer)

    def hear(self, judge: Judge, answer: str | None, failed_calls: int = 0) -> None:
        """Tell the session of a vote or an abstention; on a closed item it is a late one."""
        late = not self.asks
        kind: Kind = "vote"
        if answer is None:
            kind = "abstention"
            self.session.abstain(self.item_id, judge.name)
        else:
            self.session.vote(self.item_id, answer, judge.name)
        cost = judge.cost + failed_calls * judge.failure_cost
        self._acts.append(Act(judge.name, kind, answer, cost, late=late))

    def excuse(self, judge: Judge, error: Exception, failed_calls: int) -> None:
        """Count a failure as an abstention, and keep why."""
        late, why = not self.asks, told(error)
        self.session.abstain(self.item_id, judge.name)
        self._acts.append(Act(judge.name, "failure", None, failed_calls * judge.failure_cost, why, late))
        log.warning("item %r: %s failed and counts as an abstention: %s", self.item_id, judge.name or "ask", why)

    def outcome(self) -> Outcome:
        """How the item ended."""
        decision = self.session.decision(self.item_id)
        label = None if self._is_unanswered(decision) else decision.label
        return Outcome(self.item_id, label, decision, tuple(self._acts), self._full_cost, self._earlier)

    def _is_unanswered(self, decision: Decision) -> bool:
        """Somebody was asked and nobody voted: the session's answer rests on the classifier alone."""
        if decision.num_votes > 0:
            return False
        return decision.reason == "exhausted" or self._was_asked or any(not act.late for act in self._acts)


def told(error: BaseException | None) -> str:
    """An error as a report names it: some have no text of their own."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _earlier_acts(panel: ExpertPanel, ballots: Mapping[str, str | None], num_votes: int) -> list[Act]:
    """What an open item of a resumed session has: named ballots, and votes of the nameless."""
    named = [_earlier_act(panel, *ballot) for ballot in ballots.items()]
    nameless = num_votes - sum(act.kind == "vote" for act in named)
    return named + [Act(None, "vote", None, panel.price_of(""))] * nameless


def _earlier_act(panel: ExpertPanel, voter: str, label: str | None) -> Act:
    return Act(voter, "abstention" if label is None else "vote", label, panel.price_of(voter))


def _ballots(session: Session, item_id: str) -> dict[str, str | None]:
    """Who has acted on a known item, as far as the session still holds it."""
    try:
        return session.ballots(item_id)
    except UnknownItem:
        return {}
