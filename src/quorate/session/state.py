"""The state of a session, and `apply(state, event)`, the only function that changes it.

`state = fold(apply, events)`: a live session and one resumed from its journal run the same code. Random draws,
decisions and fitted parameters are in the events, so replay needs neither a random generator nor the optimiser.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from sys import intern
from typing import Any, NamedTuple

from quorate.errors import InvalidInput, JournalCorrupt, RequestReused, UnknownItem
from quorate.methods import Method, method_data, with_costs
from quorate.model import ErrorCosts, Gains, Window
from quorate.session.decide import first_state, learned_of
from quorate.session.items import ItemState, Learned, Standing, advance, opened
from quorate.session.journal import Event
from quorate.session.people import PeopleSettings, SessionPeople, initial_people, people_settings
from quorate.session.people_fold import MEMBER_EVENTS, apply_member, count_vote, judged, learn, uncount_vote
from quorate.session.tuning import tuned
from quorate.tables import read_error_cost
from quorate.types import Decision, Params, PriorParams, Reason
from quorate.validate import class_names, invalid, members, vote_limits, whole

REQUESTED = (
    "type",
    "item",
    "label",
    "voter",
    "prediction",
    "pool_size",
    "min_votes",
    "max_votes",
    "parameters",
    "expert",
)


class OldItem(NamedTuple):
    """What is kept of an item that closed long ago; `voters`: who voted or abstained, by name."""

    confidence: float
    num_votes: int
    label: int
    reason: Reason
    voters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session; they never change."""

    method: Method
    classes: tuple[str, ...]
    pool_size: int
    seed: int
    num_classifiers: int
    min_votes: int
    max_votes: int | None
    people: PeopleSettings | None = None

    def header(self) -> dict[str, Any]:
        """The settings as stored in the journal's header."""
        people = {} if self.people is None else {"people": self.people.header()}
        costs = self.method.costs
        return people | {
            "method": method_data(self.method),
            "error_cost": None if costs is None else costs.by_name(self.classes),
            "classes": list(self.classes),
            "pool_size": self.pool_size,
            "seed": self.seed,
            "num_classifiers": self.num_classifiers,
            "min_votes": self.min_votes,
            "max_votes": self.max_votes,
        }


def checked_settings(
    method: Method,
    *,
    classes: Iterable[str],
    pool_size: object,
    seed: object,
    num_classifiers: object,
    min_votes: object,
    max_votes: object,
    error_cost: object = None,
    people: Mapping[str, object] | None = None,
) -> Settings:
    """The settings from a caller or a journal's header, each checked; `error_cost`: a table by truth and answer."""
    names = class_names(classes)
    if error_cost is not None:
        method = with_table(method, error_cost, names)
    settings = Settings(
        method=method,
        classes=names,
        pool_size=members(pool_size),
        seed=whole(seed, where="seed", least=0),
        num_classifiers=whole(num_classifiers, where="num_classifiers", most=1000),
        min_votes=whole(min_votes, where="min_votes", least=0),
        max_votes=None if max_votes is None else whole(max_votes, where="max_votes", least=0),
        people=people_settings(method, names, **(people or {})),
    )
    vote_limits(settings.min_votes, settings.max_votes)
    return settings


def with_table(method: Method, table: object, classes: Sequence[str]) -> Method:
    """The method with the costs of errors that a header stores by name."""
    costs = read_error_cost(table, classes) if isinstance(table, Mapping) else None
    if not isinstance(costs, ErrorCosts):
        raise invalid("error_cost", table, "costs by truth and answer, not all the same", "pass a number.")
    return with_costs(method, costs)


@dataclass(slots=True)
class State:
    """The state after the events so far: open and recently closed items in full, of older ones a summary.

    `method` is that of the settings, with the policy's parameters from the last "tune" event (number `tune_seq`).
    """

    settings: Settings
    method: Method
    params: Params
    learned: Learned
    policy_state: Any
    window: Window
    people: SessionPeople | None = None
    seq: int = 0
    tune_seq: int = 0
    num_opened: int = 0
    num_votes: int = 0
    num_closed: int = 0
    fitted_after: int = 0  # items closed at the last fit
    votes_since_fit: int = 0
    entered_at_fit: int = 0  # items that had entered the window by then
    gains: Gains = field(default_factory=Gains)
    open: dict[str, ItemState] = field(default_factory=dict)
    recent: OrderedDict[str, ItemState] = field(default_factory=OrderedDict)
    old: dict[str, OldItem] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    history: list[tuple[int, PriorParams]] = field(default_factory=list)  # items closed before each fit; its result

    def find(self, item_id: str) -> ItemState | None:
        """The item, if it is open or recently closed; else None."""
        return self.open.get(item_id) or self.recent.get(item_id)

    def is_known(self, item_id: str) -> bool:
        """Whether the item was ever opened."""
        return self.find(item_id) is not None or item_id in self.old

    def check_known(self, item_id: str) -> None:
        """Raise UnknownItem unless the item was ever opened."""
        if not self.is_known(item_id):
            fix = "call open(item_id, prediction) first."
            raise invalid("item_id", item_id, "an item that was opened", fix, error=UnknownItem)

    def held(self, item_id: str) -> ItemState:
        """The item, or an error if it is unknown or only a summary of it is kept."""
        self.check_known(item_id)
        item = self.find(item_id)
        if item is None:
            rule = f"an open item or one of the last {self.method.window} closed; of others only a summary is kept"
            raise invalid("item_id", item_id, rule, "read its ballots from the journal.", error=UnknownItem)
        return item

    def has_acted(self, item_id: str, voter: str) -> bool:
        """Whether the voter has ever voted or abstained on the item."""
        item = self.find(item_id)
        if item is not None:
            return voter in item.ballots
        return item_id in self.old and voter in self.old[item_id].voters


