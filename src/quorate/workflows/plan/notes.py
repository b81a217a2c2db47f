"""A `Plan` in words: the advice in one sentence, and what a reader must know before using it.

Called by the methods of `Plan` and by `plan.report`. What to type to use a plan: `plan.next_steps`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quorate.reports.format import percent
from quorate.streams.pools import uneven_pools
from quorate.tables.votes.vote_order import ONE_ORDER
from quorate.workflows.plan.advice import needed_pilot
from quorate.workflows.plan.forecast import Forecast
from quorate.workflows.run.notes import found_in

if TYPE_CHECKING:
    from quorate.workflows.plan import Plan


FEW_ITEMS = 100  # with fewer, a learner has hardly started
FEW_ERRORS = 5
MOST_PILOT = 10_000_000  # a pilot nobody will run
MUCH_DRAWN = 0.5  # of the votes of the pools: above, the plan is the model's more than the pilot's
WIDE = 0.1  # of the largest possible error: a wider range is called not well known
WELL_SPENT = 0.95  # of a budget


def headline(plan: Plan) -> str:
    """What to use, what to expect and how sure that is, in one sentence; with an if where the pilot cannot tell."""
    advice, batch = plan.advice, f"the next {plan.batch_size:,} items"
    setting = f" with {advice.setting.parameter}" if advice.setting.parameter else ""
    wrong = f"{error_text(plan, advice.errors.centre)} wrong answers"
    if plan.pilot.error_costs is not None:
        wrong = f"errors that cost {error_text(plan, advice.errors.centre)} per item"
    use = "Use" if is_firm(plan) else "As far as this pilot can tell, use"
    if advice.status == "unreachable":
        use = "The goal is out of reach. Nearest to it: use"
    return (
        f"{use} {advice.setting.method.name}{setting} for {batch}: expect {advice.votes.centre:.2f} votes per item, "
        f"{_fewer(saved(plan, 'ask-all'))} than asking everyone, and {wrong}; {_goal_words(plan)}."
    )


def is_firm(plan: Plan) -> bool:
    """The goal is met as surely as asked; for a budget, the errors to expect are known to 10 points, too."""
    return plan.advice.status != "likely" and not _width_note(plan)


def _fewer(share: float) -> str:
    return f"{100 * abs(share):.0f} % {'fewer' if share >= 0 else 'more'}"


def _goal_words(plan: Plan) -> str:
    goal, chance = plan.advice.goal, chance_text(plan.advice.chance)
    if goal.kind == "budget":
        return f"the budget of {goal.limit:.2f} votes per item is kept with a probability of {chance}"
    base = "the tie floor" if plan.pilot.target == "plurality" else "the error of the plurality of all votes"
    own = "" if plan.is_own_goal else f" (none was given: {base}, {error_text(plan, plan.floor)}, and a point)"
    unit = "wrong" if plan.pilot.error_costs is None else "per item"
    return f"the target of {error_text(plan, goal.limit)} {unit}{own} is met with a probability of {chance}"


def chance_text(chance: float) -> str:
    """A probability in whole per cent, rounded down, so that less than was asked for never looks like as much.

    >>> chance_text(0.899), chance_text(1.0)
    ('89 %', '99 %')
    """
    return f"{min(max(math.floor(100 * chance), 1), 99)} %"


def notes(plan: Plan) -> list[str]:
    """What a reader must know, the most important first."""
    found = [
        order_note(plan), _goal_note(plan), _error_cost_note(plan),
        plan.classifier.sentence() if plan.classifier else "", _people_note(plan), _budget_note(plan),
        _width_note(plan), _errors_note(plan),
        _size_note(plan), _subsample_note(plan), _drawn_note(plan), _rival_note(plan), _data_note(plan),
        _floor_note(plan),
    ]  # fmt: skip
    return [note for note in [*found, *_pool_notes(plan), _run_note(plan)] if note]


def order_note(plan: Plan) -> str:
    """It stands before what is saved: a run in the recorded order would save something else."""
    if not plan.one_order or plan.advice.setting.method.needs_people:
        return ""
    return (
        f"{ONE_ORDER} That says nothing about who was asked first, so the plan mixes them, and so does the command "
        "(`--order shuffled`). If one of them is always asked first, expect other figures."
    )


def _error_cost_note(plan: Plan) -> str:
    """What an error costs at this setting: in votes, or in the units of `--costs` if the method weighs them."""
    price = plan.advice.setting.method.parameters.get("error_cost")
    if price is None or plan.pilot.error_costs is not None:
        return ""
    many = f"{price:,.0f}" if price >= 10 else f"{price:.2g}"
    weighs_costs = plan.pilot.voter_costs is not None and plan.advice.setting.method.needs_people
    unit = "times the cost 1" if weighs_costs else "vote" if many == "1" else "votes"
    cost = 1.0 if weighs_costs else plan.paid["ask-all"] / plan.references["ask-all"].mean  # of a vote
    money = "" if plan.price is None else f", or {plan.price * cost * price:,.2f}"
    return f"error_cost {price:g} means that an error costs as much as {many} {unit}{money}."


def _people_note(plan: Plan) -> str:
    if plan.people is None:
        return ""
    return plan.people.sentence(price=plan.price, num_items=plan.batch_size)


def _goal_note(plan: Plan) -> str:
    advice, goal = plan.advice, plan.advice.goal
    if advice.status == "sure":
        return _margin_note(plan)
    wanted = f"a probability of {100 * goal.sureness:g} %"
    if advice.status == "unreachable":
        if goal.kind == "target-error" and goal.limit < plan.floor and plan.pilot.target == "plurality":
            return (
                f"Out of reach: ties of the pool alone make {error_text(plan, plan.floor)} wrong, more than the "
                "target. The setting above has the fewest errors. Plan for a higher target, or for the class behind "
                "the votes (`--target truth`)."
            )
        return (
            f"Out of reach: on the pilot no setting of {advice.setting.method.name} meets the goal. The setting above "
            "comes nearest."
        )
    return (
        f"This pilot cannot promise it: no setting meets the target with {wanted}. The setting above is the safest. "
        f"{_promise_sentence(plan)}{_needed_sentence(plan)}".rstrip()
    )


def _promise_sentence(plan: Plan) -> str:
    """The lowest target error that the setting meets as surely as asked."""
    goal = plan.advice.goal
    if goal.kind == "budget":
        return ""
    _, limit = plan.advice.errors.interval(max(2 * goal.sureness - 1, 0.01))  # an interval needs some width
    return f"The lowest target it meets with that probability is about {error_text(plan, limit)}. "


def _margin_note(plan: Plan) -> str:
    """The setting was chosen because it looks good on the pilot, which makes it look better than it is."""
    chance, asked = plan.advice.chance, plan.advice.goal.sureness
    if chance >= asked:
        return ""
    return (
        f"The probability is below the {100 * asked:g} % asked for: the setting was chosen on this pilot, and the best "
        f"of many settings is usually worse on new items. {_safest_sentence(plan)}A larger pilot narrows this."
    )


def _safest_sentence(plan: Plan) -> str:
    safest = plan.advice.safest
    if safest is None:
        return ""
    return (
        f"The safest setting, {safest.setting.parameter}, asks {safest.votes.centre:.2f} votes per item and meets the "
        f"target with a probability of {chance_text(safest.chance)}. "
    )


def _needed_sentence(plan: Plan) -> str:
    forecast = plan.advice.errors if plan.advice.goal.kind == "target-error" else plan.advice.votes
    needed = needed_pilot(forecast, plan.advice.goal)
    if needed is None or needed > MOST_PILOT:
        return ""
    return f"A pilot of about {max(needed, plan.pilot.num_items + 1):,} items with the same results would be enough."


def _budget_note(plan: Plan) -> str:
    """Why more than 5 % of a budget is left."""
    advice, limit = plan.advice, plan.advice.goal.limit
    if advice.goal.kind != "budget" or advice.status != "sure" or advice.votes.centre >= WELL_SPENT * limit:
        return ""
    left = f"{100 * (1 - advice.votes.centre / limit):.0f} % of the budget is expected to be left"
    settings = plan.curves[0].settings
    place = next(k for k, setting in enumerate(settings) if setting is advice.setting)
    if place + 1 == len(settings):
        return (
            f"{left}: no setting of {advice.setting.method.name} asks for more, because all pools are settled by then."
        )
    above = settings[place + 1]
    if above.votes.mean > (1 + 2 * (1 - WELL_SPENT)) * advice.setting.votes.mean:
        return (
            f"{left}: the next setting, {above.parameter}, asks {above.votes.mean:.2f} votes and may exceed the "
            f"budget; none lies between. `quorate run --budget {limit:g}` switches between the two while it runs."
        )
    return (
        f"{left}: that is the margin for keeping the budget with a probability of {100 * advice.goal.sureness:g} %. "
        f"`quorate run --budget {limit:g}` adjusts while it runs and spends it; `--sureness 0.5` plans without a "
        "margin."
    )


def _width_note(plan: Plan) -> str:
    """That the errors a budget buys are not known well; of a target the probability of meeting it says as much."""
    low, high = plan.advice.errors.interval(plan.level)
    if plan.advice.goal.kind == "target-error" or high - low <= WIDE * plan.pilot.most_error:
        return ""
    return (
        f"The votes fit the budget, but the errors they leave are not well known: {error_text(plan, low)} to "
        f"{error_text(plan, high)}. Four times as many items in the pilot and in the batch would halve this range."
    )


def _subsample_note(plan: Plan) -> str:
    """How many items were run, and how much wider that makes the ranges: V / V with every item in the pilot's part."""
    pilot, errors = plan.pilot, plan.advice.errors
    if not pilot.unused:
        return ""
    every = pilot.num_items + pilot.unused
    batch = errors.inflation * errors.spread / errors.batch_size
    wider = ((errors.pilot_variance + batch) / (errors.pilot_variance * pilot.num_items / every + batch or 1.0)) ** 0.5
    return (
        f"To save time, {pilot.num_items:,} of the {every:,} items were run, drawn by the seed. The range of the "
        f"errors is about {max(wider, 1.0):.1f} times as wide as with all of them; `--most-items 0` runs all."
    )


