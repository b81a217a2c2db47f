"""Calibration experiment: the correlation of learned tau with the classifier's accuracy per class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate.model import plurality_shares, unpack
from quorate.reports.figures import BLUE, INK, ORANGE, QUIET
from quorate.reports.format import Cell
from quorate.reports.section import Claim, Figure, Section, Table
from quorate.types import FloatArray, VoteDataset
from quorate_paper.datasets import vote_counts
from quorate_paper.jobs import JobOutcome, at_cost, mean_se
from quorate_paper.phase_runs import (
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
    nearest,
    phase_one_costs,
    plain,
    section_of,
    seeds,
    sets_of,
    whole_fit,
    whose,
)
from quorate_paper.published import tau_correlation
from quorate_paper.report import Context
from quorate_paper.settings import BUDGETS
from quorate_paper.store import known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

COLOURS = {"finexp": BLUE, "infexp": ORANGE}
WIDTHS = {"finexp": 3.6, "infexp": 1.3}  # the lines nearly coincide: the wider one stays visible
DASHES: dict[float, Any] = {1.0: "-", 2.0: (0, (5, 2)), 3.0: (0, (1, 1.5))}
BARS = "#c9d6de"


class TauPanel(NamedTuple):
    """One classifier: accuracy (K,) of each class; lines of (method, votes per item, tau (K,))."""

    model: str
    classes: tuple[str, ...]
    accuracy: FloatArray
    lines: tuple[tuple[str, float, FloatArray], ...]


def draw(panels: tuple[TauPanel, ...], figure: MplFigure) -> None:
    """Fill the figure: one column per classifier, classes from the worst to the best."""
    rows = figure.subplots(2, len(panels), squeeze=False, sharex="col", sharey="row", height_ratios=(2, 3))
    for above, below, panel in zip(*rows, panels, strict=True):
        order = np.argsort(panel.accuracy)
        _accuracy(above, panel, order)
        _tau(below, panel, order)
    known = [tau[~np.isnan(tau)] for panel in panels for _, _, tau in panel.lines]  # empty for unreached budgets
    rows[1][0].set_ylim(0, 1.06 * max((float(tau.max()) for tau in known if len(tau)), default=1.0))
    rows[0][0].set_ylabel("accuracy, %")
    rows[1][0].set_ylabel("learned tau")
    handles, labels = rows[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, handlelength=3.2)


def _accuracy(axes: Axes, panel: TauPanel, order: np.ndarray) -> None:
    places = np.arange(len(order))
    axes.bar(places, 100 * panel.accuracy[order], color=BARS, edgecolor=QUIET, linewidth=0.6, zorder=2)
    for place, value in zip(places, panel.accuracy[order], strict=True):
        axes.annotate(f"{100 * value:.0f}", (place, 100 * value), (0, 2), textcoords="offset points", ha="center",
                      fontsize=8, color=INK)  # fmt: skip
    axes.set_ylim(0, 108)
    axes.set_title(panel.model, fontweight="bold", fontsize=10.5)


def _tau(axes: Axes, panel: TauPanel, order: np.ndarray) -> None:
    places = np.arange(len(order))
    for method, budget, tau in panel.lines:
        votes = "1 vote" if budget == 1 else f"{budget:g} votes"
        axes.plot(places, tau[order], color=COLOURS[method], linestyle=DASHES[budget], linewidth=WIDTHS[method],
                  marker="o", markersize=3, label=f"{PHASE_METHODS[method]}, {votes} an item")  # fmt: skip
    axes.set_xticks(places, [panel.classes[k] for k in order], rotation=45, ha="right", rotation_mode="anchor")


SHOWN_BUDGETS = (1.0, 2.0, 3.0)
SHOWN_METHODS = ("finexp", "infexp")
PAPER_ACCURACIES = (50, 70, 90)
STRONG = 0.47  # the lowest that the paper prints
HEAVIER, ALIKE = 1.1, 0.1  # ratio of tau at 3 votes to tau at 1 vote
NEAR = 0.5  # votes: a budget without a run this close is left blank for a seed, as in the paper


def class_accuracy(dataset: VoteDataset, model: str) -> FloatArray:
    """(K,) the share of items with plurality k that the classifier labels k; ties are shared."""
    credit, said = _verdicts(dataset, model)
    return np.asarray((credit * said).sum(axis=0) / credit.sum(axis=0))


def class_precision(dataset: VoteDataset, model: str) -> FloatArray:
    """(K,) the share of items labelled k by the classifier whose plurality is k; ties are shared."""
    credit, said = _verdicts(dataset, model)
    return np.asarray((credit * said).sum(axis=0) / np.maximum(said.sum(axis=0), 1))


def learned_tau(outcome: JobOutcome, num_classes: int) -> FloatArray:
    """(Q, K) tau at the end of each run; NaN where nothing was learned."""
    return np.array([unpack(row, (num_classes,)).tau if not np.isnan(row).any() else np.full(num_classes, np.nan)
                     for row in outcome.params])  # fmt: skip


def correlations(tau: FloatArray, accuracy: FloatArray) -> FloatArray:
    """Pearson correlation of each row of tau (Q, K) with accuracy (K,): (Q,); NaN for a row that does not vary.

    >>> correlations(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), np.array([0.1, 0.2, 0.3])).round(6)
    array([ 1., -1.])
    """
    centred = tau - tau.mean(axis=1, keepdims=True)
    aim = accuracy - accuracy.mean()
    scale = np.sqrt((centred**2).sum(axis=1) * (aim**2).sum())
    found = np.divide(centred @ aim, scale, out=np.full(len(tau), np.nan), where=scale > 1e-12)
    return np.asarray(found)


def section(context: Context) -> Section:
    """The experiment: figures, tables, and the claims of the paper."""
    found = [found_on(context, data, cell, BUDGETS, ceiling) for data in sets_of(context)]
    return section_of(
        "calibration",
        "Calibration: what tau learns about the classifier",
        found,
        lead=_lead(len(seeds(context))),
        claims=_claims,
        table=_table,
        figure=_figure,
        row=lambda each, cell: plain(cell, "correlation") | {"precision_correlation": _with_precision(each, cell)},
        more_cautions=(
            "With a class bias, tau of value has a different meaning: the part that does not depend on the "
            "prediction is in the bias, not in tau. Its rows are for reference.",
            "A correlation over ten classes is noisy: it varies between seeds.",
        ),
    )


def _with_precision(found: Found, cell: PhaseCell) -> Cell:
    """The cell's correlation with precision instead of accuracy; None if no seed reaches the budget."""
    row = next(row for row in found.done if (row.model, row.method) == (cell.model, cell.method))
    curves = _curves(found.dataset, row, class_precision(found.dataset, row.model))
    return known(mean_se([_at(*curve, cell.budget) for curve in curves])[0])


