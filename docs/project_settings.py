"""Prints docs/reference/project-settings.md: `python docs/project_settings.py > docs/reference/project-settings.md`.

A test compares the page with what this prints.
"""

from __future__ import annotations

import json

from pydantic.fields import FieldInfo

from quorate_service.domain.settings import FIXED, ProjectSettings

HEAD = """# Settings of a project

The `settings` of a project in the [service](../service.md), with their default and their bounds. `classes` and the
name of the `method` cannot change in a project. This page is written by `python docs/project_settings.py`.

| setting | default | bounds | meaning |
|---|---|---|---|
"""
BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "min_length": "at least", "max_length": "at most"}


def page() -> str:
    """The whole page."""
    assert FIXED == ("classes", "method")
    return HEAD + "".join(_row(name, info) for name, info in ProjectSettings.model_fields.items())


def _row(name: str, info: FieldInfo) -> str:
    default = "required" if info.is_required() else f"`{json.dumps(info.get_default(call_default_factory=True))}`"
    found = [(words, getattr(each, limit)) for each in info.metadata for limit, words in BOUNDS.items()
             if getattr(each, limit, None) is not None]  # fmt: skip
    bounds = ", ".join(f"{words} {value:g}" for words, value in found)
    meaning = f"{info.title}. {info.description or ''}".strip()
    return f"| `{name}` | {default} | {bounds} | {meaning} |\n"


if __name__ == "__main__":
    print(page(), end="")
