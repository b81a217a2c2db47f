"""`CurvePanel`: error-cost curves of every method on one data set, pool size and classifier; as tables and as figures.

Called by `curves`, which runs the jobs and tests the claims.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import MissingExtra
from quorate.reports.figures import BLUE, STYLES
from quorate.reports.format import Cell
from quorate.reports.section import Figure, Table
from quorate.types import FloatArray
from quorate_paper.jobs import HIGH, LOW, METHOD_LABELS, area, area_ratio, at_cost, curve, mean_se, ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

FUSED = "value, all fused"
NAMES = {"cifar10h": "CIFAR-10H", "imagenet16h": "ImageNet-16H", "imagenet16h_shift": "ImageNet-16H shift",
         "chaosnli": "ChaosNLI"}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class SeedCurve:
    """One seed of one method: votes per item and share wrong at each parameter value."""

    costs: FloatArray
    errors: FloatArray

    def at(self, budgets: FloatArray) -> FloatArray:
        """Error at the budgets; beyond its largest cost the last error."""
        at, errors = curve(self.costs, self.errors)
        return np.asarray(np.interp(budgets, at, errors))

    def reached(self, budgets: FloatArray) -> FloatArray:
        """Error at the budgets; NaN beyond its largest cost."""
        return at_cost(self.costs, self.errors, budgets)


@dataclass(frozen=True, slots=True, eq=False)
class CurvePanel:
    """`methods`: streams by method, by seed; `until_settled`, `tie_floor` (S,): cost, error of asking until settled.

    `accuracy`: how often the classifier agrees with the plurality of all votes; None for fused classifiers.
    """

    family: str
    pool_size: int
    model: str
    accuracy: float | None
    methods: Mapping[str, tuple[SeedCurve, ...]]
    until_settled: FloatArray
    tie_floor: FloatArray

    @property
    def name(self) -> str:
        """Data set and pool size, for titles."""
        return f"{NAMES[self.family]}, {self.pool_size} experts"

    def auc(self, method: str) -> FloatArray:
        """(S,) mean error over 0 .. until settled."""
        pairs = zip(self.methods[method], self.until_settled, strict=True)
        return np.array([_mean_error(stream, 0.0, float(most)) for stream, most in pairs])

    def ratios(self, method: str, reference: str = "finexp") -> FloatArray:
        """(S,) area relative to the reference, on the range of costs that both reach."""
        pairs = zip(self.methods[method], self.methods[reference], strict=True)
        return np.array([area_ratio(ours.costs, ours.errors, theirs.costs, theirs.errors) for ours, theirs in pairs])

    def inner_ratios(self, method: str, reference: str = "finexp") -> FloatArray:
        """(S,) area relative to the reference, between 5 and 90 % of the cost of asking until settled."""
        found = []
        pairs = zip(self.methods[method], self.methods[reference], self.until_settled, strict=True)
        for ours, theirs, most in pairs:
            low, high = LOW * most, HIGH * most
            found.append(ratio(_mean_error(ours, low, high), _mean_error(theirs, low, high)))
        return np.array(found)

    def errors_at(self, method: str, shares: FloatArray) -> FloatArray:
        """(S, B) errors at shares of the until-settled cost."""
        pairs = zip(self.methods[method], self.until_settled, strict=True)
        return np.array([stream.at(shares * most) for stream, most in pairs])


def _mean_error(stream: SeedCurve, low: float, high: float) -> float:
    """Area over a range of costs divided by its width; beyond the largest cost the last error is used."""
    reach = float(stream.costs.max())
    if high <= reach:
        return area(stream.costs, stream.errors, low, high) / (high - low)
    inside = area(stream.costs, stream.errors, low, reach) if reach > low else 0.0
    last = float(stream.at(np.array(reach)))
    return (inside + last * (high - max(reach, low))) / (high - low)


def groups(panels: Sequence[CurvePanel]) -> dict[str, list[CurvePanel]]:
    """Panels by data set and pool size."""
    found: dict[str, list[CurvePanel]] = {}
    for panel in panels:
        found.setdefault(panel.name, []).append(panel)
    return found


def tables(panels: Sequence[CurvePanel]) -> tuple[Table, ...]:
    """The table of ratios over all settings."""
    return (_ratio_table(panels),)


def mean_ratio(panels: Sequence[CurvePanel], method: str, *, inner: bool = False) -> tuple[float, float]:
    """Mean of the ratios to FinExp of all streams of these panels, and its standard error."""
    streams = [
        panel.inner_ratios(method) if inner else panel.ratios(method) for panel in panels if method in panel.methods
    ]
    return mean_se(np.concatenate(streams)) if streams else (float("nan"), float("nan"))


def _ratio_table(panels: Sequence[CurvePanel]) -> Table:
    methods = list(dict.fromkeys(name for panel in panels for name in panel.methods if name != FUSED))
    rows: list[tuple[Cell, ...]] = []
    for name, some in groups(panels).items():
        single = [panel for panel in some if panel.model != "all"]
        if not single:
            continue
        rows.append((name, "common", *(mean_ratio(single, method)[0] for method in methods)))
        rows.append((name, "5 to 90 %", *(mean_ratio(single, method, inner=True)[0] for method in methods)))
    return Table(
        key="area_ratios",
        title="Area under the error-cost curve, relative to exact FinExp with a threshold",
        heads=("setting", "range of costs", *methods),
        rows=tuple(rows),
        note="Mean of the ratios of the streams (classifiers and seeds); below 1 is better than FinExp. Common: from "
        "never asking to the largest cost both reach; near never asking all methods equal the classifier, so this "
        "range moves every ratio towards 1. 5 to 90 %: between these shares of the cost of asking until settled; a "
        "method that stops earlier keeps its last error. The tie floor is not subtracted.",
        text_columns=2,
        digits=3,
    )


def summary(panels: Sequence[CurvePanel]) -> dict[str, Any]:
    """Rows for summary.json."""
    return {
        "auc": [_row(panel, method) for panel in panels for method in panel.methods],
        "tie_floor": [
            {
                "dataset": panel.family,
                "pool_size": panel.pool_size,
                "model": panel.model,
                "until_settled": float(panel.until_settled.mean()),
                "tie_floor": float(panel.tie_floor.mean()),
            }
            for panel in panels
        ],
    }


def _row(panel: CurvePanel, method: str) -> dict[str, Any]:
    fused = method == FUSED
    return {
        "dataset": panel.family,
        "pool_size": panel.pool_size,
        "model": panel.model,
        "method": "value" if fused else method,
        "auc": float(panel.auc(method).mean()),
        "ratio_to_finexp": None if fused else mean_se(panel.ratios(method))[0],
        "ratio_to_finexp_5_90": None if fused else mean_se(panel.inner_ratios(method))[0],
    }


LINES = STYLES | {FUSED: {"color": BLUE, "linewidth": 2.4, "linestyle": "--", "zorder": 10}}
FRACTION = 0.2


def figures(panels: Sequence[CurvePanel]) -> tuple[Figure, ...]:
    """One figure for each data set and pool size."""
    return tuple(_page(name, some) for name, some in groups(panels).items() if any(p.model != "all" for p in some))


def _page(name: str, panels: Sequence[CurvePanel]) -> Figure:
    single = [panel for panel in panels if panel.model != "all"]
    fused = next((panel for panel in panels if panel.model == "all" and panel.family != "imagenet16h"), None)
    columns = min(len(single), 3 if len(single) != 4 else 2)
    rows = math.ceil(len(single) / columns)
    family = panels[0].family
    return Figure(
        key=f"curves-{family.replace('_', '-')}-{panels[0].pool_size}",
        title=name,
        caption=f"Share of wrong answers against votes per item, a panel for each classifier.{_fused_note(fused)}",
        alt=f"Error-cost curves on {name} for {', '.join(panel.model for panel in single)}",
        draw=_drawer(single, fused, rows, columns),
        size=(4.2 * columns + 0.4, 3.3 * rows + 0.9),
    )


def _fused_note(fused: CurvePanel | None) -> str:
    return "" if fused is None else " The dashed blue line fuses all classifiers and is the same in each panel."


def _drawer(panels: Sequence[CurvePanel], fused: CurvePanel | None, rows: int, columns: int) -> Callable[[Any], None]:
    def draw(figure: MplFigure) -> None:
        axes = figure.subplots(rows, columns, squeeze=False)
        for number, axis in enumerate(axes.flat):
            if number < len(panels):
                draw_panel(axis, panels[number], fused)
            else:
                axis.set_visible(False)
            axis.set_ylabel("wrong, %" if number % columns == 0 else "")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, handlelength=3.0)

    return draw


def draw_panel(axis: Axes, panel: CurvePanel, fused: CurvePanel | None) -> None:
    """One classifier: a line and a band for every method."""
    methods = dict(panel.methods) | (dict(fused.methods) if fused is not None else {})
    for name, streams in methods.items():
        style = {"linewidth": 1.5} | LINES.get(name, {})
        costs, errors = smooth(streams)
        axis.plot(costs, 100 * errors, label=METHOD_LABELS.get(name, name), **{**style, "marker": None})
        if name in ("value", "finexp", "random"):
            grid = np.linspace(0.0, float(panel.until_settled.mean()), 60)
            read = np.array([stream.reached(grid) for stream in streams])
            axis.fill_between(grid, 100 * read.min(0), 100 * read.max(0), color=style["color"], alpha=0.15, linewidth=0)
    axis.axhline(100 * float(panel.tie_floor.mean()), color="#555555", linestyle=":", linewidth=1)
    right = "" if panel.accuracy is None else f" ({100 * panel.accuracy:.0f} % right)"
    axis.set_title(panel.model + right, fontsize=10)
    axis.set_xlabel("votes per item")
    axis.set_yscale("log")
    _percent_ticks(axis, panel)
    axis.set_xlim(0, float(panel.until_settled.mean()) * (1.0 if panel.pool_size <= 10 else 0.6))


def _percent_ticks(axis: Axes, panel: CurvePanel) -> None:
    lowest = 100 * min(float(stream.errors.min()) for some in panel.methods.values() for stream in some)
    highest = 100 * max(float(stream.errors.max()) for some in panel.methods.values() for stream in some)
    axis.set_ylim(max(lowest * 0.85, 0.02), highest * 1.1)
    ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if lowest * 0.85 <= tick <= highest * 1.1]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def smooth(streams: Sequence[SeedCurve]) -> tuple[FloatArray, FloatArray]:
    """LOWESS with fraction 0.2 through the distinct points of all streams, by rising cost."""
    pairs = [curve(stream.costs, stream.errors) for stream in streams]
    costs, errors = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    try:
        from statsmodels.nonparametric.smoothers_lowess import lowess  # noqa: PLC0415
    except ImportError as cause:
        raise MissingExtra("statsmodels is not installed; to reproduce: pip install 'quorate[reproduce]'") from cause
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # with equal costs some neighbourhoods have no slope
        fitted = lowess(errors, costs, frac=min(1.0, max(FRACTION, 3.5 / len(costs))), it=0, return_sorted=True)
    known = ~np.isnan(fitted[:, 1])
    return fitted[known, 0], np.maximum(fitted[known, 1], 0.0)
