"""A `Document` -> one self-contained HTML page without scripts, for light and dark themes, phones and paper.

The templates escape every value; only charts of `reports.svg` are markup, and they escape their own text.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from quorate.reports.figures import MISSING
from quorate.reports.format import Cell, number
from quorate.reports.section import Document, Table

TEMPLATES = Path(__file__).parent / "templates"
SHORT_NOTES = 3  # notes that are shown; the others are folded
LONG_TABLE = 24  # a table with more rows is folded
# Styles, code and tags, which stay unchanged, or a " %", which becomes non-breaking (but not in a name like "5 %.csv").
NOT_PROSE_OR_PERCENT = re.compile(r"<(style|code|pre)\b.*?</\1>|<[^>]*>| %(?!\.?\w)", re.DOTALL)


def page(document: Document) -> str:
    """The whole page."""
    text = _environment().get_template("page.html").render(page=document, missing=MISSING)
    return NOT_PROSE_OR_PERCENT.sub(lambda found: "\u00a0%" if found[0] == " %" else found[0], text)


def fragment(answer: str, table: Table, *, notes: tuple[str, ...] = (), command: str = "") -> str:
    """An answer, a command, notes and a table as HTML for a notebook."""
    template = _environment().get_template("fragment.html")
    return template.render(answer=answer, table=table, notes=notes, command=command, marks={})


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    found.filters |= {"code": with_code, "command": unbroken, "number": number}
    found.globals |= {"short_notes": SHORT_NOTES, "long_table": LONG_TABLE, "markup": Markup, "cell_class": cell_class}
    return found


def with_code(text: str) -> Markup:
    """A sentence as HTML; text between backticks is code.

    >>> with_code("See `quorate run` & co.")
    Markup('See <code>quorate run</code> &amp; co.')
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def unbroken(command: str) -> Markup:
    """A command as HTML that breaks lines only before an option; other code breaks anywhere.

    Its own newlines are kept.

    >>> unbroken("quorate run --votes 'a b'")
    Markup('<span>quorate run</span> <span>--votes &#39;a b&#39;</span>')
    """
    if " --" not in command:
        return escape(command)
    parts = re.split(r"( (?=--)|\n)", command)  # every second part is a separator
    return Markup("").join(part if n % 2 else Markup("<span>{}</span>").format(part) for n, part in enumerate(parts))


def cell_class(cell: Cell, is_text: bool, marks: dict[str, str]) -> str:
    """The CSS classes of a cell: text or not, and its mark."""
    mark = marks.get(cell, "") if isinstance(cell, str) else ""
    return " ".join(filter(None, ["text" if is_text else "", mark]))
