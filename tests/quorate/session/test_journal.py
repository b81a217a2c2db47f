"""Behaviour of every journal, whatever its storage."""

from contextlib import closing

import pytest

from quorate.errors import JournalError
from quorate.session.journal import Journal, MemoryJournal
from quorate.session.jsonl import JsonlJournal
from tests.quorate.session.journal_support import HEADER, path, vote
from tests.refusals import refused

__all__ = ["path"]


@pytest.fixture(params=["memory", "file"])
def journal(request, path):
    with closing(MemoryJournal() if request.param == "memory" else JsonlJournal(path, fsync=False)) as journal:
        yield journal


def test_what_went_in_comes_out(journal: Journal):
    assert journal.header() is None
    assert list(journal.events()) == []
    journal.start(HEADER)
    events = [vote(1, probs=[0.1, 1 / 3, 5e-324, -0.0]), vote(2, note=None, nested={"deep": [True, 2**80]})]
    for event in events:
        journal.append(event)
    assert journal.header() == HEADER
    assert repr(list(journal.events())) == repr(events)


def test_later_changes_to_what_was_handed_over_do_not_reach_the_journal(journal):
    header, event = {"classes": ["a", "b"]}, vote(1, probs=[0.5])
    journal.start(header)
    journal.append(event)
    header["classes"].append("c")
    event["probs"][0] = 0.9
    assert journal.header() == {"classes": ["a", "b"]}
    assert next(journal.events())["probs"] == [0.5]


@pytest.mark.parametrize(
    "bad",
    [float("nan"), float("inf"), object(), {1, 2}, b"bytes", "\ud800", 10**5000],
    ids=lambda bad: type(bad).__name__,
)
def test_what_json_cannot_say_is_refused_and_has_no_effect(journal, bad):
    with refused("header", JournalError):
        journal.start({"bad": bad})
    journal.start(HEADER)
    with refused("event 1", JournalError):
        journal.append(vote(1, bad=bad))
    journal.append(vote(1))
    assert list(journal.events()) == [vote(1)]


@pytest.mark.parametrize("seq", [0, 1, 3, None, "2", 2.0, True])
def test_an_event_out_of_order_is_refused(journal, seq):
    journal.start(HEADER)
    journal.append(vote(1))
    with refused("seq", JournalError) as caught:
        journal.append({"seq": seq, "type": "vote", "time": 0.0})
    assert caught.value.rule.startswith("2")
    assert len(list(journal.events())) == 1


def test_an_event_before_the_header_and_a_second_header_are_refused(journal):
    with refused("journal", JournalError) as caught:
        journal.append(vote(1))
    assert "start(header)" in caught.value.fix
    journal.start(HEADER)
    with refused("journal", JournalError) as caught:
        journal.start(HEADER)
    assert "empty" in caught.value.rule


def test_progress_reaches_the_end(journal):
    journal.start(HEADER)
    for seq in range(1, 2501):
        journal.append({"seq": seq, "type": "vote", "time": 0.0})
    calls = []
    assert sum(1 for _ in journal.events(progress=lambda done, total: calls.append((done, total)))) == 2500
    assert len(calls) == 3 and calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1]
