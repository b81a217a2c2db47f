"""Every page of an active project, each as a function that opens it in a browser. For screenshots and checks."""

from __future__ import annotations

import time
from dataclasses import dataclass

from quorate_service.access.accounts import add_member
from quorate_service.access.credentials import create_key
from quorate_service.access.invitations import create_invitation
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.webhooks import create_webhook, list_webhooks
from tests.quorate_service.pages.live import Live
from tests.quorate_service.pages.people import come_in
from tests.quorate_service.pages.seeded import Seeded

ROWS = """id,text,0,1,2,3,4,5,6,7,8,9,scanner
note-01,A two or a seven?,,,0.6,,,,,0.4,,,north
note-02,Faint,,0.9,,,,,,,,,north
note-03,Blotted,0.7,0.7,,,,,,,,,south
note-04,Crossed out,,,abc,,,,,,,,south
note-05,Torn,,,,,,0.5,0.5,,,,north
"""
BIRDS = ("Reed", "Marsh", "Garden", "Barn", "Little", "Common", "Arctic", "Great", "Pied", "Sand")
NOTE = """Seen at dusk from the north hide, about 40 m away, alone and low over the reeds.

Pale below, dark cap, a short forked tail. It hovered twice, dropped to the water and came up with something small. No
call heard because of the wind. Lost behind the old sluice after two minutes; not seen again although we waited."""


def as_from_elsewhere(route):
    """Submit a form like a browser that uses the service's host name: links then have a QR code."""
    sent = {"host": "labels.example.org", "origin": "http://labels.example.org"}
    route.fulfill(response=route.fetch(headers=route.request.headers | sent))


@dataclass(frozen=True)
class Views:
    """A live service with a seeded project."""

    live: Live
    seeded: Seeded
    first: str = ""  # an unused link that makes a first owner
    name: str = "Birds of the estuary"  # of another project

    def owner(self, page):
        come_in(page, self.live, self.seeded.owner)

    def voter(self, page):
        come_in(page, self.live, self.seeded.voters[0])

    def go(self, page, end: str = ""):
        page.goto(f"{self.live.url}/p/{self.seeded.project}{end}")

    def sign_in(self, page):
        page.goto(self.live.url)

    def first_link(self, page):
        page.goto(self.first)

    def join(self, page):
        _, link = create_invitation(
            self.live.store, self.seeded.project, self.live.url, role="voter", name="new colleagues", now=time.time()
        )
        page.goto(link)

    def projects(self, page):
        self.owner(page)
        page.goto(self.live.url)

    def new(self, page):
        self.owner(page)
        page.goto(f"{self.live.url}/new")

    def refused(self, page):
        """A form with an error: the message uses its labels, and the field is marked."""
        self.new(page)
        page.get_by_label("Name", exact=True).fill("Ducks")
        page.get_by_label("Answers to choose from").fill("mallard\nteal")
        page.get_by_label("Experts in the pool").fill("3")
        page.get_by_text("More settings").click()
        page.get_by_label("Fewest votes per item").fill("9")
        page.get_by_role("button", name="Create the project").click()
        page.locator("[aria-invalid]").wait_for()

    def dashboard(self, page):
        self.owner(page)
        self.go(page)

    def items(self, page):
        self.owner(page)
        self.go(page, "/items?order=closed")

    def item(self, page):
        self.owner(page)
        self.go(page, "/items?state=closed&order=votes")
        page.locator("tbody a").first.click()
        page.locator("time").first.wait_for()

    def data(self, page):
        self.owner(page)
        self.go(page, "/data")
        file = {"name": "notes.csv", "mimeType": "text/csv", "buffer": ROWS.encode()}
        page.set_input_files("#file", files=[file])
        page.locator("[data-store]").wait_for()

    def webhooks(self, page):
        """The open form of a webhook, below an existing one."""
        self.owner(page)
        if not list_webhooks(self.live.store, self.seeded.project):
            where, kinds = "https://example.org/told", ["item.completed"]
            create_webhook(self.live.store, self.seeded.project, where, kinds, allow_private=False, now=time.time())
        self.go(page, "/data")
        page.get_by_text("Add a webhook").click()
        page.get_by_label("Address").wait_for()

    def people(self, page):
        self.owner(page)
        create_key(self.live.store, self.seeded.owner, name="nightly import", now=time.time())
        self.go(page, "/people")
        page.get_by_label("For whom").fill("first-year residents")
        page.route("**/people/invite", as_from_elsewhere)
        page.get_by_role("button", name="Make an invitation").click()
        page.get_by_role("img", name="QR code of the invitation link").wait_for()

    def voters(self, page):
        """The figures of each voter, computed now."""
        self.owner(page)
        jobs = self.live.app.state.jobs
        jobs.hold(self.seeded.project, "people")
        jobs.compute_people(self.seeded.project)
        self.go(page, "/voters")
        page.get_by_role("heading", name="Who looks careless").wait_for()

    def adjudicate(self, page):
        """An item that waits for a senior, like nearly all closed items."""
        self.owner(page)
        self.live.projects.change(self.seeded.project, adjudicate_below=1.0, now=time.time())
        self.go(page, "/adjudicate")
        page.get_by_role("heading", name="Your verdict").wait_for()

    def settings(self, page):
        self.owner(page)
        self.go(page, "/settings")

    def vote(self, page):
        self.voter(page)
        self.go(page, "/vote")
        page.locator(".shown img").wait_for()
        page.wait_for_function("() => document.querySelector('.shown img').complete")

    def many(self, page):
        """Another project, with forty classes and a long text."""
        self.owner(page)
        names = tuple(f"{first} {second}" for first in BIRDS for second in ("warbler", "finch", "owl", "tern"))
        settings = ProjectSettings(classes=names, pool_size=3)
        project = self.live.projects.create(self.name, settings, now=time.time()).id
        add_member(self.live.store, project, self.seeded.owner, role="owner", now=time.time())
        add_items(self.live.projects, project, [NewItem("one", show=ItemContent(text=NOTE))], now=time.time())
        page.goto(f"{self.live.url}/p/{project}/vote")
        page.locator(".shown").wait_for()

    def thanks(self, page):
        self.voter(page)
        page.route("**/next", lambda route: route.fulfill(json={"classes": [], "items": []}))
        self.go(page, "/vote")
        page.get_by_role("heading", name="Thank you").wait_for()

    def enlarged(self, page):
        self.vote(page)
        page.locator(".enlarge").click()
        page.locator("dialog img").wait_for()

    def paused(self, page):
        self.voter(page)
        page.route("**/next", lambda route: route.fulfill(json={"classes": [], "items": []}))
        page.route("**/mine?*", lambda route: route.fulfill(json={"votes": 0, "state": "paused"}))
        self.go(page, "/vote")
        page.get_by_role("heading", name="Paused by").wait_for()

    def cut_off(self, page):
        self.vote(page)
        page.context.set_offline(True)
        page.wait_for_timeout(150)
        page.keyboard.press("1")
        page.get_by_text("not sent yet").wait_for()
        page.locator(".shown img").wait_for()

    def problem(self, page):
        self.voter(page)
        self.go(page, "/settings")


ALL = (
    "sign_in", "first_link", "join", "projects", "new", "refused", "dashboard", "items", "item", "data", "webhooks",
    "people", "voters", "adjudicate", "settings", "vote", "many", "enlarged", "thanks", "paused", "cut_off", "problem",
)  # fmt: skip
