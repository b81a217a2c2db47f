"""Every method's policy, and a user's, goes through the shared checks; broken ones are caught."""

import numpy as np
import pytest

from quorate.decision.rules import rule_asks, rule_of
from quorate.errors import PolicyError
from quorate.methods import ANONYMOUS, METHODS, method
from quorate.testing import check_policy
from quorate.types import Item
from tests.refusals import refused


@pytest.mark.parametrize("name", METHODS)
def test_every_policy_of_ours_passes_the_shared_checks(name):
    check_policy(method(name).policy)


@pytest.mark.parametrize("policy", [method(name).policy for name in ANONYMOUS])
def test_the_compiled_rule_says_what_the_class_says(policy):
    rng = np.random.default_rng(3)
    rule = rule_of(policy)
    for _ in range(300):
        votes = rng.integers(5, size=4)
        probs = rng.dirichlet(np.ones(4) * rng.choice([0.1, 1.0]))
        alpha = rng.gamma(1.0, 2.0, 4) + 0.01
        item = Item(probs, probs[None], votes, int(votes.sum()) + int(rng.integers(1, 6)), alpha=alpha)
        compiled = rule_asks(*rule, probs, votes, item.num_remaining, alpha, np.zeros((0, 0)), 0.0)
        assert policy.asks(policy.init(4), item, probs) == compiled


class Good:
    name = "good"

    def init(self, num_classes):
        return {"seen": 0}

    def quota(self, state, item, *, rng):
        return int(rng.integers(4))

    def asks(self, state, item, probs):
        return bool(probs.max() < 0.9)

    def update(self, state, closed):
        return {"seen": state["seen"] + 1}


def test_a_users_policy_passes():
    check_policy(Good())


def invalid(**changes):
    return type("Broken", (Good,), changes)()


def forgetful_rng():
    draws = np.random.default_rng()
    return lambda self, state, item, *, rng: int(draws.integers(1000000))


def in_place(self, state, closed):
    state["seen"] += 1
    return state


def writes(self, state, item, probs):
    probs[0] = 1.0
    return True


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (object(), "policy"),
        (Good, "policy"),
        (invalid(name=""), "name"),
        (invalid(stop_reason="because"), "stop_reason"),
        (invalid(quota=forgetful_rng()), "policy"),
        (invalid(quota=lambda self, state, item, *, rng: -1), "quota()"),
        (invalid(quota=lambda self, state, item, *, rng: 1.5), "quota()"),
        (invalid(asks=lambda self, state, item, probs: 1), "asks()"),
        (invalid(asks=writes), "asks()"),
        (invalid(update=in_place), "update()"),
        (invalid(init=lambda self, num_classes: np.zeros(2)), "state"),
        (invalid(init=lambda self, num_classes: (1, 2)), "state"),
    ],
)
def test_a_broken_policy_is_caught_and_told_why(policy, field):
    with refused(field, PolicyError):
        check_policy(policy)
