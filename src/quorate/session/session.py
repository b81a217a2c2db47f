"""The online session: check, journal, apply, answer. A thin shell without maths; the object users work with.

Every call is checked before anything changes, written to the journal before it takes effect, and then applied by the
same code that resumes a journal. Thread-safe: calls are serialised by a lock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from quorate import rng
from quorate.errors import DuplicateVote, ItemExists, JournalError, UnknownItem
from quorate.methods import Method, Target, as_method, chosen_method, policy_parameters, with_costs
from quorate.model import ErrorCosts, QueryPolicy, is_due, next_params
from quorate.people import Expert, Rule
from quorate.session import resume as resuming
from quorate.session.decide import (
    draw_quota,
    updated_state,
)
from quorate.session.inputs import checked_id, checked_time, class_number, parse_prediction
from quorate.session.items import ItemState, advance, opened
from quorate.session.journal import Event, Journal
from quorate.session.jsonl import JsonlJournal, as_journal
from quorate.session.lines import no_session
from quorate.session.people_calls import PeopleCalls
from quorate.session.people_fold import judged, new_temperature
from quorate.session.people_rules import check_ballot, checked_absent
from quorate.session.read_calls import ReadCalls
from quorate.session.state import (
    Settings,
    apply,
    checked_settings,
    decision_record,
    initial,
    is_repeat,
    label_number,
    learn_event,
)
from quorate.session.tuning import checked_parameters, in_force
from quorate.tables import ErrorCost, read_error_cost
from quorate.types import Decision, FitReport, PredictionValue, PriorParams
from quorate.validate import class_names, invalid, members, vote_limits, whole

log = logging.getLogger("quorate.session")


class Session(ReadCalls, PeopleCalls):
    """Decides a stream of items, with votes in any order, and learns how far the classifier can be trusted.

    `pool_size` experts can be asked about an item; the truth is their plurality.
    `error_cost`: what a wrong answer costs, in votes: a number, or a table by truth and answer, such as
    `{"sick": {"well": 500}}` (a mapping, CSV or frame; what it does not name costs 200). Each item has
    `num_classifiers` predictions. `min_votes`, `max_votes` limit the votes per item. With a `journal`
    nothing that was acknowledged is lost: `Session.at(journal, ...)` continues it.

    If people are known by name: `experts` can be asked (`[]`: learned as they appear), `rules` are about them
    (`MustConfirm` and others), `target` is "plurality" (default: what the whole pool would vote) or "truth" (the class
    behind the votes, by the method `crowd`), `gold` the true classes of some items, which calibrate the confidence of
    "truth".
    `method` may then be omitted, and so may `pool_size` if it is the number of `experts`.

    `with Session.at("votes.jsonl", ...) as session:` releases the journal at the end, for the next session.

    >>> session = Session("value", classes=["cat", "dog", "bird"], pool_size=6, seed=7)
    >>> decision = session.open("photo-1", [0.7, 0.2, 0.1])
    >>> while decision.ask:
    ...     decision = session.vote("photo-1", "cat")
    >>> decision.label, decision.reason
    ('cat', 'not_worth_it')
    """

    def __init__(
        self,
        method: Method | str | QueryPolicy | None = None,
        *,
        classes: Sequence[str],
        error_cost: ErrorCost | None = None,
        pool_size: int | None = None,
        seed: int = 0,
        journal: Journal | str | Path | None = None,
        num_classifiers: int = 1,
        min_votes: int = 0,
        max_votes: int | None = None,
        experts: Iterable[Expert | str] | None = None,
        target: Target | None = None,
        rules: Iterable[Rule] | None = None,
        gold: Mapping[str, str] | None = None,
    ) -> None:
        costs = None if error_cost is None else read_error_cost(error_cost, class_names(classes))
        chosen = chosen_method(method, target=target, error_cost=None if isinstance(costs, ErrorCosts) else costs)
        if isinstance(costs, ErrorCosts):
            chosen = with_costs(chosen, costs)
        team = None if experts is None else list(experts)
        settings = checked_settings(
            chosen, classes=classes, pool_size=len(team) if team and pool_size is None else pool_size, seed=seed,
            num_classifiers=num_classifiers, min_votes=min_votes,
            max_votes=max_votes, people={"target": target, "experts": team, "rules": rules, "gold": gold},
        )  # fmt: skip
        self._use(settings, None)
        self._start(as_journal(journal))

    def _start(self, journal: Journal | None) -> None:
        """Use a journal that has no session yet."""
        if journal is not None:
            journal.start(self._state.settings.header())
        self._journal = journal

    def __repr__(self) -> str:
        """The method, the classes and how much there is."""
        settings = self._state.settings
        kind = f"{settings.method.name}, {len(settings.classes)} classes, pools of {settings.pool_size}"
        return f"Session({kind}: {', '.join(f'{many} {what}' for what, many in self.counts().items())})"

    def _use(self, settings: Settings, journal: Journal | None, params: PriorParams | None = None) -> None:
        self._lock = threading.RLock()
        self._journal = journal
        self._state = initial(settings, params)
        self._report: FitReport | None = None
        self._learns = True

    @classmethod
    def at(
        cls,
        journal: Journal | str | Path,
        method: Method | str | QueryPolicy | None = None,
        **settings: Any,  # noqa: ANN401 - those of `Session`, which checks them
    ) -> Self:
        """The session in a journal: a new one if there is none yet, else the stored one, continued.

        Takes the settings of `Session`. If those in the journal differ, the error says both values.

        >>> from quorate import MemoryJournal
        >>> journal = MemoryJournal()
        >>> for _ in range(2):
        ...     with Session.at(journal, classes=["cat", "dog"], pool_size=3) as session:
        ...         decision = session.open("photo-1", {"cat": 0.6})
        >>> session.counts()["opened"]
        1
        """
        store, session = as_journal(journal), cls(method, **settings)
        header = None if store is None else store.header()
        if store is None or header is None:
            session._start(store)
            return session
        asked = session._state.settings
        resuming.check_same(asked, header)
        return cls.resume(store, method=asked.method)

    @classmethod
    def resume(
        cls,
        journal: Journal | str | Path,
        *,
        method: Method | str | QueryPolicy | None = None,
        progress: Callable[[int, int], None] | None = None,
        verify: bool = False,
    ) -> Self:
        """The session stored in a journal, ready to continue.

        `method` is needed only for a user's own policy; if given, it must be the one in the journal.
        `progress(done, total)` is called from time to time; without it, a resume of over two seconds reports on stderr.
        Every event is checked like the call that wrote it; one that breaks a rule raises `JournalCorrupt` with its
        `line`. `verify=True` also recomputes every decision, which takes about as long as the session itself took.
        If the journal ends in a `leave` that was interrupted, the items it had yet to close are closed.
        """
        chosen = None if method is None else as_method(method)
        store = as_journal(journal)
        if store is None:
            raise invalid("journal", None, "a journal or its path", "pass the journal to resume.")
        header = store.header()
        if header is None:
            raise no_session(store.path if isinstance(store, JsonlJournal) else None)
        settings = resuming.settings_from(header, chosen)
        session = cls.__new__(cls)
        session._use(settings, store)
        replay = resuming.JournalReplay(session._state, verify=verify)
        for event in store.events(progress=progress or resuming.StderrProgress()):
            replay(event)
        if replay.leaving is not None:  # the process may have ended before `leave` had closed every item
            session._close_stuck(replay.leaving["time"])
        return session

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the journal, and so release its lock; what needs the journal is refused from then on."""
        if self._journal is not None:
            self._journal.close()

    def open(
        self,
        item_id: str,
        prediction: PredictionValue = None,
        pool_size: int | None = None,
        *,
        min_votes: int | None = None,
        max_votes: int | None = None,
        absent: Iterable[str] = (),
        time: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Open an item with the classifier's prediction; the decision says whether to ask an expert.

        An item that was opened before with this prediction: its decision now.

        `prediction`: probabilities in the order of `classes`, a mapping by class name, a hard label, a single score
        (two classes) or None for no classifier; a list of these for several classifiers.
        `absent`: names of people who will not vote on this item; they count as abstentions from the start.
        """
        with self._lock:
            settings = self._state.settings
            event = self._item_event("open", item_id, time, request_id)
            probs = parse_prediction(prediction, settings.classes, settings.num_classifiers, item=item_id)
            low = settings.min_votes if min_votes is None else whole(min_votes, where="min_votes", least=0)
            high = settings.max_votes if max_votes is None else whole(max_votes, where="max_votes", least=0)
            vote_limits(low, high)
            number = self._state.num_opened
            size = self._default_pool() if pool_size is None else members(pool_size)
            event |= {
                "prediction": probs.tolist(),
                "pool_size": size,
                "min_votes": low,
                "max_votes": high,
            }
            if missing := checked_absent(self._state.people, absent):
                event["absent"] = missing
            if is_repeat(self._state, event):
                return self.decision(item_id)
            if self._state.is_known(item_id):
                limits = {"pool_size": pool_size, "min_votes": min_votes, "max_votes": max_votes}
                self._check_same_item(item_id, probs.tolist(), limits)
                return self.decision(item_id)
            event |= {"tie_draw": float(rng.stream(settings.seed, "tie", number).random()), "quota": None}
            item = opened(event, number)
            draws = rng.stream(settings.seed, "quota", number)
            event["quota"] = draw_quota(self._state.method, self._state.policy_state, item, rng=draws)
            return self._commit(event, opened(event, number))

    def _check_same_item(self, item_id: str, prediction: list[list[float]], limits: Mapping[str, int | None]) -> None:
        """Refuse another prediction or other limits for an item that was opened before; of old ones none is kept."""
        item = self._state.find(item_id)
        if item is None:
            return
        limits_given = {name: value for name, value in limits.items() if value is not None}
        for name, value in {"prediction": prediction, **limits_given}.items():
            stored = item.predictions.tolist() if name == "prediction" else getattr(item, name)
            if value != stored:
                rule = f"{stored}, with which item {item_id!r} was opened"
                raise invalid(name, value, rule, "give every item its own id.", error=ItemExists)

    def _default_pool(self) -> int:
        """The pool of a new item: of a panel its members, of whom some may have joined or left; else as set."""
        people = self._state.people
        if people is None or people.panel is None:
            return self._state.settings.pool_size
        return max(sum(member.status != "left" for member in people.members.values()), 1)

    def vote(
        self,
        item_id: str,
        label: str,
        voter: str | None = None,
        *,
        time: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Record one expert's vote. A vote on a closed item is stored, and used for learning while it is in the window.

        A `voter` may vote or abstain once per item; votes without a name cannot be told apart or retracted.
        """
        with self._lock:
            event = self._item_event("vote", item_id, time, request_id, voter=voter)
            class_number(label, self._state.settings.classes)
            return self._ballot(event | {"label": label})

    def abstain(
        self, item_id: str, voter: str | None = None, *, time: float | None = None, request_id: str | None = None
    ) -> Decision:
        """Record that one expert will not vote on this item: its pool becomes one smaller."""
        with self._lock:
            return self._ballot(self._item_event("abstain", item_id, time, request_id, voter=voter))

    def retract(
        self, item_id: str, voter: str, *, time: float | None = None, request_id: str | None = None
    ) -> Decision:
        """Undo this voter's vote or abstention. If the item's decision used it, the item is decided again."""
        with self._lock:
            event = self._item_event("retract", item_id, time, request_id, voter=checked_id(voter, where="voter"))
            if is_repeat(self._state, event):
                return self.decision(item_id)
            item = self._state.held(item_id)
            if voter not in item.ballots:
                rule = f"somebody who has voted or abstained on item {item_id!r}"
                raise invalid("voter", voter, rule, "retract only what was cast.", error=UnknownItem)
            return self._commit(event, advance(item, event, None))

    def close(self, item_id: str, *, time: float | None = None, request_id: str | None = None) -> Decision:
        """Close the item with the votes so far, because nobody is available."""
        with self._lock:
            event = self._item_event("close", item_id, time, request_id)
            if is_repeat(self._state, event):
                return self.decision(item_id)
            self._state.check_known(item_id)
            if item_id in self._state.open:
                return self._commit(event, self._state.open[item_id])
            if request_id is None:
                return self.decision(item_id)
            return self._commit(event, self._state.find(item_id))  # only records the request

    def learn(self) -> FitReport | None:
        """Fit the parameters to the window now; None if the method does not learn or there are no new votes."""
        with self._lock:
            state, learner = self._state, self._state.settings.method.learner
            if learner is None or state.votes_since_fit == 0:
                return None
            params, report = next_params(learner, state.params, state.window)
            self._record(learn_event(state, params) | {"time": checked_time(None)})
            self._report = report
            return report

    def tune(self, *, time: float | None = None, request_id: str | None = None, **parameters: object) -> dict[str, Any]:
        """Change parameters of the policy, e.g. `tune(error_cost=100)`; returns all current parameters.

        Earlier decisions stay; an open item is decided with the new values at its next event. If nothing changes, no
        event is written.
        """
        with self._lock:
            state = self._state
            event = self._event("tune", {"parameters": checked_parameters(state.method, parameters)}, time, request_id)
            if not is_repeat(state, event) and (
                request_id is not None or not in_force(state.method, event["parameters"])
            ):
                self._record(event)
            return policy_parameters(self._state.method)

    # -- how an event is created --------------------------------------------------------------------------------

    def _event(self, kind: str, what: Event, time: float | None, request_id: str | None) -> Event:
        event: Event = {"seq": self._state.seq + 1, "time": checked_time(time), "type": kind, **what}
        if request_id is not None:
            event["request"] = checked_id(request_id, where="request_id")
        return event

    def _item_event(
        self, kind: str, item_id: str, time: float | None, request_id: str | None, *, voter: str | None = None
    ) -> Event:
        what = {"item": checked_id(item_id, where="item_id")}
        if voter is not None:
            what["voter"] = checked_id(voter, where="voter")
        return self._event(kind, what, time, request_id)

    def _ballot(self, event: Event) -> Decision:
        item_id, voter = event["item"], event.get("voter")
        if is_repeat(self._state, event):
            return self.decision(item_id)
        if self._state.people is not None:
            check_ballot(self._state.people, event)
        self._state.check_known(item_id)
        item = self._state.find(item_id)
        if voter is not None and self._state.has_acted(item_id, voter):
            rule = f"somebody who has not yet voted or abstained on item {item_id!r}"
            raise invalid("voter", voter, rule, "retract the earlier one first to change it.", error=DuplicateVote)
        if item is None or item.is_closed:
            event["late"] = True
        if item is None:
            return self._commit(event, None)
        return self._commit(event, advance(item, event, label_number(self._state, event)))

    def _commit(self, event: Event, after: ItemState | None) -> Decision:
        """Decide, write the event with its decision, apply it, and learn if a fit is due."""
        if after is None or after.is_closed:
            event["decision"] = {"ask": False}
            self._record(event)
            return self.decision(event["item"])
        people, item_id = self._state.people, event["item"]
        if people is not None:
            after = judged(people, self._state.method, self._state.find(item_id), after, event)
        decided = self._decide(after, closing=event["type"] == "close")
        decision = self._decision(decided, int(after.votes.sum()))
        event["decision"] = decision_record(self._state, decision)
        if people is not None and not decision.ask and item_id in people.settings.gold:
            fitted = new_temperature(people, item_id, after)
            event |= {} if fitted is None else {"temperature": fitted}  # fitted values are stored in the event
        if not (decision.ask or after.seen_by_policy):  # the policy's new state is stored in the event
            event["policy_state"] = updated_state(self._state.method, self._state.policy_state, after)
        num_closed = self._state.num_closed
        self._record(event)
        if self._state.num_closed > num_closed:
            self._learn_if_due()
        return decision

    def _record(self, event: Event) -> None:
        """Write the event to the journal, then apply it."""
        if self._journal is not None:
            self._journal.append(event)
        apply(self._state, event)

    def _learn_if_due(self) -> None:
        state, learner = self._state, self._state.settings.method.learner
        if not self._learns or learner is None:
            return
        if not is_due(learner, state.num_closed, state.fitted_after, len(state.window)):
            return
        try:
            self.learn()
        except JournalError as problem:  # the vote itself is stored; the next fit will use it
            log.warning("learned parameters could not be written to the journal and are not used yet: %s", problem)
