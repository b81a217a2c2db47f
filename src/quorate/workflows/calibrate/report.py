"""A `Calibration` -> a reliability diagram, a page, and the files of `quorate calibrate --out`.

The diagram needs matplotlib, an extra; without it the page says how to install it. Called by `Calibration.plot` and by
the command.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from quorate.errors import MissingExtra
from quorate.files import write_contents
from quorate.reports.plain_json import plain
from quorate.reports.plots import BLUE, GRID, MISSING, QUIET, RC, can_plot
from quorate.reports.style import PAGE_STYLE
from quorate.version import __version__
from quorate.workflows.calibrate import Calibration
from quorate.workflows.calibrate.measure import Bin, Honesty

if TYPE_CHECKING:
    from quorate.tables.report import Report as TablesReport

SUMMARY, REJECTS = "calibration.json", "rejects.csv"
GROUP_HEADS = (
    "decisions", "number", "sure, %", "right, %", "gap", "error", "if honest", "at most", "Brier", "log score",
)  # fmt: skip
BIN_HEADS = ("confidence from", "to", "decisions", "mean confidence, %", "right, %", "95 % interval")
ABOUT = (
    "Each answer's confidence, when the asking stopped, against the verdict of the item's whole pool; a share of a tie "
    "counts as that share. Gap: mean confidence less share right, in points; above 0 it boasts, below 0 it is shy. "
    "Error: the expected calibration error, the mean distance of share right and confidence over bins of about equally "
    "many decisions, in points. It is above 0 by chance alone, so beside it stand its mean (if honest) and its 95 % "
    "quantile (at most) for a predictor that is honest with the same confidences."
)


def reliability_figure(found: Calibration) -> Any:  # noqa: ANN401
    """Share right against confidence, a point per bin with its 95 % interval; on the diagonal it is honest."""
    if not can_plot():
        raise MissingExtra(MISSING)
    import matplotlib  # noqa: PLC0415
    import matplotlib.figure  # noqa: PLC0415

    shown = found.every if found.early is None else found.early
    with matplotlib.rc_context(RC):
        figure = matplotlib.figure.Figure(figsize=(5.2, 5.0), layout="constrained")
        axes = figure.subplots()
        _draw(axes, shown)
        axes.set_title(f"{found.data}: {found.method.name}, {shown.name}", fontweight="bold", fontsize=10.5)
    return figure


def _draw(axes: Any, shown: Honesty) -> None:  # noqa: ANN401
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
    """calibration.json, report.html and, with matplotlib, reliability.png and .svg; each is whole or not there.

    A folder that holds files is refused unless `overwrite`. calibration.json goes first and comes last, so that a
    folder that has it is complete.
    """
    from quorate.workflows.run.files import check_free  # noqa: PLC0415 - PyArrow is an extra

    place = check_free(folder, overwrite=overwrite)
    contents = _contents(found)
    write_contents(place, dict(reversed(contents.items())))
    return tuple(place / name for name in contents)


def _contents(found: Calibration) -> dict[str, bytes]:
    text = json.dumps(plain(found.summary()), indent=2, ensure_ascii=False, allow_nan=False)
    contents = {SUMMARY: f"{text}\n".encode(), "report.html": page(found).encode()}
    if can_plot():
        figure = found.plot()
        for ending, more in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=ending, **more)
            contents[f"reliability.{ending}"] = buffer.getvalue()
    if found.report is not None:
        contents[REJECTS] = _rejects(found.report)
    return contents


def _rejects(report: TablesReport) -> bytes:
    """The rows set aside, as CSV: the header alone if there are none, as `quorate run` writes it."""
    with TemporaryDirectory() as folder:
        report.write_rejects(Path(folder) / REJECTS)
        return (Path(folder) / REJECTS).read_bytes()


def page(found: Calibration) -> str:
    """The report as one HTML page, nothing loaded from elsewhere."""
    shown = found.every if found.early is None else found.early
    picture = f"<p>{escape(MISSING)}</p>"
    if can_plot():
        picture = f'<img alt="Share right against confidence" src="{_svg(found)}">'
    all_classes = ""
    if found.brier is not None and found.log_score is not None:
        all_classes = f"Over all classes, every decision: Brier {found.brier:.4f}, log score {found.log_score:.4f}."
    title = f"Is the confidence honest? {found.method.name} on {found.data}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{PAGE_STYLE}th:first-child, td:first-child {{ text-align: left; }}</style></head>
<body><h1>{escape(title)}</h1>
<p class="headline">{escape(found.verdict)}</p>
<p>{escape(ABOUT)}</p>{picture}
<h2>Groups of decisions</h2>{_table(GROUP_HEADS, [group_row(each) for each in found.groups])}
<p>{escape(all_classes)}</p>
<h2>Bins: {escape(shown.name)}</h2>{_table(BIN_HEADS, [bin_row(each) for each in shown.bins])}
{_understood(found)}
<p class="quiet">quorate {__version__}; {found.num_items} items, pool {found.pool_size}, {found.mean_cost:.2f} votes per
item, seed {found.seed}.</p></body></html>
"""


def _understood(found: Calibration) -> str:
    """How the tables were read; nothing if there were none."""
    if found.report is None:
        return ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in found.report.understood(REJECTS))
    return f"<h2>The data</h2><ul>{lines}</ul>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _svg(found: Calibration) -> str:
    buffer = io.BytesIO()
    found.plot().savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
