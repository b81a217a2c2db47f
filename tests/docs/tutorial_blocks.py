"""The fenced blocks of docs/tutorial.md in order: files to save, commands to run, output to compare with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r'^```(\w+)(?: title="([\w.]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """`kind` bash, python or text   `title` the name of the file to save, for python   `text` what is inside."""

    kind: str
    title: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    """Every fenced block of a page."""
    return [Block(*match) for match in FENCE.findall(page.read_text(encoding="utf-8"))]
