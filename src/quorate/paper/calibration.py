"""Does what was learned know where the classifier is good? Learned tau against the classifier's accuracy per class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from quorate.datasets.content import has_papers_own, vote_counts
from quorate.learning.problem import unpack
from quorate.paper.phase_runs import (
    DATA,
    Runs,
    beside,
    cautions,
    compared,
    known,
    nearest,
    phase_one_costs,
    plain,
    runs,
    said_of,
    seeds,
    whole_fit,
    whose,
)
from quorate.paper.published import difference_se, tau_correlation
from quorate.paper.readings import Outcome, at_cost, mean_se, near_cost
from quorate.paper.section import Cell, Claim, Context, Figure, Section, Table
from quorate.posterior.settled import plurality_shares
from quorate.reports.plots import BLUE, INK, ORANGE, QUIET
from quorate.types import FloatArray, VoteDataset

COLOURS = {"finexp": BLUE, "infexp": ORANGE}
WIDTHS = {"finexp": 3.6, "infexp": 1.3}  # the two nearly coincide: one shows behind the other
DASHES: dict[float, Any] = {1.0: "-", 2.0: (0, (5, 2)), 3.0: (0, (1, 1.5))}
BARS = "#c9d6de"


class Panel(NamedTuple):
    """One classifier: accuracy (K,) of each class; lines of (method, votes an item, tau (K,))."""

    model: str
    classes: tuple[str, ...]
    accuracy: FloatArray
    lines: tuple[tuple[str, float, FloatArray], ...]


def draw(panels: tuple[Panel, ...], figure: Any) -> None:  # noqa: ANN401
    """Fill the figure: a column a classifier, classes from the worst to the best."""
    rows = figure.subplots(2, len(panels), squeeze=False, sharex="col", sharey="row", height_ratios=(2, 3))
    for above, below, panel in zip(*rows, panels, strict=True):
        order = np.argsort(panel.accuracy)
        _accuracy(above, panel, order)
        _tau(below, panel, order)
    known = [tau[~np.isnan(tau)] for panel in panels for _, _, tau in panel.lines]  # a budget nobody reached has none
    rows[1][0].set_ylim(0, 1.06 * max((float(tau.max()) for tau in known if len(tau)), default=1.0))
    rows[0][0].set_ylabel("accuracy, %")
    rows[1][0].set_ylabel("learned tau")
    handles, labels = rows[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, handlelength=3.2)


def _accuracy(axes: Any, panel: Panel, order: np.ndarray) -> None:  # noqa: ANN401
    places = np.arange(len(order))
    axes.bar(places, 100 * panel.accuracy[order], color=BARS, edgecolor=QUIET, linewidth=0.6, zorder=2)
    for place, value in zip(places, panel.accuracy[order], strict=True):
        axes.annotate(f"{100 * value:.0f}", (place, 100 * value), (0, 2), textcoords="offset points", ha="center",
                      fontsize=8, color=INK)  # fmt: skip
    axes.set_ylim(0, 108)
    axes.set_title(panel.model, fontweight="bold", fontsize=10.5)


def _tau(axes: Any, panel: Panel, order: np.ndarray) -> None:  # noqa: ANN401
    places = np.arange(len(order))
    for method, budget, tau in panel.lines:
        votes = "1 vote" if budget == 1 else f"{budget:g} votes"
        axes.plot(places, tau[order], color=COLOURS[method], linestyle=DASHES[budget], linewidth=WIDTHS[method],
                  marker="o", markersize=3, label=f"{method}, {votes} an item")  # fmt: skip
    axes.set_xticks(places, [panel.classes[k] for k in order], rotation=45, ha="right", rotation_mode="anchor")


BUDGETS = (0.5, 1.0, 2.0, 3.0)
SHOWN_BUDGETS = (1.0, 2.0, 3.0)
SHOWN_METHODS = ("finexp", "infexp")
PAPER_ACCURACIES = (50, 70, 90)
TOLERANCE = 0.05
NEAR = 0.5  # votes: a budget from which every run of a seed is farther away is left blank, as the paper does


@dataclass(frozen=True, slots=True)
class Row:
    """One cell, over the `num_streams` seeds with a run near the budget. `verdict`: only if every seed has one.

    `binned`: mean over the runs within 0.1 of the budget, the paper's way; `num_runs` of them.
    """

    model: str
    method: str
    budget: float
    correlation: float
    se: float
    num_streams: int
    binned: float | None
    num_runs: int
    precision_correlation: float
    paper_accuracy: int | None
    paper: float | None
    paper_se: float | None
    verdict: str | None


def class_accuracy(dataset: VoteDataset, model: str) -> FloatArray:
    """(K,) of the items whose plurality is class k, the share that the classifier calls k; ties shared out."""
    credit, said = _verdicts(dataset, model)
    return np.asarray((credit * said).sum(axis=0) / credit.sum(axis=0))


def class_precision(dataset: VoteDataset, model: str) -> FloatArray:
    """(K,) of the items that the classifier calls k, the share whose plurality is k; ties shared out."""
    credit, said = _verdicts(dataset, model)
    return np.asarray((credit * said).sum(axis=0) / np.maximum(said.sum(axis=0), 1))


def learned_tau(outcome: Outcome, num_classes: int) -> FloatArray:
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


def rows_of(dataset: VoteDataset, all_runs: Sequence[Runs]) -> list[Row]:
    """The cells, row by row; one that no run comes near stays if the paper prints a correlation for it."""
    cells = [_row(dataset, row, budget) for row in all_runs for budget in BUDGETS]
    return [cell for cell in cells if cell.num_streams or cell.paper is not None]


def section(context: Context) -> Section:
    """The experiment: figure, table, and what the paper says of it."""
    title = "Calibration: what tau learns of the classifier"
    if DATA not in context.datasets:
        return Section("calibration", title, ("CIFAR-10H is not at hand: nothing was run.",), (), (), ())
    dataset = context.datasets[DATA]
    done = runs(context)
    rows = rows_of(dataset, done)
    tops = {row.model: _ceiling(dataset, row.model, context.seeds[0]) for row in rows}
    return Section(
        key="calibration",
        title=title,
        lead=(*_lead(len(seeds(context))), said_of(rows, whose(dataset))),
        claims=_claims(dataset, rows, tops),
        tables=(_table(rows),),
        figures=(_figure(dataset, done),),
        cautions=(
            *cautions(dataset),
            "With its class bias the tau of quorate means something else: what a class gets regardless of the "
            "prediction is in the bias, not in tau. Its rows are for reference.",
            "Ten classes make a noisy correlation: where it swings between seeds, its standard error is wide, and "
            "'agrees' says little.",
        ),
        summary={"calibration": [plain(row) for row in rows], "calibration_ceiling": tops},
    )


def _verdicts(dataset: VoteDataset, model: str) -> tuple[FloatArray, FloatArray]:
    """(T, K) share of each class in the pool's plurality, and 1 where the classifier names it."""
    said = np.eye(dataset.num_classes)[dataset.predictions[dataset.models.index(model)].argmax(axis=1)]
    return plurality_shares(vote_counts(dataset)), said


