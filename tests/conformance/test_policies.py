"""Every method's policy, and a user's, goes through the shared checks; broken ones are caught."""

import numpy as np
import pytest

from quorate.errors import PolicyError
from quorate.methods import METHODS, method
from quorate.testing import check_policy


@pytest.mark.parametrize("name", METHODS)
def test_every_policy_of_ours_passes_the_shared_checks(name):
    check_policy(method(name).policy)


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


def broken(**changes):
    return type("Broken", (Good,), changes)()


def forgetful_rng():
    draws = np.random.default_rng()
    return lambda self, state, item, *, rng: int(draws.integers(1000000))


def writes(self, state, item, probs):
    probs[0] = 1.0
    return True


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (object(), "lacks name, init"),
        (broken(name=""), "non-empty string"),
        (broken(stop_reason="because"), "stop_reason='because'"),
        (broken(quota=forgetful_rng()), "same seed gave different"),
        (broken(quota=lambda self, state, item, *, rng: -1), "quota.. returned -1"),
        (broken(quota=lambda self, state, item, *, rng: 1.5), "quota.. returned 1.5"),
        (broken(asks=lambda self, state, item, probs: 1), "asks.. returned 1"),
        (broken(asks=writes), "changed an array|writes to an array"),
        (broken(init=lambda self, num_classes: np.zeros(2)), "does not survive JSON"),
        (broken(init=lambda self, num_classes: (1, 2)), "comes back from JSON"),
    ],
)
def test_a_broken_policy_is_caught_and_told_why(policy, words):
    with pytest.raises(PolicyError, match=words):
        check_policy(policy)
