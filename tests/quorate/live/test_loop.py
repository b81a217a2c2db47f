"""The plain loop: same decisions as a session by hand, failures without loss, resuming, prices."""

import logging

import pytest

import quorate
from quorate.errors import ItemExists
from quorate.live import ABSTAIN, AskFailed, Judge, decide_all
from tests.refusals import refused

CLASSES = ["cat", "dog"]
ITEMS = [("a", {"cat": 0.9}), ("b", {"cat": 0.6}), ("c", None)]
VOTES = {"a": ["cat", "cat", "cat"], "b": ["dog", "cat", "dog"], "c": ["dog", "dog", "cat"]}


def answers(votes=VOTES):
    lines = {item: iter(labels) for item, labels in votes.items()}
    return lambda item: next(lines[item])


def failing(item):
    raise ConnectionError("no route")


def jury(**asks):
    return [Judge(name, ask, cost=place + 1.0) for place, (name, ask) in enumerate(asks.items())]


def test_decisions_are_those_of_a_session_driven_by_hand():
    session = quorate.Session("value", classes=CLASSES, pool_size=3, seed=4)
    by_hand = {}
    ask = answers()
    for item, prediction in ITEMS:
        decision = session.open(item, prediction)
        while decision.ask:
            decision = session.vote(item, ask(item))
        by_hand[item] = (decision.label, decision.confidence, decision.num_votes, decision.reason)
    result = decide_all(ITEMS, answers(), classes=CLASSES, pool_size=3, seed=4)
    assert by_hand == {
        each.item: (each.label, each.decision.confidence, each.decision.num_votes, each.decision.reason)
        for each in result.outcomes
    }
    assert result.cost == session.counts()["votes"] and result.full_cost == 9


def test_an_error_leaves_the_item_open_and_the_journal_goes_on(tmp_path):
    journal = tmp_path / "votes.jsonl"
    ask, calls = answers(), []

    def sometimes(item):
        calls.append(item)
        if len(calls) == 3:
            raise ConnectionError("no route")
        return ask(item)

    session = quorate.Session("ask-all", classes=CLASSES, pool_size=3, journal=journal)
    with pytest.raises(AskFailed, match="ConnectionError: no route") as caught:
        decide_all(ITEMS, sometimes, session=session)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert (caught.value.item, caught.value.judge, caught.value.result.labels) == ("a", None, {})
    assert caught.value.session is session and session.open_items() == ["a"] and session.decision("a").num_votes == 2
    session._journal.close()
    result = decide_all(ITEMS, sometimes, session=quorate.Session.resume(journal))
    assert result.labels == {"a": "cat", "b": "dog", "c": "dog"}
    assert result.cost == 9  # the two votes from before the error are counted
    assert decide_all(ITEMS, failing, session=result.session).labels == result.labels  # closed: nobody is asked


def test_a_failure_is_counted_as_an_abstention_and_never_silently(caplog):
    judges = jury(ann=lambda item: "cat", bob=failing, eve=lambda item: "cat", dan=lambda item: ABSTAIN)
    with caplog.at_level(logging.WARNING, logger="quorate.live"):
        result = decide_all([("a", None)], judges, method="ask-all", classes=CLASSES, on_error="abstain")
    assert result.labels == {"a": "cat"}
    assert result.by_judge()["bob"] == {"votes": 0, "abstentions": 0, "failures": 1, "cost": 0.0}
    counted = {"votes": 2, "abstentions": 1, "failures": 1, "cost": 1 + 3 + 4, "full_cost": 10}
    assert result.summary() | counted == result.summary()
    assert "bob failed" in caplog.text and "no route" in caplog.text
    assert result.session.ballots("a")["bob"] is None


def test_when_every_judge_fails_the_item_is_unanswered_not_the_classifiers():
    judges = jury(ann=failing, bob=failing)
    result = decide_all([("a", {"cat": 0.6})], judges, classes=CLASSES, on_error="abstain")
    assert result.labels == {"a": None} and result.unanswered == ["a"]
    assert decide_all([("a", None)], judges, session=result.session).unanswered == ["a"]  # and stays so
    result.session.retract("a", "ann")
    mended = jury(ann=lambda item: "dog", bob=failing)
    assert decide_all([("a", None)], mended, session=result.session).labels == {"a": "dog"}


def test_a_sure_classifier_answers_alone_and_that_is_an_answer():
    result = decide_all([("a", {"cat": 0.99})], failing, method=quorate.method("value", error_cost=1.1), **POOL)
    assert result.labels == {"a": "cat"} and result.cost == 0


POOL = {"classes": CLASSES, "pool_size": 3}


def test_an_answer_that_is_no_class_is_a_failure():
    with pytest.raises(AskFailed) as caught:
        decide_all(ITEMS, lambda item: "bird", **POOL)
    assert "answer='bird'" in str(caught.value)


def test_a_failed_call_is_tried_again_and_charged():
    told = iter([ConnectionError(), ConnectionError(), "cat"])

    def ask(item):
        answer = next(told)
        if isinstance(answer, Exception):
            raise answer
        return answer

    judges = [Judge("ann", ask, cost=1.0, failure_cost=0.25)]
    result = decide_all([("a", None)], judges, classes=CLASSES, retries=2)
    assert result.labels == {"a": "cat"} and result.cost == 1.5


def test_the_loop_gives_up_when_all_items_in_a_row_fail():
    items = [(str(number), None) for number in range(9)]
    with pytest.raises(AskFailed, match="4 items in a row") as caught:
        decide_all(items, failing, on_error="abstain", give_up_after=4, **POOL)
    assert len(caught.value.result.outcomes) == 4 and isinstance(caught.value.__cause__, ConnectionError)


def test_outcomes_are_told_as_items_close():
    seen = []
    decide_all(dict(ITEMS), answers(), on_item=lambda outcome: seen.append(outcome.item), **POOL)
    assert seen == ["a", "b", "c"]


def test_judges_who_acted_are_not_asked_again():
    session = quorate.Session("ask-all", classes=CLASSES, pool_size=2)
    session.open("a")
    session.vote("a", "dog", voter="ann")
    result = decide_all([("a", None)], jury(ann=failing, bob=lambda item: "dog"), session=session)
    assert result.labels == {"a": "dog"} and result.cost == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"items": 7}, "items"),
        ({"items": ["a"]}, "items"),
        ({"items": [(7, None)]}, "item_id"),
        ({"ask": 7}, "ask"),
        ({"ask": [Judge("ann", failing)]}, "pool_size"),
        ({"on_error": "ignore"}, "on_error"),
        ({"retries": -1}, "retries"),
        ({"session": quorate.Session("beta", classes=CLASSES, pool_size=3)}, next(iter(POOL))),
        ({"classes": None}, "classes"),
    ],
)
def test_what_is_wrong_is_named(change, field):
    call = {"items": ITEMS, "ask": failing, **POOL, **change}
    with refused(field):
        decide_all(call.pop("items"), call.pop("ask"), **call)


def test_what_is_missing_is_named():
    with refused("pool_size", value=None):
        decide_all(ITEMS, failing, classes=CLASSES)


def test_an_item_given_twice_is_refused():
    with refused("items", ItemExists, value="a"):
        decide_all([ITEMS[0], ITEMS[0]], answers(), **POOL)


def test_an_asynchronous_function_is_sent_to_the_other_loop():
    async def ask(item):
        return "cat"

    with refused("ask") as caught:
        decide_all(ITEMS, ask, on_error="abstain", **POOL)
    assert "adecide_all" in caught.value.fix
