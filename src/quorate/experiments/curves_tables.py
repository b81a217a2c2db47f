"""The area under every curve, as tables for people and rows for machines. Called by `curves`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.experiments.panels import Panel
from quorate.experiments.published import tie_floor
from quorate.experiments.readings import mean_se
from quorate.experiments.section import Cell, Table

FUSED = "quorate, all fused"


def groups(panels: Sequence[Panel]) -> dict[str, list[Panel]]:
    """Panels by data set and pool size."""
    found: dict[str, list[Panel]] = {}
    for panel in panels:
        found.setdefault(panel.name, []).append(panel)
    return found


def tables(panels: Sequence[Panel]) -> tuple[Table, ...]:
    """One table of ratios over all settings, one of areas by classifier, one of tie floors."""
    return (_ratio_table(panels), _area_table(panels), _floor_table(panels))


def mean_ratio(panels: Sequence[Panel], method: str, *, inner: bool = False) -> tuple[float, float]:
    """Mean of the ratios to FinExp of all streams of these panels, and its standard error."""
    streams = [
        panel.inner_ratios(method) if inner else panel.ratios(method) for panel in panels if method in panel.methods
    ]
    return mean_se(np.concatenate(streams)) if streams else (float("nan"), float("nan"))


def _ratio_table(panels: Sequence[Panel]) -> Table:
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
        "never asking to the largest cost both reach; near never asking all methods are the classifier, so this range "
        "draws every ratio towards 1. 5 to 90 %: between these shares of what asking until settled costs; a method "
        "that stops earlier keeps its last error. The tie floor is not subtracted.",
        text_columns=2,
        digits=3,
    )


def _area_table(panels: Sequence[Panel]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for panel in panels:
        for method in panel.methods:
            area, se = mean_se(100 * panel.auc(method))
            ratio = mean_se(panel.ratios(method))[0] if method != FUSED else None
            rows.append((panel.name, panel.model, method, area, se, ratio))
    return Table(
        key="areas",
        title="Mean error (%) over all budgets, by classifier",
        heads=("setting", "classifier", "method", "mean error", "standard error", "ratio to FinExp"),
        rows=tuple(rows),
        note="Mean of the error between no vote and asking until settled; mean and standard error over seeds.",
        text_columns=3,
        digits=3,
    )


def _floor_table(panels: Sequence[Panel]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for panel in panels:
        printed = tie_floor(panel.family, panel.pool_size)
        paper = None if printed is None else f"{'< ' if printed.is_bound else ''}{printed.error:.2f}"
        cost, floor = float(panel.until_settled.mean()), 100 * float(panel.tie_floor.mean())
        rows.append((panel.name, panel.model, paper, floor, cost))
    return Table(
        key="tie_floors",
        title="What ties leave to every method (%), and votes per item until settled",
        heads=("setting", "classifier", "floor in the paper", "floor", "votes until settled"),
        rows=tuple(rows),
        note="The floor depends on the items, and on ImageNet-16H each classifier covers other noise levels; ours is "
        "expected over ties, on all items the classifier covers. The paper does not say which items its floor is of.",
        text_columns=3,
    )


def summary(panels: Sequence[Panel]) -> dict[str, Any]:
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


def _row(panel: Panel, method: str) -> dict[str, Any]:
    fused = method == FUSED
    return {
        "dataset": panel.family,
        "pool_size": panel.pool_size,
        "model": panel.model,
        "method": "quorate" if fused else method,
        "auc": float(panel.auc(method).mean()),
        "ratio_to_finexp": None if fused else mean_se(panel.ratios(method))[0],
        "ratio_to_finexp_5_90": None if fused else mean_se(panel.inner_ratios(method))[0],
    }
