"""A `Calibration` -> a reliability diagram, a report, and the files of `quorate calibrate --out`.

The diagram needs matplotlib, an extra; without it the page says how to install it. Called by `Calibration.plot` and by
the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorate.files import Content, check_free, write_folder
from quorate.reports import render
from quorate.reports.figures import BLUE, GRID, QUIET, DrawnFigure, draw_all
from quorate.reports.format import json_page
from quorate.reports.section import Document, Figure, Section, Table, data_section
from quorate.version import __version__
from quorate.workflows.calibrate.measure import Bin, Honesty

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from quorate.workflows.calibrate import Calibration

SUMMARY, REJECTS = "calibration.json", "rejects.csv"
GROUP_HEADS = (
    "decisions", "number", "sure, %", "right, %", "gap", "error", "if honest", "at most", "Brier", "log score",
)  # fmt: skip
BIN_HEADS = ("confidence from", "to", "decisions", "mean confidence, %", "right, %", "95 % interval")
ABOUT = (
    "The confidence of each answer, when asking stopped, is compared with the verdict of the item's whole pool (an "
    "answer in a tie of t classes counts 1/t), or with the true class under --target truth.",
    "Gap: mean confidence minus share right, in points; above 0 the confidence is too high, below 0 too low.",
    "Error: the expected calibration error, the mean distance of share right and confidence over bins of about equally "
    'many decisions, in points. Chance alone makes it larger than 0: "if honest" is its mean and "at most" its 95 % '
    "quantile for a predictor that is honest with the same confidences.",
)


def reliability_figure(found: Calibration) -> Figure:
    """Share right against confidence, a point per bin with its 95 % interval; honest bins are on the diagonal."""
    shown = found.shown

    def one(figure: MplFigure) -> None:
        axes = figure.subplots()
        _draw(axes, shown)
        axes.set_title(f"{found.data}: {found.method.name}, {shown.name}", fontweight="bold", fontsize=10.5)

    caption = (
        "Each point is a bin of decisions with similar confidence; the bars are 95 % intervals. Points on the dashed "
        "line are honest; below it the confidence is too high."
    )
    return Figure("reliability", "Reliability", caption, "Share right against confidence", one, (7.6, 5.0))


def _draw(axes: Axes, shown: Honesty) -> None:
    sure = [100 * each.confidence for each in shown.bins]
    right = [100 * each.right for each in shown.bins]
    below = [max(0.0, 100 * (each.right - each.right_low)) for each in shown.bins]
    above = [max(0.0, 100 * (each.right_high - each.right)) for each in shown.bins]
    low = max(0.0, min([*sure, *(100 * each.right_low for each in shown.bins)]) - 2)
    axes.plot([low, 100], [low, 100], color=QUIET, linewidth=1, linestyle=(0, (4, 3)), label="honest")
    axes.errorbar(sure, right, [below, above], fmt="o", color=BLUE, ecolor=BLUE, capsize=2, label="bins, 95 % interval")
    axes.set(xlabel="confidence, %", ylabel="right, %", xlim=(low, 100.5), ylim=(low, 100.5), aspect="equal")
    axes.grid(color=GRID)
    axes.legend(frameon=False, loc="upper left", fontsize=8)
    text = f"error {100 * shown.ece:.1f} points (honest: {100 * shown.ece_honest:.1f})"
    axes.annotate(text, (0.98, 0.03), xycoords="axes fraction", ha="right", fontsize=9)


def group_row(each: Honesty) -> tuple[str, ...]:
    """A group of decisions as cells under GROUP_HEADS."""
    return (
        each.name, f"{each.num}", f"{100 * each.confidence:.1f}", f"{100 * each.right:.1f}", f"{100 * each.gap:+.1f}",
        f"{100 * each.ece:.2f}", f"{100 * each.ece_honest:.2f}", f"{100 * each.ece_honest_high:.2f}",
        f"{each.brier:.4f}", f"{each.log_score:.4f}",
    )  # fmt: skip


def bin_row(each: Bin) -> tuple[str, ...]:
    """A bin as cells under BIN_HEADS."""
    return (
        f"{each.lowest:.4f}", f"{each.highest:.4f}", f"{each.num}", f"{100 * each.confidence:.1f}",
        f"{100 * each.right:.1f}", f"{100 * each.right_low:.1f} to {100 * each.right_high:.1f}",
    )  # fmt: skip


def write_calibration(found: Calibration, folder: str | Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write calibration.json, report.html and, with matplotlib, reliability.png and .svg, each atomically.

    A folder with files is refused unless `overwrite`. calibration.json is removed first and written last, so that a
    folder that has it is complete.
    """
    place = check_free(folder, overwrite=overwrite)
    drawn = draw_all([reliability_figure(found)])
    files: dict[str, Content] = {
        SUMMARY: json_page(found.summary()),
        "report.html": page(found, drawn),
    }
    for name, picture in drawn.items():
        files |= {f"{name}.png": picture.png, f"{name}.svg": picture.svg}
    if found.report is not None:
        files[REJECTS] = found.report.write_rejects
    write_folder(place, dict(reversed(files.items())))
    return tuple(place / name for name in files)


def page(found: Calibration, drawn: Mapping[str, DrawnFigure] | None = None) -> str:
    """The report as one HTML page; `drawn`: its reliability diagram by key, if already drawn."""
    return render.page(document(found, draw_all([reliability_figure(found)]) if drawn is None else drawn))


def document(found: Calibration, drawn: Mapping[str, DrawnFigure]) -> Document:
    """The calibration as a report."""
    name = f"{found.method.name} on {found.data}"
    groups = Table("", "Groups of decisions", GROUP_HEADS, tuple(group_row(each) for each in found.groups))
    bins = tuple(bin_row(each) for each in found.shown.bins)
    return Document(
        title=f"Is the confidence honest? {name}",
        question=f"Is the confidence honest? {name}",
        answer=found.verdict,
        picture=reliability_figure(found),
        sections=(
            Section("groups", "Groups of decisions", found.details, tables=(groups,)),
            Section("bins", f"Bins: {found.shown.name}", tables=(Table("", "By rising confidence", BIN_HEADS, bins),)),
        ),
        folded=(
            Section("method", "How this is measured", points=ABOUT),
            Section("data", "The data") if found.report is None else data_section(found.report.as_dict()),
        ),
        footer=f"quorate {__version__}; {found.num_items:,} items, pool {found.pool_size}, {found.mean_cost:.2f} votes "
        f"per item, seed {found.seed}. Every figure of this page is in calibration.json.",
        drawn=drawn,
    )
