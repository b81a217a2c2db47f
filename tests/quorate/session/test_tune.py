"""The policy's parameter may change during a session: one event, and everything can be recomputed from the journal."""

from dataclasses import dataclass

import numpy as np
import pytest

from quorate import errors
from quorate.methods import method
from quorate.model.decision.error_costs import DEFAULT_ERROR_COST
from quorate.session import JsonlJournal, MemoryJournal, Session
from quorate.session.decide import decide, learned_of
from quorate.session.items import advance, opened
from quorate.session.state import gains_of, initial
from quorate.session.tuning import tuned
from quorate.types import PriorParams
from tests.quorate.session.conftest import CLASSES, known, make
from tests.refusals import refused


@dataclass(frozen=True)
class AskUpTo:
    most: int = 1
    name = "ask-up-to"

    def ask(self, item):
        return item.num_votes < self.most


class Plain:
    name = "plain"

    def ask(self, item):
        return False


def stream(session, rng, count, *, first=0, parameters=None):
    for number in range(first, first + count):
        if parameters is not None:
            low, high = (2.5, 1000.0) if parameters == "error_cost" else (0.001, 0.4)
            session.tune(**{parameters: float(rng.uniform(low, high))})
        decision = session.open(f"i{number}", rng.dirichlet(np.ones(3)))
        while decision.ask:
            decision = session.vote(f"i{number}", CLASSES[rng.integers(3)])


def test_from_the_next_event_on_items_are_judged_by_the_new_parameter():
    session = make("value")
    assert session.open("a", [0.9, 0.05, 0.05]).ask
    assert session.tune(error_cost=3.33333) == {"error_cost": 3.33333} == session.parameters
    assert session.decision("a").ask, "a decision already given stands"
    assert session.vote("a", "cat").reason == "not_worth_it"
    session.tune(error_cost=1.66667)
    assert not session.open("b", [0.9, 0.05, 0.05]).ask
    session.tune(error_cost=1e9)
    assert session.decision("a").reason == "not_worth_it"
    assert session.open("c", [0.9, 0.05, 0.05]).ask


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("finexp", "threshold"), ("infexp", "threshold"), ("beta", "threshold"), ("fixed-finexp", "threshold")],
)
def test_threshold_methods_are_tuned_by_their_threshold(name, parameter):
    session = make(name)
    session.tune(**{parameter: 0.0})
    assert not session.open("a", [0.4, 0.3, 0.3]).ask
    session.tune(**{parameter: 1.0})
    assert session.open("b", [0.4, 0.3, 0.3]).ask


def test_a_quota_drawn_at_the_opening_stands_and_later_ones_follow_the_new_rate():
    session = make(method("random", query_rate=1.0), pool_size=5)
    assert session.open("a").ask
    session.tune(query_rate=0.0)
    assert session.vote("a", "cat").ask
    assert session.open("b").reason == "quota"


def test_one_small_event_is_written_and_none_for_a_value_already_in_force():
    journal = MemoryJournal()
    session = make("value", journal=journal)
    session.tune(error_cost=4, time=5.0)
    session.tune(error_cost=4)
    assert list(journal.events()) == [{"seq": 1, "time": 5.0, "type": "tune", "parameters": {"error_cost": 4}}]
    session.tune(error_cost=np.float64(2.0))
    assert session.parameters == {"error_cost": 2}
    assert session.settings["method"]["name"] == "value"
    assert session.settings["method"]["policy"]["error_cost"] == DEFAULT_ERROR_COST


def test_decisions_name_the_tuning_they_were_made_under_and_older_ones_name_none():
    journal = MemoryJournal()
    session = make("value", journal=journal)
    session.open("a", [0.9, 0.05, 0.05])
    session.tune(error_cost=3.33333)
    session.vote("a", "cat")
    before, tune, after, *_ = journal.events()
    assert "tune" not in before["decision"]
    assert after["decision"]["tune"] == tune["seq"] == 2


def test_a_repeated_request_tunes_once_and_its_id_may_not_mean_something_else():
    session = make("value")
    session.tune(error_cost=10, request_id="r")
    session.tune(error_cost=5)
    assert session.tune(error_cost=10, request_id="r") == {"error_cost": 5}
    with pytest.raises(errors.RequestReused):
        session.tune(error_cost=3.33333, request_id="r")


