"""Bad input, failing journals and policies, threads: a call takes effect completely or not at all."""

import threading
import tracemalloc

import numpy as np
import pytest

from quorate import errors
from quorate.methods import method
from quorate.session import JsonlJournal, MemoryJournal, Session
from tests.quorate.session.conftest import CLASSES, Plain, known, make


class FullJournal(MemoryJournal):
    broken = False

    def append(self, event):
        if self.broken:
            raise errors.JournalError("disk full")
        super().append(event)


class AskOne(Plain):
    """One vote on every item."""

    def quota(self, item, rng):
        return 1

    def ask(self, item):
        return True


@pytest.mark.parametrize(
    ("call", "error", "field"),
    [
        (lambda s: s.open("b", [0.5, 0.3, 0.1]), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", [0.5, np.nan, 0.5]), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", [2.0, -1.0, 0.0]), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", [0.5, 0.5]), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", {"mouse": 0.5}), errors.UnknownClass, "prediction"),
        (lambda s: s.open("b", {"cat": 0.9, "dog": 0.9}), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", 0.7), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", "mouse"), errors.UnknownClass, "prediction"),
        (lambda s: s.open("b", [["x", "y", "z"]]), errors.InvalidPrediction, "prediction"),
        (lambda s: s.open("b", None, pool_size=0), errors.InvalidInput, "pool_size"),
        (lambda s: s.open("b", None, pool_size=2.5), errors.InvalidInput, "pool_size"),
        (lambda s: s.open("b", None, min_votes=3, max_votes=2), errors.InvalidInput, "max_votes"),
        (lambda s: s.open("a", None), errors.ItemExists, "prediction"),
        (lambda s: s.open(7, None), errors.InvalidInput, "item_id"),
        (lambda s: s.open("", None), errors.InvalidInput, "item_id"),
        (lambda s: s.vote("zzz", "cat"), errors.UnknownItem, "item_id"),
        (lambda s: s.vote("a", 0), errors.UnknownClass, "label"),
        (lambda s: s.vote("a", "Cat"), errors.UnknownClass, "label"),
        (lambda s: s.vote("a", "cat", voter=3), errors.InvalidInput, "voter"),
        (lambda s: s.vote("a", "cat", time=float("nan")), errors.InvalidInput, "time"),
        (lambda s: s.vote("a", "cat", request_id=5), errors.InvalidInput, "request_id"),
        (lambda s: s.vote("a", "cat", request_id="\ud800"), errors.InvalidInput, "request_id"),
        (lambda s: s.close("zzz"), errors.UnknownItem, "item_id"),
        (lambda s: s.decision("zzz"), errors.UnknownItem, "item_id"),
    ],
)
def test_bad_input_names_the_problem_and_changes_nothing(call, error, field):
    journal = MemoryJournal()
    session = make(journal=journal)
    session.open("a", [0.5, 0.3, 0.2])
    before, events = known(session), len(list(journal.events()))
    with pytest.raises(error) as caught:
        call(session)
    assert caught.value.field == field
    assert known(session) == before
    assert len(list(journal.events())) == events


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"classes": ["cat"]}, "classes"),
        ({"classes": ["cat", "cat"]}, "classes"),
        ({"classes": "cat"}, "classes"),
        ({"pool_size": 0}, "pool_size"),
        ({"method": "nope"}, "method"),
        ({"method": 3}, "method"),
        ({"seed": -1}, "seed"),
        ({"min_votes": 5, "max_votes": 2}, "max_votes"),
    ],
)
def test_bad_settings_are_refused_with_the_reason(settings, field):
    good = {"classes": CLASSES, "pool_size": 5} | settings
    with pytest.raises(errors.QuorateError) as caught:
        Session(good.pop("method", "value"), **good)
    assert caught.value.field == field


def test_a_session_can_be_shared_between_threads(tmp_path):
    """Every vote of every thread is counted once, and the journal replays to the same state."""
    path = tmp_path / "votes.jsonl"
    session = make("ask-all", pool_size=8, journal=JsonlJournal(path, fsync=False), refit_every=3)
    for number in range(40):
        session.open(str(number), [0.5, 0.3, 0.2])
    problems = []

    def work(voter):
        try:
            for number in range(40):
                session.vote(str(number), CLASSES[(number + voter) % 3], voter=f"v{voter}")
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(voter,)) for voter in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert session.counts() == {"opened": 40, "open": 0, "closed": 40, "votes": 320}
    session._journal.close()
    assert known(Session.resume(JsonlJournal(path))) == known(session)


def test_a_failing_journal_leaves_the_session_as_it_was():
    journal = FullJournal()
    session = make(journal=journal)
    session.open("a", None)
    before = known(session)
    journal.broken = True
    with pytest.raises(errors.JournalError, match="disk full"):
        session.vote("a", "cat")
    assert known(session) == before
    journal.broken = False
    assert session.vote("a", "cat").num_votes == 1


