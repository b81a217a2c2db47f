"""A panel of judges for one question at a time: asks the most useful judge per cost first, until the verdict is clear.

`Panel` holds a session and what it learned about each judge. `decide` is for plain functions, `adecide` for
coroutines. The verdict is the plurality of the whole panel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any

from quorate.decision.policy import QueryPolicy
from quorate.live.judges import Judge, Jury
from quorate.live.loop import ask_one, ask_one_async
from quorate.live.results import LiveResult, Outcome
from quorate.live.work_list import GIVE_UP_AFTER, ErrorCare, ItemRun, OnError, WorkList
from quorate.methods import Method
from quorate.methods import method as quorate_method
from quorate.rng import stream
from quorate.session import Session
from quorate.types import PredictionValue
from quorate.validate import bounded, whole

THRESHOLD = 0.95
AUDIT_RATE = 0.05


class Panel:
    """Judges who are asked one at a time, cheapest useful one first, until the panel's verdict is certain enough.

    `threshold`: stop when one class is the whole panel's verdict with more than this probability; or pass a `method`
    with another rule. The next judge is the one worth most per unit of cost, by what was learned so far
    (`Jury(order="useful")`). A judge whose call fails, after `retries`, abstains (`on_error="raise"`: AskFailed).
    `audit_rate`: for this share of the questions the rest of the panel is asked, too, after the decision, so that the
    result can say how often the panel would have disagreed. `timeout`: seconds for a call of `adecide`. `settings` are
    those of `quorate.Session`, such as `journal`; or pass the `session` to continue: the judges are then known by the
    votes on its recent items. `keep`: `result()` has only the last so many questions, which bounds the memory of a
    panel that never ends; None: all.

    >>> judges = [Judge("large", lambda text: "spam", cost=2.0), Judge("small", lambda text: "spam", cost=0.1),
    ...           Judge("medium", lambda text: "spam", cost=0.4)]
    >>> panel = Panel(judges, ["fine", "spam"])
    >>> outcome = panel.decide("You have won!")
    >>> outcome.label, list(outcome.votes), outcome.cost, outcome.full_cost
    ('spam', ['small', 'medium'], 0.5, 2.5)
    """

    def __init__(
        self,
        judges: Sequence[Judge],
        classes: Sequence[str],
        *,
        threshold: float = THRESHOLD,
        method: Method | str | QueryPolicy | None = None,
        audit_rate: float = AUDIT_RATE,
        on_error: OnError = "abstain",
        retries: int = 0,
        give_up_after: int = GIVE_UP_AFTER,
        timeout: float | None = None,
        keep: int | None = None,
        seed: int = 0,
        session: Session | None = None,
        **settings: Any,  # noqa: ANN401 - those of `Session`, which checks them
    ) -> None:
        self.jury = Jury(judges, order="useful", seed=seed)
        rule = quorate_method("finexp", threshold=threshold) if method is None else method
        if session is None:
            session = Session(rule, classes=classes, pool_size=len(self.jury.judges), seed=seed, **settings)
        self.session = session
        self._audit_rate = bounded(audit_rate, where="audit_rate", least=0.0, most=1.0)
        self._timeout = None if timeout is None else bounded(timeout, where="timeout", least=0.0)
        self._numbers = count(session.counts()["opened"] + 1)
        outcomes = deque[Outcome](maxlen=None if keep is None else whole(keep, where="keep"))
        self._work = WorkList(session, self.jury, ErrorCare(on_error, retries, give_up_after, None), outcomes)

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
        for judge in self._to_audit(run):
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
        for judge in self._to_audit(run):
            await ask_one_async(self._work, run, judge, self._timeout)
        return self._work.finish(run)

    def is_new(self, item: str) -> bool:
        """Whether no question has this id yet, here or in the session."""
        return self._work.is_new(item)

    def result(self) -> LiveResult:
        """The questions decided so far: all, or the last `keep`."""
        return self._work.result()

    def _open(self, question: object, prediction: PredictionValue, item: str | None) -> ItemRun:
        name = next(filter(self.is_new, map(str, self._numbers))) if item is None else item
        return self._work.open((name, prediction), question)

    def _to_audit(self, run: ItemRun) -> list[Judge]:
        """The rest of the panel, if the question is in the audit sample, which depends only on seed and item."""
        drawn = stream(self.jury.seed, "panel-audit", run.item_id).random() < self._audit_rate
        return run.remaining() if drawn and not run.earlier else []
