"""A docstring as this house writes it -> Markdown as the site shows it. Used by mkdocstrings, when `make docs` runs.

Examples (`>>>`) become code blocks; a block of lines that each begin with `name:` becomes a list, and so do backticked
fields set apart by wide spaces.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

NAMED = re.compile(r"^`?\w+`?(, `?\w+`?)*(: | \()")
FIELDS = re.compile(r" {3,}(?=`)")


def to_markdown(text: str) -> str:
    r"""The docstring with its examples fenced and its fields listed.

    >>> to_markdown("Doubles.\n\n>>> 2 * 2\n4").splitlines()
    ['Doubles.', '', '```pycon', '>>> 2 * 2', '4', '```']
    """
    return "\n\n".join(_block(block) for block in re.split(r"\n\s*\n", text.strip("\n")))


def _block(block: str) -> str:
    lines = block.splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    if lines[0].startswith("    "):
        return block
    if FIELDS.search(block):
        return "\n".join(f"- {part.strip()}" for part in re.split(r" {3,}(?=`)|\n(?=`)", block))
    if len(lines) > 1 and all(NAMED.match(line) for line in lines):
        return "\n".join(f"- {line}" for line in lines)
    return block


class HouseDocstrings(Extension):
    """Rewrites every docstring once it is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:  # noqa: ANN401
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
