"""A part of the system that a test needs and that is not there: skip by hand, fail in CI."""

import os
from typing import NoReturn

import pytest


def missing(what: str, install: str) -> NoReturn:
    """`what` is not here; `install` says how to have it. With CI=true nothing may be skipped for want of it."""
    words = f"{what} is not here; on Debian or Ubuntu: {install}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{words} (CI=true: nothing may be skipped for want of it)")
    pytest.skip(words)
