"""docs/live.md names everything in `quorate.live`."""

from dataclasses import fields
from inspect import signature
from pathlib import Path

import pytest

from quorate import live

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text()
OPTIONS = set(signature(live.adecide_all).parameters) | set(signature(live.decide_all).parameters)
FIELDS = {field.name for value in (live.Act, live.Outcome, live.LiveResult, live.Judge) for field in fields(value)}


@pytest.mark.parametrize("name", live.__all__)
def test_every_name_is_on_the_page(name):
    assert f"`{name}" in PAGE


@pytest.mark.parametrize("name", sorted(OPTIONS - {"settings", "items", "ask"}))
def test_every_option_is_on_the_page(name):
    assert f"`{name}=" in PAGE


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_every_field_is_on_the_page(name):
    assert f"`{name}`" in PAGE or f"({name}," in PAGE or f" {name}," in PAGE
