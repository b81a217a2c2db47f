"""Late, repeated and retracted votes and abstentions: what each changes and what it does not."""

import numpy as np
import pytest

from quorate import errors
from quorate.methods import method
from quorate.model.posterior.finite import plurality_finite
from quorate.model.prior import concentration
from quorate.session import MemoryJournal
from tests.quorate.session.conftest import decisions_equal, known, make, vote_until_stop
from tests.refusals import refused


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
        with refused("voter", errors.DuplicateVote, value="ann") as caught:
            act()
        assert "item 'a'" in caught.value.rule
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
    with refused("voter", errors.UnknownItem, value="ann"):
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
    with refused("request_id", errors.RequestReused, value="r1"):
        session.vote("a", "dog", "ann", request_id="r1")


def test_a_late_vote_is_learned_from_while_its_item_is_in_the_window_however_many_closed_without_votes():
    session = make(method=method("infexp", threshold=0.45), window=3, refit_every=None)
    session.open("a", [0.34, 0.33, 0.33], min_votes=1)
    session.vote("a", "cat", "ann")
    for number in range(20):
        assert not session.open(str(number), [0.98, 0.01, 0.01]).ask
    assert "a" in session._state.window
    session.vote("a", "dog", "bob")
    assert session._state.window.votes[0].tolist() == [1, 1, 0]
    session.retract("a", "bob")
    assert session._state.window.votes[0].tolist() == [1, 0, 0]


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


def test_ballots_tell_who_has_acted(session):
    session.open("a", None)
    session.vote("a", "cat", "ann")
    session.abstain("a", "bob")
    session.vote("a", "dog")
    assert session.ballots("a") == {"ann": "cat", "bob": None}
    with pytest.raises(errors.UnknownItem):
        session.ballots("zzz")
