"""`plan`: a pilot's votes and predictions -> the curve of every method, the setting to use, and how sure it is.

Reads the tables, runs every method over several orderings of the pilot, chooses for a target error or a budget and says
what to expect of the next batch; with `out` writes its files. What `quorate plan` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.methods import Method, method
from quorate.tables import Report
from quorate.tables.join import Items
from quorate.tables.votes import Format
from quorate.types import FloatArray, VoteDataset
from quorate.validate import bounded, members, whole
from quorate.workflows.plan_advice import Advice, Forecast, Goal, Rival, advise, pilot_variances, rivals
from quorate.workflows.plan_curves import (
    Inflation,
    Measured,
    PilotCurve,
    Progress,
    Resampled,
    inflation,
    measure,
    plan_grid,
    resampled,
    rows_of,
)
from quorate.workflows.run_files import check_free
from quorate.workflows.run_inputs import Columns, read_inputs
from quorate.workflows.specs import parse_method

METHODS = ("quorate", "finexp", "infexp", "beta", "quorum", "unanimous-then-cap", "random")
REFERENCES = ("until-settled", "ask-all")
ABOVE_FLOOR = 0.01  # the target if none is given: the pilot's tie floor and a point
FEWEST_ITEMS = 20
ENDLESS = 10**12  # a batch so long that only the pilot's own error is left: a confidence interval


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """The votes a plan rests on. `left_out` items with fewer than `pool_size` votes; `single` items with one vote."""

    dataset: VoteDataset
    pool_size: int | None
    left_out: int
    single: int
    smallest: int
    largest: int

    @property
    def num_items(self) -> int:
        """n."""
        return self.dataset.num_items


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """(S, 2) where a curve's settings really are: votes per item and errors."""

    votes: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False)
class Plan:
    """A finished plan: `.summary()`, `.headline()`, `.notes()`, `.plot()`, `.to_html()`.

    `advice` the setting and its forecasts   `curves` of every method, with `bands`; `references` until settled and
    asking everyone   `rivals` other methods at the same cost   `level` of the intervals   `batch_size` m
    `is_own_goal` False if the target was not given   `settings` the arguments in force
    """

    pilot: Pilot
    curves: tuple[PilotCurve, ...]
    bands: tuple[Band, ...]
    references: Mapping[str, Measured]
    floor: float
    advice: Advice
    rivals: tuple[Rival, ...]
    level: float
    batch_size: int
    price: float | None
    is_own_goal: bool
    settings: Mapping[str, Any]
    report: Report | None

    def summary(self) -> dict[str, Any]:
        """Advice, intervals, curves and pilot as plain values: what plan.json holds."""
        from quorate.workflows.plan_report import summarise  # noqa: PLC0415 - it takes a Plan

        return summarise(self)

    def headline(self) -> str:
        """The advice in a few sentences."""
        from quorate.workflows.plan_report import headline  # noqa: PLC0415 - it takes a Plan

        return headline(self)

    def notes(self) -> list[str]:
        """What a reader must know before trusting it."""
        from quorate.workflows.plan_report import notes  # noqa: PLC0415 - it takes a Plan

        return notes(self)

    def to_html(self) -> str:
        """The plan as one page: no scripts, nothing loaded from elsewhere."""
        from quorate.workflows.plan_report import page  # noqa: PLC0415 - it takes a Plan

        return page(self)

    def plot(self) -> Any:  # noqa: ANN401
        """A matplotlib figure: the curves with their bands, the goal and the setting advised."""
        from quorate.workflows.plan_plots import figure  # noqa: PLC0415 - matplotlib is optional

        return figure(self)

    def __repr__(self) -> str:
        """The plan in a few lines."""
        return "\n".join([f"Plan: {self.headline()}", *(f"  {note}" for note in self.notes())])

    def _repr_html_(self) -> str:
        """Advice and table, for notebooks."""
        from quorate.workflows.plan_report import short_html  # noqa: PLC0415 - it takes a Plan

        return short_html(self)


