"""The pictures of the service in the docs, docs/figures/service/*.png: `make docs-screenshots`.

Taken of the pages the tests look at, in a real browser: a project of handwritten digits after a day of simulated votes.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.live import running
from tests.quorate_service.pages.seeded import seed
from tests.quorate_service.pages.views import Views

FOLDER = Path(__file__).parents[3] / "docs" / "figures" / "service"
LARGEST = 150_000  # bytes of one picture
PICTURES = {  # name: page, phone, colour scheme, height (None: all of it)
    "dashboard": ("dashboard", False, "light", None),
    "dashboard-dark": ("dashboard", False, "dark", 960),
    "vote": ("vote", False, "light", 800),
    "vote-phone": ("vote", True, "light", 844),
    "vote-phone-dark": ("cut_off", True, "dark", 844),
    "item": ("item", False, "light", None),
    "items": ("items", False, "light", 800),
    "import": ("data", False, "light", 900),
    "people": ("people", False, "light", 800),
}


def main() -> None:
    """Take all pictures; prints the size of each."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        sys.exit("docs-screenshots: Chromium is not installed; on Debian or Ubuntu: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as live, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        views = Views(live, seed(live.store, live.projects, num_items=240, num_done=170))
        time.sleep(8)  # until the numbers of the dashboard are computed anew
        for name, (view, phone, scheme, height) in PICTURES.items():
            with window(browser, phone=phone, color_scheme=scheme) as page:
                getattr(views, view)(page)
                size = page.viewport_size
                clip = None if height is None else {"x": 0, "y": 0, "width": size["width"], "height": height}
                keep(name, page.screenshot(full_page=True, clip=clip, animations="disabled"))
        browser.close()


def keep(name: str, picture: bytes) -> None:
    """Write a picture as small as possible, with its own palette."""
    path = FOLDER / f"{name}.png"
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(
        256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
    ).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(FOLDER.parents[2])}: {size / 1000:.0f} kB")
    if size > LARGEST:
        sys.exit(f"{path.name} has {size} bytes; pictures of the docs have at most {LARGEST}; clip it.")


if __name__ == "__main__":
    main()
