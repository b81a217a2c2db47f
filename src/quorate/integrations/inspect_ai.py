"""inspect-ai: skips epochs that are no longer needed, and asks a panel of graders one at a time.

`EpochStopping` is an early stopping manager for `Task(epochs=..., early_stopping=...)`: the score of an epoch is a
vote, the verdict is the mode of all epochs. `panel_scorer` grades with a `quorate.live.Panel`; `grader` turns any
inspect-ai scorer into a judge. Needs `pip install 'quorate[inspect]'`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple
from weakref import WeakValueDictionary

import anyio
from inspect_ai.dataset import Sample
from inspect_ai.hooks import Hooks, SampleAttemptEnd, SampleEnd, hooks
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    model_graded_qa,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from quorate.live import ABSTAIN, Judge, Outcome, Panel
from quorate.methods import Method, method
from quorate.model import QueryPolicy
from quorate.session import Session
from quorate.types import Decision, PredictionValue
from quorate.validate import bounded, invalid

GRADES = (CORRECT, INCORRECT)
PATIENCE = 600.0  # seconds; running epochs that take longer have probably failed silently
OnTie = Literal["unscored", "first"]

_managers: WeakValueDictionary[str, EpochStopping] = WeakValueDictionary()


class EpochStopping:
    """Stops the epochs of a sample as soon as the mode of all of them is certain enough. Use one for each `Task`.

    `classes`: the possible values of a score. `scorer`: whose scores count (None: the first). `threshold`: stop when
    one value is the mode of all epochs with more than this probability; or pass a `method` with another rule.
    `predictions`: sample id -> probabilities of the values, for example from an earlier run; how far they can be
    trusted is learned. Use `Epochs(n, "mode")`, so that the score of a sample is the mode of the epochs that ran.

    An epoch that may become unnecessary waits for the running epochs of its sample, at most `patience` seconds. So the
    number of epochs run is the same as when they run one after another, at any `max_samples`. `hold=False` starts
    epochs as soon as inspect-ai has room: then epochs that are running when their sample is decided are wasted. Epochs
    that fail are abstentions.
    """

    def __init__(
        self,
        *,
        classes: Sequence[str] = GRADES,
        scorer: str | None = None,
        threshold: float = 0.95,
        method: Method | str | QueryPolicy | None = None,
        predictions: Mapping[str | int, PredictionValue] | None = None,
        hold: bool = True,
        patience: float = PATIENCE,
        seed: int = 0,
    ) -> None:
        self._rule = _threshold_rule(threshold) if method is None else method
        self._classes, self._scorer, self._hold, self._seed = tuple(classes), scorer, hold, seed
        self._patience = bounded(patience, where="patience", least=0.0)
        self._predictions = {} if predictions is None else predictions
        self.session = self._new_session(1)
        self._begin()

    def _new_session(self, epochs: int) -> Session:
        return Session(self._rule, classes=self._classes, pool_size=epochs, seed=self._seed)

    def _begin(self) -> None:
        self._running: defaultdict[str, set[int]] = defaultdict(set)
        self._changed: dict[str, anyio.Event] = {}
        self._stopped = self._in_vain = self._not_classes = self._failed = 0

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Start a new session: the pool of every sample is its epochs."""
        self.session = self._new_session(epochs)
        self._begin()
        _managers[task.eval_id] = self
        return "quorate"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:  # noqa: A002 - the protocol's name
        """Stop the epoch if its sample is decided; hold it while running ones may decide it."""
        name = repr(id)
        decision = self._decision(id)
        self._running[name].discard(epoch)  # present if inspect-ai retries a failed epoch
        with anyio.move_on_after(self._patience):
            while self._hold and decision.ask and self._is_enough(name):
                await self._changed.setdefault(name, anyio.Event()).wait()
                decision = self.session.decision(name)
        if decision.ask:
            self._running[name].add(epoch)
            return None
        self._stopped += 1
        return EarlyStop(id=id, epoch=epoch, reason=decision.reason, metadata=_plain(decision))

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:  # noqa: A002
        """Count the epoch's score as a vote."""
        name, value = repr(id), self._value(scores)
        decision = self._decision(id)
        self._in_vain += epoch in self._running[name] and not decision.ask
        self._not_classes += value is None
        self._count(name, epoch, value)

    async def complete_task(self) -> dict[str, JsonValue]:
        """How many epochs were run, stopped and failed."""
        counts = self.session.counts()
        return {
            "epochs_counted": counts["votes"],
            "epochs_stopped": self._stopped,
            "epochs_run_after_their_sample_was_decided": self._in_vain,
            "epochs_without_a_usable_score": self._not_classes,
            "epochs_failed": self._failed,
            "samples_decided": counts["closed"],
        }

    def failed(self, id: str | int, epoch: int) -> None:  # noqa: A002
        """Count an epoch that ended with an error as an abstention."""
        name = repr(id)
        if epoch in self._running[name]:
            self._failed += 1
            self._count(name, epoch, None)

    def released(self, id: str | int, epoch: int) -> None:  # noqa: A002
        """The epoch stopped running without a score; it may be scheduled again."""
        self._release(repr(id), epoch)

    def _decision(self, id: str | int) -> Decision:  # noqa: A002
        name = repr(id)
        is_running = name in self._running
        self._running[name]  # creates the entry, which marks the sample as known
        return self.session.decision(name) if is_running else self.session.open(name, self._predictions.get(id))

    def _is_enough(self, name: str) -> bool:
        """Whether the running epochs may suffice to decide the sample."""
        running = len(self._running[name])
        return running > 0 and running >= self.session.askable_at_once(name, running + 1)

    def _count(self, name: str, epoch: int, value: str | None) -> None:
        """Record an epoch's vote, or an abstention (None); replaces an earlier one of the same epoch."""
        if str(epoch) in self.session.ballots(name):
            self.session.retract(name, str(epoch))
        if value is None:
            self.session.abstain(name, str(epoch))
        else:
            self.session.vote(name, value, str(epoch))
        self._release(name, epoch)

    def _release(self, name: str, epoch: int) -> None:
        self._running[name].discard(epoch)
        if name in self._changed:
            self._changed.pop(name).set()

    def _value(self, scores: Mapping[str, SampleScore]) -> str | None:
        """The value of the score that counts, if it is one of the classes."""
        if self._scorer is not None and scores and self._scorer not in scores:
            raise invalid("scorer", self._scorer, f"one of {', '.join(scores)}", "name a scorer of the task.")
        score = scores.get(self._scorer) if self._scorer is not None else next(iter(scores.values()), None)
        return None if score is None else _label(score.score, self._classes)


