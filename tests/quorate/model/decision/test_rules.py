"""Many items in one compiled call get the same decisions as from the session's `decide`."""

from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.methods import method
from quorate.model.prior import hyperprior
from quorate.session.batch import decide_items, decider
from quorate.session.decide import decide, learned_of
from quorate.session.items import opened
from quorate.types import PriorParams

POOL = 7
EVENT = {"pool_size": POOL, "quota": None, "tie_draw": 0.0, "min_votes": 0, "max_votes": None}
STATELESS = [
    "value", "finexp", "infexp", "fixed-finexp", "fixed-infexp", "fixed-ask-finexp",
    "fixed-ask-infexp", "ask-all", "until-settled", "quorum", "unanimous-then-cap", "beta",
]  # fmt: skip


def items(num_models, num_classes=4, count=60):
    rng = np.random.default_rng(num_models)
    predictions = rng.dirichlet(np.full(num_classes, 0.4), size=(count, num_models)) + 1e-6
    predictions /= predictions.sum(axis=-1, keepdims=True)
    votes = np.array([rng.multinomial(rng.integers(0, POOL + 1), row.mean(axis=0)) for row in predictions])
    return predictions, votes


def learned(num_models, num_classes=4):
    rng = np.random.default_rng(9)
    tau = rng.uniform(0.2, 2, size=(num_models, num_classes))
    return PriorParams(5.0, 0.2, tau[0] if num_models == 1 else tau, rng.normal(size=num_classes))


@pytest.mark.parametrize("num_models", [1, 3])
@pytest.mark.parametrize("name", STATELESS)
def test_every_row_is_what_the_session_would_decide(name, num_models):
    chosen, params = method(name), learned(num_models)
    predictions, votes = items(num_models)
    how = decider(chosen, params, POOL)
    found = how.decide(predictions, votes)
    reasons = how.reasons(found.codes)
    assert "ask" in reasons and len(set(reasons)) > 1
    for row in range(len(votes)):
        item = replace(opened(EVENT | {"prediction": predictions[row]}, 0), votes=votes[row])
        verdict = decide(chosen, learned_of(params, 0), None, item)
        assert (verdict.reason, verdict.label) == (reasons[row], found.labels[row])
        np.testing.assert_allclose(found.probs[row], verdict.probs, rtol=1e-12, atol=1e-15)


def test_a_users_own_policy_has_no_compiled_rule_and_is_asked_row_by_row():
    class Own(type(quorate.method("value").policy)):
        """The same rule, in a class of its own."""

    ours = quorate.method("value")
    own = replace(ours, policy=Own(ours.policy.error_cost))
    predictions, votes = items(2)
    assert decider(own, learned(2), POOL) is None
    found, reasons = decide_items(own, learned(2), predictions, votes, pool_size=POOL, quota=5)
    same, why = decide_items(ours, learned(2), predictions, votes, pool_size=POOL, quota=5)
    assert reasons.tolist() == why.tolist()
    assert {"ask", "quota"} < set(why)
    assert found.labels.tolist() == same.labels.tolist()
    np.testing.assert_allclose(found.probs, same.probs, rtol=1e-12, atol=1e-15)


def test_a_row_does_not_depend_on_its_neighbours():
    predictions, votes = items(2, count=37)
    how = decider(quorate.method("infexp"), learned(2), POOL)
    whole = how.decide(predictions, votes)
    for row in range(len(votes)):
        one = how.decide(predictions[row : row + 1], votes[row : row + 1])
        assert np.array_equal(one.probs[0], whole.probs[row])


def test_ties_go_to_the_first_class():
    start = hyperprior("infexp").mode(4, 1, with_bias=False)
    how = decider(quorate.method("finexp"), start, POOL)
    found = how.decide(np.full((1, 1, 4), 0.25), np.array([[0, 2, 2, 0]]))
    assert found.labels[0] == 1
