"""Project settings, and the errors for invalid ones."""

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import quorate
from quorate.errors import InvalidInput
from quorate_service.domain.settings import FIXED, ProjectSettings, goal_control, parameters_of
from tests.refusals import refused

BASE = {"classes": ["cat", "dog"], "pool_size": 5}


def chosen(**more):
    made = ProjectSettings.from_json(BASE | more)
    made.check()
    return made


def test_there_are_at_most_17_settings_and_each_has_a_title():
    assert len(ProjectSettings.model_fields) <= 17
    assert all(info.title for info in ProjectSettings.model_fields.values())


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"pool_size": 0}, "pool_size"),
        ({"pool_size": "5"}, "pool_size"),
        ({"audit_rate": 2.0}, "audit_rate"),
        ({"audit_rate": True}, "audit_rate"),
        ({"classes": "cats"}, "classes"),
        ({"classes": ["a", "a"]}, "classes"),
        ({"classes": ["cat", ""]}, "classes"),
        ({"classes": [f"c{number}" for number in range(201)]}, "classes"),
        ({"classes": ["cat", "x" * 101]}, "classes"),
        ({"currency": "nine euros"}, "currency"),
        ({"instructions": "a\0b"}, "instructions"),
        ({"colour": "red"}, "colour"),
        ({"target_error": 0.0}, "target_error"),
        ({"target_error": 0.1, "audit_rate": 0.0}, "audit_rate"),
        ({"budget": 2.0, "error_cost": 100.0}, "budget"),
        ({"budget": 5.5}, "budget"),
        ({"budget": 2.0, "min_votes": 3}, "budget"),
        ({"min_votes": 3, "max_votes": 2}, "max_votes"),
        ({"min_votes": 6}, "min_votes"),
        ({"max_votes": 0}, "max_votes"),
        ({"pool_size": 10**6}, "pool_size"),
        ({"method": "quorat"}, "method"),
        ({"method": "crowd"}, "method"),
        ({"method": "finexp:threshold=0.3"}, "method"),
        ({"method": "finexp", "error_cost": 100.0}, "error_cost"),
        ({"display_names": {"fox": "Fox"}}, "display_names"),
        ({"display_names": {"cat": "dog"}}, "display_names"),
        ({"display_names": {"cat": " "}}, "display_names"),
        ({"display_names": {"cat": "a\nb"}}, "display_names"),
    ],
)
def test_what_is_wrong_is_named_with_a_rule_and_a_fix(wrong, field):
    with refused(field) as caught:
        chosen(**wrong)
    assert caught.value.rule and caught.value.fix


@pytest.mark.parametrize("name", ["value", "finexp:threshold=0.9"])
def test_of_the_method_only_parameters_of_asking_can_change(name):
    before = chosen(method=name)
    assert FIXED == ("classes", "method")
    for other in ("until-settled", f"{name}{',' if ':' in name else ':'}hyperprior=infexp"):
        with refused("method"):
            before.changed(method=other)
    assert before.changed(method=name.replace("0.9", "0.8")).pool_size == 5
    with pytest.raises(InvalidInput):
        before.changed(classes=["cat", "fox"])
    assert before.changed(classes=["cat", "dog"], price=2.0).price == 2.0


def test_the_audit_rate_cannot_fall():
    with refused("audit_rate"):
        chosen(audit_rate=0.1).changed(audit_rate=0.05)


def test_the_goal_of_a_project_can_change():
    before = chosen(error_cost=100.0)
    assert parameters_of(before) == {"error_cost": 100.0}
    after = before.changed(error_cost=None, budget=2.5)
    assert goal_control(after).asked_for == 2.5 and parameters_of(after)["error_cost"] > 0


NUMBERS = [0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e-300, 1e-12, 1e-6, 0.3, 0.5, 1, 3, 5, 1e9, 1e18, 1e308, 2**63, 10**400]
NUMBERS += [float("inf"), float("-inf"), float("nan"), True]
NUMERIC = [name for name in ProjectSettings.model_fields if name not in ("classes", "method")]
NUMERIC += ["value:error_cost", "finexp:threshold"]


@given(
    st.sampled_from(NUMERIC),
    st.sampled_from(NUMBERS) | st.floats(),
    st.sampled_from([{}, {"budget": 3}, {"target_error": 0.05}]),
)
@example("value:error_cost", 2**63, {})
@settings(max_examples=150, deadline=None)
def test_every_number_of_every_setting_works_or_is_refused_by_name(name, value, goal):
    """Accepted settings do what a project does with them: start, decide, control. A refusal says what to change."""
    told = goal | ({"method": f"{name}={value!r}"} if ":" in name else {name: value})
    try:
        made = chosen(**told)
    except InvalidInput as error:
        assert error.field and error.rule and error.fix
        return
    assert ProjectSettings.from_json(json.loads(json.dumps(made.as_json(), allow_nan=False))) == made
    session = quorate.Session(made.chosen_method(), classes=made.classes, pool_size=made.pool_size)
    session.open("x")
    control = goal_control(made)
    for _ in range(3 if control is not None else 0):
        control = control.closed(num_votes=3, confidence=0.9, settled=False, audited_error=1.0)
        assert all(math.isfinite(each) for each in control.parameters.values())


def test_a_class_has_another_name_on_pages_and_the_same_one_in_the_session():
    named = chosen().changed(display_names={"dog": " Dog "})
    assert named.shown_classes == ("cat", "Dog") and named.shown("dog") == "Dog"
    assert named.session().classes == ("cat", "dog")
    assert ProjectSettings.from_json(json.loads(json.dumps(named.as_json()))) == named
    assert named.changed(display_names={"cat": "dog", "dog": "cat"}).shown("cat") == "dog"
    assert named.changed(display_names={}).shown_classes == ("cat", "dog")