def _run_note(plan: Plan) -> str:
    return (
        f"`quorate run` on the same votes shows one order of the items; these figures are means of "
        f"{plan.settings['orderings']} orders, corrected for the choice of the setting, so the two differ a little."
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
        f"The pilot shows only {seen:.1f} wrong answers at this setting: the error is small (probably below "
        f"{error_text(plan, high)}), but cannot be given more exactly."
    )


def _size_note(plan: Plan) -> str:
    number = plan.pilot.num_items
    if number >= FEW_ITEMS:
        return ""
    return (
        f"The pilot has only {number} items: a method that learns has hardly started, and the intervals are rough. "
        f"Record at least {FEW_ITEMS}."
    )


def _drawn_note(plan: Plan) -> str:
    """How many votes were drawn, and how far the plan rests on them."""
    pilot = plan.pilot
    if pilot.model is None or pilot.pool_size is None:
        return ""
    share = 1 - pilot.seen
    said = (
        f"{pilot.partly:,} of {pilot.num_items:,} items have fewer than {pilot.pool_size} votes: the {pilot.missing:,} "
        f"that are missing ({100 * share:.0f} % of the pools) were drawn at random, given the recorded votes and "
        f"predictions. The pilot therefore counts as {100 * pilot.seen:.0f} % of its items."
    )
    if share <= MUCH_DRAWN:
        return said
    return f"{said} The plan rests more on these draws than on your votes: record some items in full."


