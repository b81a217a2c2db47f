"""The built-in demonstration: ten methods on a synthetic stream, compared at equal cost, written to a folder.

Called by `quorate demo`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate import compiled
from quorate.datasets.synthetic import Scenario
from quorate.files import write_atomic
from quorate.reports import figures
from quorate.reports.format import percent
from quorate.streams.curves import REFERENCES, Comparison, Matched, budgets_of, compare
from quorate.streams.sweep import Progress, Replicate, grid_methods, refine, sweep
from quorate.version import __version__
from quorate.workflows.demo.records import curve_records, reading_record, write_csv, write_json
from quorate.workflows.demo.report import page

SEEDS = (1, 2)
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
    """The result of the demo: the methods at three costs, and the files. `has_plots` is false without matplotlib."""

    comparison: Comparison
    seconds: float
    out: Path
    files: tuple[Path, ...]
    has_plots: bool

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        return headline_of(self.comparison)

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return summary_of(self.comparison, seconds=self.seconds) | {"files": [str(file) for file in self.files]}


def run_demo(out: str | Path, *, progress: Progress | None = None) -> DemoResult:
    """Run the methods and write results.csv, summary.json, report.html and the plot to `out`.

    `progress(done, total, what)`. Without matplotlib the plot is left out.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if compiled.will_be_compiled():
        figures.preload()
    replicates = demo_replicates()  # while kernels compile
    compiled.wait_until_compiled()  # there are hundreds of runs
    started = time.perf_counter()
    comparison = run_setting(SCENARIO, replicates, progress=progress)
    seconds = time.perf_counter() - started
    plots = figures.write_plot(comparison, folder)
    records = curve_records(SCENARIO.key, comparison.curves, comparison.seeds)
    files = (
        *plots,
        write_csv(records, folder / "results.csv"),
        write_json(summary_of(comparison, seconds=seconds), folder / "summary.json"),
        write_atomic(folder / "report.html", page(comparison, answer=headline_of(comparison), seconds=seconds)),
    )
    return DemoResult(comparison, seconds, folder, files, bool(plots))


def run_setting(setting: Scenario, replicates: Sequence[Replicate], *, progress: Progress | None = None) -> Comparison:
    """The methods over their settings on the streams of one scenario, compared at equal cost."""
    families = grid_methods(
        (*COMPARED, *REFERENCES), pool_size=setting.pool_size, num_classes=setting.dials["num_classes"]
    )
    coarse = sweep(families, replicates, progress=progress)
    curves = refine(coarse, replicates, budgets_of(coarse))
    return compare(setting, tuple(each.seed for each in replicates), curves)


def demo_replicates(seeds: Sequence[int] = SEEDS, *, num_items: int | None = None) -> tuple[Replicate, ...]:
    """The demo's streams, one per seed; None: of their usual length."""
    return tuple(Replicate(SCENARIO.dataset(seed, num_items=num_items), seed) for seed in seeds)


def headline_of(comparison: Comparison) -> str:
    """The result in one sentence, at half the cost of asking until settled."""
    ours, simple = comparison.middle.ours, comparison.middle.best_simple
    return (
        f"With {ours.votes_per_item:.1f} votes per item instead of {comparison.ask_all:.0f}, the default method is "
        f"wrong on {percent(ours.error_rate)} of the items, the best rule that only counts votes ({simple.name}) on "
        f"{percent(simple.error_rate)}."
    )


def summary_of(comparison: Comparison, *, seconds: float) -> dict[str, Any]:
    """The comparison as plain values."""
    return {
        "version": __version__,
        "headline": headline_of(comparison),
        "seconds": round(seconds, 1),
        "pool_size": comparison.setting.pool_size,
        "num_items": comparison.num_items,
        "dials": dict(comparison.setting.dials),
        "seeds": list(comparison.seeds),
        "ask_all_votes": comparison.ask_all,
        "until_settled_votes": comparison.until_settled,
        "tie_floor": comparison.tie_floor,
        "references": [reading_record(reading, comparison) for reading in comparison.references],
        "budgets": [_budget_summary(matched, comparison) for matched in comparison.matched],
    }


def _budget_summary(matched: Matched, comparison: Comparison) -> dict[str, Any]:
    return {
        "budget": matched.budget,
        "best_simple_rule": matched.best_simple.name,
        "methods": [reading_record(reading, comparison) for reading in matched.readings],
    }
