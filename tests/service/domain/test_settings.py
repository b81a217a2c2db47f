"""Project settings, and the errors for invalid ones."""

import json
import math
from dataclasses import fields

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import quorate
from quorate.errors import InvalidInput
from quorate.service.domain.settings import ProjectSettings, goal_control


def test_max_votes_of_0_is_refused():
    chosen = ProjectSettings(classes=["cat", "dog"], pool_size=5)
    with pytest.raises(InvalidInput) as caught:
        chosen.changed(max_votes=0)
    assert caught.value.field == "max_votes"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": 0.0095}, r"threshold=0\.0095; expected a share above 0\.5 .* did you mean 0\.95\? Raise it"),
        ({"threshold": 0.5}, r"threshold=0\.5; expected a share above 0\.5 \(1 / 2 classes\)"),
        ({"method": "finexp:threshold=0.3"}, r"threshold=0\.3; .* or every item would close without a vote; raise it"),
        ({"budget": 5.5}, r"budget=5\.5; expected at most `pool_size`, which is 5"),
    ],
)
def test_goals_below_chance_or_above_the_pool_are_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        ProjectSettings(classes=["cat", "dog"], pool_size=5, **given).check_limits()


@pytest.mark.parametrize("name", ["value", "finexp:threshold=0.9"])
def test_learning_parameters_of_a_method_cannot_change(name):
    chosen = ProjectSettings(classes=["cat", "dog"], pool_size=5, method=name)
    other = f"{name}{',' if ':' in name else ':'}hyperprior=paper"
    with pytest.raises(InvalidInput) as caught:
        chosen.changed(method=other)
    assert caught.value.field == "method"
    assert chosen.changed(method=name.replace("0.9", "0.8")).pool_size == 5


def test_settings_of_older_versions_stay_readable_and_other_settings_of_theirs_can_change():
    old = ProjectSettings.from_json({"classes": ["cat", "dog"], "pool_size": 2, "min_votes": 3})
    assert old.changed(price=0.5, pool_size=2, min_votes=3).price == 0.5, "as a form sends them all"
    with pytest.raises(InvalidInput) as caught:
        old.changed(pool_size=1)
    assert caught.value.field == "min_votes"


NUMBERS = [0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e-300, 1e-12, 1e-6, 0.3, 0.5, 1, 3, 5, 1e9, 1e18, 1e308, 2**63, 10**400]
NUMBERS += [float("inf"), float("-inf"), float("nan"), True]
NUMERIC = [each.name for each in fields(ProjectSettings) if each.name not in ("classes", "models", "method")]
NUMERIC += ["method:error_cost", "method:threshold", "finexp:threshold"]


@given(
    st.sampled_from(NUMERIC),
    st.sampled_from(NUMBERS) | st.floats(),
    st.sampled_from([{}, {"budget": 3}, {"target_error": 0.05}]),
)
@example("method:error_cost", 2**63, {})
@settings(max_examples=150, deadline=None)
def test_every_number_of_every_setting_works_or_is_refused_by_name(name, value, goal):
    """Accepted settings do what a project does with them: start, decide, control. A refusal says what to change."""
    setting, _, parameter = name.partition(":")
    if parameter:
        base = {"method": "value", "finexp": "finexp"}[setting]
        chosen = {"method": f"{base}:{parameter}={value!r}"}
    else:
        chosen = goal | {setting: value}
    try:
        made = ProjectSettings(classes=["cat", "dog", "bird"], pool_size=chosen.pop("pool_size", 5), **chosen)
        made.check_limits()
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
    chosen = ProjectSettings(classes=["cat", "dog"], pool_size=5).changed(display_names={"dog": " Dog ", "cat": "cat"})
    assert chosen.shown_classes == ("cat", "Dog") and chosen.shown("dog") == "Dog"
    assert chosen.session().classes == ("cat", "dog")
    assert chosen.as_json()["display_names"] == {"dog": "Dog"}
    assert ProjectSettings.from_json(json.loads(json.dumps(chosen.as_json()))) == chosen
    assert chosen.changed(display_names={"cat": "dog", "dog": "cat"}).shown("cat") == "dog"
    assert chosen.changed(display_names={}).shown_classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"cat": ""}, ""),
        ({"cat": "  "}, "  "),
        ({"cat": "dog"}, "dog"),
        ({"cat": "A", "dog": "A "}, "A"),
        ({"cat": "x" * 101}, "x" * 101),
        ({"cat": "a\nb"}, "a\nb"),
        ({"fox": "Fox"}, "fox"),
        ({"cat": 3}, 3),
        (["Cat"], ["Cat"]),
    ],
)
def test_a_name_that_is_empty_too_long_or_of_another_class_is_refused(given, value):
    with pytest.raises(InvalidInput) as refused:
        ProjectSettings(classes=["cat", "dog"], pool_size=5, display_names=given)
    assert (refused.value.field, refused.value.value) == ("display_names", value)
