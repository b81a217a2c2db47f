"""The parts of a report: sections with sentences, claims, tables and pictures; `Document` is a whole report.

Plain values, no markup. Commands and experiments build them; `reports.render` renders them as a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quorate.reports.format import Cell, counted, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

    from quorate.reports.figures import DrawnFigure

NUMBER_STARTS = frozenset("0123456789+-−–·∞.")


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table for people and for CSV. The first `text_columns` are text; numbers are shown with `digits` decimals.

    `highlight`, `quiet`: rows whose first cell is one of these are emphasised, or greyed   `source` how it was made,
    shown below   With a `key` the title is a heading with an anchor, without it a caption.
    `links` first cell of a row -> the page it links to
    """

    key: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    text_columns: int = 1
    digits: int = 2
    highlight: tuple[str, ...] = ("value",)
    quiet: tuple[str, ...] = ()
    source: str = ""
    links: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The table as text.

        >>> Table("", "Goals", ("method", "wrong, %"), (("value", 1.23), ("quorum", None)))
        Goals
        method  wrong, %
        value       1.23
        quorum         –
        """
        cells = [self.heads, *([number(cell, self.digits) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        words = self.columns_of_words()
        lines = [
            "  ".join(c.ljust(w) if word else c.rjust(w) for c, w, word in zip(row, widths, words, strict=True))
            for row in cells
        ]
        return "\n".join([self.title, *map(str.rstrip, lines), *([self.note] if self.note else [])])

    def columns_of_words(self) -> list[bool]:
        """Whether each column holds text, which is aligned to the left.

        >>> table = Table("", "", ("class", "items", "why"), (("7", "12 %", "settled"), ("8", "–", "")))
        >>> table.columns_of_words()
        [True, False, True]
        """
        found = [column < self.text_columns for column in range(len(self.heads))]
        for row in self.rows:
            for column, cell in enumerate(row):
                found[column] |= isinstance(cell, str) and cell != "" and cell[0] not in NUMBER_STARTS
        return found


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `draw(figure)` fills an empty matplotlib figure of that size in inches; `alt` describes it."""

    key: str
    title: str
    caption: str
    alt: str
    draw: Callable[[MplFigure], None]
    size: tuple[float, float] = (9.0, 5.0)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as SVG markup from `reports.svg`: it needs no library and uses the colours of the page."""

    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, whether it holds, and what was measured; None: it cannot be tested, and `measured` says why.

    `source`: the section of the paper that is quoted; "" for a check of our own.
    """

    text: str
    holds: bool | None
    measured: str
    source: str = ""

    def __post_init__(self) -> None:
        """A NumPy truth value becomes Python's own."""
        object.__setattr__(self, "holds", None if self.holds is None else bool(self.holds))

    @property
    def verdict(self) -> str:
        """holds, does not hold, or cannot be tested."""
        return {True: "holds", False: "does not hold", None: "cannot be tested"}[self.holds]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report. `lead` sentences come first; `summary` goes into summary.json under its own keys.

    `cautions` what differs from a reader's expectation   `cards` (number, its meaning)   `points` a list of sentences;
    text between backticks is code   `commands` (where, what to type there)
    """

    key: str
    title: str
    lead: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    cautions: tuple[str, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    cards: tuple[tuple[str, str], ...] = ()
    charts: tuple[Chart, ...] = ()
    points: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to show."""
        shown = (self.lead, self.claims, self.tables, self.figures, self.cautions, self.cards, self.charts)
        return not any((*shown, self.points, self.commands))


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report: it opens with a question, the answer in one sentence and one picture.

    `notes` what a reader must know, the most important first   `sections` tables and charts   `folded` methods, data
    and settings, collapsed at first   `footer` files and version   `contents` whether there is a table of contents
    `marks` cell text -> "yes" or "no": how such a cell is coloured   `drawn` figures by key; a missing figure could not
    be drawn
    """

    title: str
    question: str
    answer: str
    picture: Chart | Figure | None
    sections: tuple[Section, ...]
    folded: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    footer: str = ""
    contents: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)
    drawn: Mapping[str, DrawnFigure] = field(default_factory=dict)


def data_section(data: Mapping[str, Any]) -> Section:
    """How tables were read, and every rule that fired. `data`: from `tables.Report.as_dict`."""
    totals = ", ".join(counted(count, name) for name, count in data["totals"].items())
    rows = tuple((found["rule"], found["count"], found["met"], found["done"]) for found in data["findings"])
    heads = ("rule", "times", "what was found", "what was done")
    table = Table("", "Rules that applied to rows or columns", heads, rows)
    clean = () if rows else ("Nothing unusual was found in the tables.",)
    points = (*data["understood"], *data["decisions"], f"{totals}.")
    return Section("data", "The data", clean, points=points, tables=(table,) if rows else ())
