"""`quorate demo`: the methods on the built-in streams, as tables, a plot and a report."""

from __future__ import annotations

from typing import Annotated

from quorate.cli.options import Json, option
from quorate.cli.output import print_json, print_lines, print_table, progress_bar
from quorate.reports.figures import MISSING
from quorate.streams.curves import Comparison, Matched
from quorate.version import __version__
from quorate.workflows.demo import run_demo
from quorate.workflows.demo.records import summary_of
from quorate.workflows.demo.report import (
    COUPLED,
    HEADS,
    budget_text,
    default_sentence,
    equal_error_sentence,
    row,
    verdict,
)


def demo(
    out: Annotated[str, option("Folder for the plot, the report and the numbers.", "--out", "-o")] = "quorate-demo",
    quick: Annotated[bool, option("Short streams and few parameter values, as a quick check.", "--quick")] = False,
    json: Json = False,
) -> None:
    """The methods on four built-in streams at equal budgets: tables, a plot and a report you can open offline.

    Two of the streams are chosen so that a simple rule should do about as well; the text reports what was measured.
    Left out: methods that need people by name, and fixed-ask-*, which ask as fixed-* do and answer nearly alike.
    """
    with progress_bar(quiet=json) as report:
        result = run_demo(out, quick=quick, progress=report)
    if json:
        summary = summary_of(result.comparisons, headline=result.headline, seconds=result.seconds)
        print_json(summary | {"files": [str(file) for file in result.files]})
        return
    print_lines(result.headline)
    for comparison in result.comparisons:
        print_lines("", comparison.setting.about, f"{budget_text(comparison.middle, comparison)}:")
        _print_comparison(comparison)
        print_lines(*(verdict(matched) for matched in reversed(comparison.matched)))
        print_lines(equal_error_sentence(comparison), default_sentence(comparison))
    print_lines("", result.context, COUPLED, "")
    if not result.has_plots:
        print_lines(MISSING)
    print_lines(f"quorate {__version__}, {result.seconds:.0f} s. Written to {result.out}/:")
    print_lines(
        "  " + "  ".join(file.name for file in result.files), f"Open {result.out / 'report.html'} in a browser."
    )


def _print_comparison(comparison: Comparison) -> None:
    """Print the methods at the middle budget, with their errors at the other budgets."""
    others = [matched for matched in comparison.matched if matched is not comparison.middle]
    readings = (*comparison.middle.readings, *comparison.references)
    rows = [(*row(reading), *(_error(other, reading.name) for other in others)) for reading in readings]
    heads = (*HEADS, *(f"wrong at {other.budget:.2f}, %" for other in others))
    title = f"{comparison.setting.title}: {comparison.num_items} items, pool of {comparison.setting.pool_size}"
    print_table(title, heads, rows, text_columns=2, strong="value")


def _error(matched: Matched, name: str) -> str:
    """The method's error at another budget; "" for a method without a parameter."""
    return next((f"{100 * reading.error_rate:.2f}" for reading in matched.readings if reading.name == name), "")
