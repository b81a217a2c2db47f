"""The pictures of docs/howto/label-studio.md: first steps, then a project with closed tasks, and our dashboard.

`python -m tests.quorate_service.studio.docs_pictures` (needs `make label-studio` and Chromium).
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page

from tests.processes import wait_until
from tests.quorate_service.pages import docs_pictures
from tests.quorate_service.studio import guide
from tests.quorate_service.studio import studio as studios
from tests.quorate_service.studio.person import Person, browser
from tests.quorate_service.studio.studio import OWNER, PASSWORD
from tests.quorate_service.studio.world import NAME, Quorate, World, furnish

FOLDER = Path(__file__).parents[3] / "docs" / "figures" / "label-studio"
COLUMNS = ("id", "total_annotations", "data.text", "data.quorate_consensus", "data.quorate_confidence",
           "data.quorate_reason", "data.quorate_votes")  # fmt: skip


def main() -> None:
    """Take the pictures of the first steps; work on half of the tasks of a project, and take those of the result."""
    docs_pictures.FOLDER = FOLDER
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        studio = studios.copy_of_template(Path(folder) / "label-studio")
        with ExitStack() as ends:
            ends.callback(studio.kill)
            studio.start()
            first_steps(studio, Path(folder))
            world = furnish(studio, str(Path(folder) / "quorate.db"), 18, seed=11)
            quorate = Quorate(world.database, studio, world.project)
            ends.callback(quorate.end)
            quorate.start()
            some_work(world)
            pictures(world, quorate)


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
    with browser() as chromium:
        owner = Person(chromium, world.studio.url)
        owner.sign_in(OWNER, PASSWORD)
        data_manager(owner.page, world, made.json()["id"])
        docs_pictures.keep("data-manager", owner.page.screenshot(animations="disabled"))
        owner.open_dashboard(next(line.strip() for line in quorate.printed.splitlines() if "/link/" in line), NAME)
        owner.page.wait_for_timeout(5000)
        docs_pictures.keep("dashboard", owner.page.screenshot(animations="disabled"))


def first_steps(studio: studios.Studio, folder: Path) -> None:
    """What the guide says to click before anything is connected; a token is covered."""
    told = guide.read()
    file = folder / told.file
    file.write_text(told.tasks + "\n")
    with browser() as chromium:
        owner = Person(chromium, studio.url)
        page = owner.page
        owner.sign_in(OWNER, PASSWORD)
        owner.fill_in_project(told.name, str(file), told.config)
        page.wait_for_timeout(3000)
        docs_pictures.keep("new-project", page.screenshot(animations="disabled"))
        owner.save_project()
        owner.start_labelling()
        page.wait_for_timeout(3000)
        docs_pictures.keep("labelling", page.screenshot(animations="disabled"))
        owner.create_token()
        covered = [page.locator("input[value^=ey]")]  # the list of tokens is behind the dialog
        page.wait_for_timeout(3000)
        docs_pictures.keep("token", page.screenshot(animations="disabled", mask=covered, mask_color="#d8d8e8"))


def hidden(world: World) -> list[str]:
    """Every column that the picture does not need."""
    with world.owner() as client:
        told = client.get("/api/dm/columns", params={"project": world.project}).json()["columns"]
    names = [f"data.{each['id']}" if each.get("parent") == "data" else each["id"] for each in told]
    return [f"tasks:{name}" for name in names if name not in COLUMNS]


def data_manager(page: Page, world: World, view: int) -> None:
    page.goto(f"{world.studio.url}/projects/{world.project}/data?tab={view}", wait_until="domcontentloaded")
    page.wait_for_selector("text=settled", timeout=60_000)
    page.wait_for_timeout(2000)


if __name__ == "__main__":
    main()
