"""The experts experiment: known voters. Small panels by three ways to ask, and crowds with ids, on the same streams.

The protocol for panels is that of Kelly et al. (ICML 2025): 12 streams of 250 items; the CIFAR set is cut at 12
starting points without shuffling. Called by `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import compiled
from quorate.experts.panel_stream import run_panel
from quorate.methods import method
from quorate.paper.jobs import area, area_ratio, mean_se
from quorate.paper.report import Context
from quorate.paper.sources import PANELS
from quorate.paper.sweep import Call
from quorate.reports.figures import BLUE, ORANGE, QUIET
from quorate.reports.format import Cell
from quorate.reports.section import Claim, Figure, Section, Table
from quorate.rng import stream as random_stream
from quorate.streams.prepare import prepare
from quorate.streams.simulate import run_by_agreement, simulate_stream
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure


ITEMS, STREAMS = 250, 12
UNSHUFFLED = "kelly_cifar"
LOW, HIGH = 0.5, 2.0  # votes per item between which errors are averaged
GAINS = (
    0.0, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013, 0.017, 0.022, 0.03, 0.04, 0.06, 0.08,
    0.12, 0.2, 0.4, 1.0,
)  # fmt: skip
QUICK_GAINS = (0.0, 0.004, 0.01, 0.03, 0.1, 1.0)
RANDOM, ORDERED, PANEL = "exchangeable, random order", "exchangeable, by agreement", "panel"
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
    streams, gains = (QUICK_STREAMS, QUICK_GAINS) if context.quick else (STREAMS, GAINS)
    panels, crowds = ([name for name in names if name in context.datasets] for names in (PANELS, IDS))
    calls: dict[tuple[str, int], Call[Any]] = {
        (name, seed): (f"{IDS[name][0]}, seed {seed}", _ratios_of(context, name, seed))
        for name in crowds
        for seed in context.seeds
    }  # the longest first
    calls |= {
        (name, n): (
            f"{PANELS[name]}, stream {n + 1}",
            partial(stream_points, context.datasets[name], n, streams, gains),
        )
        for name in panels
        for n in range(streams)
    }
    done = dict(zip(calls, context.each(list(calls.values())), strict=True))
    ratios = {name: np.array([done[name, seed] for seed in context.seeds]) for name in crowds}
    found = {name: _as_ways([done[name, n] for n in range(streams)]) for name in panels}
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
        (PANELS[name], way, *(each.votes_at(level) for level in LEVELS), _reported(name, way))
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
            rows.append((PANELS[name], way, *levels, points, error))
    heads = ("panel", "asked", "random order, %", "this, %", "difference, points", "standard error")
    title = f"Mean error over {LOW:g} to {HIGH:g} votes per item"
    return Table("errors", title, heads, tuple(rows), "", 2, highlight=())


def _ratios_of(context: Context, name: str, seed: int) -> Callable[[], tuple[float, float]]:
    """`area_ratios` of a data set and a seed, to be called."""
    dataset = context.datasets[name]
    model = "cnn-89" if "cnn-89" in dataset.models else dataset.models[0]
    gains = CIFAR_GAINS if name == "cifar10h" else IDS_GAINS
    gains = QUICK_GAINS if context.quick else gains
    return partial(area_ratios, dataset, seed, pool_size=IDS[name][1], model=model, gains=gains)


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
        title, (points, error) = PANELS[name], difference(ways)
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
        place.set_title(PANELS[name], fontsize=10)
        place.set_xlabel("votes per item")
    axes[0].set_ylabel("error, %")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)


def _summary(ways: dict[str, StreamCurves]) -> dict[str, dict[str, list[float]]]:
    return {
        way: {"votes": each.costs.mean(axis=0).tolist(), "errors": each.errors.mean(axis=0).tolist()}
        for way, each in ways.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class StreamCurves:
    """One way to ask, on S streams at Q values of `min_gain`: votes per item and error, both (S, Q)."""

    costs: FloatArray
    errors: FloatArray

    @property
    def mean_errors(self) -> FloatArray:
        """(S,) error of each stream, averaged over LOW to HIGH votes per item."""
        pairs = zip(self.costs, self.errors, strict=True)
        return np.array([area(cost, error, LOW, HIGH) / (HIGH - LOW) for cost, error in pairs])

    def votes_at(self, error_rate: float) -> float:
        """The fewest votes per item at which the mean over the streams reaches `error_rate`; NaN if it never does.

        Between two values of `min_gain`, a share of the items uses the one and the rest the other.

        >>> StreamCurves(np.array([[0.0, 2.0]]), np.array([[0.4, 0.0]])).votes_at(0.2)
        1.0
        """
        costs, errors = self.costs.mean(axis=0), self.errors.mean(axis=0)
        order = np.argsort(costs, kind="stable")
        for place, at in enumerate(order):
            if errors[at] > error_rate + 1e-12:
                continue
            if place == 0:
                return float(costs[at])
            before = order[place - 1]
            share = (errors[before] - error_rate) / (errors[before] - errors[at])
            return float(costs[before] + share * (costs[at] - costs[before]))
        return float("nan")


def rows_of(dataset: VoteDataset, number: int, *, num_streams: int = STREAMS) -> IntArray:
    """The items of one stream, in order."""
    size = min(ITEMS, dataset.num_items)
    if dataset.name == UNSHUFFLED:
        return np.arange(size) + number * ((dataset.num_items - size) // max(num_streams - 1, 1))
    return random_stream(number, "item-order").permutation(dataset.num_items)[:size]


def part_of(dataset: VoteDataset, rows: IntArray) -> VoteDataset:
    """The data set with these items only, in this order."""
    return replace(dataset.rows(rows), blocks=frozen_array(np.zeros(len(rows)), np.int64))


Points = list[tuple[float, float]]  # votes per item and error at every `min_gain`


def curves(
    dataset: VoteDataset, *, num_streams: int = STREAMS, gains: Sequence[float] = GAINS
) -> dict[str, StreamCurves]:
    """Every way to ask on every stream of a panel's data set."""
    return _as_ways([stream_points(dataset, number, num_streams, gains) for number in range(num_streams)])


