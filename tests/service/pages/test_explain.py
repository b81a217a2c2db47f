"""One sentence for each reason why an item asks for votes or is closed."""

from typing import get_args

import numpy as np
import pytest

from quorate.decision.blended import BlendedValue
from quorate.decision.counting import UntilSettled
from quorate.decision.threshold import Threshold
from quorate.decision.value import optimistic_gain
from quorate.reasons import SHORT
from quorate.service.pages.explain import REASONS, DecisionFacts, audit_sentence, because, timeline
from quorate.types import Item, Reason


def decided(reason="not_worth_it", votes=(3, 0), probs=(0.98, 0.02), **more):
    usual = {"pool_size": 9, "pool_left": 9, "min_votes": 0, "most_votes": None, "classes": ("cat", "dog", "cow")}
    return DecisionFacts(reason, "cat", max(probs), probs, votes, **(usual | more))


def test_every_reason_has_a_name_and_a_sentence():
    assert set(SHORT) == set(get_args(Reason))
    for reason in get_args(Reason):
        sentence = because(decided(reason), Threshold(0.9))
        assert sentence.startswith("Asked" if reason == "ask" else "Closed")
        assert sentence.endswith(".")
    assert set(REASONS) | {"rule"} == set(get_args(Reason))


def test_the_worth_of_a_vote_is_the_one_the_policy_compares():
    sentence = because(decided(votes=(3, 0), probs=(0.7, 0.3)), BlendedValue(error_cost=5))
    gain = optimistic_gain(np.array([0.7, 0.3]), np.array([3, 0]), 6)
    assert gain == pytest.approx(0.3 / 4)
    assert "at most 7.5 points of accuracy, not more than the 20 points" in sentence


def test_a_tiny_gain_is_named_as_such():
    sentence = because(decided(votes=(4, 0), probs=(1 - 1e-6, 1e-6)), BlendedValue(error_cost=100))
    assert "a fifth vote was worth less than 0.01 points of accuracy, not more than the 1 point it" in sentence
    asked = because(decided("ask", (4, 0), (0.99, 0.01)), BlendedValue(error_cost=1e06))
    assert "points of accuracy, more than it must exceed;" in asked


@pytest.mark.parametrize("reason", ["exhausted", "settled"])
@pytest.mark.parametrize(
    ("votes", "probs", "said"),
    [
        ((2, 2, 1), (0.5, 0.5, 0.0), "'cat' and 'dog' tie at 2 votes each, and the answer was drawn between them"),
        ((1, 1, 1), (1 / 3,) * 3, "'cat', 'dog' and 'cow' tie at 1 vote each, and the answer was drawn among them"),
        ((2, 2, 1), (0.6, 0.3, 0.1), "'cat' and 'dog' tie at 2 votes each, and 'cat' is more likely"),
        ((0, 0, 0), (0.6, 0.3, 0.1), "nobody gave a vote, and 'cat' is the best guess"),
    ],
)
def test_a_tie_is_called_a_tie(reason, votes, probs, said):
    size = sum(votes)
    sentence = because(decided(reason, votes, probs, pool_size=size, pool_left=size), None)
    assert f"everybody of the pool of {size} was asked; {said}" in sentence
    assert "most votes" not in sentence
    assert "overtaken" not in sentence


@pytest.mark.parametrize("reason", ["ask", "confident", "not_worth_it", "quota", "closed", "rule"])
def test_nothing_is_said_to_lead_in_a_tie_of_beliefs(reason):
    for probs, tied in (((0.4, 0.4, 0.2), "'cat' and 'dog' tie"), ((1 / 3,) * 3, "'cat', 'dog' and 'cow' tie")):
        sentence = because(decided(reason, (1, 1, 0), probs), Threshold(0.9))
        assert tied in sentence
        assert "sure that" not in sentence
        assert ("drawn" in sentence) == (reason != "ask")
    many = decided(reason, (0,) * 10, (0.1,) * 10, classes=tuple("abcdefghij"))
    assert "10 classes tie" in because(many, Threshold(0.9))
    assert "sure that" in because(decided(reason, (1, 1, 0), (0.41, 0.4, 0.19)), Threshold(0.9))


