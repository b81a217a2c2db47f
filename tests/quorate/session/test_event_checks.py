"""A journal with recomputed checksums is accepted only if a session could have written it."""

import functools
import json
import os
import stat
from contextlib import closing
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import errors, method
from quorate.methods.encoding import method_data
from quorate.session import JsonlJournal, MemoryJournal, Session
from quorate.session.lines import header_line
from tests.quorate.session.conftest import CLASSES, make
from tests.quorate.session.test_resume import play

VALUE = method_data(method("value"))


@functools.cache
def journal_of(name="value", num_items=6):
    journal = MemoryJournal()
    session = make(name, journal=journal, window=3, refit_every=2, seed=3)
    for _ in play(session, np.random.default_rng(4), num_items):
        pass
    if name == "value":
        session.tune(error_cost=50)
        session.open("last", [0.5, 0.4, 0.1])
        session.close("last", request_id="end")
    return journal.header(), list(journal.events())


def resumed(events, header=None, **how):
    journal = MemoryJournal()
    journal.start(header or journal_of()[0])
    journal._events = [json.dumps(event).encode() for event in events]
    return Session.resume(journal, **how)


def forged(number, **changes):
    """The events with other values in one of them; "decision.label" is a field of the decision."""
    events = json.loads(json.dumps(journal_of()[1]))
    for name, value in changes.items():
        part, _, field = name.partition("__")
        target = events[number][part] if field else events[number]
        target[field or part] = value
    return events


def first(kind, **fields):
    return next(
        n
        for n, e in enumerate(journal_of()[1])
        if e["type"] == kind and all(e.get(name) == v for name, v in fields.items())
    )


def second_vote():
    """A vote on an item on which another voter voted before."""
    voters = {}
    for number, event in enumerate(journal_of()[1]):
        if event["type"] == "vote" and voters.get(event["item"]):
            return number, voters[event["item"]]
        if event["type"] == "vote":
            voters[event["item"]] = event["voter"]
    raise AssertionError("there is none")


def test_what_the_session_wrote_is_resumed_and_verified():
    assert resumed(journal_of()[1], verify=True).counts() == resumed(journal_of()[1]).counts()
    header, events = journal_of("mp", 4)
    resumed(events, header, verify=True)
    assert {event["type"] for event in journal_of()[1]} == {
        "open",
        "vote",
        "abstain",
        "retract",
        "close",
        "learn",
        "tune",
    }


@pytest.mark.parametrize(
    ("kind", "changes", "field"),
    [
        ("vote", {"item": "never-opened"}, "item_id"),
        ("vote", {"label": "cow"}, "label"),
        ("vote", {"decision__confidence": 1.5}, "decision.confidence"),
        ("vote", {"decision__num_votes": 3}, "decision.num_votes"),
        ("vote", {"decision__params": 10**6}, "decision.params"),
        ("vote", {"late": True}, "late"),
        ("vote", {"decision__reason": "closed", "decision__ask": False}, "decision.reason"),
        ("vote", {"decision__reason": "because", "decision__ask": False}, "decision.reason"),
        ("vote", {"time": "noon"}, "time"),
        ("open", {"prediction": [[1.2, -0.1, -0.1]]}, "prediction"),
        ("open", {"prediction": [[0.5, 0.5]]}, "prediction"),
        ("open", {"pool_size": 10**18}, "pool_size"),
        ("open", {"min_votes": 5, "max_votes": 2}, "max_votes"),
        ("open", {"quota": -1}, "quota"),
        ("open", {"tie_draw": 1.0}, "tie_draw"),
        ("retract", {"voter": "nobody"}, "voter"),
        ("learn", {"tau": [1.0, 1.0], "bias": None}, "tau"),
        ("learn", {"theta": -1.0}, "theta"),
        ("tune", {"parameters": {}}, "parameters"),
    ],
)
def test_a_changed_event_is_refused_with_its_line(kind, changes, field):
    number = first(kind)
    with pytest.raises(errors.JournalCorrupt) as caught:
        resumed(forged(number, **changes))
    assert caught.value.line == number + 2
    assert caught.value.field == field


def test_a_voter_is_not_counted_twice():
    number, voter = second_vote()
    with pytest.raises(errors.JournalCorrupt) as caught:
        resumed(forged(number, voter=voter))
    assert (caught.value.line, caught.value.field, caught.value.value) == (number + 2, "voter", voter)


def test_an_item_is_not_opened_twice():
    opens = [n for n, event in enumerate(journal_of()[1]) if event["type"] == "open"]
    with pytest.raises(errors.JournalCorrupt) as caught:
        resumed(forged(opens[1], item=journal_of()[1][opens[0]]["item"]))
    assert caught.value.line == opens[1] + 2


