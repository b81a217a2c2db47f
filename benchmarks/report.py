"""A measured row, and the table and JSON of rows. Called by run.py."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from common import machine


@dataclass
class Row:
    """One comparison. `ratio` is theirs / ours if we must be faster, ours / theirs if we may be slower.

    `met` None: nothing is required. `gates`: a miss makes the run fail.
    """

    key: str
    what: str
    against: str
    inputs: str
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    required: str = ""
    met: bool | None = None
    gates: bool = True
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def at_least(self, times: float) -> Row:
        """We must be this many times faster."""
        self.ratio = self.theirs / self.ours
        self.required, self.met = f"at least {times:g}x", self.ratio >= times
        return self

    def at_most(self, times: float, *, excuse: bool = False, text: str = "") -> Row:
        """We may be this many times slower, or more with an excuse, which `text` explains."""
        self.ratio = self.ours / self.theirs
        self.required, self.met = f"at most {times:g}x{text}", self.ratio <= times or excuse
        return self

    def under(self, seconds: float) -> Row:
        """It must take fewer seconds than this; not measured if `ours` is None."""
        self.theirs, self.required = seconds, f"under {seconds:g} s"
        if self.ours is None:
            self.note, self.gates = self.note or "not measured in a quick run", False
        else:
            self.ratio, self.met = self.ours / seconds, self.ours < seconds
        return self

    def faster(self) -> Row:
        """How many times faster we are, without a limit."""
        self.ratio, self.gates = self.theirs / self.ours, False
        return self

    def informative(self) -> Row:
        """No limit on the ratio ours / theirs."""
        self.ratio = None if self.ours is None or self.theirs is None else self.ours / self.theirs
        self.gates = False
        return self


def show(rows: list[Row]) -> None:
    """One table on stdout."""
    table = Table(
        title="quorate, one thread and medians of alternating runs unless a row says otherwise", show_lines=True
    )
    for name in ("what", "against, in the same run"):
        table.add_column(name, ratio=4, overflow="fold")
    for name in ("ours", "theirs", "ratio", "required", "met"):
        table.add_column(name, justify="right", no_wrap=name != "required", max_width=18)
    table.add_column("inputs and notes", ratio=7, overflow="fold")
    for row in rows:
        met = "" if row.met is None else "yes" if row.met else "NO"
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}x" if row.ratio < 1000 else f"{row.ratio:.0f}x"
        notes = "; ".join(part for part in (row.inputs, row.note) if part)
        table.add_row(row.what, row.against, _time(row.ours), _time(row.theirs), ratio, row.required, met, notes)
    Console(width=180).print(table)


def as_json(rows: list[Row], *, quick: bool, took: float) -> str:
    """The rows, with the machine and the versions."""
    content = {"machine": machine(), "quick": quick, "seconds": took, "rows": [asdict(row) for row in rows]}
    return json.dumps(content, indent=2, default=float)


def write_json(rows: list[Row], target: str, *, quick: bool, took: float) -> None:
    """To a file, or to stdout for "-"."""
    text = as_json(rows, quick=quick, took=took)
    if target == "-":
        print(text)
    else:
        Path(target).write_text(text + "\n", encoding="utf-8")


def _time(value: float | None) -> str:
    if value is None:
        return ""
    for limit, unit, scale in ((1e-3, "us", 1e6), (1.0, "ms", 1e3), (600.0, "s", 1.0)):
        if value < limit:
            return f"{value * scale:.3g} {unit}"
    return f"{value / 60:.0f} min"
