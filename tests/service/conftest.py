"""What the tests of the service run against: a real PostgreSQL, a fresh database in each kind, a real browser.

Where PostgreSQL or Chromium is missing, the tests that need it skip and say what to install; with CI=true they fail.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.service.postgres import Postgres

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NUMBERS = count(1)


def _missing(what: str, install: str) -> NoReturn:
    """Skip, saying what to install; fail where everything must be there."""
    words = f"{what} is not installed; on Debian or Ubuntu: {install}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{words} (CI=true: nothing may be skipped for want of it)")
    pytest.skip(words)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A private PostgreSQL server, running; each parallel worker has its own. Who stops or kills it starts it again."""
    try:
        from tests.service.postgres import Postgres, find_binaries
    except ImportError as problem:
        _missing(f"psycopg ({problem})", "pip install 'quorate[postgres]'")
    binaries = find_binaries()
    if binaries is None:
        _missing("PostgreSQL's server", "apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="quorate-pg-"))  # not tmp_path: root's is closed to others, and too long
    cluster = None
    try:
        cluster = Postgres(folder, binaries)
        cluster.start()
        yield cluster
    finally:
        if cluster is not None:
            cluster.stop()
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a fresh, empty database, in each kind the service runs on."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'service.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    server.start()  # an earlier test may have left it killed
    name = f"test_{next(NUMBERS)}"
    yield server.create_database(name)
    server.start()  # and this one, too
    server.drop_database(name)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, driven by playwright, which downloads nothing.

    One for each test file, not one for all: as long as it is there, nothing else in this thread can `asyncio.run`.
    """
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        _missing("Chromium", "apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright", "pip install playwright (no `playwright install`: the system's Chromium is used)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
