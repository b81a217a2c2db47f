import contextlib
import threading
import tracemalloc

import numpy as np
import pytest

from quorate import errors
from quorate.methods import method
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.prior.concentration import concentration
from quorate.session import JsonlJournal, MemoryJournal, Session
from tests.session.conftest import CLASSES, decisions_equal, known, make


def vote_until_stop(session, item, labels):
    decision = session.decision(item)
    for number, label in enumerate(labels):
        if not decision.ask:
            break
        decision = session.vote(item, label, voter=f"v{number}")
    return decision


def test_confidence_is_the_exact_posterior_of_the_pool(session):
    session.open("a", [0.6, 0.3, 0.1])
    decision = session.vote("a", "dog")
    alpha = concentration(session.params, [0.6, 0.3, 0.1])
    expected = plurality_finite(alpha, [0, 1, 0], pool_size=5)
    np.testing.assert_allclose(decision.probs, expected, atol=1e-14)
    assert decision.label == CLASSES[expected.argmax()]
    assert decision.confidence == decision.probs.max()


def test_infexp_uses_the_infinite_posterior():
    session = make("infexp")
    decision = session.open("a", [0.6, 0.3, 0.1])
    alpha = concentration(session.params, [0.6, 0.3, 0.1])
    np.testing.assert_allclose(decision.probs, plurality_infinite(alpha, [0, 0, 0]), atol=1e-14)


def test_a_settled_pool_stops_with_certainty():
    session = make("until-settled")
    session.open("a", None)
    for voter in ("x", "y"):
        assert session.vote("a", "bird", voter).ask
    decision = session.vote("a", "bird", "z")
    assert (decision.ask, decision.label, decision.confidence, decision.reason) == (False, "bird", 1.0, "settled")


def test_an_exhausted_pool_that_is_tied_shares_its_confidence():
    session = make("until-settled", pool_size=2)
    session.open("a", None)
    session.vote("a", "cat")
    decision = session.vote("a", "dog")
    assert decision.reason == "exhausted"
    assert decision.confidence == 0.5
    assert decision.label in ("cat", "dog")


def test_ask_all_is_the_one_method_that_goes_on_after_the_pool_is_settled():
    session = make("ask-all", pool_size=3)
    session.open("a", None)
    assert session.vote("a", "cat").ask
    assert session.vote("a", "cat").ask
    assert session.vote("a", "cat").reason == "exhausted"


@pytest.mark.parametrize(
    ("name", "knobs", "reason"),
    [
        ("finexp", {"threshold": 0.2}, "confident"),
        ("quorate", {"min_gain": 10.0}, "not_worth_it"),
        ("quorum", {"votes": 0}, "rule"),
        ("random", {"query_rate": 0.0}, "quota"),
    ],
)
def test_each_kind_of_stop_gives_its_reason(name, knobs, reason):
    session = make(method=method(name, **knobs))
    assert session.open("a", [0.8, 0.1, 0.1]).reason == reason


def test_close_answers_with_what_there_is(session):
    session.open("a", [0.4, 0.35, 0.25])
    decision = session.close("a")
    assert (decision.ask, decision.reason, decision.label) == (False, "closed", "cat")
    assert session.open_items() == []
    assert decisions_equal(session.close("a"), decision)


def test_predict_stores_nothing(session):
    before = known(session)
    decision = session.predict([0.2, 0.7, 0.1])
    assert (decision.label, decision.num_votes, decision.ask) == ("dog", 0, False)
    assert known(session) == before


def test_many_items_are_open_at_once_and_votes_come_in_any_order():
    together, apart = make(refit_every=None), make(refit_every=None)
    votes = {"a": ["cat", "dog", "cat", "cat"], "b": ["bird", "bird", "dog", "bird"], "c": ["dog", "dog"]}
    for item in votes:
        together.open(item, [0.5, 0.3, 0.2])
    for turn in range(4):
        for item, labels in votes.items():
            if turn < len(labels) and together.decision(item).ask:
                together.vote(item, labels[turn])
    for item, labels in votes.items():
        apart.open(item, [0.5, 0.3, 0.2])
        for label in labels:
            if apart.decision(item).ask:
                apart.vote(item, label)
    assert all(decisions_equal(together.decision(item), apart.decision(item)) for item in votes)