def _row(dataset: VoteDataset, row: Runs, budget: float) -> Row:
    recall, precision = class_accuracy(dataset, row.model), class_precision(dataset, row.model)
    read, also, near = [], [], []
    for outcome in row.outcomes:
        tau, costs = learned_tau(outcome, dataset.num_classes), phase_one_costs(outcome)
        read.append(_at(costs, correlations(tau, recall), budget))
        also.append(_at(costs, correlations(tau, precision), budget))
        near.append(near_cost(costs, correlations(tau, recall), budget))
    mean, se = mean_se(read)
    binned = np.concatenate(near)
    paper_accuracy = beside(dataset, row.model, PAPER_ACCURACIES)
    cell = Row(
        model=row.model, method=row.kind.name, budget=budget, correlation=mean, se=se,
        num_streams=int(np.isfinite(read).sum()), binned=float(binned.mean()) if binned.size else None,
        num_runs=int(binned.size),
        precision_correlation=mean_se(also)[0], paper_accuracy=paper_accuracy, paper=None, paper_se=None, verdict=None,
    )  # fmt: skip
    printed = tau_correlation(paper_accuracy, row.kind.method, budget) if paper_accuracy is not None else None
    if printed is None:
        return cell
    found = compared(dataset, (mean, se), printed, points=TOLERANCE) if cell.num_streams == len(read) else None
    return replace(cell, paper=printed.value, paper_se=printed.se, verdict=found)


def _at(costs: FloatArray, values: FloatArray, budget: float) -> float:
    """The curve read at the budget; NaN if it does not reach there, or only by a long straight line."""
    there = ~np.isnan(values)
    if not there.any() or np.abs(costs[there] - budget).min() > NEAR:
        return math.nan
    return float(at_cost(costs[there], values[there], budget))


def _lead(num_seeds: int) -> tuple[str, ...]:
    return (
        "tau[k] is how far the method trusts the classifier when it speaks of class k. Accuracy per class: of the "
        "items whose plurality is class k, the share the classifier calls k.",
        f"Pearson correlation of the two over classes, after {num_seeds} seed(s) of the two-phase runs: mean and "
        "standard error at 0.5, 1, 2 and 3 votes an item. The last column correlates tau with precision instead: of "
        "the items that the classifier calls k, the share that are.",
    )


