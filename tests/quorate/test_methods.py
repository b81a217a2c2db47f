import json

import numpy as np
import pytest

from quorate import Session, run
from quorate.errors import InvalidInput, UnknownMethod
from quorate.methods import METHODS, Method, method
from quorate.methods.encoding import method_data, method_from
from quorate.methods.entries import parameter_text
from quorate.model.decision.error_costs import DEFAULT_ERROR_COST
from quorate.model.decision.threshold import Threshold
from quorate.model.prior import Hyperprior
from tests.refusals import refused

WRONG = (0, -1, float("inf"), float("nan"), 10**400, "200", True, [200])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_builds_with_its_defaults_and_comes_back_from_its_data_and_its_parameters(name):
    built = method(name)
    data = json.loads(json.dumps(method_data(built)))
    assert method_from(data) == method(name, **built.parameters) == built
    assert built.label == name


def test_the_recommended_default_learns_a_bias_and_stops_by_value():
    built = method("value")
    assert built.learner.bias
    assert built.policy.error_cost == DEFAULT_ERROR_COST == 200
    assert built.asking.posterior == "finite"
    assert set(built.parameters) == {"error_cost"}


class FourVotes:
    """A prior of one's own."""

    def alpha(self, prediction, params):
        return 4.0 * prediction + 0.05


def test_a_part_alone_is_put_into_the_default_or_into_a_method_of_ours():
    prior = FourVotes()
    assert Method(prior=prior) == method(method("value").policy, prior=prior)
    named = method("finexp:threshold=0.9", prior=prior, learner=None, name="four-votes")
    assert (named.name, named.prior, named.learner, named.policy) == ("four-votes", prior, None, Threshold(0.9))


def test_fixed_ask_asks_with_the_fixed_prior_and_predicts_with_the_learned_one():
    built = method("fixed-ask-infexp")
    assert (built.asking.learned, built.predicting.learned) == (False, True)
    assert built.learner is not None
    assert method("fixed-infexp").learner is None


def test_a_hyperprior_may_be_named_or_given():
    assert method("finexp", hyperprior="infexp").learner.hyperprior == Hyperprior(3.0, 2.0)
    own = method("finexp", hyperprior=Hyperprior(2.0, 3.0))
    assert own.learner.hyperprior == Hyperprior(2.0, 3.0)
    assert method_from(method_data(own)) == own
    each = method("finexp", hyperprior=Hyperprior(theta=(4.0, 0.5), phi=(1.2, 3.0), tau=(6.0, 5.0)))
    assert method_from(json.loads(json.dumps(method_data(each)))) == each
    assert all(text in each.label for text in ("theta 4/0.5", "phi 1.2/3", "tau 6/5"))


@pytest.mark.parametrize(
    ("name", "shape", "rate"),
    [("finexp", 1.1, 1.0), ("fixed-ask-finexp", 1.1, 1.0), ("infexp", 3.0, 2.0), ("fixed-ask-infexp", 3.0, 2.0)],
)
def test_the_papers_methods_have_the_papers_hyperpriors_and_show_any_other(name, shape, rate):
    assert method(name).learner.hyperprior == Hyperprior(shape, rate)
    assert parameter_text(method(name).parameters) == "threshold 0.95"
    assert method(name, hyperprior=Hyperprior(shape, rate)) == method(name)
    assert "hyperprior value" in parameter_text(method(name, hyperprior="value").parameters)


@pytest.mark.parametrize(
    ("call", "error", "field"),
    [
        (lambda: method("finxp"), UnknownMethod, "method"),
        (lambda: method("finexp", scale=2), UnknownMethod, "method"),
        (lambda: method("ask-all", threshold=1), UnknownMethod, "method"),
        (lambda: method("value", threshold=0.9), UnknownMethod, "method"),
        (lambda: method("value", choose="nobody"), InvalidInput, "choose"),
        *((lambda wrong=wrong: method("value", error_cost=wrong), InvalidInput, "error_cost") for wrong in WRONG),
        (lambda: method("panel", error_cost=-1), InvalidInput, "error_cost"),
        (lambda: method("finexp", threshold=1.5), InvalidInput, "threshold"),
        (lambda: method("finexp", hyperprior="flat"), InvalidInput, "hyperprior"),
        (lambda: method(object()), UnknownMethod, "policy"),
        (lambda: method(Threshold), UnknownMethod, "policy"),
        (lambda: Method(policy=Threshold(0.5), prior=Threshold(0.5)), UnknownMethod, "prior"),
        (lambda: Method(policy=Threshold(0.5), learner="nobody"), UnknownMethod, "learner"),
        (lambda: method("finexp", prior="nobody"), UnknownMethod, "prior"),
        (lambda: method("finexp", learner="infexp", window=9), InvalidInput, "window"),
        (lambda: Method(policy=Threshold(0.5), learner=Threshold(0.5)), UnknownMethod, "learner"),
        (lambda: method(Threshold(0.5), posterior="banana"), InvalidInput, "posterior"),
        (lambda: method("finexp", hyperprior={"shape": 2.0}), InvalidInput, "hyperprior"),
        (lambda: method("finexp", window=0), InvalidInput, "window"),
        (lambda: method("finexp", refit_every=0), InvalidInput, "refit_every"),
    ],
)
def test_mistakes_are_named(call, error, field):
    with refused(field, error):
        call()


def test_numpy_numbers_are_fine_as_parameters():
    built = method("quorum", votes=np.int64(3))
    assert json.dumps(built.describe()) and json.dumps(method_data(built))
    assert method("finexp", threshold=np.float32(0.5)).parameters["threshold"] == 0.5


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("value:choose=agreement", "value", {"choose": "agreement"}),
        ("unanimous-then-cap:first=3, cap=5", "unanimous-then-cap", {"first": 3, "cap": 5}),
        ("finexp", "finexp", {}),
    ],
)
def test_methods_are_written_in_python_as_on_the_command_line(text, name, parameters):
    assert method(text) == method(name, **parameters)
    assert Session(text, classes=["a", "b"], pool_size=9).method == method(name, **parameters)


def test_a_run_takes_the_same_text():
    votes = np.tile([[0, 0, 1], [1, 1, 1]], (10, 1))
    assert run(votes, method="quorum:votes=2").method == method("quorum", votes=2)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (lambda: method("quorum:vote=3"), "'quorum:votes=3'"),
        (lambda: method("quorum", vote=3), " votes=3"),
        (lambda: run(np.zeros((3, 3), dtype=int), method="quorum:vote=3"), "'quorum:votes=3'"),
        (lambda: run(np.eye(3, dtype=int), order="agreement"), "'value:choose=agreement'"),
    ],
)
def test_an_unknown_parameter_names_the_syntax_of_the_place_where_it_was_written(wrong, right):
    with pytest.raises(InvalidInput) as caught:
        wrong()
    assert right in caught.value.fix
