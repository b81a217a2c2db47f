"""The two-phase experiment: learn with experts, then answer without them; the gain over the classifier alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate.model import concentration
from quorate.reports.figures import INK, ORANGE, PURPLE, QUIET, STYLES
from quorate.reports.section import Claim, Figure, Section, Table
from quorate.streams import expected_errors, prepare
from quorate.types import FloatArray, VoteDataset
from quorate_paper.datasets import accuracies
from quorate_paper.jobs import JobOutcome, at_cost
from quorate_paper.phase_runs import (
    BUDGETS,
    PAPER_ACCURACIES,
    PHASE_METHODS,
    Found,
    PhaseCell,
    Runs,
    beside,
    cell_heads,
    cell_of,
    comparison,
    found_on,
    key_of,
    phase_one_costs,
    plain,
    section_of,
    seeds,
    sets_of,
    whole_fit,
    whose,
)
from quorate_paper.published import two_phase_gain
from quorate_paper.report import Context
from quorate_paper.settings import ASKED_ITEMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

STYLE: dict[str, dict[str, Any]] = {
    "value": STYLES["value"],
    "infexp": {"color": ORANGE, "linestyle": "--", "marker": "s"},
    "fixed-ask-infexp": {"color": PURPLE, "linestyle": "--", "marker": "D"},
    "finexp": {"color": ORANGE, "linestyle": "-", "marker": "o"},
    "fixed-ask-finexp": {"color": PURPLE, "linestyle": "-", "marker": "^"},
}
OFFSETS = {"infexp": -0.09, "fixed-ask-infexp": -0.03, "finexp": 0.03, "fixed-ask-finexp": 0.09}
OTHER_PRIOR = {"linestyle": ":", "linewidth": 1.6}  # of Gamma(3, 2)
FEW_POINTS = 5.0


class GainLine(NamedTuple):
    """A method's mean gain (points) over costs."""

    method: str
    costs: FloatArray
    gains: FloatArray


class GainPanel(NamedTuple):
    """One classifier. `marks`: (method, budget, printed gain, its standard error), for a classifier of `accuracy` %."""

    title: str
    lines: tuple[GainLine, ...]
    marks: tuple[tuple[str, float, float, float], ...]
    accuracy: int | None


def draw(panels: tuple[GainPanel, ...], figure: MplFigure) -> None:
    """Fill the figure."""
    columns = min(2, len(panels))
    grid = figure.subplots((len(panels) + columns - 1) // columns, columns, squeeze=False, sharex=True).flat
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel)
    for axes in list(grid)[len(panels) :]:
        axes.set_axis_off()
    labelled: dict[str, Any] = {}
    for axes in figure.axes:
        labelled |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        labelled.values(), labelled.keys(), loc="outside lower center", ncols=3, frameon=False, handlelength=3.0
    )


def _draw_panel(axes: Axes, panel: GainPanel) -> None:
    axes.axhline(0.0, color=QUIET, linewidth=1, zorder=1)
    for line in panel.lines:
        name, _, other_prior = line.method.partition(":")
        style = {"linewidth": 1.5, "zorder": 3} | STYLE[name] | (OTHER_PRIOR if other_prior else {}) | {"marker": ""}
        there = ~np.isnan(line.gains)
        axes.plot(line.costs[there], line.gains[there], label=PHASE_METHODS[line.method], **style)
    for method, budget, gain, error in panel.marks:
        style = STYLE[method]
        axes.errorbar(
            budget + OFFSETS[method], gain, error, fmt=style["marker"], color=style["color"], markersize=5,
            markerfacecolor="white", elinewidth=1, zorder=6, label=f"paper: {PHASE_METHODS[method]}",
        )  # fmt: skip
    beside = f"   (marks: the paper's {panel.accuracy} %)" if panel.marks else ""
    axes.set_title(panel.title + beside, fontweight="bold", fontsize=10, color=INK)
    axes.set(xlabel="votes per item in the first phase", ylabel="accuracy gained, points", xlim=(0.2, 3.6))


def gains(outcome: JobOutcome, dataset: VoteDataset) -> FloatArray:
    """(Q,) accuracy without experts minus the classifier's on the same items, in points, expected over ties."""
    job = outcome.job
    stream = prepare(dataset, job.pool_size, job.model, job.seed)
    alone = expected_errors(stream, stream.mean_predictions.argmax(axis=1))[ASKED_ITEMS:].mean()
    return np.asarray(100.0 * (alone - outcome.errors[:, 1]))


def ceiling(dataset: VoteDataset, model: str, seed: int) -> float:
    """The gain, on the same items, of parameters fitted to every vote of every item."""
    stream, params = prepare(dataset, dataset.votes.shape[1], model, seed), whole_fit(dataset, model, seed)
    wrong, alone = (
        expected_errors(stream, values.argmax(axis=1))[ASKED_ITEMS:].mean()
        for values in (concentration(params, stream.mean_predictions), stream.mean_predictions)
    )
    return float(100.0 * (alone - wrong))


def section(context: Context) -> Section:
    """The experiment: runs, tables, figures, and the claims of the paper."""
    found = [found_on(context, data, cell, BUDGETS, ceiling) for data in sets_of(context)]
    return section_of(
        "two_phase",
        "Two phases: learn with experts, then answer without them",
        found,
        lead=_lead(context),
        claims=_claims,
        table=_table,
        figure=_figure,
        row=lambda each, cell: plain(cell, "gain") | {"accuracy": round(_accuracy(each.dataset, cell.model), 2)},
    )


