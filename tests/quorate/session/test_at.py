"""`Session.at` begins a journal or continues it; what a session tells about its items and what it learned."""

import numpy as np
import pytest

from quorate import Expert, errors
from quorate.methods import method
from quorate.session import JsonlJournal, MemoryJournal, Session
from tests.quorate.session.conftest import CLASSES, known


def loop(journal, items, answers, **settings):
    """A loop that is started again: it opens every item, also those of the last time."""
    with Session.at(journal, classes=CLASSES, pool_size=3, **settings) as session:
        for item, prediction in items.items():
            decision = session.open(item, prediction)
            while decision.ask and answers:
                voter, label = answers.pop(0)
                decision = session.vote(item, label, voter)
        return session


def test_a_loop_that_is_started_again_goes_on_where_it_was(tmp_path):
    items = {"a": [0.5, 0.3, 0.2], "b": None}
    first = loop(tmp_path / "votes.jsonl", items, [("ann", "cat")])
    assert first.counts() == {"opened": 2, "open": 2, "closed": 0, "votes": 1}
    assert first.voters("a") == ("ann",) and first.voters("b") == ()
    again = loop(tmp_path / "votes.jsonl", items, [("bob", "cat"), ("ann", "dog"), ("bob", "dog")])
    assert again.counts() == {"opened": 2, "open": 0, "closed": 2, "votes": 4}
    assert known(Session.resume(tmp_path / "votes.jsonl")) == known(again)


class UpTo:
    name = "up-to"

    def ask(self, item):
        return item.num_votes < 2


def test_an_own_policy_is_continued():
    journal = MemoryJournal()
    for voter in ("ann", "bob"):
        session = loop(journal, {"a": None}, [(voter, "cat")], method=UpTo())
    assert session.counts()["votes"] == 2


PEOPLE = {"method": "crowd", "experts": [Expert("ann"), Expert("bob", cost=2)], "gold": {"a": "cat"}}


@pytest.mark.parametrize(
    ("first", "other", "field", "words"),
    [
        ({}, {"classes": ["cat", "dog", "cow"]}, "classes", ["bird", "cow"]),
        ({}, {"pool_size": 9}, "pool_size", ["3", "9"]),
        ({}, {"seed": 4}, "seed", ["0", "4"]),
        ({}, {"max_votes": 2}, "max_votes", ["None", "2"]),
        ({}, {"method": "infexp"}, "method", ["value", "infexp"]),
        ({}, {"error_cost": 50}, "method", ["200", "50"]),
        ({"method": method("finexp", threshold=0.9)}, {"method": "finexp:threshold=0.8"}, "method", ["0.9", "0.8"]),
        ({"error_cost": {"cat": {"dog": 500}}}, {"error_cost": {"cat": {"dog": 300}}}, "error_cost", ["500", "300"]),
        ({"error_cost": {"cat": {"dog": 500}}}, {"error_cost": None}, "error_cost", ["500", "None"]),
        (PEOPLE, {"gold": None}, "gold", ["cat"]),
        (PEOPLE, {"experts": ["ann"]}, "experts", ["bob"]),
        ({}, {"experts": ["ann", "bob", "eve"]}, "experts", ["ann"]),
        ({"experts": ["ann", "bob", "eve"]}, {"experts": None}, "experts", ["ann"]),
    ],
)
def test_other_settings_than_those_of_the_journal_are_refused_with_both_values(first, other, field, words):
    journal, usual = MemoryJournal(), {"classes": CLASSES, "pool_size": 3}
    Session.at(journal, **{**usual, **first})
    Session.at(journal, **{**usual, **first})
    with pytest.raises(errors.JournalMismatch) as caught:
        Session.at(journal, **{**usual, **first, **other})
    assert caught.value.field == field
    assert all(word in str(caught.value) for word in words)


def test_what_is_wrong_creates_no_journal(tmp_path):
    with pytest.raises(errors.InvalidInput):
        Session.at(tmp_path / "votes.jsonl", classes=CLASSES, pool_size=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("again", "field"),
    [({"prediction": [0.4, 0.4, 0.2]}, "prediction"), ({"pool_size": 4}, "pool_size"), ({"max_votes": 2}, "max_votes")],
)
def test_an_item_opened_before_is_refused_with_another_prediction_or_limit(again, field):
    session = Session(classes=CLASSES, pool_size=3)
    session.open("a", [0.5, 0.3, 0.2])
    with pytest.raises(errors.ItemExists) as caught:
        session.open("a", **{"prediction": [0.5, 0.3, 0.2], **again})
    assert caught.value.field == field


def test_results_and_history_are_the_same_live_and_resumed(tmp_path):
    pytest.importorskip("pyarrow")
    journal = JsonlJournal(tmp_path / "votes.jsonl", fsync=False)
    session = Session(classes=CLASSES, pool_size=3, journal=journal, num_classifiers=2, method="value:window=5")
    draws = np.random.default_rng(1)
    for number in range(30):
        decision = session.open(f"i{number}", draws.dirichlet(np.ones(3), size=2))
        while decision.ask and (number < 28 or decision.num_votes < 1):
            decision = session.vote(f"i{number}", CLASSES[number % 3], f"v{decision.num_votes}")
    rows = {row.pop("item"): row for row in session.results().to_pylist()}
    assert set(rows) == {f"i{number}" for number in range(30)}
    for item, row in rows.items():
        decision = session.decision(item)
        assert row == {
            "consensus_label": decision.label,
            "confidence": decision.confidence,
            "num_votes": decision.num_votes,
            "stop_reason": decision.reason,
        }
        assert len(session.voters(item)) == decision.num_votes
    history = session.history()
    assert history.column_names[:4] == ["items", "theta", "phi", "tau_1_cat"] and history.num_rows > 5
    assert history["theta"][-1].as_py() == session.params.theta
    journal.close()
    back = Session.resume(tmp_path / "votes.jsonl")
    assert back.results().equals(session.results()) and back.history().equals(history)


def test_a_session_without_items_has_empty_tables():
    pytest.importorskip("pyarrow")
    session = Session(classes=CLASSES, pool_size=3)
    assert session.results().num_rows == session.history().num_rows == 0
    assert "tau_bird" in session.history().column_names


def test_objects_say_what_they_are(tmp_path):
    session = Session(classes=CLASSES, pool_size=3, journal=MemoryJournal())
    session.open("a")
    assert "value" in repr(session) and "1 open" in repr(session)
    assert "votes.jsonl" in repr(JsonlJournal(tmp_path / "votes.jsonl")) and "1" in repr(session._journal)