def initial(settings: Settings, params: Params = None) -> State:
    """The state before the first event: parameters at the mode of their prior, unless given."""
    num_classes = len(settings.classes)
    if params is None:
        params = settings.method.initial_params(num_classes, settings.num_classifiers)
    return State(
        settings=settings,
        method=settings.method,
        params=params,
        learned=learned_of(params, 0),
        policy_state=first_state(settings.method, num_classes),
        window=Window(settings.method.window, settings.num_classifiers, num_classes),
        people=None
        if settings.people is None
        else initial_people(
            settings.people, settings.method, settings.classes, settings.num_classifiers, settings.method.window
        ),
    )


def learn_event(state: State, params: Params) -> Event:
    """The "learn" event for fitted parameters; the caller adds the time."""
    event: Event = {"seq": state.seq + 1, "time": 0.0, "type": "learn", "num_items": len(state.window)}
    if not isinstance(params, PriorParams):
        return event | {"params": params}
    gains = None
    if state.method.proves_answers and isinstance(state.params, PriorParams):
        gains = state.gains.after(state.params, *state.window.since(state.entered_at_fit))
    return event | learned_record(params, gains)


def learned_record(params: PriorParams, gains: Gains | None) -> dict[str, Any]:
    """What was learned, as a "learn" event has it."""
    bias = None if params.bias is None else params.bias.tolist()
    record = {"theta": params.theta, "phi": params.phi, "tau": params.tau.tolist(), "bias": bias}
    return record if gains is None else record | {"gains": [gains.total, gains.squares]}


def gains_of(event: Mapping[str, Any]) -> Gains | None:
    """The gains in a "learn" event; None if answers need no proof."""
    return Gains(*event["gains"]) if "gains" in event else None


def params_of(event: Event) -> Params:
    """The parameters of a "learn" event: theta, phi, tau and bias, or those of an own prior."""
    if "params" in event:
        return event["params"]
    return PriorParams(event["theta"], event["phi"], event["tau"], event["bias"])


def decision_record(state: State, decision: Decision) -> dict[str, Any]:
    """A decision as stored in an event, with the numbers of the "learn" and "tune" events it is based on."""
    record = {name: getattr(decision, name) for name in ("ask", "label", "confidence", "num_votes", "reason")}
    record["params"] = state.learned.seq
    return record | ({"tune": state.tune_seq} if state.tune_seq else {})


def request_content(event: Mapping[str, Any]) -> int:
    """A 32-bit checksum of a request, to tell a repeated request from a reused id."""
    content = json.dumps([event.get(key) for key in REQUESTED] + event.get("absent", []))
    return int.from_bytes(blake2b(content.encode(), digest_size=4).digest(), "little")


def is_repeat(state: State, event: Mapping[str, Any]) -> bool:
    """True if this request was already applied; an error if its id was used for another request."""
    request = event.get("request")
    earlier = None if request is None else state.requests.get(request)
    if earlier is None:
        return False
    if earlier != request_content(event):
        rule = "an id that was not used before for another request"
        raise invalid("request_id", request, rule, "give each new request a new id.", error=RequestReused)
    return True


def apply(state: State, event: Event) -> None:
    """Apply an event, which must have been checked."""
    kind = event["type"]
    if kind == "learn":
        _learn(state, event)
    elif kind == "tune":
        _tune(state, event)
    elif kind in ("open", "vote", "abstain", "retract", "close", "timeout"):
        _item_event(state, event)
    elif kind in MEMBER_EVENTS and state.people is not None:
        apply_member(state.people, event, state.open)
    else:
        fix, place = "Was it written by a newer version?", f"event {event.get('seq')!r}"
        raise invalid("type", kind, "an event type known to this version", fix, place=place, error=JournalCorrupt)
    state.seq = event["seq"]
    if event.get("request") is not None:
        state.requests[event["request"]] = request_content(event)


