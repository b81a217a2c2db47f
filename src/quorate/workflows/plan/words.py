"""A `Plan` in words: the advice, and what to beware of.

Called by the methods of `Plan` and by `plan_report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorate.streams.pools import uneven_pools
from quorate.workflows.plan.advice import needed_pilot
from quorate.workflows.plan.forecast import Forecast

if TYPE_CHECKING:
    from quorate.workflows.plan import Plan

FEW_ITEMS = 100  # below this a learner has hardly begun: it fits every 20 items
FEW_ERRORS = 5
MOST_PILOT = 10_000_000  # a pilot nobody will run
MUCH_DRAWN = 0.5  # of the votes of the pools: above, the plan is the model's more than the pilot's
WELL_SPENT = 0.95  # of a budget


def headline(plan: Plan) -> str:
    """What to use, what to expect, how sure that is, what it saves; with an if where the pilot cannot tell."""
    advice = plan.advice
    votes, errors = advice.votes.interval(plan.level), advice.errors.interval(plan.level)
    knob = f" with {advice.setting.knob}" if advice.setting.knob else ""
    wrong = f"{error_text(plan, advice.errors.centre)} wrong ("
    if plan.pilot.error_costs is not None:
        wrong = f"errors that cost {error_text(plan, advice.errors.centre)} per item ("
    use = "Use" if is_firm(plan) else "As far as this pilot can tell, use"
    said = (
        f"{use} {advice.setting.method.name}{knob}: on the next {plan.batch_size:,} items expect "
        f"{advice.votes.centre:.2f} votes per item ({100 * plan.level:g} % interval {votes[0]:.2f} to {votes[1]:.2f}) "
        f"and {wrong}{error_text(plan, errors[0])} to {error_text(plan, errors[1])}). "
        f"{_goal_sentence(plan)} "
        f"That is {_fewer(saved(plan, 'ask-all'))} than asking everyone and {_fewer(saved(plan, 'until-settled'))} "
        "than asking until settled"
    )
    money = money_of(plan)
    if money is None:
        return said + "."
    return said + (
        f"; in money {money['expected']:,.2f} ({money['low']:,.2f} to {money['high']:,.2f}) instead of "
        f"{money['ask_all']:,.2f} and {money['until_settled']:,.2f}."
    )


def is_firm(plan: Plan) -> bool:
    """The goal is met as surely as asked, and the errors to expect are known well enough to plan on."""
    return plan.advice.status != "likely" and not _width_note(plan)


def _fewer(share: float) -> str:
    return f"{100 * abs(share):.0f} % {'fewer' if share >= 0 else 'more'} votes"


def _goal_sentence(plan: Plan) -> str:
    goal, chance = plan.advice.goal, f"{100 * min(max(plan.advice.chance, 0.01), 0.99):.0f} %"
    if goal.kind == "budget":
        return f"The budget of {goal.limit:.2f} votes per item is kept with a probability of {chance}."
    own = "" if plan.is_own_goal else f" (none was given: the tie floor of {error_text(plan, plan.floor)} and a point)"
    unit = "wrong" if plan.pilot.error_costs is None else "per item"
    return f"The target of {error_text(plan, goal.limit)} {unit}{own} is met with a probability of {chance}."


def notes(plan: Plan) -> list[str]:
    """What a reader must know, the gravest first."""
    found = [
        _goal_note(plan), plan.classifier.sentence(), _budget_note(plan), _width_note(plan), _errors_note(plan),
        _size_note(plan), _drawn_note(plan), _rival_note(plan), _data_note(plan), _floor_note(plan),
    ]  # fmt: skip
    return [note for note in [*found, *_pool_notes(plan)] if note]


def _goal_note(plan: Plan) -> str:
    advice, goal = plan.advice, plan.advice.goal
    if advice.status == "sure":
        return _margin_note(plan)
    wanted = f"a probability of {100 * goal.sureness:g} %"
    if advice.status == "unreachable":
        if goal.kind == "target-error" and goal.limit < plan.floor:
            return (
                f"Out of reach: ties of the pool alone cost {error_text(plan, plan.floor)}, more than the target. The "
                "setting named errs least."
            )
        return (
            f"Out of reach: no setting of {advice.setting.method.name} on the pilot keeps to it. The nearest is named."
        )
    return (
        f"Too small to promise: no setting meets the target with {wanted}; the one named does by the pilot's own "
        f"figures only. {_needed_sentence(plan)}"
    )


def _margin_note(plan: Plan) -> str:
    """A setting is chosen by what the pilot shows of it; that it was chosen for that takes a little of the chance."""
    chance, asked = plan.advice.chance, plan.advice.goal.sureness
    if chance >= asked - 0.005:
        return ""
    return (
        f"The probability is a little below the {100 * asked:g} % asked for: by the pilot's own figures the setting "
        "keeps to it, but settings that look good on a pilot are worse than they look. A higher `--sureness` asks more."
    )


def _needed_sentence(plan: Plan) -> str:
    forecast = plan.advice.errors if plan.advice.goal.kind == "target-error" else plan.advice.votes
    needed = needed_pilot(forecast, plan.advice.goal)
    if needed is None or needed > MOST_PILOT:
        return (
            f"A larger pilot alone would not help: so near to the target, {plan.batch_size:,} items vary too "
            "much by themselves. Allow more errors, or judge by more items."
        )
    return f"For the same figures a pilot of about {max(needed, plan.pilot.num_items + 1):,} items would do."


def _budget_note(plan: Plan) -> str:
    """Why a budget is not spent, where more than 5 % of it is left."""
    advice, limit = plan.advice, plan.advice.goal.limit
    if advice.goal.kind != "budget" or advice.status != "sure" or advice.votes.centre >= WELL_SPENT * limit:
        return ""
    left = f"{100 * (1 - advice.votes.centre / limit):.0f} % of the budget is expected to be left"
    settings = plan.curves[0].settings
    place = next(k for k, setting in enumerate(settings) if setting is advice.setting)
    if place + 1 == len(settings):
        return f"{left}: no setting of {advice.setting.method.name} asks for more, for by then all is settled."
    above = settings[place + 1]
    if above.votes.mean > (1 + 2 * (1 - WELL_SPENT)) * advice.setting.votes.mean:
        return (
            f"{left}: the next setting, {above.knob}, asks for {above.votes.mean:.2f} and does not surely keep to it; "
            f"none lies between. `quorate run --budget {limit:g}` steers between the two as it goes."
        )
    return (
        f"{left}: it is the margin for keeping to it with a probability of {100 * advice.goal.sureness:g} %. "
        f"`quorate run --budget {limit:g}` steers as it goes and spends it; `--sureness 0.5` plans without a margin."
    )


def _width_note(plan: Plan) -> str:
    low, high = plan.advice.errors.interval(plan.level)
    limit = plan.advice.goal.limit if plan.advice.goal.kind == "target-error" else 0.1 * plan.pilot.most_error
    if high - low <= limit:
        return ""
    return (
        f"The errors of the next batch may be anywhere from {error_text(plan, low)} to {error_text(plan, high)}: too "
        f"wide to plan on. A pilot of four times as many items, and as many in the batch, would halve that."
    )


def _errors_note(plan: Plan) -> str:
    errors = plan.advice.setting.errors
    seen = errors.mean * plan.pilot.num_items
    if plan.pilot.error_costs is not None:  # how many errors of equal cost would say as much: (sum x)^2 / sum x^2
        seen *= errors.mean / (errors.spread + errors.mean**2 or 1.0)
    if seen >= FEW_ERRORS:
        return ""
    high = plan.advice.errors.interval(plan.level)[1]
    return (
        f"The pilot shows only {seen:.1f} wrong answers at this setting: the error is known to be small (below "
        f"{error_text(plan, high)}), but hardly more."
    )


def _size_note(plan: Plan) -> str:
    number = plan.pilot.num_items
    if number >= FEW_ITEMS:
        return ""
    return (
        f"The pilot has only {number} items: a method that learns has hardly begun by then, and the intervals are "
        f"rough. Record at least {FEW_ITEMS}."
    )


def _drawn_note(plan: Plan) -> str:
    """What was made up, and how far the plan rests on it."""
    pilot = plan.pilot
    if pilot.model is None or pilot.pool_size is None:
        return ""
    share = 1 - pilot.seen
    said = (
        f"{pilot.partly:,} of {pilot.num_items:,} items have fewer than {pilot.pool_size} votes: the {pilot.missing:,} "
        f"that are missing ({100 * share:.0f} % of the pools) were drawn given the votes and predictions at hand, anew "
        f"in every ordering and every resampled pilot. The pilot is trusted as {100 * pilot.seen:.0f} % of its items."
    )
    if share <= MUCH_DRAWN:
        return said
    return f"{said} The plan rests more on that model than on your votes: record some items in full."


def _rival_note(plan: Plan) -> str:
    better = [rival for rival in plan.rivals if rival.is_better]
    if not better:
        return ""
    best = better[0]
    if plan.pilot.error_costs is None:
        less = f"errs {100 * -best.difference:.2f} points less ({100 * -best.high:.2f} to {100 * -best.low:.2f})"
    else:
        less = f"costs {-best.difference:.3g} less in errors ({-best.high:.3g} to {-best.low:.3g})"
    return (
        f"On this pilot {best.name} does better, beyond noise: at the same votes per item it {less}. Plan with it: "
        f"`--method {best.name}`."
    )


def _data_note(plan: Plan) -> str:
    """That reading the tables met something: what it was stands with the data."""
    found = plan.report.findings
    if not found:
        return ""
    number = sum(each.count for each in found)
    noun = "irregularity" if number == 1 else "irregularities"
    return (
        f"{number:,} {noun} in the data, by {len(found)} of the rules; rows set aside: {plan.report.num_set_aside:,}. "
        "With --out, plan.html explains them and rejects.csv lists the rows."
    )


def _floor_note(plan: Plan) -> str:
    if plan.pilot.error_costs is not None:
        return (
            "An answer is wrong if it is not the plurality of the item's pool, and costs what the table of costs says; "
            f"ties count by expectation. They alone cost {error_text(plan, plan.floor)} per item, whoever is asked."
        )
    return (
        f"An answer is wrong if it is not the plurality of the item's pool; ties count by expectation. They alone cost "
        f"{percent(plan.floor)}, whoever is asked."
    )


def _pool_notes(plan: Plan) -> list[str]:
    pilot = plan.pilot
    said = []
    if pilot.left_out:
        said.append(
            f"{pilot.left_out:,} items with fewer than {pilot.pool_size} votes were left out. If a rule stopped early "
            "on easy items, the hard ones are left: `--partly-voted complete` keeps them all."
        )
    if pilot.partly and pilot.partly_voted == "own-pool":
        said.append(
            f"{pilot.partly:,} items have fewer than {pilot.pool_size} votes; their pool is the votes they have, which "
            "settle sooner than a whole pool would."
        )
    if pilot.pool_size is None and pilot.smallest < pilot.largest:
        said.append(uneven_pools(pilot.smallest, pilot.largest, takes="plans for"))
    if pilot.single:
        said.append(f"{pilot.single:,} items have a pool of one: a single vote settles them.")
    if plan.batch_size > pilot.num_items:
        said.append("Items beyond the length of the pilot are taken to go as its last half did.")
    return said


def percent(value: float) -> str:
    """A share as text.

    >>> percent(0.0123)
    '1.23 %'
    """
    return f"{100 * value:.2f} %"


def error_text(plan: Plan, value: float) -> str:
    """A share of wrong answers; with error costs, what errors cost per item."""
    return percent(value) if plan.pilot.error_costs is None else f"{value:.3g}"


def expected(forecast: Forecast, level: float) -> dict[str, float]:
    """A forecast and its interval."""
    low, high = forecast.interval(level)
    return {"expected": forecast.centre, "low": low, "high": high}


def money_of(plan: Plan) -> dict[str, float] | None:
    """What the next batch costs, with its interval, beside the two references; None without a price."""
    if plan.price is None:
        return None
    unit = plan.price * plan.batch_size
    batch = {name: unit * value for name, value in expected(plan.advice.votes, plan.level).items()}
    return batch | {
        "until_settled": unit * plan.references["until-settled"].mean,
        "ask_all": unit * plan.references["ask-all"].mean,
    }


def saved(plan: Plan, reference: str) -> float:
    """Share of the reference's votes that the advice does without."""
    there = plan.references[reference].mean
    return 1 - plan.advice.votes.centre / there if there else 0.0