def test_an_answer_against_a_settled_pool_is_refused():
    number = next(n for n, e in enumerate(journal_of()[1]) if e.get("decision", {}).get("reason") == "settled")
    other = next(name for name in CLASSES if name != journal_of()[1][number]["decision"]["label"])
    with pytest.raises(errors.JournalCorrupt) as caught:
        resumed(forged(number, decision__label=other))
    assert (caught.value.line, caught.value.field) == (number + 2, "decision.label")


def test_a_forged_answer_is_found_by_computing_it_again():
    number = first("open")
    other = next(name for name in CLASSES if name != journal_of()[1][number]["decision"]["label"])
    for changes in ({"decision__label": other}, {"decision__confidence": 0.123}):
        events = forged(number, **changes)
        resumed(events)  # possible by the counts
        with pytest.raises(errors.JournalCorrupt) as caught:
            resumed(events, verify=True)
        assert (caught.value.line, caught.value.field) == (number + 2, "decision")


@pytest.mark.parametrize(
    "changes",
    [
        {"pool_size": 10**18},
        {"classes": ["cat"]},
        {"min_votes": -3},
        {"seed": "7"},
        {"method": {"name": "value"}},
        {"method": VALUE | {"policy": 3}},
        {"method": VALUE | {"policy": {"class": "BlendedValue", "error_cost": "much"}}},
        {"method": VALUE | {"learner": VALUE["learner"] | {"window": -3}}},
    ],
)
def test_a_header_no_session_would_write_is_refused(changes):
    with pytest.raises(errors.JournalCorrupt) as caught:
        resumed(journal_of()[1], journal_of()[0] | changes)
    assert caught.value.line == 1


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.sampled_from([10**18, 2**64, -(10**30), 1e300, -1.0, 0.5, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3),
    st.sampled_from([*CLASSES, "ask", "v0", "open"]),
    st.just([]), st.just({}), st.just([[0.2, 0.3, 0.5]]), st.just([[1e-320, 0.5, 0.5]]), st.just("\ud800"),
)  # fmt: skip


def places(value, path=()):
    """Every field of an event, and every element of its lists."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, (*path, name))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_field_changed_gives_a_session_that_works_or_a_journal_error(data):
    header, events = data.draw(st.sampled_from([journal_of(), journal_of("mp", 4)]))
    lines = json.loads(json.dumps([header, *events]))
    number = data.draw(st.integers(0, len(lines) - 1))
    path = data.draw(st.sampled_from(list(places(lines[number]))))
    target = lines[number]
    for name in path[:-1]:
        target = target[name]
    if data.draw(st.booleans()):
        target[path[-1]] = data.draw(VALUES)
    else:
        del target[path[-1]]
    try:
        session = resumed(lines[1:], lines[0])
    except errors.JournalError as refusal:
        assert not isinstance(refusal, errors.JournalCorrupt) or refusal.line is not None
        return
    counts = session.counts()
    assert counts["opened"] == sum(event["type"] == "open" for event in lines[1:])
    for item in (item for item in (*session.open_items(), *session._state.recent)):
        assert 0.0 <= session.decision(item).confidence <= 1.0
    decision = session.open("after the fuzz", None)
    while decision.ask:
        decision = session.vote("after the fuzz", session.settings["classes"][0])
    assert session.counts()["opened"] == counts["opened"] + 1


@pytest.mark.parametrize(
    "text", [b'{"seq":1,"time":NaN,"type":"vote"}', b'{"seq":' + b"[" * 10**5 + b"]" * 10**5 + b"}"]
)
def test_a_line_that_is_no_plain_json_is_damaged(tmp_path, text):
    path = tmp_path / "votes.jsonl"
    path.write_bytes(header_line(journal_of()[0]) + b'%b,"crc":"%08x"}\n' % (text[:-1], crc32(text)))
    with closing(JsonlJournal(path)) as journal, pytest.raises(errors.JournalCorrupt) as caught:
        Session.resume(journal)
    assert caught.value.line == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_new_journals_are_for_their_owner_and_old_ones_keep_their_mode(tmp_path):
    path = tmp_path / "votes.jsonl"
    before = os.umask(0)
    try:
        with closing(JsonlJournal(path)) as journal:
            make(journal=journal)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        path.write_bytes(path.read_bytes() + b'{"seq":1,')
        with closing(JsonlJournal(path)) as journal:
            Session.resume(journal)
            assert stat.S_IMODE(journal.torn.saved_as.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
    finally:
        os.umask(before)
