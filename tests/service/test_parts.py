"""What an error's words say is told to programs in four members; none is ever empty but the value."""

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import InvalidInput, InvalidPrediction, QuorateError
from quorate.service.deciding.settings import ProjectSettings
from quorate.service.parts import LONGEST, of_message, parts
from quorate.validate import probabilities


def refused(call, *arguments, **named):
    with pytest.raises(InvalidInput) as raised:
        call(*arguments, **named)
    return parts(raised.value)


def settings(**given_):
    return ProjectSettings(**{"classes": ["cat", "dog"], "pool_size": 5} | given_)


@pytest.mark.parametrize(
    ("wrong", "field", "value", "rule", "fix"),
    [
        ([0.5, 0.6], "prediction", "1.1", "1 (within", "Are these percentages"),
        ([0.5, -0.6], "prediction", "-0.6", "probabilities, which are", "Pass probabilities, not logits"),
        ([float("nan"), 1], "prediction", "nan", "finite probabilities", "Drop the item's prediction"),
        ([1.0], "prediction", "(1,)", "at least 2 classes", "For one score"),
    ],
)
def test_what_is_wrong_with_a_prediction(wrong, field, value, rule, fix):
    told = refused(probabilities, wrong, where="prediction for item 'a; b'")
    assert (told["field"], told["value"]) == (field, value)
    assert told["rule"].startswith(rule)
    assert told["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("given_", "field", "value"),
    [
        ({"pool_size": 0}, "pool_size", "0"),
        ({"audit_rate": 2.0}, "audit_rate", "2.0"),
        ({"classes": ["cat", ""]}, "classes", ""),
        ({"classes": [f"c{number}" for number in range(2000)]}, "classes", "2000 names"),
        ({"target_error": 0.0}, "target_error", "0"),
        ({"budget": 2.0, "threshold": 0.9}, "request", None),
    ],
)
def test_what_is_wrong_with_settings(given_, field, value):
    told = refused(settings, **given_)
    assert (told["field"], told["value"]) == (field, value)
    assert told["rule"]
    assert told["fix"]


def test_settings_that_cannot_change():
    told = refused(settings().changed, method="finexp")
    assert (told["field"], told["value"], told["fix"]) == ("method", "finexp", "start a new project for another one.")
    assert "cannot change while a project runs" in told["rule"]


def test_what_an_error_carries_counts_and_survives_a_trip_to_another_process():
    error = InvalidPrediction("words", field="f", value=1, rule="r", fix="x")
    for each in (error, pickle.loads(pickle.dumps(error))):  # our own bytes
        assert parts(each) == {"field": "f", "value": 1, "rule": "r", "fix": "x"}


@given(st.text(max_size=300))
def test_any_message_has_a_field_a_rule_and_a_fix(message):
    told = of_message(message)
    assert set(told) == {"field", "value", "rule", "fix"}
    assert all(told[name] for name in ("field", "rule", "fix"))


@pytest.mark.parametrize("piece", ["a=", "a for item ", "'", "; ", " has ", "= is ", "a="])
def test_no_message_takes_long_to_read(piece):
    started = time.process_time()
    parts(QuorateError(piece * LONGEST))
    assert time.process_time() - started < 1.0