def test_a_late_vote_is_kept_and_learned_from_but_changes_no_decision(session):
    session.open("a", [0.9, 0.05, 0.05])
    decision = vote_until_stop(session, "a", ["cat"] * 5)
    assert not decision.ask
    in_window = session._state.window.votes.sum()
    late = session.vote("a", "bird", "latecomer")
    assert decisions_equal(late, decision)
    assert session._state.window.votes.sum() == in_window + 1
    assert session.counts()["votes"] == decision.num_votes + 1


def test_a_late_vote_on_an_item_long_gone_is_kept_but_not_learned_from():
    session = make(window=2, journal=MemoryJournal())
    for number in range(12):
        session.open(str(number), [0.4, 0.3, 0.3])
        vote_until_stop(session, str(number), ["cat"] * 5)
    window = session._state.window.votes.copy()
    old = session.decision("0")
    assert old.probs is None
    assert decisions_equal(session.vote("0", "dog", "latecomer"), old)
    assert np.array_equal(session._state.window.votes, window)
    with pytest.raises(errors.DuplicateVote):
        session.vote("0", "dog", "latecomer")
    with pytest.raises(errors.DuplicateVote):
        session.vote("0", "dog", "v0")
    assert list(session._journal.events())[-1]["late"] is True


def test_the_same_voter_is_refused_twice_on_one_item_and_nothing_changes(session):
    session.open("a", None)
    session.vote("a", "cat", "ann")
    before = known(session)
    for act in (lambda: session.vote("a", "dog", "ann"), lambda: session.abstain("a", "ann")):
        with pytest.raises(errors.DuplicateVote, match=r"'ann'.*'a'"):
            act()
    assert known(session) == before


def test_an_abstention_shrinks_the_pool_of_its_item_only(session):
    session.open("a", [0.5, 0.3, 0.2])
    session.open("b", [0.5, 0.3, 0.2])
    decision = session.abstain("a", "ann")
    alpha = concentration(session.params, [0.5, 0.3, 0.2])
    np.testing.assert_allclose(decision.probs, plurality_finite(alpha, [0, 0, 0], pool_size=4), atol=1e-14)
    np.testing.assert_allclose(session.decision("b").probs, plurality_finite(alpha, [0, 0, 0], pool_size=5), atol=1e-14)


def test_abstentions_can_settle_a_pool():
    session = make("until-settled", pool_size=5)
    session.open("a", None)
    session.vote("a", "cat")
    session.vote("a", "cat")
    session.abstain("a")
    decision = session.abstain("a")
    assert (decision.reason, decision.label) == ("settled", "cat")


def test_a_pool_that_only_abstained_leaves_the_word_to_the_classifier():
    session = make("until-settled", pool_size=2)
    session.open("a", {"dog": 0.8})
    session.abstain("a")
    decision = session.abstain("a")
    assert (decision.ask, decision.reason, decision.label) == (False, "exhausted", "dog")


def test_retract_undoes_a_vote():
    session = make("until-settled")
    session.open("a", [0.5, 0.3, 0.2])
    first = session.vote("a", "dog", "ann")
    session.vote("a", "bird", "bob")
    again = session.retract("a", "bob")
    assert decisions_equal(first, again)
    assert session.vote("a", "dog", "bob").num_votes == 2


def test_retracting_the_vote_that_closed_an_item_opens_it_again():
    session = make("until-settled", pool_size=3)
    session.open("a", None)
    session.vote("a", "cat", "ann")
    assert not session.vote("a", "cat", "bob").ask
    assert session.retract("a", "bob").ask
    assert session.open_items() == ["a"]
    assert session.counts()["closed"] == 0
    session.vote("a", "dog", "bob")
    assert session.vote("a", "dog", "eve").label == "dog"


