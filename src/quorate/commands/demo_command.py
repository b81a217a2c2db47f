"""`quorate demo`: ten methods on a built-in stream, as a table, a plot and a report."""

from __future__ import annotations

import time
from typing import Annotated

from quorate.commands.demo import BUDGETS, run_demo
from quorate.commands.demo.report import error_table, settled_sentence
from quorate.commands.options import option
from quorate.commands.output import print_lines, print_table, progress_bar
from quorate.reports.figures import MISSING
from quorate.reports.format import number


def demo(
    out: Annotated[str, option("Folder for the plot, the report and the numbers.", "--out", "-o")] = "quorate-demo",
) -> None:
    """Ten methods on a built-in stream at equal cost: a table, a plot and a report you can open offline."""
    started = time.perf_counter()
    with progress_bar() as report:
        result = run_demo(out, progress=report)
    comparison, table = result.comparison, error_table(result.comparison, BUDGETS)
    print_lines(result.headline, "")
    print_table(table.title, table.heads, [tuple(map(number, row)) for row in table.rows], strong="value")
    print_lines(
        settled_sentence(comparison),
        *([] if result.has_plots else [MISSING]),
        f"Report: {result.out / 'report.html'} ({time.perf_counter() - started:.0f} s)",
    )
