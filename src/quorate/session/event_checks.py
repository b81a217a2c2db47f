"""Checks events of a journal by the rules that a live session applies before it writes them; raises on a violation.

A checksum shows that a line was not damaged, not that a session wrote it. `check_before` checks the event,
`check_after` the decision it led to; `Recomputed` computes the decision again. Called by `resume`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.methods import METHODS, Method, policy_parameters
from quorate.model import ASK, EXHAUSTED, NO_LIMIT, SETTLED, STOP_REASONS, ClassifierPrior, PolicyState
from quorate.reasons import REASONS
from quorate.session.decide import first_state, stop_code, stop_reason
from quorate.session.inputs import checked_id, checked_time, class_number
from quorate.session.items import Learned
from quorate.session.journal import Event
from quorate.session.people_fold import MEMBER_EVENTS
from quorate.session.people_rules import check_ballot, check_member, checked_absent, reasons_with_people, verdict
from quorate.session.state import State, params_of
from quorate.session.tuning import checked_parameters
from quorate.types import PriorParams, Reason
from quorate.validate import SUM_TOLERANCE, as_floats, fraction, invalid, members, vote_limits, whole

CLOSE_ENOUGH = 1e-9  # tolerance for a recomputed confidence, perhaps from another version of a maths library
RESTORE = "restore the journal from a copy."


def check_before(state: State, event: Event) -> bool:
    """Refuse an event that a session in this state would not write; True if the item is decided at it."""
    kind, seq, time = event["type"], event["seq"], event["time"]
    if type(seq) is not int or seq != state.seq + 1:
        raise invalid("seq", seq, f"{state.seq + 1}, the next number", RESTORE)
    if time is None or not (type(time) is float and -1e12 <= time <= 1e12):
        checked_time(math.nan if time is None else time)
    if event.get("request") is not None:
        checked_id(event["request"], where="request")
    if kind == "learn":
        _check_learn(state, event)
    elif kind == "tune":
        _check_tune(state, event)
    elif kind == "open":
        _check_open(state, event)
        return True
    elif kind in ("vote", "abstain", "retract", "close", "timeout"):
        if state.people is not None:
            check_ballot(state.people, event)
        elif kind == "timeout":
            raise invalid("type", kind, "another event: the session has no named people", RESTORE)
        return _check_ballot_or_close(state, event)
    elif kind in MEMBER_EVENTS:
        check_member(state.people, event)
    return False


def _check_learn(state: State, event: Event) -> None:
    settings = state.settings
    if settings.method.learner is None:
        raise invalid("type", "learn", f"another event: method {settings.method.name!r} does not learn", RESTORE)
    whole(event["num_items"], where="num_items", least=0)
    params = params_of(event)
    if settings.method.proves_answers != ("gains" in event):
        raise invalid("gains", event.get("gains"), "those of a method that proves its answers, and no other", RESTORE)
    gains = as_floats(event.get("gains", [0, 0]), where="gains")
    if gains.shape != (2,) or not np.isfinite(gains).all() or gains[1] < 0:
        raise invalid("gains", event["gains"], "a sum and a sum of squares", RESTORE)
    if not isinstance(params, PriorParams):
        if type(settings.method.prior) is ClassifierPrior:
            raise invalid("params", params, "theta, phi, tau and bias", RESTORE)
        return
    shape = (settings.num_classifiers, len(settings.classes))
    if np.atleast_2d(params.tau).shape != shape:
        raise invalid("tau", event["tau"], f"{shape[0]} x {shape[1]} numbers: classifiers by classes", RESTORE)


def _check_tune(state: State, event: Event) -> None:
    if not isinstance(event["parameters"], dict):
        raise invalid("parameters", event["parameters"], "values by name", RESTORE)
    if event["parameters"] or policy_parameters(
        state.method
    ):  # the service's first event is empty if the policy has none
        checked_parameters(state.method, event["parameters"])


def _check_open(state: State, event: Event) -> None:
    item_id = checked_id(event["item"], where="item")
    if state.find(item_id) is not None or item_id in state.old:
        raise invalid("item", item_id, "an item that was not opened before", RESTORE)
    _check_prediction(event["prediction"], state.settings.num_classifiers, len(state.settings.classes))
    members(_integer(event["pool_size"], "pool_size"))
    low = whole(_integer(event["min_votes"], "min_votes"), where="min_votes", least=0)
    high = event["max_votes"]
    vote_limits(low, None if high is None else whole(_integer(high, "max_votes"), where="max_votes", least=0))
    if event["quota"] is not None:
        whole(_integer(event["quota"], "quota"), where="quota", least=0, most=NO_LIMIT)
    if checked_absent(state.people, event.get("absent", [])) != event.get("absent", []):
        raise invalid("absent", event["absent"], "a list of different names", RESTORE)
    draw = event["tie_draw"]
    if type(draw) is not float or not 0.0 <= draw < 1.0:
        raise invalid("tie_draw", draw, "a number in [0, 1)", RESTORE)
    _check_decision_fields(state, event)


def _check_prediction(rows: object, num_classifiers: int, num_classes: int) -> None:
    """Check for probabilities as `parse_prediction` returns them: above 0, with sum 1, for every classifier."""
    rule = f"{num_classifiers} list(s) of {num_classes} probabilities above 0 that sum to 1"
    if not isinstance(rows, list) or len(rows) != num_classifiers:
        raise invalid("prediction", rows, rule, RESTORE)
    for row in rows:
        if (
            not isinstance(row, list)
            or len(row) != num_classes
            or any(type(value) is not float for value in row)
            or not (min(row) > 0.0 and abs(sum(row) - 1.0) <= SUM_TOLERANCE)
        ):
            raise invalid("prediction", rows, rule, RESTORE)


def _check_ballot_or_close(state: State, event: Event) -> bool:
    """Check a vote, abstention, timeout, retraction or close; True if the item is decided at it."""
    kind, item_id, voter = event["type"], checked_id(event["item"], where="item"), event.get("voter")
    item = state.find(item_id)
    if item is None:
        state.check_known(item_id)
    closed = item is None or item.is_closed
    if voter is not None or kind == "retract":
        checked_id(voter, where="voter")
    if kind == "retract":
        ballots = state.held(item_id).ballots
        if voter not in ballots:
            raise invalid("voter", voter, f"a voter with a ballot on item {item_id!r}", RESTORE)
        closed = closed and ballots[str(voter)].late
    elif kind != "close":
        if kind == "vote":
            class_number(event["label"], state.settings.classes)
        if voter is not None and state.has_acted(item_id, voter):
            raise invalid("voter", voter, f"a voter without a ballot on item {item_id!r}", RESTORE)
        if event.get("late", False) is not closed:
            rule = f"{closed}, because the item is {'closed' if closed else 'open'}"
            raise invalid("late", event.get("late", False), rule, RESTORE)
    if not closed:
        _check_decision_fields(state, event)
    elif not isinstance(event["decision"], dict) or event["decision"].get("ask") is not False:
        raise invalid("decision", event["decision"], "a decision that does not ask: the item is closed", RESTORE)
    return not closed


def _check_decision_fields(state: State, event: Event) -> None:
    """Check each value of the decision."""
    decision = event["decision"]
    if not isinstance(decision, dict):
        raise invalid("decision", decision, "a decision: values by field name", RESTORE)
    class_number(decision["label"], state.settings.classes, where="decision.label")
    fraction(decision["confidence"], where="decision.confidence")
    reason = decision["reason"]
    if reason not in REASONS or decision["ask"] is not (reason == "ask"):
        raise invalid("decision.reason", reason, f"one of {', '.join(REASONS)}, consistent with ask", RESTORE)
    for name, last in (("params", state.learned.seq), ("tune", state.tune_seq)):
        # An export of the service may name an earlier event, because its votes do not wait for a fit.
        whole(_integer(decision.get(name, 0), f"decision.{name}"), where=f"decision.{name}", least=0, most=last)
    if not decision["ask"] and "policy_state" in event:
        _check_policy_state(state, event["policy_state"])


def _check_policy_state(state: State, given: PolicyState) -> None:
    """Check that the state has the form of the method's initial state; a user's own policy may have any state."""
    method = state.settings.method
    if method.name in METHODS:
        first = first_state(method, len(state.settings.classes))
        if not _has_same_form(given, first):
            raise invalid("policy_state", given, f"numbers >= 0 in the form of {first!r}", RESTORE)


def _has_same_form(given: PolicyState, first: PolicyState) -> bool:
    if isinstance(first, dict):
        return (
            isinstance(given, dict)
            and list(given) == list(first)
            and _has_same_form([*given.values()], [*first.values()])
        )
    if isinstance(first, list):
        return isinstance(given, list) and len(given) == len(first) and all(map(_has_same_form, given, first))
    return type(given) is type(first) and (given is None or (math.isfinite(given) and given >= 0))


def _integer(value: object, name: str) -> int:
    if type(value) is not int:
        raise invalid(name, value, "a whole number", RESTORE)
    return value


def check_after(state: State, event: Event) -> None:
    """Check that an applied decision is possible with the item's counts and limits."""
    item = state.find(event["item"])
    if item is None or item.standing is None:
        return
    standing, num_votes = item.standing, int(item.votes.sum())
    if type(standing.num_votes) is not int or standing.num_votes != num_votes:
        raise invalid("decision.num_votes", standing.num_votes, f"{num_votes}, the votes so far", RESTORE)
    code = stop_code(state.method, item)
    possible: tuple[Reason, ...] = ("ask",) if code == ASK else ("ask", stop_reason(state.method))
    if event["type"] == "close":
        possible = ("closed",)
    if code in STOP_REASONS:
        possible = (STOP_REASONS[code],)
    if state.people is not None:
        possible = reasons_with_people(state.people, item, event, possible)
    if standing.reason not in possible:
        raise invalid("decision.reason", standing.reason, " or ".join(possible), RESTORE)
    is_over = code in (SETTLED, EXHAUSTED) and num_votes > 0 and state.method.predicting.posterior == "finite"
    if is_over and state.method.costs is None and item.votes[standing.label] < item.votes.max():
        label = state.settings.classes[standing.label]
        raise invalid("decision.label", label, "a class with the most votes, because the pool is settled", RESTORE)


