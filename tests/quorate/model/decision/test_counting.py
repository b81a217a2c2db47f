import numpy as np
import pytest
from tests.refusals import refused

from quorate.errors import InvalidInput
from quorate.model.decision.counting import AskAll, Quorum, UnanimousThenCap, UntilSettled
from quorate.model.decision.rules import rule_asks, rule_of
from quorate.model.decision.threshold import Threshold
from quorate.types import Item

PROBS = np.array([0.6, 0.4])


def item(*votes):
    prediction = np.array([0.5, 0.5])
    return Item(prediction, prediction[None], np.array(votes), 9, probs=PROBS)


def both(policy, votes):
    """The class and its compiled rule must agree."""
    seen = item(*votes)
    answer = policy.ask(seen)
    alpha, no_costs = np.ones(len(PROBS)), np.zeros((0, 0))
    rule = rule_of(policy)
    assert rule_asks(rule, PROBS, seen.votes, seen.num_remaining, alpha, no_costs, 0.0) == answer
    return answer


@pytest.mark.parametrize(
    ("policy", "votes", "asks"),
    [
        (Quorum(2), (1, 1), True),
        (Quorum(2), (2, 1), False),
        (Quorum(0), (0, 0), False),
        (UnanimousThenCap(3, 5), (2, 0), True),
        (UnanimousThenCap(3, 5), (3, 0), False),
        (UnanimousThenCap(3, 5), (2, 1), True),
        (UnanimousThenCap(3, 5), (3, 2), False),
        (AskAll(), (4, 0), True),
        (UntilSettled(), (4, 0), True),
        (Threshold(0.6), (0, 0), True),
        (Threshold(0.59), (0, 0), False),
    ],
)
def test_the_rule_does_what_it_says(policy, votes, asks):
    assert both(policy, votes) is asks


def test_a_cap_below_the_first_votes_is_refused():
    with refused("cap", value=2):
        UnanimousThenCap(3, 2)


@pytest.mark.parametrize(
    "build", [lambda: Quorum(-1), lambda: Quorum(1.5), lambda: Threshold(2), lambda: Threshold(True)]
)
def test_parameters_outside_their_range_are_refused(build):
    with pytest.raises(InvalidInput):
        build()
