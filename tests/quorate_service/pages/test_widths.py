"""Long names on a phone and on a tablet: no table is cut off, and no word is broken into letters."""

import time

import pytest

from quorate_service.access.accounts import add_member, create_account
from quorate_service.domain.ballots import act
from quorate_service.domain.items import ItemContent
from quorate_service.domain.votes import Request
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import come_in, project_of

LONG = "Consultant of the radiological department, Bartholomew Featherstonehaugh"
CLASSES = ("infiltration or consolidation", "no finding")
FILE = f"""id,text,{",".join(CLASSES)}
study-000123/series-4/slice-0012.dcm,Dense base,0.9,0.1
bad,,x,0.1
"""
CUT_OFF = """() => [...document.querySelectorAll(".scroll:has(table)")]
    .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent.trim().slice(0, 80))"""
BROKEN = """() => [...document.querySelectorAll("td, th, li, h1, h2")].flatMap((cell) => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
    while (texts.nextNode()) {
        const text = texts.currentNode, range = document.createRange();
        range.selectNodeContents(text);
        const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size;
        const words = text.data.trim();
        if (lines > words.split(/[\\s/-]+/).length + 1) broken.push(words.slice(0, 80));
    }
    return broken;
})"""


@pytest.fixture(scope="module")
def named(live):
    """A project with long names everywhere, all pages of which have rows; its owner."""
    shows = [ItemContent(text=f"{LONG} saw this, {n} times" * 3) for n in range(4)]
    project, owner = project_of(live, *shows, classes=CLASSES, role="owner", price=0.08, currency="EUR")
    for number in range(3):
        account = create_account(live.store, f"{LONG} {number}", now=1.0).id
        add_member(live.store, project, account, role="voter", now=1.0)
        for item in range(2):
            vote = Request(project, f"secret-{item}", account, "vote", CLASSES[0], served=False)
            act(live.projects, vote, now=time.time())
    live.app.state.jobs.hold(project, "people")
    live.app.state.jobs.compute_people(project)
    return project, owner


@pytest.mark.parametrize("width", [390, 768])
def test_tables_fit_and_words_stay_whole(live, chromium, named, width):
    project, owner = named
    faults = {}
    with window(chromium, phone=width == 390) as page:
        page.set_viewport_size({"width": width, "height": 900})
        come_in(page, live, owner)
        for end in ("", "/items", "/item?id=secret-0", "/people", "/voters", "/access", "/data"):
            page.goto(f"{live.url}/p/{project}{end}")
            if end == "/data":
                page.set_input_files("#file", {"name": "a.csv", "mimeType": "text/csv", "buffer": FILE.encode()})
                page.locator("[data-store]").wait_for()
            wide = page.evaluate("() => document.documentElement.scrollWidth") - width
            faults[end] = [*page.evaluate(CUT_OFF), *page.evaluate(BROKEN), *([f"{wide} too wide"] if wide > 0 else [])]
    assert {end: each for end, each in faults.items() if each} == {}
