"""Asking ahead: exact against trying every sequence of answers through a real session."""

from itertools import product

import pytest

import quorate

CLASSES = ["cat", "dog", "bird"]


def by_trying(method, pool_size, prediction, most):
    """Largest m such that every sequence of m - 1 answers leaves a fresh session asking."""
    for ahead in range(1, most):
        for answers in product([*CLASSES, None], repeat=ahead):
            session = quorate.Session(method, classes=CLASSES, pool_size=pool_size)
            session.open("x", prediction)
            for answer in answers:
                decision = session.abstain("x") if answer is None else session.vote("x", answer)
                if not decision.ask:
                    return ahead
    return most


@pytest.mark.parametrize("pool_size", [3, 6])
@pytest.mark.parametrize("prediction", [None, {"cat": 0.8}])
@pytest.mark.parametrize("method", ["value", "beta", "ask-all", "unanimous-then-cap"])
def test_as_many_are_asked_at_once_as_every_answer_would_ask_anyway(method, pool_size, prediction):
    session = quorate.Session(method, classes=CLASSES, pool_size=pool_size)
    assert session.open("x", prediction).ask
    assert session.askable_at_once("x", 4) == by_trying(method, pool_size, prediction, 4)


def test_looking_ahead_changes_nothing():
    session = quorate.Session("value", classes=CLASSES, pool_size=6)
    before = session.open("x", {"cat": 0.6})
    session.askable_at_once("x", 4)
    assert session.decision("x").confidence == before.confidence and session.counts()["votes"] == 0


def test_nobody_is_asked_about_an_item_that_is_not_open():
    assert quorate.Session("value", classes=CLASSES, pool_size=6).askable_at_once("x", 4) == 0


def test_too_many_ways_are_not_looked_at():
    session = quorate.Session("ask-all", classes=[str(k) for k in range(40)], pool_size=20)
    session.open("x")
    assert session.askable_at_once("x", 8) == 2
