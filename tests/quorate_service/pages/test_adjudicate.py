"""The page for verdicts, in a browser: keys, the image enlarged, none on a broken image, corrections."""

import time

from quorate_service.access.accounts import add_member, create_account
from quorate_service.domain.ballots import act
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.listing import find_item
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.verdicts import give_verdict
from quorate_service.domain.votes import Request
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import come_in
from tests.quorate_service.pages.test_enlarging import picture


def doubtful(live):
    """A project in which two items wait, the first with an image that is broken; a senior and the owner."""
    now = time.time()
    settings = ProjectSettings(classes=("cat", "dog"), pool_size=3, adjudicate_below=1.0, audit_rate=0.0)
    project = live.projects.create("Doubt", settings, now=now).id
    shows = (ItemContent(image="https://films.example/broken.png"), ItemContent(image="https://films.example/good.png"))
    add_items(live.projects, project, [NewItem(f"film {n}", show=show) for n, show in enumerate(shows)], now=now)
    people = [create_account(live.store, name, now=now).id for name in ("Sen", "Olga")]
    for account, role in zip(people, ("senior", "owner"), strict=True):
        add_member(live.store, project, account, role=role, now=now)
    for number in range(2):
        act(live.projects, Request(project, f"film {number}", people[1], "close", served=False), now=now)
    return project, *people


def verdict_on(live, project, item):
    with live.store.read() as connection:
        return find_item(connection, project, item).verdict


def test_a_senior_gives_and_corrects_a_verdict_with_keys_and_never_on_a_broken_image(live, chromium):
    project, senior, owner = doubtful(live)
    with window(chromium) as page:
        page.route("**/broken.png", lambda route: route.fulfill(status=404))
        page.route("**/good.png", lambda route: route.fulfill(body=picture(700, 1200), content_type="image/png"))
        come_in(page, live, senior)
        page.goto(f"{live.url}/p/{project}/adjudicate")
        page.locator("[data-broken]").wait_for()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        assert page.locator("[data-record]").is_disabled() and verdict_on(live, project, "film 0") is None
        for field in ("Reason", "Id of a closed item"):  # keys are text here
            page.get_by_label(field).press_sequentially("1 2 s")
        assert page.get_by_label("cat").is_checked() and page.get_by_role("heading", name="film 0").is_visible()
        page.locator("h1").click()
        page.keyboard.press("s")
        page.get_by_role("heading", name="film 1").wait_for()
        page.locator(".enlarge").wait_for()
        page.keyboard.press("z")
        assert page.locator("dialog").is_visible()
        page.keyboard.press("z")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        page.get_by_text("The verdict was recorded.").wait_for()
        assert verdict_on(live, project, "film 1") == "dog"
        page.get_by_role("link", name="Change the verdict on film 1").click()
        page.locator(".enlarge").wait_for()
        given = {"replaces": "dog", "by": owner, "signed_in_by": None, "now": time.time()}
        give_verdict(live.projects, project, "film 1", "cat", **given)  # the owner was faster
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("Olga").wait_for()
        page.get_by_label("dog").check()
        page.locator(".enlarge").wait_for()
        page.get_by_role("button", name="Record").click()
        page.get_by_text("The verdict was recorded.").wait_for()
        assert verdict_on(live, project, "film 1") == "dog"
        come_in(page, live, owner)
        page.goto(f"{live.url}/p/{project}/item?id=film 1")
        assert page.locator("[data-answer]").get_by_text("dog").is_visible()
        page.get_by_role("link", name="Change this verdict").click()
        page.get_by_role("heading", name="Change this verdict").wait_for()
