"""The decisions of a session, its stops, and its learning."""

import contextlib

import numpy as np
import pytest

from quorate import errors
from quorate.methods import method
from quorate.model.posterior.finite import plurality_finite
from quorate.model.prior import concentration
from quorate.session import MemoryJournal, Session
from tests.quorate.session.conftest import CLASSES, Plain, decisions_equal, known, make, vote_until_stop
from tests.refusals import refused


def test_confidence_is_the_exact_posterior_of_the_pool(session):
    session.open("a", [0.6, 0.3, 0.1])
    decision = session.vote("a", "dog")
    alpha = concentration(session.params, [0.6, 0.3, 0.1])
    expected = plurality_finite(alpha, [0, 1, 0], pool_size=5)
    np.testing.assert_allclose(decision.probs, expected, atol=1e-14)
    assert decision.label == CLASSES[expected.argmax()]
    assert decision.confidence == decision.probs.max()


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
    ("name", "parameters", "reason"),
    [
        ("finexp", {"threshold": 0.2}, "confident"),
        ("value", {"error_cost": 1.0}, "not_worth_it"),
        ("quorum", {"votes": 0}, "rule"),
        ("random", {"query_rate": 0.0}, "quota"),
    ],
)
def test_each_kind_of_stop_gives_its_reason(name, parameters, reason):
    session = make(method=method(name, **parameters))
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


def test_each_item_may_have_its_own_pool(session):
    session.open("a", None, pool_size=1)
    assert session.vote("a", "dog").reason == "exhausted"


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


def test_opened_items_are_open_or_closed_and_nothing_else():
    rng = np.random.default_rng(8)
    session = make("infexp", window=3, refit_every=2, pool_size=4)
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


def test_a_policy_may_be_handed_over_as_it_is():
    assert make(method=Plain()).open("a", None).reason == "rule"
    with refused("method"):
        make(method=Plain)


def voted_session(name, journal=None):
    """Two classes, a classifier that is often wrong about the second, 60 items with two votes each."""
    session = Session(name, classes=["cat", "dog"], pool_size=5, journal=journal, min_votes=2, max_votes=2)
    for number in range(60):
        session.open(str(number), [0.3, 0.7] if number % 3 else [0.9, 0.1])
        for _ in range(2):
            session.vote(str(number), "cat" if number % 2 else "dog")
    return session


def test_answers_without_votes_are_the_classifiers_until_what_was_learned_has_proved_better():
    journal = MemoryJournal()
    session = make("value:refit_every=1", journal=journal)
    answers = []
    for number in range(12):
        item = f"i{number}"
        for end in ("", "-unasked"):
            answers.append(session.open(item + end, [0.6, 0.3, 0.1]).label)
        session.vote(item, "dog")
        session.close(item)
        resumed = Session.resume(journal)
        for again in (resumed.predict([0.6, 0.3, 0.1]), resumed.decision(f"{item}-unasked")):
            assert again.label in ("cat", "dog")
        assert resumed.predict([0.6, 0.3, 0.1]).probs.tolist() == session.predict([0.6, 0.3, 0.1]).probs.tolist()
    assert session.params.bias[1] > 0
    first = answers.index("dog")
    assert first > 10 and set(answers[:first]) == {"cat"} and set(answers[first:]) == {"dog"}


def test_the_papers_methods_predict_with_the_parameters_they_ask_with():
    session = voted_session("finexp")
    alpha = concentration(session.params, [0.4, 0.6])
    expected = plurality_finite(alpha, [0, 0], pool_size=5)
    np.testing.assert_allclose(session.predict([0.4, 0.6]).probs, expected, atol=1e-12)