def _rival_note(plan: Plan) -> str:
    better = [rival for rival in plan.rivals if rival.is_better]
    if not better:
        return ""
    best = better[0]
    if plan.pilot.error_costs is None:
        less = (
            f"makes {100 * -best.difference:.2f} points fewer errors ({100 * -best.high:.2f} to {100 * -best.low:.2f})"
        )
    else:
        less = f"costs {-best.difference:.3g} less in errors ({-best.high:.3g} to {-best.low:.3g})"
    return (
        f"On this pilot {best.name} is better by more than chance explains: at the same votes per item it {less}. To "
        f"plan with it: `--method {best.name}`."
    )


def _data_note(plan: Plan) -> str:
    """What reading the tables met."""
    data = plan.report.as_dict()
    return f"{found_in(data)}; with `--out` rejects.csv lists them." if data["findings"] else ""


def _floor_note(plan: Plan) -> str:
    if plan.pilot.target == "truth":
        assert plan.pilot.dataset.truth is not None
        known = int((plan.pilot.dataset.truth >= 0).sum())
        return (
            f"An answer is wrong if it is not the true class, counted on the {known:,} items whose class is given; the "
            "others are assumed to have the same share of errors. The plurality of all votes is wrong on "
            f"{error_text(plan, plan.floor)}."
        )
    if plan.pilot.error_costs is not None:
        return (
            "An answer is wrong if it is not the plurality of the item's pool; its cost is in the table of costs. "
            f"Ties alone cost {error_text(plan, plan.floor)} per item, however many are asked."
        )
    return (
        f"An answer is wrong if it is not the plurality of the item's pool; of a tie between two, half counts as "
        f"wrong. Ties alone make {percent(plan.floor, 2)} wrong, however many are asked."
    )


