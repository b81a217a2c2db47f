"""What people do with the pages, as functions of a browser's page: sign in, create a project, import, invite, vote."""

from __future__ import annotations

import re
import time

from sqlalchemy import select

from quorate_service.access.accounts import add_member, create_account
from quorate_service.access.cookies import NAME, open_sign_in, sign, signing_key
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.store.schema import ballots, items
from tests.quorate_service.pages.live import Live


def project_of(live: Live, *shows: ItemContent, classes=("cat", "dog"), role="voter", prediction=None, **settings):
    """A project with these items, and somebody in it: the ids of both."""
    chosen = ProjectSettings(**{"classes": classes, "pool_size": 3} | settings)
    project = live.projects.create("Films", chosen, now=1.0).id
    batch = [NewItem(f"secret-{number}", prediction, show) for number, show in enumerate(shows)]
    add_items(live.projects, project, batch, now=1.0)
    account = create_account(live.store, "Vera", now=1.0).id
    add_member(live.store, project, account, role=role, now=1.0)
    return project, account


def texts(number: int) -> list[ItemContent]:
    """What to show for so many items."""
    return [ItemContent(text=f"Animal {each}") for each in range(number)]


def first_owner(page, live: Live, name="Ada"):
    page.goto(live.owner_link)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="My projects").wait_for()


def come_in(page, live: Live, account_id: str):
    """Sign the page's browser in to this account."""
    now = time.time()
    with live.store.write() as connection:
        session_id = open_sign_in(connection, account_id, how="test", now=now)
    value = sign(signing_key(live.store, now=now), session_id)
    page.context.add_cookies([{"name": NAME, "value": value, "url": live.url, "httpOnly": True}])


def new_project(page, live: Live, *, name="Animals", classes="cat\ndog\nfox", pool="3", **fields) -> str:
    page.goto(f"{live.url}/new")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Answers to choose from").fill(classes)
    page.get_by_label("Experts in the pool").fill(pool)
    page.get_by_text("More settings").click()
    for label, value in fields.items():
        page.locator(f"#{label}").fill(value)
    page.get_by_role("button", name="Create the project").click()
    page.wait_for_url(re.compile(r"/p/p_\w+\?note=created"))
    return page.url.split("/p/")[1].split("?")[0]


def drop_file(page, live: Live, project: str, name: str, content: str):
    """Drag a file onto the import, check the preview, store it."""
    page.goto(f"{live.url}/p/{project}/data")
    page.evaluate(
        """([name, content]) => {
            const data = new DataTransfer();
            data.items.add(new File([content], name));
            document.querySelector("[data-drop]").dispatchEvent(
                new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        [name, content],
    )
    page.locator("[data-store]").wait_for()


def store_file(page):
    page.locator("[data-store]").click()
    page.get_by_text("Stored:").wait_for()


def invitation(page, live: Live, project: str) -> str:
    page.goto(f"{live.url}/p/{project}/people")
    page.get_by_label("For whom").fill("colleagues")
    page.get_by_role("button", name="Make an invitation").click()
    return page.get_by_label("Invitation link").input_value()


def join(page, link: str, name: str):
    page.goto(link)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Join").click()
    page.wait_for_url(re.compile(r"/vote$"))


def open_vote(page, live: Live, project: str):
    page.goto(f"{live.url}/p/{project}/vote")
    page.locator(".shown").wait_for()


def item_of(page) -> str:
    """The id of the item that is shown, as soon as one is."""
    return page.locator("[data-vote][data-item]").get_attribute("data-item")


def press(page, key: str):
    """Press one key, once the item has been shown long enough to be seen."""
    page.wait_for_timeout(150)
    page.keyboard.press(key)


def all_sent(page):
    page.wait_for_function("() => !Object.keys(localStorage).some((name) => name.startsWith('quorate-act:'))")


def ballots_of(live: Live, project: str) -> list[tuple[str, str, str, str | None]]:
    """Who did what with which item, as stored: (voter, item, kind, label)."""
    query = select(ballots.c.voter, items.c.name, ballots.c.kind, ballots.c.label)
    query = query.join(items, items.c.id == ballots.c.item_id).where(ballots.c.project_id == project)
    with live.store.read() as connection:
        return sorted(tuple(row) for row in connection.execute(query))
