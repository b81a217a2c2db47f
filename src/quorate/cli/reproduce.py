"""`quorate reproduce`: the paper's experiments on real data, each table compared with the printed figures."""

from __future__ import annotations

import sys
from textwrap import fill
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table as Grid

from quorate.cli.options import Json, option
from quorate.cli.output import print_json, print_lines, progress_bar
from quorate.paper.report import QUICK, VERDICTS, Part, Reproduction, headline, summary_of, verdict_counts
from quorate.paper.reproduce import reproduce as run
from quorate.reports.format import Cell, number, plain
from quorate.reports.section import Table
from quorate.validate import invalid
from quorate.version import __version__

WIDTH = 100  # columns of a printed table
ROWS, COMPARED_ROWS = 24, 64  # rows of a table that are printed; all are in its CSV


def reproduce(
    what: Annotated[str, typer.Argument(help="curves, shift, two-phase, calibration, experts, or all.")] = "all",
    data: Annotated[
        str | None,
        option("Folder of the data sets; default: $QUORATE_DATA, else the `quorate data fetch` cache.", "--data", "-d"),
    ] = None,
    out: Annotated[
        str, option("Folder for all output; existing results are reused.", "--out", "-o")
    ] = "quorate-reproduction",
    seeds: Annotated[str, option("Seeds of the streams, with commas.", "--seeds")] = "3,4,5",
    quick: Annotated[
        bool, option("Fewer items, parameter values and orderings, one seed, as a quick check.", "--quick")
    ] = False,
    jobs: Annotated[int | None, option("Runs in parallel; default: one per core.", "--jobs", "-j")] = None,
    cluster: Annotated[
        str | None, option("Run on a Dask cluster: tcp://HOST:PORT, or local:2 to start one here.", "--cluster")
    ] = None,
    as_published: Annotated[
        bool, option("Also compare the estimators as published with the exact ones. Slow.", "--as-published")
    ] = False,
    json: Json = False,
) -> None:
    """The paper's experiments on the real data: every table beside the printed figures, every figure, a report.

    You can stop it with Ctrl-C or kill it at any time: the same command continues where it stopped. The same seeds
    give the same results with any --jobs and --cluster.
    """
    try:
        with progress_bar(quiet=json) as report:
            done = run(
                what, data=data, out=out, seeds=_numbers(seeds), quick=quick, jobs=jobs, cluster=cluster,
                as_published=as_published, progress=report,
            )  # fmt: skip
    except KeyboardInterrupt:
        print(f"quorate: finished runs are kept in {out}; the same command continues from there", file=sys.stderr)
        raise
    if json:
        print_json(plain(summary_of(done)) | {"files": [str(file) for file in done.files]})
        return
    for part in done.parts:
        _print_part(part)
    _print_summary(done)


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise invalid("seeds", text, "whole numbers with commas", "write e.g. `seeds='3,4,5'`.")
    return tuple(int(part) for part in parts)


def _print_part(part: Part) -> None:
    section = part.section
    print_lines("", f"== {section.title} ==", *section.lead, *(f"Note: {text}" for text in section.cautions), "")
    for table in section.tables:
        _print_table(table, f"tables/{part.stem(table.key)}.csv")


def _print_table(table: Table, file: str) -> None:
    """Print the rows and columns that fit, and say where the others are."""
    shown = _shown_rows(table)
    rows = [[number(cell, table.digits) for cell in row] for row in shown]
    widths = _fitting(table, rows)
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column, width in widths.items():
        is_text = column < table.text_columns or any(isinstance(row[column], str) for row in table.rows)
        broken = fill(
            table.heads[column], width, break_long_words=False
        )  # without it rich would break the longest cells
        grid.add_column(broken, justify="left" if is_text else "right", overflow="fold", min_width=width)
    for row in rows:
        grid.add_row(*(row[column] for column in widths), style="bold cyan" if row[0] in table.highlight else None)
    print_lines(table.title)
    Console(highlight=False, width=WIDTH).print(grid, markup=False)
    _print_rest(table, len(shown), len(widths), file)


def _shown_rows(table: Table) -> tuple[tuple[Cell, ...], ...]:
    """All rows of a short table; of a long one, those with a verdict, or else the first."""
    if len(table.rows) <= ROWS:
        return table.rows
    judged = tuple(row for row in table.rows if any(cell in VERDICTS for cell in row))
    return judged[:COMPARED_ROWS] or table.rows[:ROWS]


def _fitting(table: Table, rows: list[list[str]]) -> dict[int, int]:
    """Columns that fit -> their widths, heads broken between words: verdicts first, then from the left."""
    columns = range(len(table.heads))
    words = [max((len(word) for word in head.split()), default=1) for head in table.heads]
    widths = [max([words[column], *(len(row[column]) for row in rows)]) for column in columns]
    judged = [column for column in columns if any(row[column] in VERDICTS for row in rows)]
    found: dict[int, int] = {}
    for column in (*judged, *(column for column in columns if column not in judged)):
        if sum(found.values()) + widths[column] + 2 * (len(found) + 1) > WIDTH:  # 2: the gap between columns
            break
        found[column] = widths[column]
    return {column: found[column] for column in columns if column in found} or {0: WIDTH}


def _print_rest(table: Table, num_rows: int, columns: int, file: str) -> None:
    counts = ", ".join(f"{name} {many}" for name, many in verdict_counts(table).items())
    more = [f"{len(table.rows) - num_rows} more rows"] if len(table.rows) > num_rows else []
    more += [f"{len(table.heads) - columns} more columns"] if len(table.heads) > columns else []
    lines = [table.note] if table.note else []
    lines += [f"Verdicts: {counts}."] if counts else []
    lines += [f"{' and '.join(more)} in {file}"] if more else []
    print_lines(*lines, "")


def _print_summary(done: Reproduction) -> None:
    print_lines("== Does it hold? ==")
    for claim in done.claims:
        print_lines(f"{'yes' if claim.holds else 'NO '}  {claim.text}", f"     measured: {claim.measured}")
    print_lines("", headline(done), *(f"Left out: {text}" for text in done.left_out))
    if done.quick:
        print_lines(QUICK)
    taken = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in done.seconds.items())
    print_lines(
        "", f"quorate {__version__}: {taken}",
        f"{done.num_run} runs computed ({done.runs_per_second:.1f} per second), {done.num_stored} reused",
        f"Written to {done.out}/: report.html, summary.json, runs.csv, runs.parquet, "
        f"{sum(len(part.section.tables) for part in done.parts)} tables (tables/*.csv), "
        f"{sum(len(part.section.figures) for part in done.parts)} figures (figures/*.svg, *.png)",
        f"Open {done.out / 'report.html'} in a browser.",
    )  # fmt: skip
