"""What a reader of a plan must know before using it, the most important first; and the command for the next batch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from quorate.commands.inputs import PredictionSources
from quorate.commands.plan.advise import Advice
from quorate.commands.plan.forecast import Goal
from quorate.commands.plan.replays import Pilot
from quorate.commands.plan.settings import Candidate
from quorate.methods import METHODS, Method, method
from quorate.tables import vote_order

FEW_ITEMS = 100
WELL_SPENT = 0.9  # of a budget
ERROR_COSTS = "error-cost.csv"  # the table of the setting, in the folder of the plan


def notes_of(pilot: Pilot, advice: Advice, goal: Goal, *, num_items: int) -> tuple[str, ...]:
    """Sentences; `num_items` of the pilot before some were drawn."""
    found = [
        _incomplete(pilot, advice), _people_in_order(pilot, advice), _drawn(pilot, num_items), _uneven(pilot),
        _few(pilot), _left(advice, goal), _agreement(pilot, advice), _truth(pilot),
    ]  # fmt: skip
    return tuple(filter(None, found))


def is_in_one_order(pilot: Pilot) -> bool:
    """Whether every item has its people in one and the same order."""
    return vote_order(pilot.joined).by_people


def _people_in_order(pilot: Pilot, advice: Advice) -> str:
    if not is_in_one_order(pilot) or advice.setting.candidate.method.needs_people:
        return ""
    return (
        "Every item has its people in one and the same order. The plan mixes them, and so does the command. If one of "
        "them is always asked first, expect other figures."
    )


def _drawn(pilot: Pilot, num_items: int) -> str:
    drawn = pilot.joined.num_items
    return "" if drawn == num_items else f"To save time, {drawn:,} of the {num_items:,} items were drawn and replayed."


def _incomplete(pilot: Pilot, advice: Advice) -> str:
    left = 0 if pilot.target == "truth" else int((~pilot.is_scored).sum())
    if not left:
        return ""
    found = f"{left:,} items have fewer than {pilot.pool_size} votes that do not settle their pool: not in the errors"
    if pilot.error_costs is not None:
        return f"{found}."
    number, error = len(pilot.is_scored), float(advice.forecast.mean_errors[advice.place])
    wrong = (error * (number - left) + left) / number
    return f"{found}; {100 * wrong:.1f} % wrong if every incomplete, unsettled item is counted as wrong."


def _uneven(pilot: Pilot) -> str:
    low, high = int(pilot.sizes.min()), int(pilot.sizes.max())
    if low == high:
        return ""
    return (
        f"The pool of an item is the votes recorded for it, {low} to {high}. If asking stopped early where votes "
        f"agreed, errors are understated: plan for whole pools with `pool_size={high}`."
    )


def _few(pilot: Pilot) -> str:
    number = int(pilot.is_scored.sum())
    return "" if number >= FEW_ITEMS else f"Only {number} items: the intervals are rough. Record at least {FEW_ITEMS}."


def _left(advice: Advice, goal: Goal) -> str:
    votes = float(advice.forecast.mean_votes[advice.place])
    if goal.budget is None or votes >= WELL_SPENT * goal.budget or goal.recall:
        return ""
    left = f"{100 * (1 - votes / goal.budget):.0f} % of the budget is expected to be left"
    if advice.place + 1 == len(advice.forecast.settings):
        return f"{left}: by then every pool is settled."
    return f"{left}, as the margin for keeping it. A run with `budget={goal.budget:g}` adjusts as it runs."


def _agreement(pilot: Pilot, advice: Advice) -> str:
    other = advice.by_agreement
    if other is None or other is advice.setting:
        return ""
    return (
        f"Asking first whoever agreed most was tried, too: {other.votes.mean():.2f} votes per item and "
        f"{100 * other.errors[:, pilot.is_scored].mean():.1f} % wrong, not clearly better."
    )


def _truth(pilot: Pilot) -> str:
    if pilot.target == "plurality":
        return ""
    return (
        f"Wrong is what differs from the true class, counted on the {int(pilot.is_scored.sum()):,} items that have one."
    )


def command(
    pilot: Pilot,
    chosen: Candidate,
    *,
    predictions: PredictionSources,
    has_truth: bool,
    price: float | None,
    read: list[str],
    out: str | Path | None,
) -> str:
    """The `quorate run` that uses the setting on the next batch; only its tables have made-up names.

    `out`: the folder that holds the table of error costs.
    """
    parts = ["quorate", "run", "--votes", "next-votes.csv"]
    for name in _next_predictions(pilot, predictions):
        parts += ["--predictions", name]
    if chosen.scale is None or chosen.method.needs_people:
        parts += ["--method", spec(chosen.method)]
    if chosen.method.costs is not None:
        parts += ["--error-cost", str(Path(out or "plan") / ERROR_COSTS)]
    if is_in_one_order(pilot) and not chosen.method.needs_people:
        parts += ["--order", "shuffled"]
    if pilot.pool_size is not None:
        parts += ["--pool-size", str(pilot.pool_size)]
    if pilot.target == "truth":
        parts += ["--target", "truth", *(["--truth", "next-truth.csv"] if has_truth else [])]
    if price is not None:
        parts += ["--price", f"{price:g}"]
    if pilot.voter_costs is not None:
        parts += ["--costs", "costs.csv"]
    return shlex.join([*parts, *read, "--out", "next-results"])


def _next_predictions(pilot: Pilot, predictions: PredictionSources) -> list[str]:
    """A name for each classifier's next table."""
    number = len(pilot.joined.models) if pilot.joined.report.usable else 0
    if number and predictions is not None:
        number = len(predictions) if isinstance(predictions, (list, tuple, Mapping)) else 1
    return ["next-predictions.csv"] if number == 1 else [f"next-predictions-{k + 1}.csv" for k in range(number)]


def spec(chosen: Method) -> str:
    """The method as the command line takes it, every digit of its parameters.

    >>> spec(method("quorum", votes=3))
    'quorum:votes=3'
    """
    usual = method(chosen.name).parameters if chosen.name in METHODS else {}
    shown = [
        f"{key}={int(value) if isinstance(value, float) and value.is_integer() else value}"
        for key, value in chosen.parameters.items()
        if value != usual.get(key) or key == Candidate(chosen).parameter
    ]
    return f"{chosen.name}:{','.join(shown)}" if shown else chosen.name
