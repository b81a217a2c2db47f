"""What a session shows about an item to a service that stores rows about it."""

from dataclasses import replace

import numpy as np

from quorate import Session, method
from quorate.errors import UnknownItem
from tests.refusals import refused

CLASSES = ["cat", "dog"]


def test_an_item_is_shown_with_its_votes_and_ballots():
    session = Session("ask-all", classes=CLASSES, pool_size=4)
    session.open("a", None)
    session.vote("a", "dog", voter="ann")
    session.abstain("a", voter="bob")
    item = session.item("a")
    assert item.votes.tolist() == [0, 1]
    assert (item.abstentions, item.pool_left, set(item.ballots)) == (1, 3, {"ann", "bob"})
    assert item.standing.ask
    with refused("item_id", UnknownItem, value="b"):
        session.item("b")


def test_a_session_says_what_it_would_do_and_stores_nothing():
    session = Session(method("quorum", votes=2), classes=CLASSES, pool_size=5)
    session.open("a", None)
    session.vote("a", "dog")
    item = session.item("a")
    more = replace(item, votes=np.add(item.votes, [0, 1]))
    assert session.would_ask(item)
    assert not session.would_ask(more)
    assert session.item("a").votes.tolist() == [0, 1]
    assert session.decision("a").ask


def test_the_method_in_force_follows_tune():
    session = Session("value", classes=CLASSES, pool_size=5)
    session.tune(error_cost=2)
    assert session.method.policy.error_cost == 2
