"""The built-in demonstration: the methods on four synthetic streams, compared at equal budgets, written to a folder.

Called by `quorate demo`. Every sentence is computed from the run, including those that say that a simple rule does as
well as ours.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quorate import compiled
from quorate.catalogue import is_simple
from quorate.datasets.synthetic import Scenario
from quorate.methods import ANONYMOUS
from quorate.reports import figures
from quorate.reports.format import percent
from quorate.streams.curves import Comparison, budgets_of, compare, equal_error
from quorate.streams.sweep import Progress, Replicate, grid_methods, refine, sweep
from quorate.version import __version__
from quorate.workflows.demo.records import write_results, write_summary
from quorate.workflows.demo.report import savings, write_report

SEEDS = (1, 2)
COMPARED = tuple(name for name in ANONYMOUS if not name.startswith("fixed-ask-"))  # those ask as fixed-* do
QUICK_ITEMS = 300
TYPICAL = {"num_classes": 10, "accuracy": 0.75, "calibration": 1.5, "unevenness": 0.6, "agreement": 0.75}
SETTINGS = (  # a typical stream, and three that are hard for a method like ours
    Scenario(
        "typical",
        "A typical stream",
        "10 classes, 10 experts who agree on about three votes in four, and a classifier that is right on three items "
        "in four, better on some classes than on others, and somewhat overconfident.",
        1600,
        10,
        TYPICAL,
    ),
    Scenario(
        "shift",
        "The classifier breaks half-way",
        "As above, but from the middle of the stream on the classifier is right on only one item in four, and as "
        "confident as before.",
        1000,
        10,
        TYPICAL | {"shift_accuracy": 0.25},
    ),
    Scenario(
        "useless",
        "A useless, overconfident classifier",
        "The classifier is right on 12 % of the items, hardly better than guessing among 10 classes, with a mean "
        "confidence of one half. There is nothing to gain from it; the question is how much harm it does.",
        1000,
        10,
        TYPICAL | {"accuracy": 0.12, "calibration": 15.0, "unevenness": 0.0},
    ),
    Scenario(
        "small-pool",
        "A pool of three",
        "Only three experts: two equal votes settle an item, so there is little to save, and many pools end in a tie.",
        1200,
        3,
        TYPICAL,
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class DemoResult:
    """The result of the demo: a comparison for each setting, the headline with its context, the files."""

    version: str
    comparisons: tuple[Comparison, ...]
    headline: str
    context: str
    seconds: float
    out: Path
    files: tuple[Path, ...]
    has_plots: bool


def run_demo(out: str | Path, *, quick: bool = False, progress: Progress | None = None) -> DemoResult:
    """Run the methods over every setting and write results.csv, summary.json, report.html and the plots to `out`.

    `quick`: one seed, short streams and few settings, to check that everything works. `progress(done, total, what)`.
    Without matplotlib the plots are left out.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if compiled.will_be_compiled():
        figures.preload()
    streams = [demo_replicates(setting, quick=quick) for setting in SETTINGS]  # while kernels compile
    compiled.wait_until_compiled()  # there are hundreds of runs
    started = time.perf_counter()
    comparisons = tuple(
        run_setting(setting, replicates, quick=quick, progress=_overall(progress, number))
        for number, (setting, replicates) in enumerate(zip(SETTINGS, streams, strict=True))
    )
    headline, context = headline_of(comparisons[0]), context_of(comparisons[0])
    seconds = time.perf_counter() - started
    plots = figures.write_plots(comparisons, folder)
    files = [
        *plots,
        write_results(comparisons, folder / "results.csv"),
        write_summary(comparisons, folder / "summary.json", headline=headline, seconds=seconds),
        write_report(comparisons, folder / "report.html", headline=headline, context=context, seconds=seconds),
    ]
    return DemoResult(__version__, comparisons, headline, context, seconds, folder, tuple(files), bool(plots))


def run_setting(
    setting: Scenario, replicates: Sequence[Replicate], *, quick: bool = False, progress: Progress | None = None
) -> Comparison:
    """The methods over their settings on the streams of one setting, compared at equal budgets."""
    seeds = tuple(each.seed for each in replicates)
    num_classes = setting.dials["num_classes"]
    families = grid_methods(COMPARED, pool_size=setting.pool_size, num_classes=num_classes, quick=quick)
    coarse = sweep(families, replicates, progress=_share(progress, 0.0, 0.7))
    curves = refine(coarse, replicates, budgets_of(coarse), progress=_share(progress, 0.7, 1.0))
    comparison = compare(setting, seeds, curves)
    found = equal_error(comparison)
    if found.votes is None:
        return comparison
    # the simple rules are cheap to run: refine their curves near our error
    simple = [each for each in curves if is_simple(each.points[0].method)]
    finer = {each.name: each for each in refine(simple, replicates, [found.votes], rounds=2)}
    return compare(setting, seeds, [finer.get(each.name, each) for each in curves])


def demo_replicates(setting: Scenario, *, quick: bool = False) -> tuple[Replicate, ...]:
    """The setting's streams, one per seed; if `quick`, a short one."""
    num_items, seeds = (QUICK_ITEMS, SEEDS[:1]) if quick else (None, SEEDS)
    return tuple(Replicate(setting.dataset(seed, num_items=num_items), seed) for seed in seeds)


def headline_of(comparison: Comparison) -> str:
    """The result in one sentence, from the first setting at the middle budget."""
    matched = comparison.middle
    ours, simple = matched.ours, matched.best_simple
    return (
        f"At {ours.votes_per_item:.1f} votes per item, quorate is wrong on {percent(ours.error_rate)} of the items and "
        f"the best simple rule ({simple.name}) on {percent(simple.error_rate)}; {_same_error(comparison, simple.name)}."
    )


def context_of(comparison: Comparison) -> str:
    """What the headline leaves out: the best other method, and what asking everyone costs."""
    rival = comparison.middle.best_rival
    return (
        f"{comparison.setting.title}: the best other method of all ({rival.name}) is wrong on "
        f"{percent(rival.error_rate)} at the same cost. Asking everyone costs {comparison.ask_all:.0f} votes per item, "
        f"asking until settled {comparison.until_settled:.1f}; ties leave {percent(comparison.tie_floor)} wrong in any "
        "case."
    )


def _same_error(comparison: Comparison, named: str) -> str:
    """Votes for the same error, as a phrase; `named` is the rule mentioned just before."""
    found = equal_error(comparison)
    if found.votes is None:
        return "no simple rule reaches quorate's error"
    rule = "that rule" if found.simple == named else f"the best simple rule ({found.simple})"
    return f"for the same error {rule} needs {found.votes:.1f} votes ({savings(found)})"


def _overall(progress: Progress | None, number: int) -> Progress | None:
    """Reports the progress of one setting as progress over all settings."""
    title = SETTINGS[number].title
    share = _share(progress, number / len(SETTINGS), (number + 1) / len(SETTINGS))
    return None if share is None else lambda done, total, name: share(done, total, f"{title}: {name}")


def _share(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Reports the progress of a part as progress of the whole, in thousandths."""
    if progress is None:
        return None
    return lambda done, total, name: progress(round(1000 * (start + (end - start) * done / total)), 1000, name)
