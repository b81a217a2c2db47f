"""Every page, light and dark, on a desk and on a phone: axe finds nothing serious; nothing sticks out; big targets.

On a phone the project and everybody in it have very long names, and a narrow phone is tried too.
With QUORATE_SHOTS=folder, pictures of all of them, in six looks, are kept there.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.service.pages.conftest import PHONE, window
from tests.service.pages.live import running
from tests.service.pages.seeded import seed
from tests.service.pages.views import ALL, Views

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
LOOKS = {"desktop-light": (False, "light"), "phone-dark": (True, "dark")}
if "QUORATE_SHOTS" in os.environ:
    LOOKS |= {"desktop-dark": (False, "dark"), "phone-light": (True, "light")}
TOO_SMALL = """() => [...document.querySelectorAll("button, select, input:not([type=hidden], [type=radio],"
    + " [type=checkbox], [type=file]), .tabs a")]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 43.5)
    .map((each) => each.outerHTML.slice(0, 120))"""
NARROW = 320
LONG, LONG_PERSON = "Thoraxaufnahmen" * 12, "Wolfeschlegelsteinhausenbergerdorff " + "M" * 24 + " "
OFF_SCREEN = """(width) => [...document.querySelectorAll("header button, header .brand, header h1")]
    .filter((each) => each.getBoundingClientRect().right > width + 0.5 || each.getBoundingClientRect().width < 16)
    .map((each) => "off screen: " + each.outerHTML.slice(0, 120))"""
STICKS_OUT = """(width) => [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > width + 0.5 && !each.closest(".scroll, .tabs"))
    .map((each) => "sticks out: " + each.outerHTML.slice(0, 120)).slice(0, 5)"""


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """A service with an active project, and the first link of another service that nobody has opened."""
    with running(tmp_path_factory.mktemp("looks")) as live, running(tmp_path_factory.mktemp("unopened")) as unopened:
        yield Views(live, seed(live.store, live.projects), unopened.owner_link)


@pytest.fixture(scope="module")
def long_views(tmp_path_factory):
    """The same with names of the maximum length, and few items."""
    with (
        running(tmp_path_factory.mktemp("long")) as live,
        running(tmp_path_factory.mktemp("long-unopened")) as unopened,
    ):
        made = seed(live.store, live.projects, num_items=16, num_done=10, name=LONG, person=LONG_PERSON)
        yield Views(live, made, unopened.owner_link, LONG)


def faults(page: Page) -> list[str]:
    """Problems that axe rates as serious or critical."""
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def each_page(views, page):
    """Every page in turn, each as if opened first."""
    for name in ALL:
        page.context.set_offline(False)
        page.unroute_all()
        page.context.clear_cookies()
        getattr(views, name)(page)
        page.wait_for_load_state()  # its style sheet too, where a form led to it
        yield name
        page.evaluate("() => { onbeforeunload = null; localStorage.clear(); }")


def too_wide(page: Page) -> list[str]:
    """Elements beyond the right edge of the window. A phone's innerWidth grows with the page, the window's does not."""
    width = page.viewport_size["width"]
    wide = page.evaluate("() => document.documentElement.scrollWidth") - width
    out = [f"{wide} too wide at {width}", *page.evaluate(STICKS_OUT, width)] if wide > 0 else []
    return [*out, *page.evaluate(OFF_SCREEN, width)]


def picture(page, shots, name, look):
    if shots is not None:
        page.screenshot(path=shots / f"{name}-{look}.png", full_page=True)


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_can_be_read_and_used_by_everybody(views, long_views, chromium, shots, look):
    phone, scheme = LOOKS[look]
    found = {}
    with window(chromium, phone=phone, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce") as page:
        for name in each_page(long_views if phone else views, page):
            picture(page, shots, name, look)
            found[name] = [*too_wide(page), *page.evaluate(TOO_SMALL), *faults(page)]
            if phone:
                page.set_viewport_size({"width": NARROW, "height": 640})
                picture(page, shots, name, f"narrow-{scheme}")
                found[name] += too_wide(page)
                page.set_viewport_size(PHONE)
    assert {name: each for name, each in found.items() if each} == {}


EMPTY = """() => [...document.querySelectorAll("[data-live] .column > .card")]
    .map((card) => card.getBoundingClientRect().bottom - card.lastElementChild.getBoundingClientRect().bottom)"""
GAPS = """() => [...document.querySelectorAll(".bars > span:first-child, .bars svg + span + span")].map((label) => {
    const text = document.createRange();
    text.selectNodeContents(label);
    return label.nextElementSibling.getBoundingClientRect().left - text.getBoundingClientRect().right;
})"""
NAMES = (
    """() => [...document.querySelectorAll("table.voters tbody tr")].map((row) => row.getBoundingClientRect().height)"""
)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_the_dashboard_has_no_empty_space_and_names_on_one_line(views, chromium, phone):
    with window(chromium, phone=phone) as page:
        views.dashboard(page)
        page.locator("table.voters").wait_for()  # until the numbers are computed anew
        page.evaluate("() => { document.querySelector('table.voters tbody th').textContent = 'Dr. Maria '.repeat(9); }")
        assert max(page.evaluate(EMPTY)) < 30
        assert max(page.evaluate(GAPS)) < 20
        assert max(page.evaluate(NAMES)) < 50
        table = page.locator("table.voters")
        assert table.evaluate("(each) => each.scrollWidth <= each.parentElement.clientWidth")