def _verdicts(dataset: VoteDataset, model: str) -> tuple[FloatArray, FloatArray]:
    """(T, K) share of each class in the pool's plurality, and 1 for the class that the classifier predicts."""
    said = np.eye(dataset.num_classes)[dataset.predictions[dataset.models.index(model)].argmax(axis=1)]
    return plurality_shares(vote_counts(dataset)), said


def _curves(dataset: VoteDataset, row: Runs, aim: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Each seed's costs and correlations of learned tau with `aim` (K,)."""
    return [
        (phase_one_costs(outcome), correlations(learned_tau(outcome, dataset.num_classes), aim))
        for outcome in row.outcomes
    ]


def cell(dataset: VoteDataset, row: Runs, budget: float) -> PhaseCell:
    """One cell: the correlation at this budget, with the printed one."""
    curves = _curves(dataset, row, class_accuracy(dataset, row.model))
    read = [_at(*curve, budget) for curve in curves]
    accuracy = beside(dataset, row.model, PAPER_ACCURACIES)
    printed = tau_correlation(accuracy, row.method, budget) if accuracy is not None else None
    return cell_of(dataset, row, budget, read, curves, paper_accuracy=accuracy, printed=printed)


def _at(costs: FloatArray, values: FloatArray, budget: float) -> float:
    """The curve read at the budget; NaN if it does not reach it, or if no point is near."""
    there = ~np.isnan(values)
    if not there.any() or np.abs(costs[there] - budget).min() > NEAR:
        return math.nan
    return float(at_cost(costs[there], values[there], budget))


def _lead(num_seeds: int) -> tuple[str, ...]:
    return (
        "tau[k] is how far the method trusts what the classifier says about class k. Accuracy per class: the share of "
        "items with plurality k that the classifier labels k.",
        f"Pearson correlation of the two over classes, after {num_seeds} seed(s) of the two-phase runs: mean and "
        "standard error at 0.5, 1, 2 and 3 votes per item. The last column correlates tau with precision instead: the "
        "share of items labelled k by the classifier whose plurality is k.",
    )


def ceiling(dataset: VoteDataset, model: str, seed: int) -> float:
    """The correlation of tau fitted to every vote of every item."""
    tau = whole_fit(dataset, model, seed).tau
    return float(correlations(tau[None], class_accuracy(dataset, model))[0])


def _claims(found: Found, judged: list[PhaseCell]) -> tuple[Claim, ...]:
    """What the paper says of tau, on the classifiers of one data set."""
    values = [cell.value for cell in judged]
    strong = sum(value >= STRONG for value in values)
    pairs = comparison(judged, 1.0, 3.0)
    rising = sum(high > low for low, high in pairs)
    tops = ", ".join(f"{model} {top:.2f}" for model, top in found.tops.items())
    ratios = {method: _tau_ratio(found, method) for method in SHOWN_METHODS}
    on = f" ({whose(found.dataset)})"
    return (
        Claim(
            "Consistently, we witness strong positive correlations in these values across all budgets and model "
            "performance levels.",
            strong == len(values),
            f"at least {STRONG:g}, the lowest printed, in {strong} of {len(values)} cells that the paper prints, "
            f"positive in {sum(value > 0 for value in values)}; from {min(values):.2f} to {max(values):.2f}. tau "
            f"fitted to every vote of every item correlates by {tops}{on}",
            "appendix C, model calibration analysis",
        ),
        Claim(
            "Increased querying budget generally tends to also increase this correlation, though this finding does not "
            "always persist across settings.",
            2 * rising > len(pairs) if pairs else None,
            f"higher at 3 votes than at 1 in {rising} of {len(pairs)} settings{on}",
            "appendix C, model calibration analysis",
        ),
        Claim(
            "In addition to correlating strongly with the true predictions, we observe that FinExp more heavily "
            "weights its beliefs with new evidence, while InfExp, which assumes a pool of experts, does not.",
            None if math.isnan(sum(ratios.values()))
            else ratios["finexp"] > HEAVIER and abs(ratios["infexp"] - 1.0) <= ALIKE,
            "mean tau at 3 votes relative to 1 vote: "
            + ", ".join(f"{PHASE_METHODS[method]} {ratio:.2f}" for method, ratio in ratios.items()) + on,
            "section 4.5",
        ),
    )  # fmt: skip


def _tau_ratio(found: Found, method: str) -> float:
    """Mean tau at 3 votes relative to 1 vote, over classifiers and seeds."""
    many = found.dataset.num_classes
    read = np.array([[_tau_at(outcome, many, budget).mean() for budget in (1.0, 3.0)]
                     for row in found.done if row.method == method for outcome in row.outcomes])  # fmt: skip
    there = read[~np.isnan(read).any(axis=1)] if len(read) else read
    return float(there[:, 1].mean() / there[:, 0].mean()) if len(there) else math.nan


def _table(found: Found) -> Table:
    return Table(
        key=key_of("calibration", found.data),
        title=f"Pearson correlation of learned tau and accuracy per class, {whose(found.dataset)}",
        heads=("classifier", *cell_heads("correlation"), "with precision"),
        rows=tuple((row.model, *row.shown(), _with_precision(found, row)) for row in found.rows),
        note=f"A stream is read only within {NEAR:g} votes of one of its runs. Binned: runs within 0.1 of the budget.",
        text_columns=2,
    )


def _figure(found: Found) -> Figure:
    dataset, done = found.dataset, found.done
    shown = [name for name in (nearest(dataset, (70, 50))).values() if name in {row.model for row in done}]
    panels = tuple(_panel(dataset, model, done) for model in dict.fromkeys(shown))
    return Figure(
        key=key_of("tau_by_class", found.data),
        title=f"Learned tau and accuracy per class, {whose(dataset)}",
        caption="Above: accuracy of the classifier on each class, worst class first. Below: tau as FinExp and InfExp "
        "learned it from the first 1000 items at 1, 2 and 3 votes an item, mean over seeds. The two nearly coincide: "
        "their likelihood is the same, only the votes they ask for differ.",
        alt="Bars of accuracy per class over lines of learned tau, for two classifiers",
        draw=partial(draw, panels),
        size=(5.0 * max(1, len(panels)), 5.6),
    )


def _panel(dataset: VoteDataset, model: str, done: Sequence[Runs]) -> TauPanel:
    accuracy = class_accuracy(dataset, model)
    lines = []
    for method in SHOWN_METHODS:
        row = next(row for row in done if row.model == model and row.method == method)
        for budget in SHOWN_BUDGETS:
            lines.append(
                (method, budget, np.mean([_tau_at(o, dataset.num_classes, budget) for o in row.outcomes], axis=0))
            )
    return TauPanel(model, dataset.classes, accuracy, tuple(lines))


def _tau_at(outcome: JobOutcome, num_classes: int, budget: float) -> FloatArray:
    """(K,) tau read at the budget, class by class."""
    tau, costs = learned_tau(outcome, num_classes), phase_one_costs(outcome)
    there = ~np.isnan(tau).any(axis=1)
    return np.array([float(at_cost(costs[there], tau[there, k], budget)) for k in range(num_classes)])