def test_retracting_an_abstention_or_a_late_vote_restores_what_was():
    session = make("until-settled", pool_size=3)
    before = session.open("a", [0.5, 0.3, 0.2])
    session.abstain("a", "ann")
    assert decisions_equal(session.retract("a", "ann"), before)
    for voter in ("bob", "eve"):
        closed = session.vote("a", "cat", voter)
    counts = session._state.window.votes.sum()
    session.vote("a", "dog", "late")
    assert decisions_equal(session.retract("a", "late"), closed)
    assert session._state.window.votes.sum() == counts


def test_retracting_what_is_not_there_is_an_error(session):
    session.open("a", None)
    with pytest.raises(errors.UnknownItem, match="'ann' has no vote"):
        session.retract("a", "ann")


def test_minimum_and_maximum_votes_bound_what_is_asked():
    session = make(min_votes=2, max_votes=3)
    decision = session.open("sure", [0.98, 0.01, 0.01])
    assert decision.ask
    assert vote_until_stop(session, "sure", ["cat"] * 5).num_votes == 2
    session.open("unsure", None)
    decision = vote_until_stop(session, "unsure", ["cat", "dog", "bird", "cat", "dog"])
    assert (decision.num_votes, decision.reason) == (3, "quota")
    session.open("own", [0.98, 0.01, 0.01], min_votes=0, max_votes=0)
    assert session.decision("own").num_votes == 0


def test_each_item_may_have_its_own_pool(session):
    session.open("a", None, pool_size=1)
    assert session.vote("a", "dog").reason == "exhausted"


def test_a_repeated_request_changes_nothing(session):
    first = session.open("a", None, request_id="r1")
    vote = session.vote("a", "cat", "ann", request_id="r2")
    before = known(session)
    assert decisions_equal(session.vote("a", "cat", "ann", request_id="r2"), vote)
    session.open("a", None, request_id="r1")
    assert known(session) == before
    assert first.num_votes == 0


def test_a_request_id_reused_for_something_else_is_an_error(session):
    session.open("a", None)
    session.vote("a", "cat", "ann", request_id="r1")
    with pytest.raises(errors.RequestReused, match="'r1'"):
        session.vote("a", "dog", "ann", request_id="r1")


def test_every_event_carries_a_time():
    journal = MemoryJournal()
    session = make(journal=journal)
    session.open("a", None, time=12.5)
    session.vote("a", "cat")
    times = [event["time"] for event in journal.events()]
    assert times[0] == 12.5
    assert times[1] > 1e9


def test_it_learns_how_far_the_classifier_can_be_trusted():
    rng = np.random.default_rng(3)
    trusted, useless = make(refit_every=10, window=100), make(refit_every=10, window=100)
    for session, accuracy in ((trusted, 0.97), (useless, 0.34)):
        for number in range(100):
            truth = rng.integers(3)
            said = truth if rng.random() < accuracy else (truth + 1) % 3
            prediction = np.full(3, 0.1)
            prediction[said] = 0.8
            session.open(str(number), prediction)
            vote_until_stop(session, str(number), [CLASSES[truth]] * 5)
    assert trusted.params.theta > 1.5 * useless.params.theta
    assert trusted.open("new", [0.8, 0.1, 0.1]).confidence > useless.open("new", [0.8, 0.1, 0.1]).confidence


def test_refit_every_none_learns_only_on_demand():
    session = make(refit_every=None)
    for number in range(10):
        session.open(str(number), [0.8, 0.1, 0.1])
        vote_until_stop(session, str(number), ["dog"] * 5)
    start = session.params
    report = session.learn()
    assert report.converged
    assert session.params is not start
    assert session.learn() is None


def test_window_none_learns_from_everything_and_keeps_every_item_in_full():
    session = make("until-settled", window=None, method=method("finexp", threshold=1.0))
    for number in range(150):
        session.open(str(number), [0.5, 0.3, 0.2])
        vote_until_stop(session, str(number), ["cat"] * 5)
    assert len(session._state.window) == 150
    assert session.decision("0").probs is not None


