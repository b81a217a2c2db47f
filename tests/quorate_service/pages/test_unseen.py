"""Items that a voter cannot see or may no longer answer: slow or broken images, removal, a second browser."""

import re
import time

import pytest
from sqlalchemy import select

from quorate_service.access.accounts import remove_member
from quorate_service.domain.items import ItemContent
from quorate_service.store.schema import image_reports, items
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import (
    all_sent,
    ballots_of,
    come_in,
    item_of,
    open_vote,
    press,
    project_of,
    texts,
)
from tests.quorate_service.pages.test_enlarging import films, picture

ANSWERS = "[data-part=choices] button:enabled, [data-part=abstain]:enabled"
FASTER = "const later = setTimeout; globalThis.setTimeout = (act, wait, ...more) => later(act, wait / 20, ...more);"
INTERNAL = re.compile(r"secret-\d|[0-9a-f]{16}")  # ids of items, accounts, projects


def told(page):
    """All messages of the page about the voter's answers."""
    return " ".join(page.locator(f"[data-part={part}]").inner_text() for part in ("last", "say", "sending"))


def test_nothing_can_be_answered_before_the_whole_image_is_there(live, chromium):
    project, account = films(live)
    with window(chromium) as page:
        loading = []
        page.route("**/*.png", lambda route: loading.append(route))  # noqa: PLW0108 (Playwright marks what it calls)
        come_in(page, live, account)
        page.goto(f"{live.url}/p/{project}/vote", wait_until="commit")
        item = item_of(page)
        press(page, "1")
        press(page, "x")
        assert page.locator(ANSWERS).count() == 0
        assert page.locator("[data-part=skip]").is_enabled()
        assert (item_of(page), ballots_of(live, project)) == (item, [])
        for route in loading:
            route.fulfill(body=picture(700, 1200), content_type="image/png")
        page.locator(ANSWERS).nth(2).wait_for()
        press(page, "1")
        page.wait_for_function("(item) => document.querySelector('[data-vote]').dataset.item !== item", arg=item)
        all_sent(page)
        assert ballots_of(live, project) == [(account, item, "vote", "cat")]


def test_a_broken_image_is_reported_and_the_next_item_is_shown(live, chromium):
    project, account = project_of(
        live, ItemContent(image="https://films.example/broken.png"), ItemContent(text="a"), ItemContent(text="b")
    )
    with window(chromium) as page:
        page.add_init_script(FASTER)
        page.route("**/broken.png", lambda route: route.fulfill(status=404))
        come_in(page, live, account)
        open_vote(page, live, project)
        assert item_of(page) == "secret-0"
        page.wait_for_function("() => document.querySelector('[data-vote]').dataset.item === 'secret-1'")
        assert page.locator(ANSWERS).count() == 3
        assert not INTERNAL.search(told(page))
        page.wait_for_function("() => document.querySelector('[data-part=last]').textContent === ''")
        press(page, "2")
        all_sent(page)
        assert item_of(page) == "secret-2"
    with live.store.read() as connection:
        aside = select(items.c.name).where(items.c.project_id == project, items.c.set_aside.is_not(None))
        reported = select(image_reports.c.voter).where(image_reports.c.project_id == project)
        assert connection.execute(aside).scalars().all() == ["secret-0"]
        assert connection.execute(reported).scalars().all() == [account]
    assert ballots_of(live, project) == [(account, "secret-1", "vote", "dog")]


@pytest.mark.parametrize("status", [404, 429])
def test_a_report_that_is_not_taken_does_not_keep_the_voter_on_the_broken_image(live, chromium, status):
    project, account = project_of(live, ItemContent(image="https://films.example/broken.png"), ItemContent(text="a"))
    with window(chromium) as page:
        page.add_init_script(FASTER)
        page.route("**/broken.png", lambda route: route.fulfill(status=404))
        page.route("**/report-image", lambda route: route.fulfill(status=status, json={"status": status}))
        come_in(page, live, account)
        open_vote(page, live, project)
        assert item_of(page) == "secret-0"
        page.wait_for_function("() => document.querySelector('[data-vote]').dataset.item === 'secret-1'")
        assert page.locator(ANSWERS).count() == 3
        press(page, "2")
        all_sent(page)
    skipped = [(account, "secret-0", "skip", None)] if status == 429 else []
    assert ballots_of(live, project) == [*skipped, (account, "secret-1", "vote", "dog")]


def test_who_was_removed_reads_that_the_votes_were_not_counted(live, chromium):
    project, account = project_of(live, *texts(4))
    with window(chromium) as page:
        come_in(page, live, account)
        open_vote(page, live, project)
        press(page, "1")
        all_sent(page)
        before = ballots_of(live, project)
        remove_member(live.store, project, account, now=time.time())
        press(page, "2")
        page.locator("[data-part=removed]").wait_for()
        assert re.search("not counted", page.locator("[data-part=not-taken]").inner_text())
        assert page.locator(ANSWERS).count() == 0
        assert page.locator("[data-part=skip]").is_disabled()
        assert page.locator("[data-part=session]").inner_text() == "1"
        assert not INTERNAL.search(told(page))
        assert ballots_of(live, project) == before


def test_another_tab_or_browser_of_the_same_voter_is_told_without_internal_ids(live, chromium):
    project, account = project_of(live, *texts(4))
    with window(chromium) as page, window(chromium) as elsewhere:
        for each in (page, elsewhere):
            come_in(each, live, account)
            open_vote(each, live, project)
        tab = page.context.new_page()
        open_vote(tab, live, project)
        item = item_of(page)
        assert item_of(tab) == item_of(elsewhere) == item
        press(page, "1")
        all_sent(page)
        tab.wait_for_function("(item) => document.querySelector('[data-vote]').dataset.item !== item", arg=item)
        with elsewhere.expect_response("**/votes") as answer:
            press(elsewhere, "2")
        assert answer.value.status == 409
        all_sent(elsewhere)
        for each in (tab, elsewhere):
            assert not INTERNAL.search(told(each))
        assert "first answer counts" in told(elsewhere)
        assert elsewhere.locator("[data-part=session]").inner_text() == "0"
        assert ballots_of(live, project) == [(account, item, "vote", "cat")]
