"""`plan`: a pilot's votes and predictions -> the curve of every method, the setting to use, and how sure it is.

Reads the tables, runs every method over several orderings of the pilot, chooses for a target error or a budget and says
what to expect of the next batch; with `out` writes its files. What `quorate plan` does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from quorate.decision.error_costs import ErrorCosts
from quorate.files import check_free
from quorate.methods import ANONYMOUS, Method, Target, checked_target, known_target
from quorate.methods import method as build_method
from quorate.posterior.settled import plurality_shares
from quorate.reports.figures import canvas
from quorate.streams.classifier_saving import ClassifierReport, classifier_report
from quorate.streams.prepare import prepare
from quorate.tables import Report
from quorate.tables.error_cost import ErrorCost, read_error_cost
from quorate.tables.options import TableKeywords, TableOptions, shows, table_options
from quorate.tables.truth_and_costs import Costs, read_costs, read_truth
from quorate.tables.votes.vote_order import vote_order
from quorate.types import FloatArray, TableLike, frozen_array
from quorate.validate import bounded, invalid, whole
from quorate.workflows.inputs import PredictionSources, VoteSource, read_inputs, truth_of
from quorate.workflows.plan import next_steps, notes, report
from quorate.workflows.plan.advice import REFERENCES, Advice, Band, Goal, Rival, advised, band, rivals, study
from quorate.workflows.plan.curves import Measured, PilotCurve, Progress
from quorate.workflows.plan.forecast import resampled
from quorate.workflows.plan.next_steps import free_folder, prediction_files
from quorate.workflows.plan.people import PeopleWorth, people_worth
from quorate.workflows.plan.pools import FEWEST_ITEMS, PartlyVoted, Pilot, pilot_of
from quorate.workflows.plan.report import plan_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

METHODS = ("value", "finexp", "infexp", "beta", "quorum", "unanimous-then-cap", "random")
TRUTH_METHODS = ("crowd", "value", "quorum")
ALL = "all"  # every method; the references (single points) are always added
MOST_ITEMS = 15_000  # items of a pilot that are run by default: more take minutes and hardly narrow the ranges
MOST_WITH_PEOPLE = 300  # the same with a method that knows people: it runs a session, about a millisecond per vote
ABOVE_FLOOR = 0.01  # the target if none is given: the pilot's tie floor and a point


@dataclass(frozen=True, eq=False)
class Plan:
    """A finished plan: `.summary()`, `.headline()`, `.notes()`, `.command()`, `.uses()`, `.plot()`, `.to_html()`.

    `advice` the setting and its forecasts   `curves` of every method, with `bands`; `references` until settled and
    asking everyone   `rivals` other methods at the same cost   `level` of the intervals   `batch_size` m
    `is_own_goal` False if the target was not given   `settings` the arguments in force   `columns`, `report` how
    the tables were read and what was met in them   `classifier` what it saves at the setting advised, None with a
    method that knows people   `people` what knowing them saves, None where votes do not name their voters   `paid` what
    an item costs by each reference, in ordinary votes
    `voters` of the pilot by number, () where votes are anonymous   `one_order` every item has them in the same order
    `prediction_files` made-up names of the next batch's predictions, `next_folder` of its results, for `.command()`
    """

    pilot: Pilot
    curves: tuple[PilotCurve, ...]
    bands: tuple[Band, ...]
    references: Mapping[str, Measured]
    paid: Mapping[str, float]
    floor: float
    advice: Advice
    rivals: tuple[Rival, ...]
    level: float
    batch_size: int
    price: float | None
    is_own_goal: bool
    settings: Mapping[str, Any]
    columns: TableOptions
    report: Report
    classifier: ClassifierReport | None
    people: PeopleWorth | None
    voters: tuple[str, ...]
    prediction_files: tuple[str, ...]
    next_folder: str
    one_order: bool = False

    def summary(self) -> dict[str, Any]:
        """Advice, intervals, curves and pilot as plain values: what plan.json holds."""
        return report.summarise(self)

    def headline(self) -> str:
        """The advice in one sentence."""
        return notes.headline(self)

    def notes(self) -> list[str]:
        """What a reader must know before trusting it."""
        return notes.notes(self)

    def command(self) -> str:
        """The `quorate run` that uses the setting on the next batch."""
        return next_steps.command(self)

    def uses(self) -> dict[str, str]:
        """What to type to use the setting: on recorded votes, in Python, in the service."""
        return next_steps.uses(self)

    def to_html(self) -> str:
        """The plan as one page: no scripts, nothing loaded from elsewhere."""
        return report.page(self)

    def plot(self) -> MplFigure:
        """A matplotlib figure: the curves with their bands, the goal and the setting advised."""
        return canvas(plan_figure(self))

    def __repr__(self) -> str:
        """The plan in a few lines."""
        return "\n".join([f"Plan: {self.headline()}", f"  {self.command()}", *(f"  {note}" for note in self.notes())])

    def _repr_html_(self) -> str:
        """Advice and table, for notebooks."""
        return report.short_html(self)


@shows(TableKeywords)
def plan(
    votes: VoteSource,
    predictions: PredictionSources = None,
    *,
    target: Target | None = None,
    truth: TableLike | None = None,
    target_error: float | None = None,
    budget: float | None = None,
    sureness: float = 0.9,
    methods: Sequence[str] | None = None,
    pool_size: int | None = None,
    partly_voted: PartlyVoted = "complete",
    error_costs: ErrorCost | None = None,
    price: float | None = None,
    costs: Costs | None = None,
    batch_size: int | None = None,
    level: float = 0.9,
    orderings: int = 4,
    draws: int = 1000,
    most_items: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> Plan:
    """Choose a setting for the next batch from a pilot of recorded votes.

    `votes`, `predictions` and how to read them (`tables`): as `quorate.run` takes them. `target` "plurality": an answer
    is wrong if the whole pool votes otherwise; "truth": if the true class is another, counted on the items that the
    table `truth` names. `methods`: those to compare (default: `METHODS`, for the truth `TRUTH_METHODS`); "all" stands
    for every method for anonymous votes. The setting is one of the first: the cheapest that keeps the errors of the
    next batch within `target_error` (default: the pilot's tie floor and a point) with probability `sureness`, or the
    one that asks most within `budget` votes per item.
    `pool_size` None: the pool of an item is the votes recorded for it; N: every pool is N of them, drawn anew in each
    ordering, and `partly_voted` says what is done with items that have fewer: "complete" draws the missing votes given
    those seen, "own-pool" takes the votes there are for the pool, "drop" leaves the items out. `error_costs`: what
    errors cost, by truth and answer; errors and target are then costs per item. `batch_size`: items to come (default:
    as many as the pilot has). `most_items`: of a larger pilot so many items are drawn by `seed` and run, and the plan
    says how much wider that makes the ranges; 0: all; None: 15,000, with a method that knows people 300. Where votes
    name their voters, the plan says what knowing them is worth; `costs` of a vote of each person as in `quorate.run`,
    in which money is then counted. docs/plan.md says what is promised, and how well it was kept.

    >>> from quorate.datasets import synthetic
    >>> pilot = synthetic(num_items=200, pool_size=5, accuracy=0.9, seed=1)
    >>> made = plan(pilot, target_error=0.08, methods=["value", "quorum"], orderings=2, price=0.08)
    >>> made.advice.status, made.advice.setting.votes.mean < 5
    ('sure', True)
    """
    bounded(sureness, where="sureness", least=0.5, most=0.999)
    goal = _goal(target_error, budget, sureness, most=1.0 if error_costs is None else math.inf)
    names = _names(_default(target) if methods is None else methods)
    chosen = [build_method(name) for name in names]
    seeks = checked_target(target, chosen[0])
    if truth is not None and seeks == "plurality":
        raise invalid("truth", truth, "`target='truth'` beside it", "pass that too, or leave it out.")
    number, runs = whole(seed, where="seed", least=0), whole(orderings, where="orderings", least=2)
    whole(draws, where="draws", least=100)
    bounded(level, where="level", least=0.5, most=0.999)
    cost = None if price is None else bounded(price, where="price", least=0.0)
    coming = None if batch_size is None else whole(batch_size, where="batch_size")
    most = _most_items(most_items, knows_people=any(each.needs_people for each in chosen))
    folder = None if out is None else check_free(out, overwrite=overwrite)
    columns = table_options(tables)
    joined, _ = read_inputs(votes, predictions, columns, by_time=False, progress=progress)
    wrong_costs = None if error_costs is None else _weights(read_error_cost(error_costs, joined.classes))
    voter_costs = None if costs is None else read_costs(costs, joined.workers)
    data = joined.to_dataset()
    known = truth_of(votes, truth, columns) if seeks == "truth" else None
    if known is not None:
        data = replace(data, truth=frozen_array(read_truth(known, joined), np.int64))
    pilot = pilot_of(
        data, pool_size=pool_size, partly_voted=partly_voted, error_costs=wrong_costs, most_items=most,
        target=seeks, voter_costs=voter_costs, seed=number,
    )  # fmt: skip
    _check_named(pilot, chosen)
    batch = coming or pilot.num_items + pilot.unused
    found = study(pilot, names, orderings=runs, batch_size=batch, seed=number, progress=progress)
    wanted = goal or Goal("target-error", found.floor + ABOVE_FLOOR * pilot.most_error, sureness)
    found, advice = advised(found, wanted, draws=draws)
    models = joined.models if joined.report.usable else ()
    settings = {
        "orderings": runs, "draws": draws, "seed": number, "sureness": sureness, "methods": list(names),
        "price": cost, "partly_voted": partly_voted, "most_items": most, "with_predictions": bool(models),
        "error_costs": None if wrong_costs is None else wrong_costs.tolist(), "target": seeks,
        "with_costs": voter_costs is not None,
    }  # fmt: skip
    worst = pilot.most_counted
    drawn = resampled(found.curves, found.ratios, draws=draws, seed=number, most=worst)
    made = Plan(
        pilot=pilot,
        curves=found.curves,
        bands=tuple(band(c, ratio, worst, level) for c, ratio in zip(found.curves, found.ratios, strict=True)),
        references={name: setting.votes for name, setting in found.references.items()},
        paid={name: setting.paid.mean for name, setting in found.references.items()},
        floor=found.floor,
        advice=advice,
        rivals=rivals(advice, found.curves, drawn, level=level),
        level=level,
        batch_size=batch,
        price=cost,
        is_own_goal=goal is not None,
        settings=settings,
        columns=columns,
        report=joined.report,
        classifier=_saving(pilot, advice, models, seed=number),
        people=people_worth(
            pilot.dataset,
            advice.setting.method,
            pool_size=pilot.pool_size,
            voter_costs=voter_costs,
            target=seeks,
            level=level,
            seed=number,
            progress=progress,
        ),
        voters=joined.workers,
        prediction_files=prediction_files(predictions, models),
        next_folder=free_folder(out),
        one_order=vote_order(joined).by_people,
    )
    if folder is not None:
        report.write_plan(made, folder)
    return made


def _default(target: object) -> tuple[str, ...]:
    return METHODS if target is None or known_target(target) == "plurality" else TRUTH_METHODS


def _most_items(given: int | None, *, knows_people: bool) -> int | None:
    """None: all."""
    if given is None:
        return MOST_WITH_PEOPLE if knows_people else MOST_ITEMS
    return None if given == 0 else whole(given, where="most_items", least=FEWEST_ITEMS)


def _check_named(pilot: Pilot, chosen: Sequence[Method]) -> None:
    """Methods that know people need the voter of every vote, and nobody cast a drawn one."""
    for each in chosen:
        if each.needs_people and pilot.model is not None:
            rule = f"'own-pool' or 'drop' with method {each.name!r}: nobody cast the votes that complete a pool"
            raise invalid("partly_voted", pilot.partly_voted, rule, "pass one of these.")


def _saving(pilot: Pilot, advice: Advice, models: tuple[str, ...], *, seed: int) -> ClassifierReport | None:
    """What the classifiers save at the setting advised, in the first ordering of the pilot.

    None for methods that know people, and for the truth: it is measured for anonymous pools and their plurality.
    """
    if advice.setting.method.needs_people or pilot.target == "truth":
        return None
    met = prepare(pilot.met(seed), pilot.pool_size, "all", seed)
    return classifier_report(
        met, advice.setting.method, models=models, classes=pilot.dataset.classes, votes=advice.setting.votes.mean,
        truth=plurality_shares(met.counts), is_scored=np.ones(len(met.items), dtype=bool),
        seed=seed,
    )  # fmt: skip


def _weights(cost: float | ErrorCosts) -> FloatArray | None:
    return cost.weights if isinstance(cost, ErrorCosts) else None


def _goal(target_error: float | None, budget: float | None, sureness: float, *, most: float) -> Goal | None:
    if target_error is not None and budget is not None:
        raise invalid("budget", budget, "one goal, but `target_error` is given, too", "leave one of them out.")
    if target_error is not None:
        return Goal("target-error", bounded(target_error, where="target_error", least=0.0, most=most), sureness)
    if budget is not None:
        return Goal("budget", bounded(budget, where="budget", least=0.0), sureness)
    return None


def _names(methods: Sequence[str]) -> tuple[str, ...]:
    """The methods, each once, "all" as what it stands for; refuses names that do not exist before anything is read."""
    given = [methods] if isinstance(methods, str) else methods
    every = [name for name in ANONYMOUS if name not in REFERENCES]
    names = tuple(dict.fromkeys(each for name in given for each in (every if name == ALL else [name])))
    if not names:
        raise invalid("methods", list(given), "at least one name", "name the method to plan for first.")
    for name in names:
        build_method(name)
    return names
