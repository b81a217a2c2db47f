"""The pictures of docs/howto/label-studio.md: a real Label Studio, half of whose tasks are closed, and our dashboard.

`python -m tests.connect.label_studio.docs_pictures` (needs `make label-studio` and Chromium).
"""

import shutil
import signal
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.connect.label_studio import studio as studios
from tests.connect.label_studio.studio import OWNER, PASSWORD
from tests.connect.label_studio.world import Quorate, World, furnish
from tests.processes import wait_until
from tests.service.pages import docs_pictures

FOLDER = Path(__file__).parents[3] / "docs" / "figures" / "label-studio"
COLUMNS = ("id", "total_annotations", "data.text", "data.quorate_consensus", "data.quorate_confidence",
           "data.quorate_reason", "data.quorate_votes")  # fmt: skip


def main() -> None:
    """Work on half of the tasks, then take both pictures."""
    docs_pictures.FOLDER = FOLDER
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        studio = studios.copy_of_template(Path(folder) / "label-studio")
        studio.start()
        world = furnish(studio, str(Path(folder) / "quorate.db"), 18, seed=11)
        quorate = Quorate(world.database, studio, world.project)
        try:
            quorate.start()
            some_work(world)
            pictures(world, quorate)
        finally:
            quorate.end(signal.SIGTERM)
            studio.kill()


def some_work(world: World) -> None:
    wait_until(lambda: len(world.rows()) == len(world.answers) and world.is_in_line(), "all tasks are read", 120.0)
    threads = world.everybody()
    wait_until(lambda: sum(not row.is_open for row in world.rows().values()) >= 11, "tasks are closed", 400.0)
    world.done.set()
    for thread in threads:
        thread.join(60)
    wait_until(world.is_in_line, "both sides agree", 120.0)


def pictures(world: World, quorate: Quorate) -> None:
    view = {"project": world.project, "data": {
        "title": "Consensus", "type": "list", "target": "tasks", "ordering": ["-tasks:data.quorate_confidence"],
        "filters": {"conjunction": "and", "items": [{
            "filter": "filter:tasks:data.quorate_confidence", "operator": "greater", "type": "Number", "value": 0.9,
        }]},
        "hiddenColumns": {"explore": hidden(world), "labeling": []},
        "columnsWidth": {}, "columnsDisplayType": {},
    }}  # fmt: skip
    with world.owner() as client:
        made = client.post("/api/dm/views/", json=view)
        made.raise_for_status()
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 700})
        data_manager(page, world, made.json()["id"])
        docs_pictures.keep("data-manager", page.screenshot(animations="disabled"))
        dashboard(page, quorate)
        docs_pictures.keep("dashboard", page.screenshot(animations="disabled"))
        browser.close()


def hidden(world: World) -> list[str]:
    """Every column that the picture does not need."""
    with world.owner() as client:
        told = client.get("/api/dm/columns", params={"project": world.project}).json()["columns"]
    names = [f"data.{each['id']}" if each.get("parent") == "data" else each["id"] for each in told]
    return [f"tasks:{name}" for name in names if name not in COLUMNS]


def data_manager(page: Page, world: World, view: int) -> None:
    page.goto(f"{world.studio.url}/user/login/")
    page.fill("#email", OWNER)
    page.fill("#password", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "login" not in url, timeout=60_000, wait_until="commit")
    page.goto(f"{world.studio.url}/projects/{world.project}/data?tab={view}", wait_until="domcontentloaded")
    page.wait_for_selector("text=settled", timeout=60_000)
    page.wait_for_timeout(2000)


def dashboard(page: Page, quorate: Quorate) -> None:
    link = next(line.strip() for line in quorate.printed.splitlines() if "/link/" in line)
    page.goto(link)
    page.click("main button")
    page.wait_for_load_state("networkidle")
    page.click("main a[href^='/p/']")
    page.wait_for_selector("[data-front-end]", timeout=60_000)
    page.wait_for_timeout(5000)


if __name__ == "__main__":
    main()
