"""Methods compared on the same streams: `compare`, a curve of the share wrong against votes for each method.

Called by users and by `demo`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.commands.calibration import calibration_of
from quorate.files import write_atomic
from quorate.methods import Method, Target, as_method, known_target
from quorate.model import QueryPolicy
from quorate.progress import lines
from quorate.reports import figures
from quorate.reports.format import counted, interval, number
from quorate.reports.section import Figure, Table
from quorate.streams import Curve, Point, Simulation, difference, grid_of, label_of, point_of, simulate, swept
from quorate.types import IntArray, Progress, VoteDataset
from quorate.validate import invalid

UNTIL_SETTLED, EVERYBODY = "until-settled", "ask-all"
Data = VoteDataset | Callable[[int], VoteDataset]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """A curve for each method, in the order given, on the same items, voters and ties.

    `until_settled`, `everybody`: asking until the missing votes cannot change the winner, and asking the whole pool
    `items` (T,) of all streams: where two have the same number, one item was met under two seeds   `name` of the data
    """

    curves: tuple[Curve, ...]
    until_settled: Point
    everybody: Point
    seeds: tuple[int, ...]
    items: IntArray
    name: str

    def __repr__(self) -> str:
        """The methods and the size in one line."""
        names = ", ".join(curve.label for curve in self.curves)
        return f"Comparison({names}: {self.num_items} items, seeds {', '.join(map(str, self.seeds))})"

    @property
    def num_items(self) -> int:
        """Items of all streams."""
        return len(self.until_settled.votes)

    def curve(self, label: str) -> Curve:
        """The curve of that method."""
        for found in self.curves:
            if found.label == label:
                return found
        known = ", ".join(each.label for each in self.curves)
        raise invalid("label", label, f"one of: {known}", "choose one.")

    def table(self, votes: Sequence[float]) -> Table:
        """Each method's share wrong, in %, at these votes per item; a dash where it asks more at every setting.

        Nothing costs more than asking everybody: beyond, there are dashes only.
        """
        most = self.everybody.votes_per_item
        readings = [
            (curve.label, [curve.at(budget) if budget <= most else None for budget in votes]) for curve in self.curves
        ]
        rows = tuple(
            (label, *(None if each is None else 100 * each.error_rate for each in found)) for label, found in readings
        )
        heads = ("wrong, % of the items, with", *(f"{budget:.3g} vote{'' if budget == 1 else 's'}" for budget in votes))
        return Table("", "Methods at equal cost", heads, rows)

    def area(self) -> Table:
        """Each method's mean share wrong over the range of votes, in %, and its difference to the first method's.

        The range goes from the cheapest settings of all to asking until the pool is settled. The 95 % intervals compare
        item by item; the runs of one item under several seeds count as one item. Methods with one setting have no area.
        """
        swept_ones = [curve for curve in self.curves if not curve.is_point] or self.curves
        least = max(curve.points[0].votes_per_item for curve in swept_ones)
        most = self.until_settled.votes_per_item
        areas = [(curve.label, *curve.area(least, most)) for curve in swept_ones]
        first, _, own = areas[0]
        rows = []
        for label, mean, influence in areas:
            beside = difference(own, influence, self.items)
            low, high = (number(100 * end) for end in (beside.low, beside.high))
            against = (None, None) if label == first else (100 * (mean - areas[0][1]), interval(low, high))
            rows.append((label, 100 * mean, *against))
        heads = ("method", "wrong, %", f"more than {first}", "95 % interval")
        title = f"Mean share wrong over {least:.3g} to {most:.3g} votes per item"
        notes = [f"Intervals: {len(np.unique(self.items)):,} independent items; runs of one item are averaged first."]
        if points := ", ".join(curve.label for curve in self.curves if curve.is_point):
            notes.append(f"One setting only, so no area: {points}.")
        return Table("", title, heads, tuple(rows), " ".join(notes))

    def records(self) -> list[dict[str, Any]]:
        """Every setting of every method as plain values."""
        return [_record(curve, point, self.seeds) for curve in self.curves for point in curve.runs]

    def to_frame(self, backend: str | None = None) -> Any:  # noqa: ANN401 - a frame of any library
        """`records` as a table of "pandas", "polars" or "pyarrow"; None: pandas if it is installed, else pyarrow."""
        from quorate.arrow import pa  # noqa: PLC0415 - an extra, which the demo does without
        from quorate.frames import give_back, pandas_or_arrow  # noqa: PLC0415

        rows = [{**row, "parameters": str(row["parameters"])} for row in self.records()]
        return give_back(pa.Table.from_pylist(rows), backend or pandas_or_arrow())

    def figure(self, title: str = "", votes: Sequence[float] = ()) -> Figure:
        """The picture; thin lines mark these numbers of votes. The title is the data set and the seeds by default."""
        title = title or f"{self.name}, {counted(len(self.seeds), 'seeds')}"

        def draw(figure: Any) -> None:  # noqa: ANN401 - matplotlib's
            figures.draw_curves(figure, self.curves, title=title, floor=self.until_settled.error_rate, budgets=votes)

        return Figure(
            "error-cost", title, "", "Wrong answers against votes per item, a line per method", draw, (7.4, 4.8)
        )

    def plot(self, path: str | Path) -> Path:
        """Draw the curves into a file: `.svg`, or `.png` for any other name."""
        drawn = figures.draw(self.figure())
        return write_atomic(Path(path), drawn.svg if Path(path).suffix == ".svg" else drawn.png)


def _record(curve: Curve, point: Point, seeds: Sequence[int]) -> dict[str, Any]:
    scored = point.errors == point.errors
    honest = calibration_of(point.confidence[scored], 1.0 - point.errors[scored])
    return {
        "method": curve.label,
        "parameters": point.method.describe()["parameters"],
        "votes_per_item": point.votes_per_item,
        "error_rate": point.error_rate,
        "brier": None if honest is None else honest.brier,
        "log_score": None if honest is None else honest.log_score,
        "calibration_error": None if honest is None else honest.error,
        "num_items": int(scored.sum()),
        "seeds": " ".join(map(str, seeds)),
    }


def compare(
    data: Data,
    methods: Iterable[Method | str | QueryPolicy],
    seeds: Iterable[int],
    *,
    pool_size: int | None = None,
    model: int | str = "all",
    target: Target = "plurality",
    progress: Progress | None = None,
) -> Comparison:
    """Run every method over its whole range of settings, on one stream for each seed.

    Parameters
    ----------
    data
        A data set, or a function from a seed to one.
    methods
        Names, `quorate.method(...)` or own policies. The parameter that says how far to ask is varied, all others stay;
        if it was given another value than the default, the method is one point. An own policy is one point unless it
        has a `grid`: several policies.
    pool_size, model, target
        As in `simulate`.
    progress
        `progress(done, total, method)`. None: a line on stderr after two seconds, then one every ten.

    >>> from quorate.datasets import synthetic
    >>> data = synthetic(num_items=200, num_classes=3, pool_size=5, seed=1)
    >>> compare(data, ["value", "quorum"], seeds=[1])
    Comparison(value, quorum: 200 items, seeds 1)
    """
    if not isinstance(seeds, Iterable) or isinstance(seeds, str) or not (chosen_seeds := tuple(seeds)):
        raise invalid("seeds", seeds, "one seed or more, in a list", "pass e.g. seeds=[1], or seeds=range(3).")
    sets = {seed: data(seed) if callable(data) else data for seed in chosen_seeds}
    goal = known_target(target)

    def run(chosen: Method) -> list[Simulation]:
        return [
            simulate(some, chosen, seed=seed, pool_size=pool_size, model=model, target=goal)
            for seed, some in sets.items()
        ]

    settled, asked = (run(each) for each in map(as_method, (UNTIL_SETTLED, EVERYBODY)))
    until_settled, everybody = point_of(settled[0].method, settled), point_of(asked[0].method, asked)
    first = next(iter(sets.values()))
    size, num_classes = int(everybody.votes.max()), len(first.classes)
    families: dict[str, Sequence[Method]] = {}
    for chosen in map(as_method, methods):
        grid = grid_of(chosen, pool_size=size, num_classes=num_classes)
        label = label_of(chosen, grid)
        if label in families:
            rule = "methods that can be told apart by name and parameters"
            raise invalid("methods", label, rule, "leave one out, or give the policy another name.")
        families[label] = grid
    curves = swept(families, run, progress=progress or lines())
    return Comparison(curves, until_settled, everybody, tuple(sets), _items(list(sets.values()), asked), first.name)


def _items(sets: Sequence[VoteDataset], runs: Sequence[Simulation]) -> IntArray:
    """(T,) a number for each item of the runs: another one in another data set, the same under another seed."""
    distinct = list(dict.fromkeys(map(id, sets)))
    most = max(some.num_items for some in sets)
    return np.concatenate([run.items + most * distinct.index(id(some)) for some, run in zip(sets, runs, strict=True)])
