"""Methods and a source of streams -> a row per method: cost, error and savings. Called by `quorate simulate`.

The source is a synthetic stream or a recorded data set. Asking everyone and asking until settled are always run too,
as the references for savings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quorate.datasets import load_npz, synthetic
from quorate.methods import Method, Target, method
from quorate.reports.figures import MISSING, can_plot, write_curves
from quorate.streams.curves import REFERENCES
from quorate.streams.sweep import Point, Progress, Replicate, grid_methods, sweep
from quorate.tables.truth_and_costs import Costs, read_costs
from quorate.validate import invalid, whole
from quorate.version import __version__
from quorate.workflows.demo.records import point_record, write_csv, write_json

MOST_REPEATS = 10_000
PRICED = "Costs are counted in ordinary votes: a vote of somebody who costs 5 counts as 5."


@dataclass(frozen=True, slots=True)
class StreamSource:
    """Where streams come from: an `.npz` file, or the parameters of `synthetic` (None: its default).

    `target`: what answers are compared with; None: the target of each method. `costs` of people, by `annotator_ids`.
    """

    data: str | Path | None = None
    model: int | str = 0
    pool_size: int | None = None
    dials: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    repeats: int = 1
    target: Target | None = None
    costs: Costs | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """One seed per stream."""
        first = whole(self.seed, where="seed", least=0)
        return tuple(range(first, first + whole(self.repeats, where="repeats", most=MOST_REPEATS)))

    def replicates(self) -> tuple[Replicate, ...]:
        """The streams, one per seed: recorded votes shuffled, or new synthetic ones."""
        turned = {name: value for name, value in self.dials.items() if value is not None}
        if self.data is None:
            for name, value in {"target": self.target, "costs": self.costs}.items():
                if value not in (None, "plurality"):
                    fix = "name an .npz with `data`."
                    raise invalid(name, value, "`data` too: voters of synthetic streams have no names", fix)
            sized = {} if self.pool_size is None else {"pool_size": self.pool_size}
            return tuple(Replicate(synthetic(seed=seed, **sized, **turned), seed) for seed in self.seeds)
        if turned:
            name, value = next(iter(turned.items()))
            raise invalid(name, value, "no `data` with it: it describes synthetic streams", "drop it, or drop `data`.")
        dataset = load_npz(self.data)
        costs = None if self.costs is None else read_costs(self.costs, dataset.people)
        return tuple(Replicate(dataset, seed, self.pool_size, self.model, self.target, costs) for seed in self.seeds)


@dataclass(frozen=True, slots=True, eq=False)
class MethodRow:
    """One method with one value of its parameter, and what it saves."""

    point: Point
    saved_against_ask_all: float
    saved_against_until_settled: float

    def cells(self) -> tuple[str, ...]:
        """The row as a table shows it."""
        saved = (self.saved_against_ask_all, self.saved_against_until_settled)
        numbers = (f"{self.point.cost_per_item:.2f}", f"{100 * self.point.error_rate:.2f}")
        return (self.point.method.name, self.point.parameter, *numbers, *(f"{100 * share:.0f} %" for share in saved))


@dataclass(frozen=True, slots=True, eq=False)
class MethodTable:
    """What `compare_methods` found, and the files it wrote.

    `ask_all`, `until_settled` what these two cost per item   `is_priced`: in costs of people, not in votes
    """

    name: str
    seeds: tuple[int, ...]
    rows: tuple[MethodRow, ...]
    ask_all: float
    until_settled: float
    notes: tuple[str, ...]
    files: tuple[Path, ...]
    is_priced: bool = False

    @property
    def unit(self) -> str:
        """What an item is measured in."""
        return unit_of(is_priced=self.is_priced)

    @property
    def num_items(self) -> int:
        """Items judged, over all seeds."""
        return len(self.rows[0].point.errors)

    def summary(self) -> dict[str, Any]:
        """All of it as plain values."""
        votes = {row.point.method.name: row.point.votes_per_item for row in self.rows}
        return {
            "version": __version__,
            "stream": self.name,
            "num_items": self.num_items,
            "seeds": list(self.seeds),
            "ask_all_votes": votes["ask-all"],
            "until_settled_votes": votes["until-settled"],
            "ask_all_cost": self.ask_all,
            "until_settled_cost": self.until_settled,
            "notes": list(self.notes),
            "files": [str(file) for file in self.files],
            "rows": [
                {
                    **row.point.method.describe(),
                    "votes_per_item": row.point.votes_per_item,
                    "cost_per_item": row.point.cost_per_item,
                    "error_rate": row.point.error_rate,
                    "saved_against_ask_all": row.saved_against_ask_all,
                    "saved_against_until_settled": row.saved_against_until_settled,
                }
                for row in self.rows
            ],
        }


def compare_methods(
    specs: Sequence[str],
    source: StreamSource,
    *,
    whole_range: bool = False,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> MethodTable:
    """Run each method (`name` or `name:parameter=value`) over the source; with `whole_range`, over its whole grid."""
    named = [method(spec) for spec in specs]
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)  # fail early
    replicates = source.replicates()
    families = [_family(chosen, replicates[0], whole_range) for chosen in named]
    families += [(method(name),) for name in REFERENCES if name not in {chosen.name for chosen in named}]
    curves = sweep(families, replicates, progress=progress)
    name = replicates[0].dataset.name
    costs = {curve.name: curve.points[0].cost_per_item for curve in curves}
    rows = tuple(_row(point, costs) for curve in curves for point in curve.runs)
    is_priced = source.costs is not None
    notes = [*([PRICED] if is_priced else []), *replicates[0].dataset.notes]
    files: tuple[Path, ...] = ()
    if out is not None:
        files = (write_csv((point_record(name, row.point, source.seeds) for row in rows), Path(out) / "results.csv"),)
        files += write_curves(curves, Path(out), title=name, unit=unit_of(is_priced=is_priced))
        notes += [] if can_plot() else [MISSING]
    table = MethodTable(
        name, source.seeds, rows, costs["ask-all"], costs["until-settled"], tuple(notes), files, is_priced
    )
    if out is not None:
        write_json(table.summary(), Path(out) / "summary.json")
    return table


def unit_of(*, is_priced: bool) -> str:
    """What an item is measured in: costs of people, or votes."""
    return "cost per item" if is_priced else "votes per item"


def _family(chosen: Method, first: Replicate, whole_range: bool) -> tuple[Method, ...]:
    if not whole_range:
        return (chosen,)
    size = first.pool_size or first.dataset.votes.shape[1]
    return grid_methods([chosen.name], pool_size=size, num_classes=first.dataset.num_classes)[0]


def _row(point: Point, costs: Mapping[str, float]) -> MethodRow:
    cost = point.cost_per_item
    return MethodRow(point, 1 - cost / costs["ask-all"], 1 - cost / costs["until-settled"])
