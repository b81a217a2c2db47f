"""A `Plan` in words: the sentence, the screen and the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorate.commands.lost_class import costs_csv
from quorate.commands.plan.forecast import TINY, Range, Recall
from quorate.reports import render
from quorate.reports.format import WIDTH, counted, percent, text_table, wrapped
from quorate.reports.section import Chart, Document, Section, Table, data_section
from quorate.reports.svg import lines as lines_chart
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.commands.plan.result import Plan, Point

MOST_LINES = 24
BELOW, ABOVE = 3, 4  # settings shown around the one chosen
LOW_RECALL, FEW_CLASSES = 0.9, 3
NAMES = {"error_cost": "error cost", "scale": "table times", "first": "first votes", "query_rate": "query rate"}
PROMISE = (
    "The next batch: other items from the same source, with the same classifiers and the same kind of pool, asked "
    "once, in one order, with a method that learns from scratch. In a batch longer than the pilot, the items beyond "
    "are assumed to go as the pilot's last half did.",
    "The intervals allow for other items, for the luck of the batch, and for what another order of the items changes. "
    "No interval allows for a source that changes.",
)


def sentence(plan: Plan) -> str:
    """The answer in one sentence, or two where the goal cannot be met."""
    if plan.met:
        return f"Use {setting(plan)}: {_expected(plan)}{_surely(plan)}."
    wanted, best = _wanted(plan), f"{setting(plan)}: {_expected(plan)}"
    target, least = plan.goal.target_error, min(each.error for each in plan.curve)
    is_lowest = plan.method.target == "plurality" and plan.floor <= least + TINY
    if target is not None and is_lowest and plan.floor > target and plan.chance < 1 - plan.goal.level:
        by_ties = plan.error_cost is None
        ties = f"{'ties alone make' if by_ties else 'asking until settled leaves'} {error_text(plan, plan.floor)}"
        return f"{_target(plan)} cannot be reached: {ties}. Best setting: {best}."
    level = f"{100 * plan.goal.level:g} %"
    chance = chance_text(plan.chance)
    return f"No setting promises {wanted} with a probability of {level}. Safest setting ({chance}): {best}."


def setting(plan: Plan) -> str:
    """The setting in words."""
    if plan.method.name == "until-settled":
        return "the method until-settled"
    found = "" if plan.parameter == "" else f"{NAMES.get(plan.parameter, plan.parameter)} {number(plan.value)}"
    if plan.parameter == "scale":
        found = f"the table of error costs times {number(plan.value)}"
    if plan.method.name != "value":
        found = f"{plan.method.name} with {found}" if found else plan.method.name
    return f"{found}, asking first whoever agreed most" if plan.method.choose else found


def number(value: float | None) -> str:
    """A value of a parameter."""
    return "" if value is None else f"{value:,.6g}"


def label(plan: Plan, point: Point) -> str:
    """A setting in the table."""
    found = "until the pool is settled" if point.value is None else number(point.value)
    if plan.parameter == "error_cost" and point.value is not None:
        found += " votes"
    return f"{found}, by agreement" if point.method.choose and not plan.curve[0].method.choose else found


def error_text(plan: Plan, error: float) -> str:
    """An error: a share in per cent, with a table of error costs a cost per item."""
    return percent(error) if plan.error_cost is None else f"{error:.3g}"


def _target(plan: Plan) -> str:
    share = plan.goal.target_error
    assert share is not None
    if plan.error_cost is not None:
        return f"A cost of errors of {share:g} per item"
    return f"{100 * share:.4g} % wrong"


def _wanted(plan: Plan) -> str:
    """The goal in words."""
    goal = plan.goal
    parts = [] if goal.target_error is None else [f"at most {_target(plan).removeprefix('A ')}"]
    parts += [] if goal.budget is None else [f"at most {goal.budget:g} votes per item"]
    parts += [f"a recall of {name} of at least {100 * least:.4g} %" for name, least in goal.recall.items()]
    return " and ".join(parts)


def _surely(plan: Plan) -> str:
    """The probability, rounded down, so that less than asked for never looks like as much."""
    if not plan.goal.is_given:
        return ""
    return f"; {_wanted(plan)} with a probability of {chance_text(plan.chance)}"


def chance_text(chance: float) -> str:
    """A probability in whole per cent, rounded down.

    >>> chance_text(0.899), chance_text(1.0), chance_text(0.0)
    ('89 %', '99 %', '0 %')
    """
    return f"{min(int(100 * chance + 1e-9), 99)} %"


def _expected(plan: Plan) -> str:
    votes, error = plan.votes, plan.error
    wrong = f"{error_text(plan, error.expected)} wrong ({_ends(plan, error)})"
    if plan.error_cost is not None:
        wrong = f"errors cost {error_text(plan, error.expected)} per item ({_ends(plan, error)})"
    money = ""
    if (paid := plan.money) is not None:
        money = f", {paid.expected:,.2f} for {plan.batch_size:,} items ({paid.low:,.2f} to {paid.high:,.2f})"
    level = f"{100 * plan.goal.level:g} % interval"
    return f"{votes.expected:.2f} votes per item ({level} {votes.low:.2f} to {votes.high:.2f}){money}, {wrong}"


def _ends(plan: Plan, found: Range) -> str:
    return f"{error_text(plan, found.low).removesuffix(' %')} to {error_text(plan, found.high)}"


def rows(plan: Plan, points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """The trade-off as a table."""
    name = NAMES.get(plan.parameter, plan.parameter) or "setting"
    name = "if a wrong answer costs" if plan.parameter == "error_cost" else name
    head = "wrong" if plan.error_cost is None else "cost of errors"
    heads = [name, "votes per item", head, *(["meets the goal"] if plan.goal.is_given else [])]
    return heads, [
        [
            label(plan, each) + (" (this plan)" if each.is_chosen else ""),
            f"{each.votes:.2f}",
            error_text(plan, each.error),
            *([chance_text(each.chance)] if plan.goal.is_given else []),
        ]
        for each in points
    ]


def around(plan: Plan) -> list[Point]:
    """The settings of the grid around the one chosen."""
    known = [each for each in plan.curve if each.is_chosen or not each.is_fine]
    place = next(k for k, each in enumerate(known) if each.is_chosen)
    first = max(min(place - BELOW, len(known) - BELOW - ABOVE - 1), 0)
    return known[first : first + BELOW + ABOVE + 1]


def recall_text(each: Recall) -> str:
    """The recall of a class in words."""
    many = f"{each.items:.0f} items"
    if each.share is None:
        return f"{each.name}: {each.found:.0f} of {many} named so, too few to promise anything"
    low, high = percent(each.share.low, 0).removesuffix(" %"), percent(each.share.high, 0)
    return f"{each.name} {percent(each.share.expected, 0)} of {many} ({low} to {high})"


def lowest(plan: Plan) -> list[Recall]:
    """The three classes of lowest recall, and every other of which more than a tenth is lost."""
    seen = [each for each in plan.recall if each.items > 0]
    ranked = sorted(seen, key=lambda each: each.found / each.items)
    return [each for k, each in enumerate(ranked) if k < FEW_CLASSES or each.found < LOW_RECALL * each.items]


def screen(plan: Plan, saved: str | None) -> list[str]:
    """At most 24 lines of 100 columns: the answer, the trade-off, recall, notes, what was read, what to do next."""
    heads, cells = rows(plan, around(plan))
    table = text_table(heads, cells)
    end = [*wrapped(_read(plan)), *_command(plan), *([] if saved is None else [f"Report: {saved}/report.html"])]
    warnings = [line for each in plan.tables.warnings[:1] for line in wrapped(f"Warning: {each}")]
    top = [*warnings, *wrapped(sentence(plan)), "", *table, ""]
    lost = [] if plan.lost is None else [str(plan.lost)]
    notes = [wrapped(note) for note in [*lost, *plan.notes][:3]]
    room = MOST_LINES - len(top) - len(end)
    classes = [recall_text(each) for each in lowest(plan)]
    head = "Recall, with its range in the next batch:"
    recall = wrapped(f"{head} {'; '.join(classes)}.")
    while len(recall) > max(room - sum(map(len, notes)), 2) and len(classes) > 1:
        classes.pop()
        more = len(lowest(plan)) - len(classes)
        recall = wrapped(f"{head} {'; '.join(classes)}; {counted(more, 'classes')} more in the report.")
    while notes and len(recall) + sum(map(len, notes)) > room:
        notes.pop()
    return [*top, *recall, *(line for note in notes for line in note), *end]


def _read(plan: Plan) -> str:
    """What was read, in a line."""
    totals, aside = plan.tables.totals, plan.tables.num_set_aside
    rejects = f"; {counted(aside, 'rows')} set aside" if aside else ""
    return f"Read {totals.get('votes', 0):,} votes of {totals.get('items', 0):,} items{plan.tables.predicted}{rejects}."


def _command(plan: Plan) -> list[str]:
    """The next command; on several lines it can be copied, too."""
    first, *more = wrapped(f"Next: {plan.command}", WIDTH - 4)
    lines = [first, *(f"  {each}" for each in more)]
    return [*(f"{each} \\" for each in lines[:-1]), lines[-1]]


def cost_table(plan: Plan) -> str:
    """The table of error costs as a CSV: a row per truth, a column per answer."""
    assert plan.method.costs is not None
    return costs_csv([each.name for each in plan.recall], plan.method.costs.votes)


def page(plan: Plan) -> str:
    """The report: no scripts, nothing loaded from elsewhere."""
    heads, every = rows(plan, plan.curve)
    trade_off = Table("", "Every setting on the pilot", tuple(heads), tuple(map(tuple, every)), highlight=())
    share = "wrong %" if plan.error_cost is None else "cost of errors"
    scale = 100 if plan.error_cost is None else 1
    votes, errors = ([getattr(each, name) for each in plan.curve] for name in ("votes", "error"))
    errors = [scale * each for each in errors]
    here, floor = scale * plan.error.expected, scale * plan.floor
    chart = Chart(
        lines_chart(
            [
                ("line", votes, errors),
                ("aim", [plan.votes.expected] * 2, [0.0, here]),
                ("second", [min(votes), max(votes)], [floor, floor]),
            ],
            title="Error against votes",
            x_label="votes per item",
            y_label=share,
        ),
        f"The line: all settings. Dashes: the setting of this plan. Dots: asking until settled ({floor:.3g}).",
    )
    classes = tuple((each.name, f"{each.items:.0f}", f"{each.found:.0f}", *_shares(each)) for each in plan.recall)
    recall = Table("", "Recall of the classes", ("class", "items", "named so", "recall", "next batch"), classes)
    return render.page(
        Document(
            title=f"quorate plan: {plan.num_items} items",
            question="Which setting for the next batch?",
            answer=sentence(plan),
            picture=chart,
            notes=tuple(filter(None, [str(plan.lost or ""), *plan.notes]))[:6],
            sections=(
                Section("next", "Use it", commands=(("On recorded votes", plan.command),)),
                Section("settings", "Votes and errors", tables=(trade_off,)),
                Section("recall", "Classes", tables=(recall,)),
            ),
            folded=(data_section(plan.tables.as_dict()), Section("promise", "What is promised", points=PROMISE)),
            footer=f"quorate {__version__}. Every figure is in plan.json.",
        )
    )


def _shares(each: Recall) -> tuple[str, str]:
    if each.share is None:
        return "–", "too few items"
    return percent(each.share.expected), f"{percent(each.share.low)} to {percent(each.share.high)}"
