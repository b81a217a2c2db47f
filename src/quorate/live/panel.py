"""A panel of judges for one question at a time: asks whom its session names, and audits its own verdicts.

`Panel` holds a session that knows the judges by name. `decide` is for plain functions, `adecide` for coroutines. The
verdict is the plurality of the whole panel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count

from quorate.live.auditor import AUDIT_RATE, Auditor
from quorate.live.audits import PanelAudits
from quorate.live.judges import Judge, Jury, Spec
from quorate.live.loop import ask_one, ask_one_async
from quorate.live.results import LiveResult, Outcome
from quorate.live.work_list import GIVE_UP_AFTER, ErrorCare, ItemRun, OnError, WorkList
from quorate.session import Journal, Session
from quorate.types import PredictionValue
from quorate.validate import bounded, whole


class Panel:
    """Judges who are asked one at a time while an answer is worth its price: what a wrong one costs, in votes.

    `error_cost`: what a wrong verdict costs, in votes of an average judge. The session is `Jury.session`: the method
    `panel`, which knows the judges by name, unless `method` names another one or the jury is too large for it. A judge
    whose call fails, after `retries`, abstains (`on_error="raise"`: AskFailed).

    `audit_rate`: on this share of the questions whose verdict is not certain, and on the first ten, the others are
    asked, too, after the decision, until they cannot change the verdict. The audits correct the confidence
    (`outcome.confidence`) and the cost of an error; if they contradict the panel there is a warning.
    0: no audits, no correction.

    `timeout`: seconds for a call of `adecide`. `journal` stores the session; or pass the `session` to continue. `keep`:
    `result()` has only the last so many questions, which bounds the memory of a panel that never ends; None: all.

    >>> judges = [Judge("large", lambda text: "spam", cost=2.0), Judge("small", lambda text: "spam", cost=0.1),
    ...           Judge("medium", lambda text: "spam", cost=0.4)]
    >>> panel = Panel(judges, ["fine", "spam"], audit_rate=0.0)
    >>> outcome = panel.decide("You have won!")
    >>> outcome.label, list(outcome.votes), outcome.cost, outcome.full_cost
    ('spam', ['small', 'medium'], 0.5, 2.5)
    """

    def __init__(
        self,
        judges: Sequence[Judge],
        classes: Sequence[str],
        *,
        error_cost: float | None = None,
        method: Spec | None = None,
        audit_rate: float = AUDIT_RATE,
        on_error: OnError = "abstain",
        retries: int = 0,
        give_up_after: int = GIVE_UP_AFTER,
        timeout: float | None = None,
        keep: int | None = None,
        seed: int = 0,
        journal: Journal | str | None = None,
        session: Session | None = None,
    ) -> None:
        self.jury = Jury(judges, seed=seed)
        if session is None:
            costs = {} if error_cost is None else {"error_cost": error_cost}
            size = len(self.jury.judges)
            session = self.jury.session(classes, method=method, pool_size=size, seed=seed, journal=journal, **costs)
        self.session = session
        self._timeout = None if timeout is None else bounded(timeout, where="timeout", least=0.0)
        self._numbers = count(session.counts()["opened"] + 1)
        outcomes = deque[Outcome](maxlen=None if keep is None else whole(keep, where="keep"))
        care = ErrorCare(on_error, retries, give_up_after, None)
        self._auditor = Auditor(session, self.jury, audit_rate)
        self._work = WorkList(session, self.jury, care, outcomes, self._auditor)

    def decide(self, question: object, prediction: PredictionValue = None, *, item: str | None = None) -> Outcome:
        """Decide one question: calls `judge.ask(question)`, a plain function. `prediction`: of a classifier, if any.

        `item` is the question's id in the session and the result; without one, questions get the next free number.
        An id that a continued session has closed means the same question: its earlier verdict is returned
        (`outcome.earlier`), and nobody is asked. `is_new` tells.
        """
        run = self._open(question, prediction, item)
        while run.asks:
            for judge in run.next_judges():
                ask_one(self._work, run, judge)
        for judge in self._work.to_audit(run):
            ask_one(self._work, run, judge)
        return self._work.finish(run)

    async def adecide(
        self, question: object, prediction: PredictionValue = None, *, item: str | None = None
    ) -> Outcome:
        """The same for `async def` judges; several questions may be open at once."""
        run = self._open(question, prediction, item)
        while run.asks:
            for judge in run.next_judges():
                await ask_one_async(self._work, run, judge, self._timeout)
        for judge in self._work.to_audit(run):
            await ask_one_async(self._work, run, judge, self._timeout)
        return self._work.finish(run)

    def is_new(self, item: str) -> bool:
        """Whether no question has this id yet, here or in the session."""
        return self._work.is_new(item)

    @property
    def audits(self) -> PanelAudits:
        """What the audits of recent questions say."""
        return self._auditor.audits

    def result(self) -> LiveResult:
        """The questions decided so far, all or the last `keep`, and what the audits of recent ones say."""
        return self._work.result()

    def _open(self, question: object, prediction: PredictionValue, item: str | None) -> ItemRun:
        name = next(filter(self.is_new, map(str, self._numbers))) if item is None else item
        return self._work.open((name, prediction), question)