def test_the_winner_of_the_whole_pool_is_named():
    sentence = because(decided("exhausted", (3, 2, 0), (1.0, 0.0, 0.0), pool_size=5, pool_left=5), None)
    assert sentence == "Closed after 5 votes: everybody of the pool of 5 was asked; 'cat' has most votes."


def test_the_sentence_of_an_open_item_says_why_it_asks():
    policy = BlendedValue(error_cost=100)
    assert because(decided("ask", (1, 0), (0.7, 0.3)), policy).startswith("Asked again after 1 vote: a second vote may")
    assert "each item gets at least 2 votes" in because(decided("ask", (1, 0), min_votes=2), policy)
    assert "70\u00a0% sure that the pool of 9 would say 'cat', not above the threshold of 95\u00a0%" in because(
        decided("ask", (1, 0), (0.7, 0.3)), Threshold(0.95)
    )
    assert because(decided("ask", (0, 0), (0.6, 0.4)), UntilSettled()).startswith("Asked: the method's rule")


@pytest.mark.parametrize("confidence", [0.95, 0.9499, 0.9501])
def test_at_the_threshold_the_sentence_says_what_the_rule_does(confidence):
    """The rule asks at equality, so the sentence must not say "below", nor that the item closed at it."""
    policy, probs = Threshold(0.95), (confidence, 1 - confidence)
    item = Item(np.array(probs), np.array([probs]), np.array([1, 0]), 9)
    asks = policy.asks(None, item, np.array(probs))
    assert asks == (confidence <= 0.95)
    sentence = because(decided("ask" if asks else "confident", (1, 0), probs), policy)
    assert ("not above the threshold" in sentence) == asks
    assert "below" not in sentence
    assert "at or above" not in sentence


def test_a_gain_that_equals_the_least_is_not_said_to_be_less():
    probs, votes = np.array([0.7, 0.3]), np.array([3, 0])
    policy = BlendedValue(error_cost=1 / float(optimistic_gain(probs, votes, 6)))
    assert not policy.asks(None, Item(probs, probs[None], votes, 9), probs)
    assert "less than" not in because(decided("not_worth_it", (3, 0), (0.7, 0.3)), policy)


def test_without_votes_and_with_abstentions():
    assert because(decided("confident", (0, 0)), Threshold(0.95)).startswith("Closed without a vote: 98\u00a0% sure")
    assert "the pool of 9 (less 2 who cannot tell)" in because(decided("settled", num_abstained=2, pool_left=7), None)


def test_the_audit_sentence_has_the_draw_and_its_result():
    assert audit_sentence(None, None, None) is None
    assert "Not drawn" in audit_sentence(None, 0.05, None)
    assert "still voted on" in audit_sentence("drawn", 0.05, None)
    assert "says something else" in audit_sentence("done", 0.05, 1.0)
    assert "is tied" in audit_sentence("done", 0.05, 0.5)


DECIDED = {"ask": True, "label": "cat", "confidence": 0.6, "reason": "ask", "params": 1, "tune": 0}
AGAIN = {"probs": [0.6, 0.4], **{name: DECIDED[name] for name in ("ask", "label", "confidence", "reason")}}


def told(*acts):
    """The steps of these acts: (kind, voter, label)."""
    events = [
        {"seq": seq, "time": float(seq), "type": kind, "voter": voter, "decision": DECIDED, "recomputed": AGAIN}
        | ({"label": label} if label else {})
        for seq, (kind, voter, label) in enumerate(acts, start=1)
    ]
    return timeline(events, ["cat", "dog"], {})


def test_each_step_counts_the_votes_and_abstentions_there_were_then():
    steps = told(
        ("open", None, None), ("abstain", "ada", None), ("vote", "ben", "dog"), ("abstain", "eve", None),
        ("retract", "ada", None), ("vote", "ada", "cat"), ("skip", "fay", None),
    )  # fmt: skip
    assert [step.num_abstained for step in steps] == [0, 1, 1, 2, 1, 1, 1]
    assert [step.votes for step in steps] == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (1, 1), (1, 1)]
