"""The items of a loop: `ItemRun`, one item being decided, and `WorkList`, with session, settings and results.

Every answer is passed to the session at once. Shared by the plain and the asyncio loop, which differ only in how they
wait for an answer.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, cast, get_args

from quorate.errors import ItemExists, QuorateError, UnknownItem
from quorate.live.auditor import AUDIT_RATE, Auditor
from quorate.live.audits import NO_AUDITS
from quorate.live.judges import Answer, ExpertPanel, Judge, Jury, as_panel
from quorate.live.results import Act, Kind, LiveResult, Outcome
from quorate.live.savings import Savings
from quorate.model import TIE_WIDTH
from quorate.session import Session, checked_id, class_number
from quorate.types import Decision, PredictionValue
from quorate.validate import invalid, whole

log = logging.getLogger("quorate.live")
GIVE_UP_AFTER = 20  # consecutive unanswered items, which mean that something is broken


class ItemRun:
    """An item from its opening, or from its state in a resumed session, to its decision.

    `question` is passed to the judges: the item's id, unless a panel passes another object.
    """

    def __init__(self, work: WorkList, item_id: str, prediction: PredictionValue, question: object = None) -> None:
        session, panel = work.session, work.panel
        self.session, self.item_id = session, item_id
        self.question = item_id if question is None else question
        was_opened = item_id in session
        decision = session.decision(item_id) if was_opened else session.open(item_id, prediction)
        ballots = (_ballots(session, item_id) if was_opened else None) or {}
        self.earlier = was_opened and not decision.ask
        self._was_asked = bool(ballots)
        self._acts = [] if self.earlier else _earlier_acts(panel, ballots, decision.num_votes)
        self._full_cost = 0.0 if self.earlier else panel.full_cost(session.settings["pool_size"])
        self.audited = False
        self._line: Iterator[Judge] = panel.line(session, item_id, work.savings)

    @property
    def asks(self) -> bool:
        """Whether the session asks for one more vote. Not cached: others may use the same session."""
        return self.session.decision(self.item_id).ask

    def next_judges(self, most: int = 1) -> list[Judge]:
        """The next judges; if nobody is left, the item is closed with the votes it has."""
        judges = list(islice(self._line, most))
        if not judges:
            self.session.close(self.item_id)
        return judges

    def checked(self, answer: object, judge: Judge) -> Answer:
        """The answer, if it is a class or an abstention; anything else is a failure of the expert."""
        label, cost = (answer.label, answer.cost) if isinstance(answer, Answer) else (answer, None)
        if label is not None:
            class_number(label, self.session.settings["classes"], where="answer")
        return Answer(cast("str | None", label), judge.cost if cost is None else cost)

    def hear(self, judge: Judge, answer: Answer, failed_calls: int = 0) -> None:
        """Pass a vote or an abstention to the session; on a closed item it is late."""
        late = not self.asks
        kind: Kind = "vote"
        if answer.label is None:
            kind = "abstention"
            self.session.abstain(self.item_id, judge.name)
        else:
            self.session.vote(self.item_id, answer.label, judge.name)
        cost = (answer.cost or 0.0) + failed_calls * judge.failure_cost
        self._acts.append(Act(judge.name, kind, answer.label, cost, late=late))

    def excuse(self, judge: Judge, error: Exception, failed_calls: int) -> None:
        """Count a failure as an abstention, and store its reason."""
        late, why = not self.asks, error_text(error)
        self.session.abstain(self.item_id, judge.name)
        self._acts.append(Act(judge.name, "failure", None, failed_calls * judge.failure_cost, why, late))
        log.warning("item %r: %s failed and counts as an abstention: %s", self.item_id, judge.name or "ask", why)

    def outcome(self, confidence: float | None) -> Outcome:
        """The outcome of the item; `confidence` instead of the session's, if given."""
        decision = self.session.decision(self.item_id)
        label = None if self._is_unanswered(decision) else decision.label
        tied = () if label is None else tied_classes(decision, self.session.settings["classes"])
        stated = decision.confidence if confidence is None else confidence
        return Outcome(
            self.item_id, label, decision, stated, tuple(self._acts), self._full_cost, self.earlier, tied, self.audited
        )

    def _is_unanswered(self, decision: Decision) -> bool:
        """Whether somebody was asked and nobody voted: then the answer is based on the classifier only."""
        if decision.num_votes > 0:
            return False
        return decision.reason == "exhausted" or self._was_asked or any(not act.late for act in self._acts)


