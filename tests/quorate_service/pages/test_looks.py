"""Every page, light and dark, on a desk and on a phone: axe finds nothing serious, and nothing sticks out.

With QUORATE_SHOTS=folder, pictures of all of them, in six looks, are kept there.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.live import running
from tests.quorate_service.pages.seeded import seed
from tests.quorate_service.pages.views import ALL, Views

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
LOOKS = {"desktop-light": (False, "light"), "phone-dark": (True, "dark")}
if "QUORATE_SHOTS" in os.environ:
    LOOKS |= {"desktop-dark": (False, "dark"), "phone-light": (True, "light")}


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """A service with an active project, and the first link of another service that nobody has opened."""
    with running(tmp_path_factory.mktemp("looks")) as live, running(tmp_path_factory.mktemp("unopened")) as unopened:
        yield Views(live, seed(live.store, live.projects), unopened.owner_link)


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


def picture(page, shots, name, look):
    if shots is not None:
        page.screenshot(path=shots / f"{name}-{look}.png", full_page=True)


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_can_be_read_and_used_by_everybody(views, chromium, shots, look):
    phone, scheme = LOOKS[look]
    found = {}
    with window(chromium, phone=phone, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce") as page:
        for name in ALL:  # each as if opened first
            page.context.set_offline(False)
            page.unroute_all()
            page.context.clear_cookies()
            getattr(views, name)(page)
            page.wait_for_load_state()  # its style sheet too, where a form led to it
            picture(page, shots, name, look)
            wide = page.evaluate("() => document.documentElement.scrollWidth") - page.viewport_size["width"]
            found[name] = [*faults(page), *([f"{wide} too wide"] if wide > 0 else [])]
            page.evaluate("() => { onbeforeunload = null; localStorage.clear(); }")
    assert {name: each for name, each in found.items() if each} == {}