def cell(dataset: VoteDataset, row: Runs, budget: float) -> PhaseCell:
    """One cell: the gain at this budget, with the printed one."""
    curves = [(phase_one_costs(outcome), gains(outcome, dataset)) for outcome in row.outcomes]
    read = [float(at_cost(*curve, budget)) for curve in curves]
    accuracy = beside(dataset, row.model, PAPER_ACCURACIES)
    printed = two_phase_gain(accuracy, row.method, budget) if accuracy is not None else None
    return cell_of(dataset, row, budget, read, curves, paper_accuracy=accuracy, printed=printed)


def _accuracy(dataset: VoteDataset, model: str) -> float:
    """The classifier's accuracy in percent."""
    return float(100 * accuracies(dataset)[dataset.models.index(model)])


def _lead(context: Context) -> tuple[str, ...]:
    return (
        f"Experts are asked about the first {ASKED_ITEMS} items of CIFAR-10H; the others are answered from the "
        "classifier and what was learned, with no vote at all.",
        "Gain: accuracy on those items minus the classifier's, in points, against the plurality of the pool. It is "
        f"read at 1, 2 and 3 votes per item in the first phase; mean over {len(seeds(context))} seed(s) and its "
        "standard error. Binned: the mean of all runs within 0.1 of the budget, as in the paper.",
    )


def _claims(found: Found, judged: list[PhaseCell]) -> tuple[Claim, ...]:
    """What the paper says of its gains, on the classifiers of one data set."""
    wins, most = sum(cell.value > 0 for cell in judged), max(judged, key=lambda cell: cell.value)
    least = min(judged, key=lambda cell: cell.value)
    pairs = comparison(judged, BUDGETS[0], BUDGETS[-1])
    rising = sum(high > low for low, high in pairs)
    means = {model: float(np.mean([cell.value for cell in judged if cell.model == model]))
             for model in dict.fromkeys(cell.model for cell in judged)}  # fmt: skip
    weakest = min(means, key=lambda model: _accuracy(found.dataset, model))
    tops = ", ".join(f"{model} {top:+.2f}" for model, top in found.tops.items())
    on = f" ({whose(found.dataset)})"
    return (
        Claim(
            "We find a small but consistent average performance increase of up to 3% over the base model accuracy in "
            "many settings, but particularly in cases where the querying budget is large and base model performance is "
            "low.",
            2 * rising > len(pairs) and max(means, key=lambda model: means[model]) == weakest,
            f"the gain is larger at {BUDGETS[-1]:g} votes than at {BUDGETS[0]:g} in {rising} of {len(pairs)} settings; "
            f"mean gain by classifier, points: "
            + ", ".join(f"{model} {mean:+.2f}" for model, mean in means.items())
            + f"; weakest classifier: {weakest}{on}",
            "section 4.5",
        ),
        Claim(
            "our proposed methods [...] all consistently (but slightly) outperform the base model accuracy",
            wins == len(judged),
            f"in {wins} of {len(judged)} cells that the paper prints; least {least.value:+.2f} points "
            f"({PHASE_METHODS[least.method]} on {least.model} at {least.budget:g}). Parameters fitted to every vote of "
            f"every item would gain {tops}{on}",
            "appendix B, two-phase evaluation",
        ),
        Claim(
            "our learned prior parameters can only recalibrate the existing model f enough to yield an error rate "
            "reduction of a few percentage points",
            most.value <= FEW_POINTS,
            f"at most {most.value:+.2f} points ({PHASE_METHODS[most.method]} on {most.model} at {most.budget:g}){on}",
            "appendix C, time-averaged distribution shift",
        ),
    )


def _table(found: Found) -> Table:
    return Table(
        key=key_of("two_phase", found.data),
        title=f"Accuracy gained without asking, points, over {whose(found.dataset)}",
        heads=("classifier", *cell_heads("gain")),
        rows=tuple((f"{row.model} ({_accuracy(found.dataset, row.model):.1f} %)", *row.shown()) for row in found.rows),
        note="Gamma(3, 2): FinExp with the hyperprior of InfExp, not the paper's.",
        text_columns=2,
    )


def _figure(found: Found) -> Figure:
    panels = [_panel(found.dataset, model, [runs for runs in found.done if runs.model == model])
              for model in dict.fromkeys(runs.model for runs in found.done)]  # fmt: skip
    return Figure(
        key=key_of("two_phase", found.data),
        title=f"Accuracy gained without experts over {whose(found.dataset)}",
        caption="Accuracy on the items without experts, minus the classifier's, against the cost of the first 1000 "
        "items. Lines: mean over seeds. Marks: the paper's cells with one standard error, for a classifier of about "
        "the same accuracy.",
        alt="Gain in accuracy against votes per item, a panel for each classifier, a line for each method",
        draw=partial(draw, tuple(panels)),
        size=(9.5, 3.2 * math.ceil(len(panels) / 2) + 0.6),
    )


def _panel(dataset: VoteDataset, model: str, runs: Sequence[Runs]) -> GainPanel:
    accuracy = _accuracy(dataset, model)
    grid = np.arange(0.3, 3.51, 0.1)
    lines = []
    for row in runs:
        read = [at_cost(phase_one_costs(o), gains(o, dataset), grid) for o in row.outcomes]
        lines.append(GainLine(row.method, grid, np.mean(read, axis=0)))
    printed = beside(dataset, model, PAPER_ACCURACIES)
    marks = [
        (row.method, budget, *cell)
        for row in runs
        if printed is not None
        for budget in BUDGETS
        if (cell := two_phase_gain(printed, row.method, budget)) is not None
    ]
    return GainPanel(f"{model}, {accuracy:.1f} % right", tuple(lines), tuple(marks), printed)
