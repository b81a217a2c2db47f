"""For tests that need a missing part of the system: skip locally, fail in CI."""

import os
from typing import NoReturn

import pytest


def missing(what: str, install: str) -> NoReturn:
    """Skip because `what` is missing; `install` says how to install it. With CI=true the test fails instead."""
    words = f"{what} is not here; on Debian or Ubuntu: {install}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{words} (CI=true: nothing may be skipped for want of it)")
    pytest.skip(words)
