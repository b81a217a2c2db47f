"""`plan`: a pilot's votes and predictions -> the setting for the next batch, and how sure that is.

Replays the pilot under the settings of one method (`settings`, `replays`), forecasts the next batch and chooses
(`forecast`), and says it (`result`, `report`). What `quorate plan` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Unpack, cast

import numpy as np

from quorate.commands.inputs import PredictionSources, VoteSource, read_inputs, truth_of
from quorate.commands.lost_class import Found, LostClass, lost_class, shares_found
from quorate.commands.plan.advise import Advice, advise
from quorate.commands.plan.forecast import FEW, Goal, Range, Recall
from quorate.commands.plan.notes import command, notes_of
from quorate.commands.plan.replays import Pilot, Setting, some_items
from quorate.commands.plan.result import Plan, Point
from quorate.commands.plan.settings import Candidate
from quorate.errors import InvalidInput, shown
from quorate.files import check_free
from quorate.methods import Method, Target, checked_target, chosen_method, with_costs
from quorate.model import DEFAULT_ERROR_COST, ErrorCosts, QueryPolicy
from quorate.rng import stream
from quorate.session import tuned
from quorate.tables import (
    Costs,
    ErrorCost,
    Joined,
    TableKeywords,
    is_number,
    match_labels,
    read_costs,
    read_error_cost,
    shows,
    table_options,
)
from quorate.types import FloatArray, IntArray, Progress, TableLike
from quorate.validate import bounded, fraction, invalid, members, whole

__all__ = ["Goal", "Plan", "Point", "Range", "Recall", "plan"]

FEWEST_ITEMS = 20
MOST_ITEMS = 20_000  # of a larger pilot so many are drawn: more take minutes and hardly narrow the intervals
MOST_WITH_PEOPLE = 500  # the same with a method that knows people, which runs a session


@shows(TableKeywords)
def plan(
    votes: VoteSource,
    predictions: PredictionSources = None,
    *,
    target_error: float | None = None,
    budget: float | None = None,
    recall: Mapping[str, float] | None = None,
    error_cost: ErrorCost | None = None,
    confidence_level: float = 0.9,
    batch_size: int | None = None,
    method: str | Method | QueryPolicy | None = None,
    price: float | None = None,
    costs: Costs | None = None,
    pool_size: int | None = None,
    seed: int = 0,
    target: Target | None = None,
    truth: TableLike | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> Plan:
    """Choose the setting for the next batch from a pilot of recorded votes.

    Votes, predictions, `target`, `truth`, `price`, `costs`, `pool_size` and `tables`: as `quorate.run` takes them.

    Parameters
    ----------
    target_error : the cheapest setting that keeps the share of wrong answers within this, or
    budget : the setting that asks most within so many votes per item. One of the two, or none.
    recall : with or without one of them, the least recall of classes: `{"finding": 0.8}`.
    error_cost : a number, without a target or budget: what that setting will do (by default the method's own setting).
        A table of costs by truth and answer: settings multiply it, and errors are costs per item.
    confidence_level : probability with which the goal must be kept, and level of the intervals.
    batch_size : items to come; by default as many as the pilot has.
    method : the method whose one parameter is chosen.
    out : a folder for report.html, rejects.csv and plan.json.

    >>> from quorate.datasets import synthetic
    >>> pilot = synthetic(num_items=200, pool_size=5, accuracy=0.9, seed=1)
    >>> made = plan(pilot, target_error=0.08)
    >>> made.met, made.votes.expected < 5
    (True, True)
    """
    level = bounded(confidence_level, where="confidence_level", least=0.5, most=0.999)
    table = None if is_number(error_cost) else error_cost
    goal = _goal(target_error, budget, recall, level, most=1.0 if table is None else inf)
    base, is_fixed = _base(method, target, None if error_cost is table else cast("float", error_cost), goal)
    seeks = checked_target(target, base)
    if truth is not None and seeks == "plurality":
        raise invalid("truth", truth, "`target='truth'` beside it", "pass that too, or leave it out.")
    number = whole(seed, where="seed", least=0)
    cost = None if price is None else bounded(price, where="price", least=0.0)
    coming = None if batch_size is None else whole(batch_size, where="batch_size")
    size = None if pool_size is None else members(pool_size)
    if out is not None:
        check_free(out, overwrite=overwrite)
    columns = table_options(tables)
    joined, _ = read_inputs(votes, predictions, columns, by_time=False, progress=progress)
    read = None if table is None else read_error_cost(table, joined.classes)
    names = match_labels(list(goal.recall), joined.classes, given=True)
    goal = replace(
        goal, recall={each.name or name: least for each, (name, least) in zip(names, goal.recall.items(), strict=True)}
    )
    if isinstance(read, float):  # all errors of the table cost the same
        base, is_fixed = _base(method, target, read, goal)
    start = _start(base, read)
    voter_costs = None if costs is None else read_costs(costs, joined.workers)
    classes = truth_of(votes, truth, joined, columns) if seeks == "truth" else None
    rows = _drawn(joined, classes, MOST_WITH_PEOPLE if base.needs_people else MOST_ITEMS, number)
    whole_pilot = joined.num_items
    if len(rows) < whole_pilot:
        joined = some_items(joined, rows)
    pilot = Pilot(
        joined=joined, pool_size=size, target=seeks, true_classes=None if classes is None else classes[rows],
        error_costs=start.method.costs, voter_costs=voter_costs, seed=number,
    )  # fmt: skip
    _check(pilot, goal)
    batch = coming or whole_pilot
    advice = advise(pilot, start, goal, is_fixed=is_fixed, batch_size=batch, progress=progress)
    chosen, forecast, place = advice.setting.candidate, advice.forecast, advice.place
    chances = forecast.chances(goal)
    made = Plan(
        met=bool(chances[place] >= level),
        chance=float(chances[place]),
        method=chosen.method,
        error_cost=None if chosen.method.costs is None else chosen.method.costs.by_name(joined.classes),
        parameter=start.parameter,
        value=chosen.value,
        votes=forecast.votes_of(place, level),
        error=forecast.errors_of(place, level),
        recall=forecast.recall_of(place, level),
        lost=_lost(pilot, advice),
        curve=_curve(advice, goal),
        floor=forecast.error_seen(advice.settled),
        settled=float(advice.settled.votes.mean()),
        goal=goal,
        num_items=whole_pilot,
        batch_size=batch,
        price=cost,
        cost_per_vote=float(advice.setting.paid.sum() / max(advice.setting.votes.sum(), 1.0)),
        command=command(
            pilot,
            chosen,
            predictions=predictions,
            has_truth=truth is not None,
            price=cost,
            read=columns.in_shell(),
            out=out,
        ),
        notes=notes_of(pilot, advice, goal, num_items=whole_pilot),
        tables=joined.report,
    )
    if out is not None:
        made.save(out, overwrite=overwrite)
    return made


def _goal(
    target_error: float | None, budget: float | None, recall: Mapping[str, float] | None, level: float, *, most: float
) -> Goal:
    if target_error is not None and budget is not None:
        raise InvalidInput("Use either `target_error` or `budget`.", field="budget", value=budget, rule="one goal")
    if target_error is not None:
        target_error = bounded(target_error, where="target_error", least=0.0, most=most)
    if budget is not None:
        budget = bounded(budget, where="budget", least=0.0)
    least = {name: fraction(share, where="recall") for name, share in (recall or {}).items()}
    return Goal(target_error, budget, least, level)


def _base(
    given: str | Method | QueryPolicy | None, target: Target | None, error_cost: float | None, goal: Goal
) -> tuple[Method, bool]:
    """The method, and whether it is the setting itself: nothing is to be chosen."""
    base = chosen_method(given, target=target, error_cost=error_cost)
    has_choice = goal.target_error is not None or goal.budget is not None
    if error_cost is not None and has_choice:
        name = "budget" if goal.target_error is None else "target_error"
        text = f"Use either `{name}` or `error_cost`: for a goal the plan chooses it."
        raise InvalidInput(text, field="error_cost", value=error_cost, rule="one of the two")
    return base, error_cost is not None or not goal.is_given


def _start(base: Method, costs: float | ErrorCosts | None) -> Candidate:
    """The method as it is given, with the table of error costs, which is varied where the method has an error cost."""
    if not isinstance(costs, ErrorCosts):
        return Candidate(base)
    return Candidate(with_costs(base, costs), 1.0 if "error_cost" in base.parameters else None)


def _drawn(joined: Joined, classes: IntArray | None, most: int, seed: int) -> IntArray:
    """The items that are replayed; where true classes count, those that have one first."""
    order = stream(seed, "plan-items").permutation(joined.num_items)
    if classes is not None:
        order = order[np.argsort(classes[order] < 0, kind="stable")]
    return np.sort(order[:most])


def _check(pilot: Pilot, goal: Goal) -> None:
    number = int(pilot.is_scored.sum())
    if number < FEWEST_ITEMS:
        what = "true classes of" if pilot.target == "truth" else "votes that fill the pools of"
        raise invalid("votes", number, f"{what} at least {FEWEST_ITEMS} items", "record more.")
    for name in goal.recall:
        if name not in pilot.joined.classes:
            raise invalid("recall", name, f"a class; they are {shown(list(pilot.joined.classes))}", "correct it.")
        items = float(pilot.truth[0, :, pilot.joined.classes.index(name)].sum())
        if items < FEW:
            rule = f"a class with at least {FEW} items in the pilot; {name!r} has {items:.3g}"
            raise invalid("recall", name, rule, "record more items of it, or leave it out.")


def _lost(pilot: Pilot, advice: Advice) -> LostClass | None:
    """The class that loses most, and what missing one must cost."""
    scored, truth = pilot.is_scored, pilot.truth.mean(axis=0)
    chosen, identity = advice.setting.candidate.method, np.eye(truth.shape[1])

    def found(setting: Setting) -> FloatArray:
        return shares_found(truth[scored], identity[setting.answers].mean(axis=0)[scored])

    def replayed(costs: ErrorCosts) -> Found:
        usual = replace(tuned(chosen, {"error_cost": DEFAULT_ERROR_COST}), choose=None)
        (setting,) = pilot.replayed([Candidate(replace(usual, costs=costs))], None, "")
        return found(setting), float(setting.votes.mean())

    own = chosen.parameters.get("error_cost")
    costs = None
    if own is not None and not chosen.answers_by_people:
        costs = own * (1.0 - identity) if chosen.costs is None else chosen.costs.votes
    return lost_class(
        pilot.joined.classes, truth[scored].sum(axis=0), found(advice.setting), found(advice.settled),
        costs=costs, replayed=replayed,
    )  # fmt: skip


def _curve(advice: Advice, goal: Goal) -> tuple[Point, ...]:
    forecast, chances = advice.forecast, advice.forecast.chances(goal)
    return tuple(
        Point(
            method=each.candidate.method,
            value=each.candidate.value,
            votes=float(forecast.mean_votes[place]),
            error=float(forecast.mean_errors[place]),
            chance=float(chances[place]),
            is_fine=each in advice.fine,
            is_chosen=place == advice.place,
        )
        for place, each in enumerate(forecast.settings)
    )
