"""Pace and forecast: by the last hour; none without enough data."""

import time
from types import SimpleNamespace

import pytest

from quorate_service.access.accounts import add_member
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.votes import Request
from quorate_service.pages.dashboard import VoteForecast, forecast
from tests.quorate_service.domain.test_audits import closed_items


def numbers(hours, **more):
    usual = {"num_open": 10, "num_closed": 10, "votes_per_closed": 3.0, "num_votes": 30, "votes_on_closed": 30}
    usual |= {"time": 5000.0, "last_vote": 4990.0}
    usual |= {"num_short": 0, "votes_for_audits": 0}
    told = [{"hours_ago": 0.0, "votes": float(votes), "seconds": 3600.0} for votes in hours]
    return SimpleNamespace(**{**usual, "hours": told, **more})


def test_a_forecast_needs_items_and_votes_and_counts_a_vote_for_every_open_item():
    assert forecast(numbers([5], num_votes=60)).votes_left == 10.0
    assert forecast(numbers([5], num_closed=4)).votes_left is None
    assert forecast(numbers([0])).hours_left is None


def test_a_forecast_counts_the_votes_that_audits_wait_for_and_names_no_time_if_people_are_missing():
    assert forecast(numbers([5], num_open=0, votes_for_audits=15)) == VoteForecast(5.0, 15.0, 3.0)
    assert forecast(numbers([5], num_short=1)) == VoteForecast(5.0, 30.0, None)


def test_not_everything_is_closed_while_audits_wait(world):
    projects, now = world.app.state.projects, time.time()
    settings = ProjectSettings(classes=("cat", "dog"), pool_size=5, audit_rate=1.0, method="quorum:votes=1")
    project = projects.create("Pets", settings, now=now).id
    add_member(world.store, project, world.people["reader"], role="reader", now=now)
    add_items(projects, project, [NewItem("x")], now=now)
    said = []
    for number in range(5):
        act(projects, Request(project, "x", f"ext:{number}", "vote", "cat", served=False), now=now)
        said.append("Everything is closed" in world.browser("reader").get(f"/p/{project}/live").text)
    assert said == [False, False, True, True, True]


def test_the_pace_of_the_first_minutes_is_not_spread_over_an_hour():
    young = numbers([60])
    young.hours[0]["seconds"] = 120.0
    assert forecast(young).pace == 1800.0


def test_there_is_no_pace_once_voting_has_paused():
    assert [forecast(numbers([5], last_vote=last)).pace for last in (4990.0, 4300.0, None)] == [5.0, None, None]
    assert forecast(numbers([5], last_vote=4300.0)).hours_left is None


@pytest.mark.parametrize("prediction", [None, [0.9, 0.1]])
def test_only_a_project_with_predictions_has_a_classifier_on_its_pages(world, prediction):
    projects, now = world.app.state.projects, time.time()
    project = projects.create("Pets", ProjectSettings(classes=("cat", "dog"), pool_size=3), now=now).id
    add_member(world.store, project, world.people["reader"], role="reader", now=now)
    add_items(projects, project, [NewItem("a", prediction)], now=now)
    act(projects, Request(project, "a", "ext:a", "vote", "cat", served=False), now=now)
    reader = world.browser("reader")
    assert ("data-worth" in reader.get(f"/p/{project}").text) == (prediction is not None)
    assert ("classifier" in reader.get(f"/p/{project}/item?id=a").text) == (prediction is not None)


@pytest.mark.parametrize(("num_items", "voted", "said"), [(0, False, "/data"), (1, False, "/people"), (1, True, None)])
def test_the_dashboard_shows_the_next_step_until_there_are_votes(world, num_items, voted, said):
    projects, now = world.app.state.projects, time.time()
    project = projects.create("Pets", ProjectSettings(classes=("cat", "dog"), pool_size=3), now=now).id
    add_member(world.store, project, world.people["owner"], role="owner", now=now)
    add_items(projects, project, [NewItem(f"i{number}") for number in range(num_items)], now=now)
    if voted:
        act(projects, Request(project, "i0", "ext:a", "vote", "cat", served=False), now=now)
    told = world.browser("owner").get(f"/p/{project}").text
    assert "data-live=" in told, "what comes next shows itself"
    assert ("data-next" in told, "Saved" in told) == (said is not None, said is None)
    assert said is None or f"/p/{project}{said}" in told.partition("data-next")[2]


@pytest.mark.parametrize(("drawn", "is_held"), [(20, False), (30, True)])
def test_a_target_is_called_held_only_with_enough_audits(world, drawn, is_held):
    projects, now = world.app.state.projects, time.time()
    settings = ProjectSettings(classes=("cat", "dog", "bird"), pool_size=5, audit_rate=0.1, target_error=0.3)
    project = projects.create("Pets", settings, now=now)
    add_member(world.store, project.id, world.people["reader"], role="reader", now=now)
    closed_items(world, project, drawn=drawn)
    told = world.browser("reader").get(f"/p/{project.id}/live").text
    assert "Goal:" in told and ("Held so far" in told) is is_held


def test_the_figures_of_voters_say_what_they_are_from(world):
    projects, now = world.app.state.projects, time.time()
    project = projects.create("Pets", ProjectSettings(classes=("cat", "dog"), pool_size=3), now=now).id
    add_member(world.store, project, world.people["owner"], role="owner", now=now)
    add_items(projects, project, [NewItem("g", gold="cat"), NewItem("h", gold="cat"), NewItem("i")], now=now)
    for item, voters in (("g", "ab"), ("i", "a")):
        for voter in voters:
            act(projects, Request(project, item, f"ext:{voter}", "vote", "cat", served=False), now=now)
    world.app.state.jobs.hold(project, "people")
    world.app.state.jobs.compute_people(project)
    shown = world.browser("owner").get(f"/p/{project}/voters").text
    assert "From 1 vote" in shown and "2 answers" in shown and "2 gold items" in shown.partition("data-uncalibrated")[2]