def _pool_notes(plan: Plan) -> list[str]:
    pilot = plan.pilot
    said = []
    if pilot.left_out:
        said.append(
            f"{pilot.left_out:,} items with fewer than {pilot.pool_size} votes were left out. If they are the easy "
            "ones, the plan is for hard items only: `--partly-voted complete` keeps them all."
        )
    if pilot.partly and pilot.partly_voted == "own-pool":
        said.append(
            f"{pilot.partly:,} items have fewer than {pilot.pool_size} votes; their pool is the votes they have, which "
            "are settled sooner than a whole pool."
        )
    if pilot.pool_size is None and pilot.smallest < pilot.largest:
        said.append(uneven_pools(pilot.smallest, pilot.largest, takes="plans for"))
    if pilot.single:
        said.append(f"{pilot.single:,} items have a pool of one: a single vote settles them.")
    if plan.batch_size > pilot.num_items:
        said.append("Items beyond the length of the pilot are assumed to behave as its last half.")
    return said


def error_text(plan: Plan, value: float) -> str:
    """A share of wrong answers; with error costs, what errors cost per item."""
    return percent(value, 2) if plan.pilot.error_costs is None else f"{value:.3g}"


def expected(forecast: Forecast, level: float) -> dict[str, float]:
    """A forecast and its interval."""
    low, high = forecast.interval(level)
    return {"expected": forecast.centre, "low": low, "high": high}


def money_of(plan: Plan) -> dict[str, float] | None:
    """What the next batch costs, with its interval, beside the two references; None without price and costs.

    The interval is that of the votes, at the mean cost of a vote at this setting.
    """
    if plan.price is None and plan.pilot.voter_costs is None:
        return None
    unit = (1.0 if plan.price is None else plan.price) * plan.batch_size
    batch = {name: unit * per_vote(plan) * value for name, value in expected(plan.advice.votes, plan.level).items()}
    return batch | {
        "until_settled": unit * plan.paid["until-settled"],
        "ask_all": unit * plan.paid["ask-all"],
    }


def per_vote(plan: Plan) -> float:
    """What a vote costs on average at the setting advised, in ordinary votes: 1 unless people differ in cost."""
    setting = plan.advice.setting
    return setting.paid.mean / setting.votes.mean if setting.votes.mean else 1.0


def saved(plan: Plan, reference: str, *, money: bool = False) -> float:
    """Share of the reference's votes, or of their money, that the advice does without."""
    there = plan.paid[reference] if money else plan.references[reference].mean
    here = plan.advice.votes.centre * (per_vote(plan) if money else 1.0)
    return 1 - here / there if there else 0.0