def tied_classes(decision: Decision, classes: Sequence[str]) -> tuple[str, ...]:
    """The classes that tie for the answer: those as probable as the label; () if the label is ahead."""
    if decision.probs is None:
        return ()
    level = [name for name, p in zip(classes, decision.probs, strict=True) if p >= decision.probs.max() - TIE_WIDTH]
    return tuple(level) if len(level) > 1 else ()


def error_text(error: BaseException | None) -> str:
    """An error's type and message, if it has one."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _earlier_acts(panel: ExpertPanel, ballots: Mapping[str, str | None], num_votes: int) -> list[Act]:
    """The acts on an open item of a resumed session: named ballots, and anonymous votes."""
    named = [_earlier_act(panel, *ballot) for ballot in ballots.items()]
    nameless = num_votes - sum(act.kind == "vote" for act in named)
    return named + [Act(None, "vote", None, panel.price_of(""))] * nameless


def _earlier_act(panel: ExpertPanel, voter: str, label: str | None) -> Act:
    return Act(voter, "abstention" if label is None else "vote", label, panel.price_of(voter))


def _ballots(session: Session, item_id: str) -> dict[str, str | None] | None:
    """Who has acted on a known item; None if the session no longer has it."""
    try:
        return session.ballots(item_id)
    except UnknownItem:
        return None


OnError = Literal["raise", "abstain"]
OnItem = Callable[[Outcome], None]
Entries = Iterable[tuple[str, Any]] | Mapping[str, Any]


class AskFailed(QuorateError):
    """Asking failed and the loop stopped. The item is still open; all earlier votes are in the session.

    `__cause__` is the error, `item` and `judge` say where, `result` has the items decided before, and `session` can be
    continued: `decide_all(items, ask, session=error.session)`.
    """

    def __init__(self, message: str, *, item: str, judge: str | None) -> None:
        super().__init__(message)
        self.item, self.judge = item, judge
        self.result: LiveResult | None = None

    @property
    def session(self) -> Session | None:
        """The session, with the item still open."""
        return None if self.result is None else self.result.session


@dataclass(frozen=True, slots=True)
class ErrorCare:
    """What a loop does if asking fails, and the callback for each item."""

    on_error: OnError
    retries: int
    give_up_after: int
    on_item: OnItem | None

    def __post_init__(self) -> None:
        """Check the options."""
        if self.on_error not in get_args(OnError):
            raise invalid("on_error", self.on_error, f"one of: {', '.join(get_args(OnError))}", "choose one.")
        whole(self.retries, where="retries", least=0)
        whole(self.give_up_after, where="give_up_after")


@dataclass(slots=True)
class WorkList:
    """The state of a loop. Items of one loop must have different ids. `outcomes` may be bounded: then the last ones."""

    session: Session
    panel: ExpertPanel
    care: ErrorCare
    outcomes: deque[Outcome] = field(default_factory=deque)
    auditor: Auditor | None = None
    savings: Savings = field(default_factory=Savings)
    _seen: set[str] = field(default_factory=set)
    _in_a_row: int = 0
    _last_failure: AskFailed | None = None

    def open(self, entry: object, question: object = None) -> ItemRun:
        """Start the next item."""
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise invalid("items", entry, "pairs (item_id, prediction)", "pass None for no prediction.")
        item_id, prediction = checked_id(entry[0], where="item_id"), entry[1]
        if item_id in self._seen:
            fix = "give every item a different id."
            raise invalid("items", item_id, "each item once", fix, error=ItemExists)
        self._seen.add(item_id)
        return ItemRun(self, item_id, prediction, question)

    def is_new(self, item_id: str) -> bool:
        """Whether neither this list nor its session has an item with that id."""
        return item_id not in self._seen and item_id not in self.session

    def failed(self, run: ItemRun, judge: Judge, error: Exception, failed_calls: int) -> None:
        """Raise a failure that remains after all retries, or count it as an abstention."""
        item, name = run.item_id, judge.name
        failure = AskFailed(
            f"asking {name or 'an expert'} about item {item!r} failed: {error_text(error)}. The item stays "
            "open; call the loop again with session=error.session, or pass on_error='abstain'.",
            item=item,
            judge=name,
        )
        failure.__cause__ = error
        if self.care.on_error == "raise" and not run.audited:
            raise failure
        self._last_failure = failure
        run.excuse(judge, error, failed_calls)

    def to_audit(self, run: ItemRun) -> Iterator[Judge]:
        """Whom to ask about a closed item to see whether they agree; whoever fails abstains."""
        if self.auditor is not None and not run.earlier:
            for judge in self.auditor.judges(run.item_id):
                run.audited = True
                yield judge

    def finish(self, run: ItemRun) -> Outcome:
        """Record the outcome of a closed item; raise if too many consecutive items had failures and no vote."""
        outcome = run.outcome(None if self.auditor is None or run.earlier else self.auditor.confidence(run.item_id))
        if self.auditor is not None and outcome.audited:
            self.auditor.learn()
        self.outcomes.append(outcome)
        self.savings.close(run.item_id, _ballots(self.session, run.item_id))
        if self.care.on_item is not None:
            self.care.on_item(outcome)
        if outcome.label is not None:
            self._in_a_row = 0
        elif outcome.num_failures:
            self._in_a_row += 1
        if self._in_a_row >= self.care.give_up_after and self._last_failure is not None:
            cause = self._last_failure.__cause__
            failure = AskFailed(
                f"{self._in_a_row} items in a row are unanswered because asking failed, the last time with "
                f"{error_text(cause)}. Correct that and continue with session=error.session, or raise "
                f"give_up_after={self.care.give_up_after}.",
                item=outcome.item,
                judge=self._last_failure.judge,
            )
            raise failure from cause
        return outcome

    def result(self) -> LiveResult:
        """The items finished so far."""
        audits = NO_AUDITS if self.auditor is None else self.auditor.audits
        return LiveResult(tuple(self.outcomes), self.session, audits)


def make_work_list(
    ask: object, session: Session | None, *, audit_rate: float | None, care: ErrorCare, settings: Mapping[str, object]
) -> WorkList:
    """A work list for the given session, or for a new one from `settings`."""
    if session is not None and settings:
        name, value = next(iter(settings.items()))
        raise invalid(name, value, "no settings together with `session`, which has its own", "pass one of them.")
    held = _new_session(ask, dict(settings)) if session is None else session
    known = held.settings
    panel = as_panel(ask, pool_size=known["pool_size"], seed=known["seed"])
    rate = (AUDIT_RATE if held.has_people else 0.0) if audit_rate is None else audit_rate
    auditor = Auditor(held, panel, rate) if isinstance(panel, Jury) else None
    return WorkList(held, panel, care, auditor=auditor)


def _new_session(ask: object, settings: dict[str, Any]) -> Session:
    """A session from the loop's further arguments; with a jury, the pool size defaults to the number of judges."""
    jury = Jury(ask) if isinstance(ask, (list, tuple)) else ask
    if isinstance(jury, Jury):
        settings.setdefault("pool_size", len(jury.judges))
    for needed in ("classes", "pool_size"):
        if needed not in settings:
            fix = "pass it, or the session to use: `session`."
            raise invalid(needed, None, "a setting of the new session", fix)
    return jury.session(**settings) if isinstance(jury, Jury) else Session(**{"method": "value"} | settings)


def entries(items: object) -> Iterable[object] | AsyncIterable[object]:
    """Pairs (item_id, prediction), from pairs or from a mapping."""
    pairs = items.items() if isinstance(items, Mapping) else items
    if not isinstance(pairs, (Iterable, AsyncIterable)) or isinstance(pairs, str):
        raise invalid("items", items, "pairs (item_id, prediction), or a mapping of them", "pass one of these.")
    return pairs
