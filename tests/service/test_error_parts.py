"""Programs get the four parts of an error: field, value, rule and fix."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import InvalidInput, InvalidPrediction, UnknownClass
from quorate.service.api.uploads import NotAnImage
from quorate.service.domain.settings import ProjectSettings
from quorate.service.problems import LinkOver, NotAllowed, UnknownLink, parts
from quorate.session.inputs import class_number, parse_prediction
from quorate.validate import invalid


def refused(call, *arguments, **named):
    with pytest.raises(InvalidInput) as raised:
        call(*arguments, **named)
    return parts(raised.value)


def settings(**given_):
    made = ProjectSettings(**{"classes": ["cat", "dog"], "pool_size": 5} | given_)
    made.check_limits()
    return made


@pytest.mark.parametrize(
    ("wrong", "rule", "fix"),
    [
        ([0.5, 0.6], "a sum of 1 (within", "Are these percentages"),
        ([0.5, -0.6], "probabilities, which are", "Pass probabilities, not logits"),
        ([float("nan"), 1], "finite probabilities", "Drop the item's prediction"),
        ([1.0], "at least 2 classes", "For one score"),
        ([0.2, 0.3, 0.5], "2 probabilities: one for each of ['cat', 'dog']", "pass one for each class."),
        ("cow", "a class of", "Use one of: cat, dog."),
        ({"cat": 7}, "a number in [0, 1]", "did you mean 0.07?"),
    ],
)
def test_what_is_wrong_with_a_prediction(wrong, rule, fix):
    told = refused(parse_prediction, wrong, ["cat", "dog"], 1, item="a; expected b; c")
    assert told["field"] == "prediction"
    assert told["rule"].startswith(rule)
    assert told["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("given_", "field", "value", "rule"),
    [
        ({"pool_size": 0}, "pool_size", 0, "a whole number >= 1"),
        ({"audit_rate": 2.0}, "audit_rate", 2.0, "a number in [0, 1]"),
        ({"classes": ["a", "a"]}, "classes", "['a', 'a']", "at least 2 different names"),
        ({"classes": ["cat", ""]}, "classes", "", "non-empty strings"),
        ({"classes": [f"c{number}" for number in range(2000)]}, "classes", "2000 names", "at most"),
        ({"classes": ["cat", "x" * 300]}, "classes", "x" * 120 + "…", "text of at most 100 characters"),
        ({"currency": "a=b; expected x; y z"}, "currency", "a=b; expected x; y z", "text of at most 8 characters"),
        ({"target_error": 0.0}, "target_error", 0, "a share above 0"),
        ({"target_error": 0.1, "audit_rate": 0.0}, "audit_rate", 0, "a share above 0 with a `target_error`"),
        ({"budget": 2.0, "threshold": 0.9}, "budget", 2.0, "no other goal together with `threshold`"),
        ({"min_votes": 3, "max_votes": 2}, "max_votes", 2, "at least `min_votes`, which is 3"),
        ({"budget": 2.0, "min_votes": 3}, "budget", 2.0, "at least `min_votes`, which is 3"),
        ({"method": "quorat"}, "method", "quorat", "one of: quorate"),
        ({"method": "value:error_cost"}, "method", "value:error_cost", "the name of a method"),
        ({"method": "finexp:threshold=0.8", "threshold": 0.9}, "method", "finexp:threshold=0.8", "one value for each"),
        ({"method": "value:hyperprior=flat"}, "hyperprior", "flat", "one of ['adaptive', 'default',"),
        ({"method": "value:gain=1"}, "method", "gain=1", "parameters of value: error_cost"),
    ],
)
def test_what_is_wrong_with_settings(given_, field, value, rule):
    told = refused(settings, **given_)
    assert (told["field"], told["value"]) == (field, value)
    assert told["rule"].startswith(rule)
    assert told["fix"]


def test_settings_that_cannot_change():
    told = refused(settings().changed, method="finexp")
    assert (told["field"], told["value"]) == ("method", "finexp")
    assert told["rule"].startswith("'value', ") and told["fix"]


@pytest.mark.parametrize(
    "error",
    [
        invalid("f", [1], "r", "x", error=InvalidPrediction),
        UnknownLink("wrong", "fix"),
        LinkOver("wrong", "fix"),
        NotAllowed("wrong", "fix", field="role", rule="owner", value="v"),
        invalid("file", "12 bytes", "an image", "convert it", error=NotAnImage),
    ],
)
def test_an_error_survives_a_trip_to_another_process(error):
    again = pickle.loads(pickle.dumps(error))  # our own bytes
    assert type(again) is type(error)
    assert (str(again), parts(again)) == (str(error), parts(error))


@given(st.text(max_size=300))
def test_any_message_has_a_field_a_rule_and_a_fix(message):
    told = parts(InvalidInput(message))
    assert set(told) == {"field", "value", "rule", "fix"}
    assert all(told[name] for name in ("field", "rule", "fix"))


def test_an_unknown_class_is_quoted_unchanged():
    with pytest.raises(UnknownClass) as raised:
        class_number('it\'s "x"; expected y', ["cat", "dog's"])
    assert parts(raised.value)["value"] == 'it\'s "x"; expected y'
    assert parts(raised.value)["fix"] == "Use one of: cat, dog's."