def stream_points(dataset: VoteDataset, number: int, num_streams: int, gains: Sequence[float]) -> dict[str, Points]:
    """Every way to ask on one stream of a panel's data set."""
    compiled.wait_until_compiled(of_experts=True)
    part = part_of(dataset, rows_of(dataset, number, num_streams=num_streams))
    shuffled = prepare(part, None, 0, number, "given")
    plain = [simulate_stream(shuffled, method("quorate", min_gain=gain), seed=number) for gain in gains]
    ordered = [run_by_agreement(shuffled, method("quorate", min_gain=gain), seed=number) for gain in gains]
    return {
        RANDOM: [(run.mean_cost, run.error_rate) for run in plain],
        ORDERED: [(float(run.costs.mean()), float(run.expected_errors.mean())) for run in ordered],
        PANEL: panel_points(part, gains),
    }


def _as_ways(streams: Sequence[dict[str, Points]]) -> dict[str, StreamCurves]:
    """The streams' points by way to ask."""
    return {way: as_curves([points[way] for points in streams]) for way in (RANDOM, ORDERED, PANEL)}


def panel_points(part: VoteDataset, gains: Sequence[float]) -> Points:
    """Votes per item and share wrong of the panel's plan at every `min_gain`."""
    runs = [run_panel(part.votes, part.predictions[0], min_gain=gain) for gain in gains]
    return [(float(run.num_votes.mean()), float(run.expected_errors.mean())) for run in runs]


def as_curves(points: Sequence[Sequence[tuple[float, float]]]) -> StreamCurves:
    """Points (S, Q, 2) as curves."""
    array = np.array(points)
    return StreamCurves(array[:, :, 0], array[:, :, 1])


IDS_GAINS = (1.0, 0.5, 0.25, 0.12, 0.06, 0.02, 0.007, 0.002, 0.0)


def area_ratios(
    dataset: VoteDataset, seed: int, *, pool_size: int | None, model: str, gains: Sequence[float] = IDS_GAINS
) -> tuple[float, float]:
    """Area of asking the most reliable first over that of random order: by asked votes, and with audited pools."""
    compiled.wait_until_compiled()
    stream = prepare(dataset, pool_size, model, seed)
    methods = [method("quorate", min_gain=gain) for gain in gains]
    plain = [simulate_stream(stream, each, seed=seed) for each in methods]
    reference, ratios = np.array([(run.mean_cost, run.error_rate) for run in plain]).T, []
    for audited in (False, True):
        runs = [run_by_agreement(stream, each, seed=seed, audited=audited) for each in methods]
        ours = np.array([(run.costs.mean(), run.expected_errors.mean()) for run in runs]).T
        ratios.append(area_ratio(*ours, *reference))
    return ratios[0], ratios[1]