def plan(
    votes: Any,  # noqa: ANN401
    predictions: Any = None,  # noqa: ANN401
    *,
    target_error: float | None = None,
    budget: float | None = None,
    sureness: float = 0.9,
    methods: Sequence[str] = METHODS,
    pool_size: int | None = None,
    price: float | None = None,
    batch_size: int | None = None,
    level: float = 0.9,
    orderings: int = 4,
    draws: int = 1000,
    seed: int = 0,
    strict: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    task: str | None = None,
    worker: str | Sequence[str] | None = None,
    label: str | None = None,
    timestamp: str | None = None,
    format: Format = "auto",  # noqa: A002 - as in quorate.tables
    classes: Sequence[str] | None = None,
    id_column: str | None = None,
    ids: Sequence[Any] | None = None,
    accuracy: float = 0.9,
    items: Items = "votes",
) -> Plan:
    """What to do with the next batch, from a pilot of recorded votes.

    `votes`, `predictions`: as `quorate.run` takes them. The setting is one of `methods[0]`: the cheapest that keeps the
    errors of the next batch within `target_error` (default: the pilot's tie floor and a point) with probability
    `sureness`, or the one that asks most within `budget` votes per item. `pool_size` None: the pool of an item is the
    votes recorded for it; N: every pool is N of them, drawn anew in each ordering, and items with fewer are left out.
    `batch_size`: items to come (default: as many as the pilot has). docs/plan.md says what is promised, and how well
    it was kept.

    >>> from quorate.datasets import synthetic
    >>> pilot = synthetic(num_items=200, pool_size=5, accuracy=0.9, seed=1)
    >>> made = plan(pilot, target_error=0.05, methods=["quorate", "quorum"], orderings=2, price=0.08)
    >>> made.advice.status, made.advice.setting.votes.mean < 5
    ('sure', True)
    """
    goal = _goal(target_error, budget, bounded(sureness, where="sureness", least=0.5, most=0.999))
    families = [(name, parse_method(name)) for name in _names(methods)]
    number, runs = whole(seed, where="seed", least=0), whole(orderings, where="orderings", least=2)
    whole(draws, where="draws", least=100)
    bounded(level, where="level", least=0.5, most=0.999)
    cost = None if price is None else bounded(price, where="price", least=0.0)
    coming = None if batch_size is None else whole(batch_size, where="batch_size")
    folder = None if out is None else check_free(out, overwrite=overwrite)
    columns = Columns(task, worker, label, timestamp, format, classes, id_column, ids, accuracy, items)
    joined, _ = read_inputs(votes, predictions, columns, by_time=False, strict=strict, progress=progress)
    pilot = _pilot(joined.to_dataset(), pool_size)
    batch = coming or pilot.num_items
    every = [_family(name, given, pilot) for name, given in families] + [[method(name)] for name in REFERENCES]
    found = measure(
        pilot.dataset, every, pool_size=pool_size, orderings=runs, batch_size=batch, seed=number, progress=progress
    )
    curves, references = found[: len(families)], {c.name: c.settings[0] for c in found[-2:]}
    ratio = inflation(pilot.dataset, curves[0], pool_size=pool_size, seed=number, progress=progress)
    drawn = resampled(curves, draws=draws, seed=number)
    (by_items,) = resampled(curves[:1], draws=draws, seed=number, orderings=False)
    floor = references["until-settled"].errors.mean
    advice = advise(curves[0], by_items, ratio, goal or _default_goal(floor, sureness), batch_size=batch)
    made = Plan(
        pilot=pilot,
        curves=curves,
        bands=tuple(_band(c, d, ratio if c is curves[0] else None, level) for c, d in zip(curves, drawn, strict=True)),
        references={name: setting.votes for name, setting in references.items()},
        floor=floor,
        advice=advice,
        rivals=rivals(advice, curves, drawn, level=level),
        level=level,
        batch_size=batch,
        price=cost,
        is_own_goal=goal is not None,
        settings={"orderings": runs, "draws": draws, "seed": number, "sureness": sureness, "methods": list(methods)},
        report=joined.report,
    )
    if folder is not None:
        from quorate.workflows.plan_report import write_plan  # noqa: PLC0415 - it takes a Plan

        write_plan(made, folder)
    return made


def _goal(target_error: float | None, budget: float | None, sureness: float) -> Goal | None:
    if target_error is not None and budget is not None:
        raise InvalidInput(
            f"target_error={target_error!r} and budget={budget!r} are both given; a plan has one goal. Pass one."
        )
    if target_error is not None:
        return Goal("target-error", bounded(target_error, where="target_error", least=0.0, most=1.0), sureness)
    if budget is not None:
        return Goal("budget", bounded(budget, where="budget", least=0.0), sureness)
    return None


def _default_goal(floor: float, sureness: float) -> Goal:
    return Goal("target-error", min(floor + ABOVE_FLOOR, 1.0), sureness)


def _names(methods: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys([methods] if isinstance(methods, str) else methods))
    if not names:
        raise InvalidInput("methods is empty; name at least one: the first is the one a setting is advised for.")
    return names


def _pilot(dataset: VoteDataset, pool_size: int | None) -> Pilot:
    """The items that can be used: with `pool_size` those with at least so many votes."""
    recorded = (dataset.votes >= 0).sum(axis=1)
    kept = recorded >= (1 if pool_size is None else members(pool_size))
    if kept.sum() < FEWEST_ITEMS:
        wanted = "a vote" if pool_size is None else f"at least pool_size={pool_size} votes"
        raise InvalidInput(
            f"{int(kept.sum())} items have {wanted}; a plan needs at least {FEWEST_ITEMS}. Record more"
            + (", or pass a smaller pool_size." if pool_size else ".")
        )
    sizes = recorded[kept] if pool_size is None else np.full(int(kept.sum()), pool_size)
    chosen = dataset if kept.all() else rows_of(dataset, np.flatnonzero(kept))
    return Pilot(chosen, pool_size, int((~kept).sum()), int((sizes == 1).sum()), int(sizes.min()), int(sizes.max()))


def _family(name: str, given: Method, pilot: Pilot) -> list[Method]:
    """A method at every knob value; at one only if the name came with it: "quorum:votes=4"."""
    if ":" in name:
        return [given]
    grid = plan_grid(name, pool_size=pilot.largest, num_classes=pilot.dataset.num_classes)
    return [method(name, **knobs) for knobs in grid]


def _band(curve: PilotCurve, drawn: Resampled, ratio: Inflation | None, level: float) -> Band:
    """Where the pilot leaves each setting: V_pilot where it is known, else the variance of the resampled pilots."""

    def ends(kind: str, table: FloatArray, ratios: FloatArray | None) -> FloatArray:
        measured: list[Measured] = [getattr(setting, kind) for setting in curve.settings]
        variances = table.var(axis=0, ddof=1) if ratios is None else pilot_variances(measured, ratios)
        return np.array(
            [
                Forecast(m.mean, float(v), m.spread, 1.0, len(m.items), ENDLESS, kind == "errors").interval(level)
                for m, v in zip(measured, variances, strict=True)
            ]
        )

    both = (None, None) if ratio is None else (ratio.votes, ratio.errors)
    return Band(ends("votes", drawn.votes, both[0]), ends("errors", drawn.errors, both[1]))
