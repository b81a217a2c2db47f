"""The settings form: conversion in both directions, one of four goals, errors with field and rule."""

import pytest

from quorate.errors import InvalidInput
from quorate.service.domain.settings import ProjectSettings
from quorate.service.pages.projects import (
    GOALS,
    as_form,
    changes_of,
    goals_of,
    method_told,
    new_settings,
    why_not_all,
)

BASE = {"classes": ("cat", "dog"), "pool_size": 5}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"threshold": 0.95},
        {"budget": 2.5},
        {"target_error": 0.02, "audit_rate": 0.1},
        {"method": "value:error_cost=100"},
        {"price": 0.12, "currency": "EUR", "min_votes": 1, "max_votes": 4, "instructions": "Look.\nAgain."},
        {"lease_seconds": 60.0},
    ],
)
def test_settings_survive_the_form(given):
    settings = ProjectSettings(**BASE, **given)
    again = new_settings(as_form(settings))
    assert again.chosen_method().policy == settings.chosen_method().policy
    different = {name for name in settings.as_json() if settings.as_json()[name] != again.as_json()[name]}
    assert different <= {"method"}


def test_an_error_that_costs_a_hundred_votes_makes_a_vote_worth_one_point():
    settings = new_settings(as_form(ProjectSettings(**BASE)) | {"goal": "value", "error_price": "100"})
    assert settings.chosen_method().policy.error_cost == pytest.approx(100)


def test_a_form_keeps_the_parameters_it_does_not_show():
    before = ProjectSettings(**BASE, method="value:hyperprior=paper,error_cost=100")
    after = before.changed(**changes_of(as_form(before) | {"price": "0.5"}, before=before))
    assert (after.chosen_method(), after.price) == (before.chosen_method(), 0.5)
    assert goals_of(before) == goals_of(ProjectSettings(**BASE))


def test_another_method_keeps_its_name():
    before = ProjectSettings(**BASE, method="until-settled")
    assert "method" not in changes_of(as_form(before), before=before)


@pytest.mark.parametrize("gain", [0.4, 0.5, 1 / 3, 0.002, 1e-9, 7.3])
def test_saving_an_untouched_form_changes_nothing(gain):
    before = ProjectSettings(**BASE, method=f"value:error_cost={gain!r}")
    after = before.changed(**changes_of(as_form(before), before=before))
    assert after == before
    assert after.chosen_method().policy.error_cost == gain


@pytest.mark.parametrize(
    ("field", "value"), [("pool_size", "many"), ("pool_size", "2.5"), ("classes", "cat"), ("audit_rate", "200")]
)
def test_invalid_values_are_refused(field, value):
    with pytest.raises(InvalidInput, match=r"expected|must|needs"):
        new_settings(as_form(ProjectSettings(**BASE)) | {field: value})


@pytest.mark.parametrize("price", ["0", "-3", "-0.5"])
def test_an_error_that_costs_nothing_is_refused(price):
    with pytest.raises(InvalidInput) as caught:
        new_settings(as_form(ProjectSettings(**BASE)) | {"goal": "value", "error_price": price})
    assert caught.value.field == "error_price"
    assert new_settings(as_form(ProjectSettings(**BASE)) | {"goal": "value", "error_price": ""}).method == "value"


def test_a_goal_without_its_number_is_refused():
    with pytest.raises(InvalidInput) as caught:
        new_settings(as_form(ProjectSettings(**BASE)) | {"goal": "threshold", "threshold": ""})
    assert caught.value.field == "threshold"


@pytest.mark.parametrize("name", ["pool_size", "audit_rate", "lease_seconds"])
def test_required_fields_cannot_be_emptied(name):
    before = ProjectSettings(**BASE)
    with pytest.raises(InvalidInput, match=f"{name}=''; expected a number"):
        changes_of(as_form(before) | {name: " "}, before=before)


@pytest.mark.parametrize(
    ("given", "offered", "said"),
    [
        ({}, ["value", "budget", "target_error"], "the value of a vote"),
        ({"audit_rate": 0.0}, ["value", "budget", "target_error"], "the value of a vote"),
        ({"threshold": 0.9}, ["threshold"], "the confidence"),
        ({"method": "finexp"}, list(GOALS), None),
        ({"method": "finexp:threshold=0.9"}, ["value", "budget", "target_error"], "(finexp:threshold=0.9)"),
        ({"method": "until-settled"}, ["value"], "method, until-settled, has its own rule"),
    ],
)
def test_missing_goals_are_explained(given, offered, said):
    settings = ProjectSettings(**BASE, **given)
    assert goals_of(settings) == offered
    told = why_not_all(settings)
    assert told is None if said is None else said in told


def test_the_method_is_shown_without_the_forms_parameters():
    told = method_told(ProjectSettings(**BASE, method="value:error_cost=100,hyperprior=paper"))
    assert (told["name"], told["parameters"]) == ("value", "hyperprior=paper")
    assert "asks while a vote is worth it" in told["sentence"]
    assert method_told(ProjectSettings(**BASE, method="quorum:votes=4"))["parameters"] == "votes=4"
