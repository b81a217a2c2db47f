"""The built-in demonstration: ten methods on a synthetic stream, compared at equal cost, written to a folder.

Called by `quorate demo`.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from quorate.commands.compare import Comparison, compare
from quorate.commands.demo.report import page
from quorate.datasets import Scenario
from quorate.files import write_atomic
from quorate.methods import GROUPS
from quorate.reports import figures
from quorate.reports.format import json_page, percent
from quorate.streams import Reading
from quorate.types import Progress
from quorate.version import __version__

SEEDS = (1, 2)
BUDGETS = (1.0, 2.0, 3.0)  # votes per item at which methods are compared
COMPARED = (
    "value", "finexp", "infexp", "fixed-finexp", "random", "entropy", "mp", "quorum", "unanimous-then-cap", "beta",
)  # fmt: skip
SCENARIO = Scenario(
    "typical",
    "A typical stream",
    "10 classes, 10 experts who agree on about three votes in four, and a classifier that is right on three items "
    "in four, better on some classes than on others, and somewhat overconfident.",
    1600,
    10,
    {"num_classes": 10, "accuracy": 0.75, "calibration": 1.5, "unevenness": 0.6, "agreement": 0.75},
)


@dataclass(frozen=True, slots=True, eq=False)
class DemoResult:
    """The result of the demo: the methods, and the files written to `out`. `has_plots` is false without matplotlib."""

    comparison: Comparison
    seconds: float
    out: Path
    files: tuple[Path, ...]
    has_plots: bool

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        return headline_of(self.comparison)


def run_demo(out: str | Path, *, progress: Progress | None = None) -> DemoResult:
    """Run the methods and write results.csv, summary.json, report.html and the plot to `out`.

    `progress(done, total, what)`. Without matplotlib the plot is left out.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    comparison = demo_comparison(progress=progress)
    picture = comparison.figure(SCENARIO.title, BUDGETS)
    drawn = figures.draw_all([picture])
    seconds = time.perf_counter() - started
    report = page(comparison, BUDGETS, SCENARIO.about, drawn=drawn, answer=headline_of(comparison), seconds=seconds)
    contents = {
        **{f"error-cost.{kind}": getattr(each, kind) for each in drawn.values() for kind in ("png", "svg")},
        "results.csv": _csv(comparison),
        "summary.json": json_page(summary_of(comparison, seconds=seconds)),
        "report.html": report,
    }
    files = tuple(write_atomic(folder / name, content) for name, content in contents.items())
    return DemoResult(comparison, seconds, folder, files, bool(drawn))


def demo_comparison(
    seeds: Sequence[int] = SEEDS, *, num_items: int | None = None, progress: Progress | None = None
) -> Comparison:
    """The methods on the demo's streams, one per seed; None: of their usual length."""
    streams = {seed: SCENARIO.dataset(seed, num_items=num_items) for seed in seeds}
    return compare(streams.__getitem__, COMPARED, seeds, progress=progress)


def headline_of(comparison: Comparison) -> str:
    """The result in one sentence, at the middle number of votes."""
    readings = _readings(comparison, BUDGETS[1])
    ours, everybody = readings[COMPARED[0]], comparison.everybody.votes_per_item
    simple = next(label for label in readings if label in GROUPS["counting rules"])
    return (
        f"With {ours.votes_per_item:.1f} votes per item instead of {everybody:.0f}, the default method is "
        f"wrong on {percent(ours.error_rate)} of the items, the best rule that only counts votes ({simple}) on "
        f"{percent(readings[simple].error_rate)}."
    )


def _readings(comparison: Comparison, votes: float) -> dict[str, Reading]:
    """Every method at these votes, the best first."""
    found = {curve.label: reading for curve in comparison.curves if (reading := curve.at(votes)) is not None}
    return dict(sorted(found.items(), key=lambda each: each[1].error_rate))


def _csv(comparison: Comparison) -> str:
    records = [{**row, "parameters": json.dumps(row["parameters"])} for row in comparison.records()]
    text = StringIO()
    writer = csv.DictWriter(text, [*records[0], "version"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "version": __version__} for row in records)
    return text.getvalue()


def summary_of(comparison: Comparison, *, seconds: float) -> dict[str, Any]:
    """The comparison as plain values."""
    return {
        "version": __version__,
        "headline": headline_of(comparison),
        "seconds": round(seconds, 1),
        "pool_size": SCENARIO.pool_size,
        "num_items": comparison.num_items,
        "dials": dict(SCENARIO.dials),
        "seeds": list(comparison.seeds),
        "ask_all_votes": comparison.everybody.votes_per_item,
        "until_settled_votes": comparison.until_settled.votes_per_item,
        "tie_floor": comparison.until_settled.error_rate,
        "budgets": [{"budget": votes, "methods": _methods(comparison, votes)} for votes in BUDGETS],
    }


def _methods(comparison: Comparison, votes: float) -> list[dict[str, Any]]:
    return [
        {"method": label, "votes_per_item": each.votes_per_item, "error_rate": each.error_rate}
        for label, each in _readings(comparison, votes).items()
    ]