def test_class_names_are_strings_at_the_door(session):
    session.open("a", None)
    for label in (0, "Cat", None, "mouse"):
        with pytest.raises(errors.UnknownClass, match="is not a class"):
            session.vote("a", label)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.open("b", [0.5, 0.3, 0.1]), errors.InvalidPrediction, "'b' sums to 0.9"),
        (lambda s: s.open("b", [0.5, np.nan, 0.5]), errors.InvalidPrediction, "nan"),
        (lambda s: s.open("b", [2.0, -1.0, 0.0]), errors.InvalidPrediction, "logits"),
        (lambda s: s.open("b", [0.5, 0.5]), errors.InvalidPrediction, "expected 3 probabilities"),
        (lambda s: s.open("b", {"mouse": 0.5}), errors.UnknownClass, "'mouse'"),
        (lambda s: s.open("b", {"cat": 0.9, "dog": 0.9}), errors.InvalidPrediction, "sums to 1.8"),
        (lambda s: s.open("b", 0.7), errors.InvalidPrediction, "say whose score"),
        (lambda s: s.open("b", "mouse"), errors.UnknownClass, "'mouse'"),
        (lambda s: s.open("b", [["x", "y", "z"]]), errors.InvalidPrediction, "not numeric"),
        (lambda s: s.open("b", None, pool_size=0), errors.InvalidInput, "pool_size=0"),
        (lambda s: s.open("b", None, pool_size=2.5), errors.InvalidInput, "pool_size=2.5"),
        (lambda s: s.open("b", None, min_votes=3, max_votes=2), errors.InvalidInput, "max_votes=2"),
        (lambda s: s.open("a", None), errors.ItemExists, "'a' was opened before"),
        (lambda s: s.open(7, None), errors.InvalidInput, "item_id=7"),
        (lambda s: s.open("", None), errors.InvalidInput, "non-empty"),
        (lambda s: s.vote("zzz", "cat"), errors.UnknownItem, "'zzz' was never opened"),
        (lambda s: s.vote("a", "cat", voter=3), errors.InvalidInput, "voter=3"),
        (lambda s: s.vote("a", "cat", time=float("nan")), errors.InvalidInput, "time=nan"),
        (lambda s: s.vote("a", "cat", request_id=5), errors.InvalidInput, "request_id=5"),
        (lambda s: s.close("zzz"), errors.UnknownItem, "never opened"),
        (lambda s: s.decision("zzz"), errors.UnknownItem, "never opened"),
    ],
)
def test_bad_input_names_the_problem_and_changes_nothing(call, error, words):
    journal = MemoryJournal()
    session = make(journal=journal)
    session.open("a", [0.5, 0.3, 0.2])
    before, events = known(session), len(list(journal.events()))
    with pytest.raises(error, match=words):
        call(session)
    assert known(session) == before
    assert len(list(journal.events())) == events


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"classes": ["cat"]}, "at least 2"),
        ({"classes": ["cat", "cat"]}, "different"),
        ({"classes": "cat"}, "one string"),
        ({"pool_size": 0}, "pool_size=0"),
        ({"window": 0}, "window=0"),
        ({"refit_every": 0}, "refit_every=0"),
        ({"method": "nope"}, "does not exist"),
        ({"method": 3}, "method=3"),
        ({"seed": -1}, "seed=-1"),
        ({"min_votes": 5, "max_votes": 2}, "max_votes=2"),
    ],
)
def test_bad_settings_are_refused_with_the_reason(settings, words):
    good = {"classes": CLASSES, "pool_size": 5} | settings
    with pytest.raises(errors.QuorateError, match=words):
        Session(good.pop("method", "quorate"), **good)


def test_a_session_can_be_shared_between_threads(tmp_path):
    """Every vote of every thread is counted once, and the journal replays to the very same state."""
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
    session = make(journal=journal, refit_every=1, method=method("finexp", threshold=1.0), pool_size=1)
    session.open("a", None)
    assert session.vote("a", "cat").reason == "exhausted"
    assert session.params.theta == 1.0
    assert "disk full" in caplog.text
    journal.full = False
    session.open("b", None)
    session.vote("b", "cat")
    assert session.params.theta != 1.0
    assert known(Session.resume(journal)) == known(session)