def _ceiling(dataset: VoteDataset, model: str, seed: int) -> float:
    """The correlation of tau fitted to every vote of every item."""
    tau = whole_fit(dataset, model, seed).tau
    return float(correlations(tau[None], class_accuracy(dataset, model))[0])


def _claims(dataset: VoteDataset, rows: list[Row], tops: Mapping[str, float]) -> tuple[Claim, ...]:
    """What the paper says of it; the size of the correlations is a claim only on the paper's own classifiers."""
    paper = [row for row in rows if row.verdict is not None]
    if not paper:
        return ()
    found = [_rises(dataset, paper, tops)]
    if has_papers_own(dataset):
        agree = [row for row in paper if row.verdict in ("agrees", "better")]
        found.append(
            Claim(
                "Correlations have the printed size and sign: within 0.05 or 3 combined standard errors, or higher",
                len(agree) == len(paper),
                f"in {len(agree)} of {len(paper)} cells",
            )
        )
    return tuple(found)


def _rises(dataset: VoteDataset, paper: list[Row], tops: Mapping[str, float]) -> Claim:
    most = ", ".join(f"{model} {top:.2f}" for model, top in tops.items())
    values = [row.correlation for row in paper]
    positive = [value for value in values if value > 0]
    return Claim(
        "tau rises with the accuracy per class wherever the paper prints a correlation",
        len(positive) == len(paper),
        f"positive in {len(positive)} of {len(paper)} cells, on {whose(dataset)}, from {min(values):.2f} to "
        f"{max(values):.2f}. tau fitted to every vote of every item would correlate by {most}: what a classifier "
        "leaves to tau varies",
    )


def _table(rows: list[Row]) -> Table:
    return Table(
        key="calibration",
        title="Pearson correlation of learned tau and the classifier's accuracy per class",
        heads=("classifier", "method", "votes", "correlation", "± se", "streams", "binned", "runs", "paper f", "paper",
               "± se", "difference, se", "verdict", "with precision"),
        rows=tuple(_cells(row) for row in rows),
        note=f"A stream is read only within {NEAR:g} votes of one of its runs. Agrees: the printed sign, and "
        f"within {TOLERANCE:g} or 3 combined standard errors. Binned: runs within 0.1 of the budget.",
        text_columns=2,
    )  # fmt: skip


def _cells(row: Row) -> tuple[Cell, ...]:
    gap = None
    if row.paper is not None and row.paper_se is not None:
        gap = known(difference_se(row.correlation, row.se, row.paper, row.paper_se))
    shown = f"{row.paper_accuracy} %" if row.paper is not None else None
    return (
        row.model, row.method, row.budget, known(row.correlation), known(row.se), row.num_streams, row.binned,
        row.num_runs, shown, row.paper, row.paper_se, gap, row.verdict, known(row.precision_correlation),
    )  # fmt: skip


def _figure(dataset: VoteDataset, done: Sequence[Runs]) -> Figure:
    shown = [name for name in (nearest(dataset, (70, 50))).values() if name in {row.model for row in done}]
    panels = tuple(_panel(dataset, model, done) for model in dict.fromkeys(shown))
    return Figure(
        key="tau_by_class",
        title="Learned tau and accuracy per class",
        caption="Above: accuracy of the classifier on each class, worst class first. Below: tau as FinExp and InfExp "
        "learned it from the first 1000 items at 1, 2 and 3 votes an item, mean over seeds. The two nearly coincide: "
        "their likelihood is the same, only the votes they ask for differ.",
        alt="Bars of accuracy per class over lines of learned tau, for two classifiers",
        draw=partial(draw, panels),
        size=(5.0 * max(1, len(panels)), 5.6),
    )


def _panel(dataset: VoteDataset, model: str, done: Sequence[Runs]) -> Panel:
    accuracy = class_accuracy(dataset, model)
    lines = []
    for method in SHOWN_METHODS:
        row = next(row for row in done if row.model == model and row.kind.name == method)
        for budget in SHOWN_BUDGETS:
            lines.append(
                (method, budget, np.mean([_tau_at(o, dataset.num_classes, budget) for o in row.outcomes], axis=0))
            )
    return Panel(model, dataset.classes, accuracy, tuple(lines))


def _tau_at(outcome: Outcome, num_classes: int, budget: float) -> FloatArray:
    """(K,) tau read at the budget, class by class."""
    tau, costs = learned_tau(outcome, num_classes), phase_one_costs(outcome)
    there = ~np.isnan(tau).any(axis=1)
    return np.array([float(at_cost(costs[there], tau[there, k], budget)) for k in range(num_classes)])
