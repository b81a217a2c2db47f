"""A live service for each test file, and browsers that report their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.quorate_service.pages.live import Live, running
from tests.quorate_service.pages.world import World, made_world

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[Live]:
    """A service that nobody has opened yet."""
    with running(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    """A project with hostile names, one account of each role, and a headless client for each."""
    with made_world(tmp_path_factory.mktemp("world")) as made:
        yield made


@contextmanager
def window(chromium: Browser, *, phone: bool = False, **options) -> Iterator[Page]:
    """A page in a separate browser; an error of a script, or a violated content policy, fails the test."""
    size = PHONE if phone else DESKTOP
    with chromium.new_context(viewport=size, has_touch=phone, is_mobile=phone, **options) as context:
        page = context.new_page()
        broken: list[str] = []
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("console", lambda line: broken.append(line.text) if "Content Security Policy" in line.text else None)
        page.set_default_timeout(60_000)  # a first vote may compile; a slow machine is no fault
        yield page
        assert broken == []


@pytest.fixture(scope="session")
def shots() -> Path | None:
    """The folder for screenshots, from QUORATE_SHOTS, if it is set."""
    import os

    folder = os.environ.get("QUORATE_SHOTS")
    if folder is None:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)
