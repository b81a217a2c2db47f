"""Figures of the shift experiment: curves, moving averages over time, the average over orderings.

Takes `Streams` and `Course`s, returns functions that draw on an empty matplotlib figure. Called by `shift`; colours and
dashes are those of all plots of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.reports.figures import BLUE, QUIET, STYLES, percent_ticks
from quorate.types import FloatArray
from quorate_paper.jobs import JobOutcome, at_cost
from quorate_paper.settings import BUDGETS, PHASES
from quorate_paper.shift.stored import Stored
from quorate_paper.shift.streams import (
    ARCHITECTURE_BUDGET,
    FUSED,
    LABELS,
    Course,
    Streams,
    band,
    first_model,
    moving_average,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

Draw = Callable[["MplFigure"], None]
VARIANTS = {
    ("as-published", "finexp"): ("FinExp as published", "--"),
    ("as-released", "finexp"): ("FinExp as released", ":"),
}
PHASE_NAMES = {"pre": "before the shift", "post": "after the shift"}
MODEL_NAMES = {"alexnet": "AlexNet", "densenet": "DenseNet", "googlenet": "GoogLeNet", "resnet": "ResNet", "vgg": "VGG"}
EVERY = 8  # items between two drawn points of a moving average
SKIPPED = 50  # items at the start that are not drawn, because their average has too few items


def style(name: str) -> dict[str, Any]:
    """Line style of a method; all classifiers fused are a dashed `value`."""
    fused = {"color": BLUE, "linewidth": 2.0, "linestyle": (0, (3, 1)), "zorder": 10}
    return {"linewidth": 1.3, "zorder": 3} | (fused if name == FUSED else STYLES[name]) | {"label": LABELS[name]}


def curves(streams: Streams, kept: Stored | None) -> Draw:
    """Error against votes per item over the whole stream: before the shift, after it, and both, mean over streams."""
    variants = {} if kept is None else {VARIANTS[key]: kept.outcomes[key] for key in VARIANTS if key in kept.outcomes}

    def draw(figure: MplFigure) -> None:
        panels = figure.subplots(1, 3)
        for index, (axes, title) in enumerate(zip(panels, (*PHASE_NAMES.values(), "whole stream"), strict=True)):
            for name in LABELS:
                axes.plot(*_mean_curve(streams.outcomes[name], index), **_plain(style(name)))
            for (label, dashes), outcomes in variants.items():
                look = {"color": QUIET, "linewidth": 1.3, "linestyle": dashes, "label": label}
                axes.plot(*_mean_curve(outcomes, index), **look)
            floor = streams.floors[index] if index < len(PHASES) else streams.floors.mean()
            axes.axhline(floor, color=QUIET, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
            axes.set_title(title, fontweight="bold", fontsize=10.5)
            axes.set(xlabel="votes per item, whole stream", yscale="log", xlim=(0, streams.settled_cost))
            percent_ticks(axes)
        panels[0].set_ylabel("wrong answers, %")
        _legend(figure, panels[0])

    return draw


def by_budget(courses: Mapping[tuple[str, str, float], Course], streams: Streams) -> Draw:
    """Moving averages of error and cost at each budget, first classifier."""
    model = first_model(streams)
    rows = [(_votes(budget), _pick(courses, model, budget)) for budget in BUDGETS]
    return _over_time(rows, streams.shift_at)


def by_architecture(courses: Mapping[tuple[str, str, float], Course], streams: Streams) -> Draw:
    """Moving averages of error and cost at 2 votes per item, every classifier."""
    rows = [(MODEL_NAMES.get(model, model), _pick(courses, model, ARCHITECTURE_BUDGET)) for model in streams.models]
    return _over_time(rows, streams.shift_at)


def over_orderings(courses: Mapping[str, Course], streams: Streams) -> Draw:
    """Moving average of the error, mean over orderings with its 95 % band, and of the cost."""
    shift = streams.shift_at

    def draw(figure: MplFigure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        for name, course in courses.items():
            mean, half = band(course)
            look = _plain(style(name))
            above.plot(*_thinned(mean), **look)
            above.fill_between(
                *_thinned(mean - half), _thinned(mean + half)[1], color=look["color"], alpha=0.2, linewidth=0
            )
            below.plot(*_thinned(moving_average(course.costs.mean(axis=0))), **look)
        for axes, label in ((above, "wrong answers, %"), (below, "votes per item")):
            _mark_shift(axes, shift)
            axes.set_ylabel(label)
        below.set_xlabel("item")
        _legend(figure, above)

    return draw


def _over_time(rows: Sequence[tuple[str, Sequence[Course]]], shift: int) -> Draw:
    def draw(figure: MplFigure) -> None:
        panels = figure.subplots(len(rows), 2, sharex=True, squeeze=False)
        for (title, courses), (left, right) in zip(rows, panels, strict=True):
            for course in courses:
                look = _plain(style(course.method))
                left.plot(*_thinned(moving_average(course.errors.mean(axis=0))), **look)
                right.plot(*_thinned(moving_average(course.costs.mean(axis=0))), **look)
            for axes, label in ((left, "wrong answers, %"), (right, "votes per item")):
                _mark_shift(axes, shift)
                axes.set_ylabel(label)
                axes.set_title(title, fontweight="bold", fontsize=9.5, loc="left")
        for axes in panels[-1]:
            axes.set_xlabel("item")
        _legend(figure, panels[0, 0])

    return draw


def _pick(courses: Mapping[tuple[str, str, float], Course], model: str, budget: float) -> list[Course]:
    return [courses[name, model, budget] for name in LABELS]


def _votes(budget: float) -> str:
    return f"{budget:g} vote{'' if budget == 1 else 's'} per item"


def _thinned(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    places = np.arange(min(SKIPPED, len(values) // 4), len(values), EVERY)
    return (places + 1).astype(np.float64), values[places]


def _plain(look: dict[str, Any]) -> dict[str, Any]:
    """Thinner and without markers: these lines have hundreds of points and cross."""
    kept = {key: value for key, value in look.items() if key not in ("marker", "markersize")}
    return kept | {"linewidth": min(kept["linewidth"], 2.2)}


def _mark_shift(axes: Axes, shift: int) -> None:
    axes.axvline(shift, color=QUIET, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    axes.set_ylim(0, None)
    axes.margins(x=0.01)


def _legend(figure: MplFigure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, handlelength=3.0, fontsize=8.5)


def _mean_curve(outcomes: Sequence[JobOutcome], index: int) -> tuple[FloatArray, FloatArray]:
    """Mean over streams of the error (percent) in a phase, or over both, at each cost all of them reach."""
    costs = np.linspace(
        max(float(each.mean_costs.min()) for each in outcomes),
        min(float(each.mean_costs.max()) for each in outcomes),
        120,
    )
    errors = [each.errors[:, index] if index < len(PHASES) else each.mean_errors for each in outcomes]
    read = [at_cost(each.mean_costs, error, costs) for each, error in zip(outcomes, errors, strict=True)]
    return costs, np.asarray(100 * np.mean(read, axis=0))