def test_memory_per_closed_item_stays_below_150_bytes():
    """A benchmark runs a million items; this holds the growth per item itself."""
    session = make(method=method("finexp", threshold=0.5), window=20, refit_every=None)

    def run(first, last):
        for number in range(first, last):
            session.open(f"item-{number}", [0.9, 0.05, 0.05])

    run(0, 1000)
    tracemalloc.start()
    run(1000, 5000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown / 4000 < 150


def test_a_policy_that_fails_on_a_closed_item_leaves_the_session_as_it_was():
    class Fragile:
        name = "fragile"
        works = False

        def init(self, num_classes):
            return 0

        def quota(self, state, item, *, rng):
            return 1

        def asks(self, state, item, probs):
            return True

        def update(self, state, closed):
            if not self.works:
                raise RuntimeError("a bug in the user's policy")
            return state + 1

    policy, journal = Fragile(), MemoryJournal()
    session = make(method=method(policy), journal=journal)
    session.open("a", None)
    before = known(session)
    with pytest.raises(RuntimeError, match="user's policy"):
        session.vote("a", "cat")
    assert known(session) == before
    policy.works = True
    assert session.vote("a", "cat").reason == "quota"
    assert known(Session.resume(journal, method=method(policy))) == known(session)


def test_a_request_id_reused_to_open_with_another_prediction_is_an_error(session):
    session.open("a", [0.5, 0.3, 0.2], request_id="r1")
    session.open("a", [0.5, 0.3, 0.2], request_id="r1")
    with pytest.raises(errors.RequestReused):
        session.open("a", [0.2, 0.3, 0.5], request_id="r1")


def test_a_late_vote_is_learned_from_while_its_item_is_in_the_window_however_many_closed_without_votes():
    session = make(method=method("finexp", threshold=0.45), window=3, refit_every=None)
    session.open("a", [0.34, 0.33, 0.33], min_votes=1)
    session.vote("a", "cat", "ann")
    for number in range(20):
        assert not session.open(str(number), [0.98, 0.01, 0.01]).ask
    assert "a" in session._state.window
    session.vote("a", "dog", "bob")
    assert session._state.window.votes[0].tolist() == [1, 1, 0]
    session.retract("a", "bob")
    assert session._state.window.votes[0].tolist() == [1, 0, 0]


def test_a_waiting_items_decision_stands_until_something_happens_to_it():
    session = make(method=method("finexp", threshold=0.8), refit_every=5, window=100)
    waiting = session.open("waiting", [0.8, 0.1, 0.1], request_id="r")
    assert waiting.ask
    for number in range(60):
        session.open(str(number), [0.8, 0.1, 0.1])
        vote_until_stop(session, str(number), ["cat"] * 5)
    assert session.predict([0.8, 0.1, 0.1]).confidence > 0.8  # by now it would not ask
    assert decisions_equal(session.decision("waiting"), waiting)
    assert decisions_equal(session.open("waiting", [0.8, 0.1, 0.1], request_id="r"), waiting)
    assert session.open_items() == ["waiting"]
    assert not session.vote("waiting", "cat").ask


def test_ballots_that_came_late_count_when_the_item_is_decided_anew():
    session = make(method=method("quorum", votes=1), pool_size=5)
    session.open("a", None)
    assert session.vote("a", "cat", "p").label == "cat"
    session.vote("a", "dog", "q")
    session.vote("a", "dog", "r")
    again = session.retract("a", "p")
    assert (again.label, again.num_votes, again.ask) == ("dog", 2, False)
    assert session.retract("a", "q").num_votes == 1
    assert session.retract("a", "r").ask


def test_late_abstentions_that_closed_a_pool_open_it_again_when_taken_back():
    session = make(method=method("quorum", votes=2), pool_size=3)
    session.open("a", None)
    for voter in ("p", "q"):
        session.vote("a", "cat", voter)
    session.abstain("a", "r")
    assert session.retract("a", "q").reason == "ask"
    session.abstain("a", "q")
    assert session.decision("a").reason == "exhausted"
    assert session.retract("a", "r").ask


def test_opened_items_are_open_or_closed_and_nothing_else():
    rng = np.random.default_rng(8)
    session = make("mp", window=3, refit_every=2, pool_size=4)
    for act in range(400):
        item = f"i{rng.integers(30)}"
        acts = [
            lambda item=item: session.open(item, rng.dirichlet(np.ones(3))),
            lambda item=item: session.vote(item, CLASSES[rng.integers(3)], f"v{rng.integers(5)}"),
            lambda item=item: session.abstain(item, f"v{rng.integers(5)}"),
            lambda item=item: session.retract(item, f"v{rng.integers(5)}"),
            lambda item=item, act=act: session.close(item, request_id=f"r{act}"),
        ]
        with contextlib.suppress(errors.QuorateError):
            acts[rng.integers(5)]()
        counts = session.counts()
        assert counts["opened"] == counts["open"] + counts["closed"]
        assert counts["open"] == len(session.open_items())
        assert len(session._state.recent) <= 6


class Plain:
    """A policy to be broken in one way or another."""

    name = "plain"

    def init(self, num_classes):
        return None

    def quota(self, state, item, *, rng):
        return None

    def asks(self, state, item, probs):
        return False

    def update(self, state, closed):
        return None


class FullJournal(MemoryJournal):
    broken = False

    def append(self, event):
        if self.broken:
            raise errors.JournalError("disk full")
        super().append(event)


def test_a_wrong_stop_reason_is_told_before_anything_is_written():
    class Bored(Plain):
        stop_reason = "bored"

    journal = MemoryJournal()
    session = make(method=method(Bored()), journal=journal)
    with pytest.raises(errors.PolicyError, match="stop_reason='bored'"):
        session.open("a", None)
    assert list(journal.events()) == []


def test_a_policy_that_updates_in_place_cannot_spoil_a_refused_vote():
    class InPlace(Plain):
        def init(self, num_classes):
            return {"n": 0, "pair": (1, 2)}

        def quota(self, state, item, *, rng):
            return 1

        def asks(self, state, item, probs):
            return True

        def update(self, state, closed):
            state["n"] += 1
            return state

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
    assert known(Session.resume(journal, method=method(InPlace()))) == known(session)


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
    with pytest.raises(errors.InvalidInput, match="journal=7"):
        make(journal=7)
    with pytest.raises(errors.InvalidInput, match="journal=None"):
        Session.resume(None)


def test_anonymous_and_a_voter_called_none_are_not_the_same_request(session):
    session.open("a", None)
    session.vote("a", "cat", request_id="r")
    with pytest.raises(errors.RequestReused):
        session.vote("a", "cat", "None", request_id="r")


def test_closing_twice_remembers_the_second_request_too(session):
    session.open("a", None)
    session.close("a")
    session.close("a", request_id="r")
    with pytest.raises(errors.RequestReused):
        session.open("b", None, request_id="r")


def test_ids_that_are_no_text_are_refused_before_anything_changes(session):
    session.open("a", None)
    before = known(session)
    with pytest.raises(errors.InvalidInput, match="surrogate"):
        session.vote("a", "cat", request_id="\ud800")
    assert known(session) == before


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


def test_ballots_tell_who_has_acted(session):
    session.open("a", None)
    session.vote("a", "cat", "ann")
    session.abstain("a", "bob")
    session.vote("a", "dog")
    assert session.ballots("a") == {"ann": "cat", "bob": None}
    with pytest.raises(errors.UnknownItem):
        session.ballots("zzz")


def test_a_policy_may_be_handed_over_as_it_is():
    assert make(method=Plain()).open("a", None).reason == "rule"
    with pytest.raises(errors.InvalidInput, match="a policy of your own"):
        make(method=Plain)
