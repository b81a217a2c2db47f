"""A day of a project in a real browser: from the owner's first link to the export, with three voters."""

import csv
import re

import pytest

from quorate_service.access.accounts import list_members
from quorate_service.domain.trail import disagreements
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import (
    all_sent,
    ballots_of,
    drop_file,
    first_owner,
    invitation,
    item_of,
    join,
    new_project,
    press,
    store_file,
)

KEYS = {"cat": "1", "dog": "2", "fox": "3"}
TRUTH = {f"a{number}": ["cat", "dog", "fox"][number % 3] for number in range(6)}
TABLE = "id,text,cat,dog,fox,note\n" + "".join(
    f'{name},"It is, they say, a {truth}",0.4,0.3,0.3,x\n' for name, truth in TRUTH.items()
)


def answer(page, phone):
    """Vote as the text of the item says, by touch or by key."""
    truth = TRUTH[item_of(page)]
    if phone:
        page.wait_for_timeout(150)
        page.get_by_role("button", name=truth).tap()
    else:
        press(page, KEYS[truth])


def votes_to_the_end(page, phone):
    given = 0
    while page.locator("[data-part=thanks]").is_hidden():
        before = item_of(page)
        answer(page, phone)
        given += 1
        page.wait_for_function(
            "(before) => ![undefined, before].includes(document.querySelector('[data-vote]').dataset.item)"
            " || !document.querySelector('[data-part=thanks]').hidden",
            arg=before,
        )
        assert given <= len(TRUTH)
    all_sent(page)
    return given


def a_difficult_voter(page, phone):
    """Votes wrongly and undoes it, cannot tell, skips, and loses the network during a vote."""
    first = item_of(page)
    press(page, KEYS["cat" if TRUTH[first] != "cat" else "dog"])
    page.wait_for_timeout(150)
    page.keyboard.press("u")
    page.get_by_text("Undone: vote again").wait_for()
    assert item_of(page) == first
    answer(page, phone)
    unclear = item_of(page)
    press(page, "x")
    skipped = item_of(page)
    press(page, "s")
    all_sent(page)
    lost = item_of(page)
    page.context.set_offline(True)
    answer(page, phone)
    page.get_by_text("not sent yet, trying again").wait_for()
    page.context.set_offline(False)
    all_sent(page)
    assert page.get_by_text("not sent yet").count() == 0
    return {
        first: ("vote", TRUTH[first]),
        unclear: ("abstain", None),
        skipped: ("skip", None),
        lost: ("vote", TRUTH[lost]),
    }


@pytest.mark.parametrize("phone", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["desktop", "phone"])
def test_a_project_from_the_first_link_to_the_export(chromium, tmp_path, phone):
    from tests.quorate_service.pages.live import running

    with running(tmp_path) as live, window(chromium, phone=phone, accept_downloads=True) as owner:
        first_owner(owner, live)
        project = new_project(owner, live, price="0.5", currency="EUR", instructions="Believe what they say.")
        drop_file(owner, live, project, "items.csv", TABLE)
        assert owner.get_by_text("6 can be stored").count() == 1
        assert owner.get_by_text("Columns not used: note").count() == 1
        store_file(owner)
        link = invitation(owner, live, project)
        with window(chromium, phone=phone) as ann, window(chromium, phone=phone) as bob, window(chromium) as cid:
            for page, name in ((ann, "Ann"), (bob, "Bob"), (cid, "Cid")):
                join(page, link, name)
                page.locator(".shown").wait_for()
            assert "Believe what they say." in cid.locator("[data-part=instructions]").inner_text()
            acts = a_difficult_voter(cid, phone=False)
            assert votes_to_the_end(ann, phone) + votes_to_the_end(bob, phone) <= 12
            votes_to_the_end(cid, phone=False)
        stored = ballots_of(live, project)
        names = {member.account_id: member.name for member in list_members(live.store, project)}
        of_cid = {item: (kind, label) for voter, item, kind, label in stored if names[voter] == "Cid"}
        assert acts.items() <= of_cid.items()
        assert all(label == TRUTH[item] for _, item, kind, label in stored if kind == "vote")
        dashboard_agrees(owner, live, project, num_votes=sum(kind == "vote" for _, _, kind, _ in stored))
        audit_page_explains(owner, live, project)
        export_holds_every_answer(owner, live, project)
        with live.store.read() as connection:
            assert list(disagreements(live.projects, connection, live.projects.get(project))) == []


def dashboard_agrees(page, live, project, *, num_votes):
    page.goto(f"{live.url}/p/{project}")
    page.get_by_text(re.compile(r"6 of 6")).wait_for()  # by itself: the page is live
    page.get_by_text(f"{num_votes} votes so far").wait_for()
    saved = 18 - num_votes - 1  # the abstention saves nothing
    assert page.get_by_text(f"{saved} votes not asked").count() == 1
    assert f"{0.5 * num_votes:.2f} EUR spent" in page.locator("main").inner_text()
    for name in ("Ann", "Bob", "Cid"):
        assert page.get_by_role("row", name=re.compile(name)).count() == 1


def audit_page_explains(page, live, project):
    page.goto(f"{live.url}/p/{project}/items?state=closed")
    page.get_by_role("link", name="a1").click()
    sentence = page.locator(".statement").inner_text()
    assert re.match(r"Closed after \d votes: .* the pool would say", sentence)
    assert "“dog”" in sentence
    assert page.get_by_text("✓ Yes.").count() == 1
    assert page.get_by_text("voted dog").count() >= 2
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the trail").click()
    assert '"recomputed"' in download.value.path().read_text()


def export_holds_every_answer(page, live, project):
    page.goto(f"{live.url}/p/{project}/data")
    with page.expect_download() as download:
        page.get_by_role("link", name="Decisions as csv").click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert {row["item"]: row["consensus_label"] for row in rows} == TRUTH
