"""A decision without a session, and the sentence made of it."""

from dataclasses import dataclass

import pytest

from quorate.commands.decide import decide_once, explain
from quorate.errors import PolicyError
from quorate.methods import ANONYMOUS, method
from quorate.model.decision.counting import Quorum


@pytest.mark.parametrize("name", ANONYMOUS)
def test_every_method_decides_and_explains_itself(name):
    chosen = method(name)
    decision = decide_once(chosen, prediction=[0.6, 0.4], votes=[1, 1], pool_size=7, classes=["yes", "no"])
    assert "{" not in explain(decision, chosen, pool_size=7)


def test_a_full_pool_is_exhausted():
    decision = decide_once(method("ask-all"), votes=[2, 1], pool_size=3, classes=["yes", "no"])
    assert (decision.reason, decision.label, decision.confidence) == ("exhausted", "yes", 1.0)


@dataclass(frozen=True)
class BrokenQuota(Quorum):
    """A policy whose quota is nonsense."""

    name = "broken"

    def quota(self, item, rng):
        return "many"


def test_a_quota_that_is_no_number_is_refused():
    with pytest.raises(PolicyError, match=r"quota.*'many'"):
        decide_once(method(BrokenQuota()), votes=[1, 0], pool_size=3, classes=["yes", "no"])