def test_a_vote_survives_when_only_the_learned_parameters_cannot_be_written(caplog):
    class NoLearning(MemoryJournal):
        full = True

        def append(self, event):
            if event["type"] == "learn" and self.full:
                raise errors.JournalError("disk full")
            super().append(event)

    journal = NoLearning()
    session = make(journal=journal, refit_every=1, method=method("infexp", threshold=1.0), pool_size=1)
    session.open("a", None)
    assert session.vote("a", "cat").reason == "exhausted"
    assert session.params.theta == 1.0
    assert "disk full" in caplog.text
    journal.full = False
    session.open("b", None)
    session.vote("b", "cat")
    assert session.params.theta != 1.0
    assert known(Session.resume(journal)) == known(session)


@pytest.mark.no_cover
def test_memory_per_closed_item_stays_below_250_bytes():
    """A benchmark runs a million items; this test checks the growth per item."""
    session = make(method=method("infexp", threshold=0.5), window=20, refit_every=None)

    def run(first, last):
        for number in range(first, last):
            session.open(f"item-{number}", [0.9, 0.05, 0.05])

    run(0, 1000)
    tracemalloc.start()
    run(1000, 5000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown / 4000 < 250


def test_a_policy_that_fails_on_a_closed_item_leaves_the_session_as_it_was():
    class Fragile(AskOne):
        works = False  # of the class: not a parameter

        def init(self, num_classes):
            return 0

        def update(self, item):
            if not self.works:
                raise RuntimeError("a bug in the user's policy")
            return item.state + 1

    journal = MemoryJournal()
    session = make(method=method(Fragile()), journal=journal)
    session.open("a", None)
    before = known(session)
    with pytest.raises(RuntimeError, match="user's policy"):
        session.vote("a", "cat")
    assert known(session) == before
    Fragile.works = True
    assert session.vote("a", "cat").reason == "quota"
    assert known(Session.resume(journal, method=session.method)) == known(session)


def test_a_wrong_stop_reason_is_told_before_anything_is_written():
    class Bored(Plain):
        stop_reason = "bored"

    journal = MemoryJournal()
    session = make(method=method(Bored()), journal=journal)
    with pytest.raises(errors.PolicyError) as caught:
        session.open("a", None)
    assert (caught.value.field, caught.value.value) == ("stop_reason", "bored")
    assert list(journal.events()) == []


def test_a_policy_that_updates_in_place_cannot_spoil_a_refused_vote():
    class InPlace(AskOne):
        def init(self, num_classes):
            return {"n": 0, "pair": (1, 2)}

        def update(self, item):
            item.state["n"] += 1
            return item.state

    journal = FullJournal()
    session = make(method=method(InPlace()), journal=journal)
    session.open("a", None)
    journal.broken = True
    for _ in range(3):
        with pytest.raises(errors.JournalError):
            session.vote("a", "cat")
    journal.broken = False
    session.vote("a", "cat")
    assert session._state.policy_state == {"n": 1, "pair": [1, 2]}
    assert known(Session.resume(journal, method=session.method)) == known(session)


def test_a_failing_start_leaves_the_journal_unused():
    class NoState(Plain):
        def init(self, num_classes):
            raise RuntimeError("no")

    journal = MemoryJournal()
    with pytest.raises(RuntimeError):
        make(method=method(NoState()), journal=journal)
    assert journal.header() is None


def test_a_journal_may_be_named_by_its_path(tmp_path):
    path = tmp_path / "votes.jsonl"
    session = make(journal=str(path))
    session.open("a", None)
    session._journal.close()
    assert Session.resume(path).open_items() == ["a"]
    with pytest.raises(errors.InvalidInput) as caught:
        make(journal=7)
    assert (caught.value.field, caught.value.value) == ("journal", 7)
    with pytest.raises(errors.InvalidInput) as caught:
        Session.resume(None)
    assert (caught.value.field, caught.value.value) == ("journal", None)


def test_a_huge_window_takes_no_memory_before_there_are_items():
    assert make(window=10**8).counts()["opened"] == 0


def test_reading_while_others_write_is_safe():
    session = make("ask-all", pool_size=4, refit_every=2)
    stop, problems = threading.Event(), []

    def read():
        try:
            while not stop.is_set():
                counts = session.counts()
                assert counts["opened"] == counts["open"] + counts["closed"]
                for item in session.open_items()[:3]:
                    session.decision(item)
                assert session.params.theta > 0
        except Exception as problem:
            problems.append(problem)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        session.open(str(number), None)
        for voter in range(4):
            session.vote(str(number), CLASSES[voter % 3], str(voter))
    stop.set()
    reader.join()
    assert not problems
