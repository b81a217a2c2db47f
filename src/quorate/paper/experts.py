"""The value of knowing who votes: the panels of Kelly et al. (ICML 2025), and crowds with their annotators' ids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from quorate.datasets import panels as panel_sets
from quorate.paper.panels import (
    HIGH,
    LOW,
    ORDERED,
    PANEL,
    QUICK_GAINS,
    RANDOM,
    STREAMS,
    StreamCurves,
    area_ratios,
    curves,
)
from quorate.paper.readings import mean_se
from quorate.paper.report import Context
from quorate.reports.figures import BLUE, ORANGE, QUIET
from quorate.reports.format import Cell
from quorate.reports.section import Claim, Figure, Section, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

REPORTED = {"kelly_nih": 2.55, "kelly_chaoyang": 1.58}  # votes at error 0, by Kelly et al.
VOTES_AT = {"kelly_nih": 2.3, "kelly_chaoyang": 1.8}  # targets: votes at a mean error of 0.1 %
GAINS_BY = {"kelly_nih": 0.6, "kelly_chaoyang": 1.1}  # targets: points below random order, averaged over LOW to HIGH
LEVELS = (0.005, 0.001, 0.0)
IDS = {"imagenet16h/resnet152_baseline": ("ImageNet-16H, resnet152", None), "cifar10h": ("CIFAR-10H, 10 votes", 10)}
CIFAR_GAINS = (1.0, 0.25, 0.06, 0.02, 0.007, 0.002)
AREAS = (0.97, 0.93)  # targets on ImageNet-16H: by what was asked, and with audited pools
COLOURS = {RANDOM: QUIET, ORDERED: ORANGE, PANEL: BLUE}
QUICK_STREAMS = 2


def section(context: Context) -> Section:
    """Tables, claims and the frontiers."""
    streams = QUICK_STREAMS if context.quick else STREAMS
    how = {"num_streams": streams} | ({"gains": QUICK_GAINS} if context.quick else {})
    found = {
        name: curves(context.datasets[name], **how)  # type: ignore[arg-type]
        for name in panel_sets.NAMES
        if name in context.datasets
    }
    ratios = {name: _ratios(context, name) for name in IDS if name in context.datasets}
    tables = [
        *([_votes_table(found), _errors_table(found)] if found else []),
        *([_ids_table(ratios)] if ratios else []),
    ]
    return Section(
        key="experts",
        title="Knowing who votes",
        lead=(
            f"Small panels: {streams} streams of 250 items of each set, errors against the plurality of the whole "
            "panel. The method `panel` learns how each member votes and plans whom to ask next.",
            "Crowds: the method `quorate`, with the most reliable voter of each item asked first.",
        ),
        claims=(*_claims_on_panels(found), *_claims_on_ids(ratios)),
        tables=tuple(tables),
        figures=(_figure(found),) if found else (),
        cautions=("A mean error of 0.1 % is one item in a thousand: votes at it move by about 0.1 with the streams.",),
        summary={"experts": {name: _summary(each) for name, each in found.items()}},
    )


def difference(found: dict[str, StreamCurves], name: str = PANEL) -> tuple[float, float]:
    """Points that a way to ask is above random order, averaged over LOW to HIGH votes; and the standard error."""
    return mean_se(100 * (found[name].mean_errors - found[RANDOM].mean_errors))


def _votes_table(found: dict[str, dict[str, StreamCurves]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (panel_sets.TITLES[name], way, *(each.votes_at(level) for level in LEVELS), _reported(name, way))
        for name, ways in found.items()
        for way, each in ways.items()
    ]
    heads = ("panel", "asked", *(f"{100 * level:g} %" for level in LEVELS), "reported at 0 %")
    note = "Reported: Kelly et al., with MCMC. Both ways that are called exchangeable use the method quorate."
    return Table("votes", "Votes per item at a mean error of", heads, tuple(rows), note, 2, highlight=())


def _reported(name: str, way: str) -> float:
    return REPORTED.get(name, np.nan) if way == PANEL else np.nan


def _errors_table(found: dict[str, dict[str, StreamCurves]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, ways in found.items():
        for way in (ORDERED, PANEL):
            points, error = difference(ways, way)
            levels = (100 * float(each.mean_errors.mean()) for each in (ways[RANDOM], ways[way]))
            rows.append((panel_sets.TITLES[name], way, *levels, points, error))
    heads = ("panel", "asked", "random order, %", "this, %", "difference, points", "standard error")
    title = f"Mean error over {LOW:g} to {HIGH:g} votes per item"
    return Table("errors", title, heads, tuple(rows), "", 2, highlight=())


def _ratios(context: Context, name: str) -> np.ndarray:
    dataset = context.datasets[name]
    model = "cnn-89" if "cnn-89" in dataset.models else dataset.models[0]
    more = {"gains": CIFAR_GAINS} if name == "cifar10h" else {}
    more |= {"gains": QUICK_GAINS} if context.quick else {}
    return np.array([area_ratios(dataset, seed, pool_size=IDS[name][1], model=model, **more) for seed in context.seeds])


def _ids_table(ratios: dict[str, np.ndarray]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, each in ratios.items():
        asked, audited = (mean_se(column) for column in each.T)
        rows.append((IDS[name][0], *asked, *audited))
    heads = ("votes", "as asked", "standard error", "pools audited", "standard error")
    title = "Most reliable voter first: area under the error curve, relative to random order"
    return Table("ids", title, heads, tuple(rows), digits=3, highlight=())


def _claims_on_panels(found: dict[str, dict[str, StreamCurves]]) -> list[Claim]:
    claims = []
    for name, ways in found.items():
        title, (points, error) = panel_sets.TITLES[name], difference(ways)
        said = f"{points:+.2f} points (standard error {error:.2f})"
        text = (
            f"{title}: the panel errs at most one standard error more than random order over {LOW:g} to {HIGH:g} votes"
        )
        claims.append(Claim(text, bool(not points > error), said, of_paper=False))
        if name in GAINS_BY:
            text = f"{title}: at least {GAINS_BY[name]:g} points less than random order"
            claims.append(Claim(text, bool(points <= -GAINS_BY[name]), said, of_paper=False))
            votes, target = ways[PANEL].votes_at(0.001), VOTES_AT[name]
            said = f"{votes:.2f}; random order {ways[RANDOM].votes_at(0.001):.2f}"
            text = f"{title}: at most {target:g} votes per item at a mean error of 0.1 %"
            claims.append(Claim(text, bool(votes <= target), said, of_paper=False))
    return claims


def _claims_on_ids(ratios: dict[str, np.ndarray]) -> list[Claim]:
    each = ratios.get("imagenet16h/resnet152_baseline")
    if each is None:
        return []
    means = each.mean(axis=0)
    return [
        Claim(f"ImageNet-16H with ids: area at most {target:g} of random order, {how}", bool(mean <= target),
              f"{mean:.3f}", of_paper=False)
        for target, mean, how in zip(AREAS, means, ("by what was asked", "with audited pools"), strict=True)
    ]  # fmt: skip


def _figure(found: dict[str, dict[str, StreamCurves]]) -> Figure:
    return Figure(
        key="frontiers",
        title="Error against votes, by what is known of the voters",
        caption="Mean over the streams; the cross is what Kelly et al. report at an error of 0.",
        alt="Error against votes per item on each panel: random order, ordered by agreement, and the panel's plan",
        draw=partial(_draw, found),
        size=(10.0, 3.4),
    )


def _draw(found: dict[str, dict[str, StreamCurves]], figure: MplFigure) -> None:
    axes = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for place, (name, ways) in zip(axes, found.items(), strict=True):
        for way, each in ways.items():
            costs, errors = each.costs.mean(axis=0), each.errors.mean(axis=0)
            order = np.argsort(costs)
            place.plot(costs[order], 100 * errors[order], color=COLOURS[way], label=way, marker="o", markersize=2.5)
        if name in REPORTED:
            place.plot([REPORTED[name]], [0.0], "x", color="black", label="reported")
        place.set_title(panel_sets.TITLES[name], fontsize=10)
        place.set_xlabel("votes per item")
    axes[0].set_ylabel("error, %")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)


def _summary(ways: dict[str, StreamCurves]) -> dict[str, dict[str, list[float]]]:
    return {
        way: {"votes": each.costs.mean(axis=0).tolist(), "errors": each.errors.mean(axis=0).tolist()}
        for way, each in ways.items()
    }