@hooks(name="quorate_epochs", description="Reports epochs that ended with an error to quorate's early stopping.")
class _Ends(Hooks):
    """Reports failed epochs: inspect-ai notifies an early stopping manager only of epochs with a score."""

    def enabled(self) -> bool:
        """Only while there is a manager."""
        return len(_managers) > 0

    async def on_sample_attempt_end(self, data: SampleAttemptEnd) -> None:
        """Release an epoch that failed and will be retried, so that others do not wait for it."""
        manager = _managers.get(data.eval_id)
        if manager is not None and data.will_retry:
            manager.released(data.summary.id, data.summary.epoch)

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Record an epoch that failed for good."""
        manager = _managers.get(data.eval_id)
        if manager is not None and data.sample.error is not None:
            manager.failed(data.sample.id, data.sample.epoch)


class Grading(NamedTuple):
    """The question to a judge of a panel scorer."""

    state: TaskState
    target: Target


def grader(name: str, by: Scorer, *, cost: float = 1.0, classes: Sequence[str] = GRADES) -> Judge:
    """A judge who grades with the scorer `by`; a score that is not one of `classes` is an abstention."""

    async def ask(question: Grading) -> str | None:
        score = await by(question.state, question.target)
        return ABSTAIN if score is None else _label(score, classes)

    return Judge(name, ask, cost=cost)


@scorer(metrics=[accuracy(), stderr()], name="quorate_panel")
def panel_scorer(
    judges: Panel | Mapping[str, float],
    *,
    on_tie: OnTie = "unscored",
    graded_by: Callable[[str], Scorer] | None = None,
) -> Scorer:
    """Grade with a panel that is asked one at a time while an answer is worth its price.

    `judges` is a `quorate.live.Panel` of `grader`s, or model name -> cost of a call, graded by `model_graded_qa` or by
    the scorer that `graded_by(model)` returns. A grader that fails abstains. If the panel is tied, the sample is
    unscored, with the reason "tied"; `on_tie="first"` takes the first of the tied grades. If nobody grades, the reason
    is "grader_failed". The metadata of a score contain every vote, failure and cost; `panel.result()` has the sums.
    Every sample is graded anew, also if the panel continues the session of an earlier evaluation.
    """
    panel = judges if isinstance(judges, Panel) else _panel_of_models(judges, graded_by)

    async def score(state: TaskState, target: Target) -> Score:
        name = f"{state.sample_id}#{state.epoch}"
        item = name if panel.is_new(name) else f"{name}#{state.uuid}"
        return _score(await panel.adecide(Grading(state, target), item=item), on_tie)

    return score


def _panel_of_models(models: Mapping[str, float], graded_by: Callable[[str], Scorer] | None) -> Panel:
    def graded(model: str) -> Scorer:
        return model_graded_qa(model=model) if graded_by is None else graded_by(model)

    return Panel([grader(model, graded(model), cost=cost) for model, cost in models.items()], GRADES)


def _score(outcome: Outcome, on_tie: OnTie) -> Score:
    """The outcome of a panel as a score of inspect-ai."""
    explanation = "; ".join(f"{act.judge}: {act.label or act.error or 'abstained'}" for act in outcome.acts)
    metadata = {
        **_plain(outcome.decision),
        "confidence": outcome.confidence,
        "votes": outcome.votes,
        "failed": {str(act.judge): act.error for act in outcome.acts if act.kind == "failure"},
        "costs": {str(act.judge): act.cost for act in outcome.acts},
        "cost": outcome.cost,
        "full_cost": outcome.full_cost,
        "tied": list(outcome.tied),
        "audited": outcome.audited,
    }
    if outcome.label is None:
        return Score.unscored(reason="grader_failed", explanation=explanation, metadata=metadata)
    if outcome.tied and on_tie == "unscored":
        return Score.unscored(reason="tied", explanation=explanation, metadata=metadata)
    return Score(value=outcome.label, explanation=explanation, metadata=metadata)


def _label(score: Score, classes: Sequence[str]) -> str | None:
    """The value as a class; None if it is not one of `classes`, or unscored."""
    value = score.value
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value) if str(value) in classes else None


def _plain(decision: Decision) -> dict[str, JsonValue]:
    return {
        "label": decision.label,
        "confidence": decision.confidence,
        "num_votes": decision.num_votes,
        "reason": decision.reason,
    }


def _threshold_rule(threshold: float) -> Method:
    """Regular fits: a fit while epochs of a sample are running can make some of them needless."""
    return method("finexp", threshold=threshold, hyperprior="infexp")  # learns faster from few samples
