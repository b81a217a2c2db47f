"""One sentence for each way an item is asked or closed."""

from typing import get_args

import numpy as np
import pytest

from quorate.decision.counting import UntilSettled
from quorate.decision.threshold import Threshold
from quorate.decision.value import ValueOfInformation, optimistic_gain
from quorate.service.pages.explain import REASONS, SHORT, Decided, audit_sentence, because
from quorate.types import Reason


def decided(reason="not_worth_it", votes=(3, 0), probs=(0.98, 0.02), **more):
    usual = {"pool_size": 9, "pool_left": 9, "min_votes": 0, "most_votes": None}
    return Decided(reason, "cat", max(probs), probs, votes, **(usual | more))


def test_every_reason_has_a_name_and_a_sentence():
    assert set(SHORT) == set(get_args(Reason))
    for reason in get_args(Reason):
        sentence = because(decided(reason), Threshold(0.9))
        assert sentence.startswith("Asked" if reason == "ask" else "Closed")
        assert sentence.endswith(".")
    assert set(REASONS) | {"rule"} == set(get_args(Reason))


def test_the_worth_of_a_vote_is_the_one_the_policy_compares():
    sentence = because(decided(votes=(3, 0), probs=(0.7, 0.3)), ValueOfInformation(min_gain=0.2))
    gain = optimistic_gain(np.array([0.7, 0.3]), np.array([3, 0]), 6)
    assert gain == pytest.approx(0.3 / 4)
    assert "at most 7.5 points of accuracy, less than the 20 points" in sentence


def test_what_is_asked_says_what_it_waits_for():
    policy = ValueOfInformation(min_gain=0.01)
    assert because(decided("ask", (1, 0), (0.7, 0.3)), policy).startswith("Asked again after 1 vote: a second vote may")
    assert "each item gets at least 2 votes" in because(decided("ask", (1, 0), min_votes=2), policy)
    assert "70\u00a0% sure that the pool of 9 would say 'cat', below the threshold of 95\u00a0%" in because(
        decided("ask", (1, 0), (0.7, 0.3)), Threshold(0.95)
    )
    assert because(decided("ask", (0, 0), (0.6, 0.4)), UntilSettled()).startswith("Asked: the method's rule")


def test_without_votes_and_with_abstentions():
    assert because(decided("confident", (0, 0)), Threshold(0.95)).startswith("Closed without a vote: 98\u00a0% sure")
    assert "the pool of 9 (less 2 who cannot tell)" in because(decided("settled", num_abstained=2, pool_left=7), None)


def test_the_coin_is_told_with_what_became_of_it():
    assert audit_sentence(None, None, None) is None
    assert "did not draw" in audit_sentence(None, 0.05, None)
    assert "still voted on" in audit_sentence("drawn", 0.05, None)
    assert "says something else" in audit_sentence("done", 0.05, 1.0)
    assert "is tied" in audit_sentence("done", 0.05, 0.5)