def label_number(state: State, event: Mapping[str, Any]) -> int | None:
    """The number of the class in a vote event; None in other events."""
    return state.settings.classes.index(event["label"]) if event["type"] == "vote" else None


def _learn(state: State, event: Event) -> None:
    state.params = params_of(event)
    gains = gains_of(event)
    state.learned = learned_of(state.params, event["seq"], gains)
    state.gains, state.entered_at_fit = gains or state.gains, state.window.num_entered
    state.fitted_after = state.num_closed
    state.history.append((state.num_opened - len(state.open), state.params))
    state.votes_since_fit = 0


def _tune(state: State, event: Event) -> None:
    try:
        state.method = tuned(state.method, event["parameters"])
    except InvalidInput as cause:  # the session checked it before it was written
        place, fix = f"event {event['seq']!r}", "restore the journal from a copy."
        rule = cause.rule or str(cause)
        raise invalid(cause.field or "parameters", cause.value, rule, fix, place=place, error=JournalCorrupt) from cause
    state.tune_seq = event["seq"]


def _item_event(state: State, event: Event) -> None:
    item_id, label = event["item"], label_number(state, event)
    if event["type"] == "open":
        before, after = None, opened(event, state.num_opened)
        state.num_opened += 1
    else:
        before = state.find(item_id)
        if state.people is not None and event["type"] == "vote":
            count_vote(state.people, event)
        if state.people is not None and event["type"] == "retract" and before is not None:
            uncount_vote(state.people, event["voter"], before)
        if before is None:  # only a summary is kept: the vote is in the journal, but nothing is learned from it
            if event.get("voter") is not None and item_id in state.old:
                old = state.old[item_id]
                state.old[item_id] = old._replace(voters=(*old.voters, intern(event["voter"])))
            state.num_votes += label is not None
            return
        after = advance(before, event, label)
        _count(state, event, before, label)
    if state.people is not None:
        after = judged(state.people, state.method, before, after, event)
    if not after.is_closed:
        after = _decided(state, before, after, event)
    if state.people is not None:
        learn(state.people, event, before, after, state.settings.seed)
    _place(state, item_id, after)


def _count(state: State, event: Event, before: ItemState, label: int | None) -> None:
    """Add a vote to the window, or remove a retracted one."""
    item_id, change = event["item"], 1
    if event["type"] == "retract":
        ballot = before.ballots[event["voter"]]
        label, change = (None if ballot.label < 0 else ballot.label), -1
    if label is None:
        return
    state.num_votes += change
    if change == 1 and item_id not in state.window and not before.votes.any():
        state.window.enter(item_id, before.log_predictions)
    if state.window.add(item_id, label, change):
        state.votes_since_fit += 1


def _decided(state: State, before: ItemState | None, item: ItemState, event: Event) -> ItemState:
    """The item with the event's decision; updates the state if the decision closes it."""
    decision = event["decision"]
    standing = Standing(
        ask=decision["ask"],
        label=state.settings.classes.index(decision["label"]),
        confidence=decision["confidence"],
        num_votes=decision["num_votes"],
        reason=decision["reason"],
        votes=item.votes,
        pool_size=item.pool_left,
        learned=state.learned,
    )
    if standing.ask:
        return replace(item, standing=standing)
    if "policy_state" in event:
        state.policy_state = event["policy_state"]
    if before is None or not before.is_closed:
        state.num_closed += 1
    return replace(item, standing=standing, seen_by_policy=True)


def _place(state: State, item_id: str, item: ItemState) -> None:
    """Store the item among the open or the recently closed ones."""
    if not item.is_closed:
        state.recent.pop(item_id, None)
        state.open[item_id] = item
        return
    state.open.pop(item_id, None)
    state.recent[item_id] = item
    window = state.settings.method.window
    if window is not None and len(state.recent) > 2 * window:
        _summarise_oldest(state)


def _summarise_oldest(state: State) -> None:
    """Reduce the oldest closed item that is no longer in the window to a summary, and its voters too."""
    item_id = next(iter(state.recent))
    while item_id in state.window:  # at most `window` items, so this ends; each moves to the back at most once a round
        state.recent.move_to_end(item_id)
        item_id = next(iter(state.recent))
    item = state.recent.pop(item_id)
    if state.people is not None and state.people.crowd is not None:
        state.people.crowd.forget(item_id)
    if item.standing is not None:
        standing, voters = item.standing, tuple(map(intern, item.ballots))
        state.old[item_id] = OldItem(standing.confidence, standing.num_votes, standing.label, standing.reason, voters)
