"""What the tests of the service run against: a fresh database, a real PostgreSQL, a real browser.

Tests use SQLite. Those of the store, and those in which locks matter, are marked with `BOTH`.

Where PostgreSQL or Chromium is missing, the tests that need it skip and say what to install; with CI=true they fail.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import in_memory
from tests.missing import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from quorate.errors import QuorateError
    from quorate_service.store import Store
    from tests.quorate_service.postgres import Postgres

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NUMBERS = count(1)
POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
BOTH = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture(autouse=True)
def every_problem_is_whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Whatever a test asks for in this process: what the caller can mend names field, rule and fix, and says each once.

    An error that carries no rule fails the test that met it.
    """
    from quorate_service import problems

    lacking: list[object] = []
    told, read = problems.Problem.body, problems.parts

    def body(problem: problems.Problem) -> dict[str, Any]:
        said = told(problem)
        if problem.status < 500 and not all(said[name] for name in ("field", "rule", "fix")):
            lacking.append(said)
        return said

    def parts(error: QuorateError) -> dict[str, Any]:
        if error.rule is None:
            lacking.append(str(error))
        return read(error)

    monkeypatch.setattr(problems.Problem, "body", body)
    monkeypatch.setattr(problems, "parts", parts)
    yield lacking
    assert not lacking, "a problem below 500 without field, value, rule and fix"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running private PostgreSQL server, one per parallel worker. Tests that stop or kill it must start it again."""
    try:
        from tests.quorate_service.postgres import Postgres, find_binaries
    except ImportError as problem:
        missing(f"psycopg ({problem})", "pip install 'quorate[postgres]'")
    binaries = find_binaries()
    if binaries is None:
        missing("PostgreSQL's server", "apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="quorate-pg-", dir=in_memory()))  # tmp_path is closed to others, and long
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
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a fresh database without tables, in each kind the service runs on."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'service.db'}"
        return
    yield from _on_server(request.getfixturevalue("postgres"), like=None)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a fresh database with all tables and no row: a copy of one that was prepared once."""
    if getattr(request, "param", "sqlite") == "sqlite":
        shutil.copyfile(request.getfixturevalue("prepared_file"), tmp_path / "service.db")
        yield f"sqlite:///{tmp_path / 'service.db'}"
        return
    yield from _on_server(request.getfixturevalue("postgres"), like=request.getfixturevalue("prepared_database"))


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A store with all its tables."""
    from quorate_service.store import Store
    from quorate_service.store.prepare import prepare

    store = Store(database_url)
    prepare(store)  # tests of the store start without tables
    yield store
    store.close()


def _on_server(server: Postgres, *, like: str | None) -> Iterator[str]:
    server.start()  # an earlier test may have left it killed
    name = f"test_{next(NUMBERS)}"
    yield server.create_database(name, like=like)
    server.start()  # and this one, too
    server.drop_database(name)


@pytest.fixture(scope="session")
def prepared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables; to be copied, not used."""
    file = tmp_path_factory.mktemp("prepared") / "service.db"
    _prepare(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def prepared_database(postgres: Postgres) -> str:
    """Name of a PostgreSQL database with all tables; to be copied, not used."""
    _prepare(postgres.create_database("prepared"))
    return "prepared"


def _prepare(url: str) -> None:
    from quorate_service.store import Store
    from quorate_service.store.prepare import prepare

    store = Store(url)
    prepare(store)
    store.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, driven by playwright, which downloads nothing.

    One for each test file, not one for all: as long as it is there, nothing else in this thread can `asyncio.run`.
    """
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        missing("Chromium", "apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright", "pip install playwright (no `playwright install`: the system's Chromium is used)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