@pytest.mark.parametrize("name", ["value", "finexp", "beta"])
def test_a_tuned_session_resumes_as_it_was_and_goes_on_alike(name, tmp_path):
    parameter = "error_cost" if name == "value" else "threshold"
    path = tmp_path / "votes.jsonl"
    session = make(name, journal=JsonlJournal(path, fsync=False), seed=3)
    stream(session, np.random.default_rng(1), 40, parameters=parameter)
    session._journal.close()
    back = Session.resume(JsonlJournal(path, fsync=False))
    assert known(back) == known(session)
    assert back.parameters == session.parameters
    assert back._state.tune_seq == session._state.tune_seq > 0
    back._journal.close()
    back._journal = session._journal = None
    for each in (session, back):
        stream(each, np.random.default_rng(2), 20, first=100)
    assert known(back) == known(session)


def test_any_items_decisions_can_be_computed_from_its_own_events_and_those_they_name():
    journal = MemoryJournal()
    session = make("value", journal=journal, seed=3)
    stream(session, np.random.default_rng(1), 60, parameters="error_cost")
    by_seq = {event["seq"]: event for event in journal.events()}
    start = session._state.settings.method
    fresh = initial(session._state.settings)
    items, checked = {}, 0
    for event in by_seq.values():
        if "item" not in event:
            continue
        number = len(items)
        if event["type"] == "open":
            items[event["item"]] = opened(event, number)
        else:
            items[event["item"]] = advance(items[event["item"]], event, CLASSES.index(event["label"]))
        given = event["decision"]
        learned = by_seq.get(given["params"])
        prior = fresh.learned
        if learned is not None:
            params = PriorParams(*(learned[key] for key in ("theta", "phi", "tau", "bias")))
            prior = learned_of(params, learned["seq"], gains_of(learned))
        parameters = by_seq[given["tune"]]["parameters"] if "tune" in given else {}
        verdict = decide(tuned(start, parameters) if parameters else start, prior, None, items[event["item"]])
        assert (verdict.ask, verdict.confidence, verdict.reason) == (given["ask"], given["confidence"], given["reason"])
        checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    ("parameters", "error", "field"),
    [
        ({"hyperprior": "flat"}, errors.UnknownMethod, "hyperprior"),
        ({"bias": False}, errors.UnknownMethod, "bias"),
        ({"threshold": 0.9}, errors.UnknownMethod, "threshold"),
        ({"error_cost": -1}, errors.InvalidInput, "error_cost"),
        ({"error_cost": float("nan")}, errors.InvalidInput, "error_cost"),
        ({}, errors.InvalidInput, "parameters"),
    ],
)
def test_only_the_policy_can_be_tuned(parameters, error, field):
    session = make("value")
    with refused(field, error):
        session.tune(**parameters)
    assert session._state.seq == 0 and session.parameters == {"error_cost": DEFAULT_ERROR_COST}


def test_a_users_policy_is_tuned_by_its_fields():
    journal = MemoryJournal()
    session = make(method(AskUpTo(1)), journal=journal)
    session.open("a")
    session.tune(most=3)
    assert session.vote("a", "cat").ask
    back = Session.resume(journal, method=make(method(AskUpTo(1))).method)
    assert back.parameters == {"most": 3}
    assert back._state.method.parameters["most"] == 3
    with refused("posterior", errors.UnknownMethod):
        session.tune(posterior="infinite")
    with pytest.raises(errors.InvalidInput) as caught:
        session.tune(most={1, 2})
    assert "JSON" in caught.value.rule
    assert make(method(Plain())).parameters == {}


def test_a_journal_that_tunes_nonsense_is_damaged():
    journal = MemoryJournal()
    make("value", journal=journal)
    journal.append({"seq": 1, "time": 0.0, "type": "tune", "parameters": {"speed": 3}})
    with pytest.raises(errors.JournalCorrupt) as caught:
        Session.resume(journal)
    assert "event 1" in caught.value.place


def test_a_failed_write_leaves_the_parameter_as_it_was():
    class Full(MemoryJournal):
        def append(self, event):
            raise errors.JournalError("disk full")

    session = make("value", journal=Full())
    with pytest.raises(errors.JournalError):
        session.tune(error_cost=2)
    assert session.parameters == {"error_cost": DEFAULT_ERROR_COST}
