"""One item's own events are enough to continue like a whole session, and to decide every event again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import MemoryJournal, Session, method
from quorate.methods import with_learning
from quorate.session.decide import learned_of
from quorate.session.single import ParamsVersion, item_session, recompute
from quorate.session.state import initial

CLASSES = ["cat", "dog", "bird"]
ACTS = st.lists(st.sampled_from([*CLASSES, None]), max_size=6)


def whole(name, acts):
    """A session with one item, its settings, and its events."""
    journal = MemoryJournal()
    session = Session(with_learning(method(name), refit_every=None), classes=CLASSES, pool_size=6, journal=journal)
    session.open("x", {"cat": 0.6})
    for number, act in enumerate(acts):
        session.abstain("x", voter=f"v{number}") if act is None else session.vote("x", act, voter=f"v{number}")
    return session, session._state.settings, list(journal.events())


def versions(chosen):
    """The initial parameters of a session, for every requested version."""
    version = ParamsVersion(learned_of(initial(chosen).params, 0), chosen.method)
    return version, lambda learn, tune: version


@settings(max_examples=25, deadline=None)
@given(ACTS, st.sampled_from(["value", "finexp", "until-settled"]))
def test_the_next_event_is_the_one_a_whole_session_writes(acts, name):
    session, chosen, events = whole(name, acts)
    version, version_of = versions(chosen)
    single, outbox = item_session(chosen, events, number=0, now=version, version_of=version_of)
    assert single.decision("x").confidence == pytest.approx(session.decision("x").confidence)
    single.vote("x", "dog", voter="next", time=5.0)
    session.vote("x", "dog", voter="next", time=5.0)
    assert outbox.written == [list(session._journal.events())[-1]]


def test_the_next_event_is_numbered_after_those_that_the_caller_keeps_elsewhere():
    _, chosen, events = whole("value", ["cat"])
    version, version_of = versions(chosen)
    single, outbox = item_session(chosen, events, number=0, now=version, version_of=version_of, seq=7)
    single.vote("x", "dog", voter="next", time=5.0)
    assert [event["seq"] for event in outbox.written] == [8]


@settings(max_examples=25, deadline=None)
@given(ACTS, st.sampled_from(["value", "infexp", "until-settled"]))
def test_every_decision_is_computed_again_from_the_events_before_it(acts, name):
    _, chosen, events = whole(name, acts)
    again = list(recompute(chosen, events, number=0, version_of=versions(chosen)[1]))
    assert len(again) == len(events)
    for event, decision in zip(events, again, strict=True):
        if "params" not in event["decision"]:
            assert decision is None
            continue
        stored = event["decision"]
        assert (decision.ask, decision.label, decision.reason) == (stored["ask"], stored["label"], stored["reason"])
        assert decision.confidence == stored["confidence"]


def test_a_decision_under_other_parameters_is_not_the_stored_one():
    _, chosen, events = whole("value", ["cat"])
    other = ParamsVersion(learned_of(initial(chosen).params, 0), method("value", error_cost=1.11111))
    asked = [decision.ask for decision in recompute(chosen, events, number=0, version_of=lambda learn, tune: other)]
    assert asked != [event["decision"]["ask"] for event in events]
