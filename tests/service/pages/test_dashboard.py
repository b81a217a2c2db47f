"""Pace and forecast: by the last hour; none without enough data."""

import time

import pytest

from quorate.service.access.accounts import add_member
from quorate.service.domain.ballots import act
from quorate.service.domain.items import NewItem, add_items
from quorate.service.domain.settings import ProjectSettings
from quorate.service.domain.votes import Request
from quorate.service.pages.dashboard import forecast
from tests.service.domain.test_audits import closed_items
from tests.service.pages.conftest import window
from tests.service.pages.people import come_in
from tests.service.pages.seeded import seed
from tests.service.pages.test_unseen import FASTER


def numbers(hours, **more):
    usual = {"num_open": 10, "num_closed": 10, "votes_per_closed": 3.0, "num_votes": 30, "votes_on_closed": 30}
    return usual | {"hours": [{"hours_ago": 0.0, "votes": float(votes), "seconds": 3600.0} for votes in hours]} | more


def test_every_open_item_needs_at_least_one_more_vote():
    assert forecast(numbers([5], num_votes=60)).votes_left == 10.0


def test_there_is_no_forecast_with_few_items_or_without_votes():
    assert forecast(numbers([5], num_closed=4)).votes_left is None
    assert forecast(numbers([0])).hours_left is None


def test_the_pace_of_the_first_minutes_is_not_spread_over_an_hour():
    young = numbers([60])
    young["hours"][0]["seconds"] = 120.0
    assert forecast(young).pace == 1800.0


@pytest.mark.parametrize(("num_items", "voted", "said"), [(0, False, "/data"), (1, False, "/people"), (1, True, None)])
def test_the_dashboard_shows_the_next_step_until_there_are_votes(world, num_items, voted, said):
    projects, now = world.app.state.projects, time.time()
    project = projects.create("Pets", ProjectSettings(classes=("cat", "dog"), pool_size=3), now=now).id
    add_member(world.store, project, world.people["owner"], role="owner", now=now)
    add_items(projects, project, [NewItem(f"i{number}") for number in range(num_items)], now=now)
    if voted:
        act(projects, Request(project, "i0", "ext:a", "vote", "cat", served=False), now=now)
    told = world.browser("owner").get(f"/p/{project}").text
    assert ("data-next" in told, "data-live=" in told) == (said is not None, num_items > 0)
    assert said is None or f"/p/{project}{said}" in told.partition("data-next")[2]


def test_the_dashboard_says_that_kernels_compile_until_they_are(world, monkeypatch):
    made = seed(world.store, world.app.state.projects, num_items=1, num_done=0)
    add_member(world.store, made.project, world.people["reader"], role="reader", now=time.time())
    looks = iter(["compiling", "compiling", "compiling", "compiled"])  # it ends between the second page's two looks
    monkeypatch.setattr("quorate.service.pages.dashboard.status", lambda: next(looks, "compiled"))
    monkeypatch.setattr("quorate.service.pages.dashboard.compile_in_background", lambda: None)
    pages = [world.browser("reader").get(f"/p/{made.project}/live").text for _ in range(3)]
    assert ["data-compiling" in page for page in pages] == [True, False, False]


def test_a_clock_that_is_set_back_does_not_freeze_the_dashboard(live, chromium):
    made = seed(live.store, live.projects, num_items=2, num_done=1)
    answers = iter([(10**6, 1.0), (10**6 - 1, 9e9), (10**6 + 1, 0.5)])  # versions, and the times they claim

    def answer(route):
        version, when = next(answers, (10**6 + 1, 0.5))
        body = f'<p data-age="0" data-version="{version}" data-time="{when}"></p>'
        route.fulfill(body=body, content_type="text/html")

    with window(chromium) as page:
        page.add_init_script(FASTER)
        page.route("**/live", answer)
        come_in(page, live, made.owner)
        page.goto(f"{live.url}/p/{made.project}")
        page.evaluate(
            """() => { window.seen = []; new MutationObserver(() => window.seen.push(
                document.querySelector("[data-live] [data-age]").dataset.version
            )).observe(document.querySelector("[data-live]"), { childList: true }); }"""
        )
        page.wait_for_function("(last) => window.seen.includes(last)", arg=str(10**6 + 1))
        assert page.evaluate("() => window.seen.slice(0, 2)") == [str(10**6), str(10**6 + 1)]


def test_what_the_audits_found_is_shown_from_the_first_complete_one(world):
    projects, now = world.app.state.projects, time.time()
    for drawn, wrong, found in ((4, 1, "25 %"), (8, 4, "50 %")):
        settings = ProjectSettings(classes=("cat", "dog", "bird"), pool_size=5, audit_rate=0.1)
        project = projects.create("Pets", settings, now=now)
        add_member(world.store, project.id, world.people["reader"], role="reader", now=now)
        closed_items(world, project, drawn=drawn, wrong=wrong)
        told = world.browser("reader").get(f"/p/{project.id}/live").text.replace("\N{NO-BREAK SPACE}", " ")
        assert f"{found} found" in told


@pytest.mark.parametrize(("drawn", "is_held"), [(20, False), (30, True)])
def test_a_target_is_called_held_only_with_enough_audits(world, drawn, is_held):
    projects, now = world.app.state.projects, time.time()
    settings = ProjectSettings(classes=("cat", "dog", "bird"), pool_size=5, audit_rate=0.1, target_error=0.3)
    project = projects.create("Pets", settings, now=now)
    add_member(world.store, project.id, world.people["reader"], role="reader", now=now)
    closed_items(world, project, drawn=drawn)
    told = world.browser("reader").get(f"/p/{project.id}/live").text
    assert "Goal:" in told and ("Held so far" in told) is is_held
