"""Every method, and a user's own parts, go through the shared checks; broken ones are caught."""

import numpy as np
import pytest

from quorate.errors import PolicyError, QuorateError
from quorate.methods import ANONYMOUS, METHODS, Method, method
from quorate.model.decision.rules import rule_asks, rule_of
from quorate.testing import check_method, check_policy
from quorate.types import Item
from tests.refusals import refused


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_ours_passes_the_shared_checks(name):
    check_method(name, num_items=30, num_classifiers=1 + (name == "finexp"))


@pytest.mark.parametrize("policy", [method(name).policy for name in ANONYMOUS])
def test_the_compiled_rule_says_what_the_class_says(policy):
    rng = np.random.default_rng(3)
    rule = rule_of(policy)
    for _ in range(300):
        votes = rng.integers(5, size=4)
        probs = rng.dirichlet(np.ones(4) * rng.choice([0.1, 1.0]))
        alpha = rng.gamma(1.0, 2.0, 4) + 0.01
        item = Item(probs, probs[None], votes, int(votes.sum()) + int(rng.integers(1, 6)), None, alpha, probs)
        compiled = rule_asks(rule, probs, votes, item.num_remaining, alpha, np.zeros((0, 0)), 0.0)
        assert policy.ask(item) == compiled


class Good:
    name = "good"

    def init(self, num_classes):
        return {"seen": 0}

    def quota(self, item, rng):
        return int(rng.integers(4))

    def ask(self, item):
        return bool(item.probs.max() < 0.9)

    def update(self, item):
        return {"seen": item.state["seen"] + 1}


def test_a_users_policy_passes():
    check_policy(Good())


def invalid(**changes):
    return type("Broken", (Good,), changes)()


def forgetful_rng():
    draws = np.random.default_rng()
    return lambda self, item, rng: int(draws.integers(1000000))


def in_place(self, item):
    item.state["seen"] += 1
    return item.state


def writes(self, item):
    item.probs[0] = 1.0
    return True


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (object(), "policy"),
        (Good, "policy"),
        (invalid(name=""), "name"),
        (invalid(stop_reason="because"), "stop_reason"),
        (invalid(quota=forgetful_rng()), "policy"),
        (invalid(quota=lambda self, item, rng: -1), "quota()"),
        (invalid(quota=lambda self, item, rng: 1.5), "quota()"),
        (invalid(ask=lambda self, item: 1), "ask()"),
        (invalid(ask=writes), "ask()"),
        (invalid(update=in_place), "update()"),
        (invalid(init=lambda self, num_classes: np.zeros(2)), "state"),
        (invalid(init=lambda self, num_classes: (1, 2)), "state"),
    ],
)
def test_a_broken_policy_is_caught_and_told_why(policy, field):
    with refused(field, PolicyError):
        check_policy(policy)


class Prior:
    def alpha(self, prediction, params):
        return 2 * prediction + 0.1


class Learner:
    def start(self, num_classes, num_classifiers):
        return {"strength": 1.0}

    def learn(self, predictions, votes, params):
        return {"strength": params["strength"] + float(votes.sum())}


class Strength(Prior):
    def alpha(self, prediction, params):
        return np.sqrt(params["strength"]) * prediction + 0.1


def draws_alpha():
    draws = np.random.default_rng(1)
    return lambda self, prediction, params: prediction + draws.random()


def spoils(self, predictions, votes, params):
    votes[0] = 0
    return params


def own(**changes):
    """A method of own parts, one of their methods changed."""
    return Method(policy="finexp", prior=type("P", (Strength,), changes)(), learner=type("L", (Learner,), changes)())


def test_a_users_prior_and_learner_pass():
    check_method(own(), num_items=45)
    check_method(Method(policy="value", prior=Prior(), learner=None))


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        (own(alpha=lambda self, prediction, params: prediction[:-1]), "alpha()"),
        (own(alpha=lambda self, prediction, params: -prediction), "alpha()"),
        (own(alpha=draws_alpha()), "alpha()"),
        (own(learn=lambda self, predictions, votes, params: {1, 2}), "learn()"),
        (own(learn=lambda self, predictions, votes, params: {"strength": np.random.default_rng().random()}), "learn()"),
        (own(learn=spoils), "learn()"),
    ],
)
def test_a_broken_prior_or_learner_is_caught_and_told_why(broken, field):
    with refused(field, QuorateError):
        check_method(broken)