class Recomputed:
    """Computes decisions again, each with the learned parameters and the policy it names."""

    def __init__(self, state: State) -> None:
        self._priors: dict[int, Learned] = {state.learned.seq: state.learned}
        self._methods: dict[int, Method] = {state.tune_seq: state.method}

    def compare(self, state: State, event: Event, policy_state: PolicyState) -> None:
        """Refuse a decision that differs; `policy_state` is the state before the event."""
        self._priors[state.learned.seq], self._methods[state.tune_seq] = state.learned, state.method
        item = state.find(event["item"]) if "item" in event else None
        stored = event.get("decision", {})
        if item is None or "params" not in stored:
            return
        version = self._priors.get(stored["params"]), self._methods.get(stored.get("tune", 0))
        if version[0] is None or version[1] is None:
            raise invalid("decision.params", stored["params"], "the number of a learn event", RESTORE)
        closing = event["type"] == "close"
        again = verdict(state.people, version[1], version[0], policy_state, item, closing=closing)
        label = state.settings.classes[again.label]
        is_same = (stored["label"], stored["reason"]) == (label, again.reason)
        if not is_same or abs(stored["confidence"] - again.confidence) > CLOSE_ENOUGH:
            rule = f"{label!r}, {again.reason}, confidence {again.confidence}, as recomputed from the events"
            raise invalid("decision", stored, rule, RESTORE)
