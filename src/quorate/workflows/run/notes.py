"""The summary of a run -> notes that a reader needs before trusting its figures, and goals that no run could reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.methods import method
from quorate.session.people import FEWEST_GOLD
from quorate.streams.control import at_deepest, at_shallowest
from quorate.streams.pools import uneven_pools
from quorate.tables.votes.vote_order import ONE_ORDER

DEFAULT = method("value").describe()
LITTLE_SAVED = 0.05
MOST_FOUND = 2  # rules named, of those that applied to the tables
MOST_MISSED = 3  # classes named, of those that are mostly missed
FEWEST_ERRORS = 30  # a target that allows fewer errors is missed by a fifth or more by chance alone


def notes(summary: Mapping[str, Any], *, see: str = "report.html") -> list[str]:
    """What a reader must know before trusting the figures. `see`: where the rules that fired are listed."""
    pools, error, data = summary["pools"], summary["error"], summary["data"]
    sentences = [
        *_order(summary),
        *_without_votes(summary),
        *([summary["classifier"]["sentence"]] if summary["classifier"] else []),
    ]
    if pools["pool_size"] == "recorded" and pools["smallest"] < pools["largest"]:
        sentences.append(uneven_pools(pools["smallest"], pools["largest"], takes="replays"))
    if summary["settings"]["target"] == "truth":
        sentences += _about_truth(summary)
    elif pools["not_scored"] and error["scored_items"]:
        sentences.append(
            f"{_many(pools['not_scored'], 'incomplete pool')} not scored: the verdict is unknown. People agree more on "
            "the others, so the error of all items is probably higher than shown."
        )
    if pools["short_of_votes"]:
        short = _many(pools["short_of_votes"], "item")
        sentences.append(f"{short} out of recorded votes: the method would have asked for more.")
    if error["rate"] is not None and error["scored_items"] < 100:
        sentences.append(f"Only {_many(error['scored_items'], 'item')} scored: too few for a reliable error estimate.")
    if data["findings"]:
        sentences.append(f"{found_in(data)}; see {see} and rejects.csv.")
    if summary["control"] is not None:
        sentences.append(str(summary["control"]["sentence"]))
        if summary["control"].get("incomplete_audits"):
            many = f"{summary['control']['incomplete_audits']:,} of {summary['control']['audited']:,} audits"
            sentences.append(
                f"{many} had too few recorded votes and count as errors, so that more votes are asked for than a whole "
                "pool would need. Without `--pool-size` the votes an item has are its pool."
            )
        if summary["control"]["unreachable"] is not None:
            sentences.append(str(summary["control"]["unreachable"]))
    return [*sentences, *_missed_classes(summary), *_few_errors(summary), *_cautious(summary)]


def doubts(summary: Mapping[str, Any]) -> list[str]:
    """Warnings of `notes` that put the saving in doubt: a reader must see them before it."""
    return [each for each in _order(summary) if each.startswith("Warning")]


def _without_votes(summary: Mapping[str, Any]) -> list[str]:
    """How many items were answered without any vote, and how often that was wrong."""
    none, total = summary["without_votes"], summary["num_items"]
    if not none["items"]:
        return []
    by = "the classifier's prediction alone" if summary["settings"]["models"] else "what was learned alone"
    text = f"{none['items']:,} of {total:,} items were answered without any vote, by {by}"
    if none["rate"] is None:
        return [f"{text}."]
    rate = f"{100 * none['rate']:.2f} %"
    if none["scored_items"] == none["items"]:
        return [f"{text}; {rate} of these answers are wrong."]
    return [f"{text}; of the {none['scored_items']:,} that are scored, {rate} are wrong."]


def _about_truth(summary: Mapping[str, Any]) -> list[str]:
    """Notes under target "truth": what the answers mean, and whether their confidence is a probability."""
    sentences = ["The answers name the class behind the votes, which can differ from the plurality of the votes."]
    if summary["confidence_is"] == "score":
        known = summary["error"]["scored_items"]
        sentences.append(
            f"The confidence is a score, not a probability: the true class is known for {known} items; with "
            f"{FEWEST_GOLD} or more (--truth) the confidence is calibrated."
        )
    else:
        sentences.append(
            f"The confidence is a score until {FEWEST_GOLD} items of known class have been decided, then a probability "
            "calibrated on them: the column confidence_is says which."
        )
    return sentences


def found_in(data: Mapping[str, Any]) -> str:
    """The rules that fired most often, and how many rows were not used; `data` has findings."""
    found = sorted(data["findings"], key=lambda each: -each["count"])
    named = "; ".join(f"{each['count']:,} x {each['met']}: {each['done']}" for each in found[:MOST_FOUND])
    others = len(found) - MOST_FOUND
    more = f"; and {others} more {'rule' if others == 1 else 'rules'}" if others > 0 else ""
    return f"Found in the tables: {named}{more}. {_many(data['set_aside'], 'row')} set aside"


def _missed_classes(summary: Mapping[str, Any]) -> list[str]:
    """Classes of which more than half the items got another answer; a low overall error can hide this."""
    whose = "of this class" if summary["settings"]["target"] == "truth" else "whose pool says so"
    lost = [row for row in summary["per_class"] if row["verdict"] >= 1 and row["missed"] > row["verdict"] / 2]
    sentences = [
        f"Class {row['class']!r} is mostly missed: of the {_items(row['verdict'])} {whose}, only "
        f"{row['right']:g} got this answer."
        for row in sorted(lost, key=lambda row: -row["verdict"])[:MOST_MISSED]
    ]
    if len(lost) > MOST_MISSED:
        sentences.append(f"{len(lost) - MOST_MISSED} more classes are mostly missed: see the errors by class.")
    if lost:
        sentences.append("To find more of a class, say what its errors cost: `--error-costs`.")
    return sentences


def _items(count: float) -> str:
    return f"{count:g} item" if count == 1 else f"{count:g} items"


ASKED_IN_ONE_ORDER = (
    f"{ONE_ORDER} That says nothing about who was asked first: the run asks the first of them about every item and "
    "seldom the last. `--order shuffled` mixes them; `--method value:choose=agreement` chooses whom to ask."
)


def _order(summary: Mapping[str, Any]) -> list[str]:
    """Why votes were shuffled, or that they are sorted and were not."""
    because, found = summary["settings"]["shuffled_because"], summary["vote_order"]
    if because == "counts":
        return ["Counts have no order: the votes of each item were shuffled by the seed."]
    if found is not None and found["by_people"] and because is None and not summary["method"]["knows_people"]:
        return [ASKED_IN_ONE_ORDER]
    if found is None or found["sorted_by"] is None:
        return []
    how = "by label" if found["sorted_by"] == "label" else "by how many gave the same label"
    sorted_ = "mostly sorted" if found["mostly"] else "sorted"
    what = f"the votes are {sorted_} {how} within items (seen on {found['items']:,} items with different votes)"
    if because == "sorted":
        return [
            f"Warning: {what}. This is unlikely to be the order of asking, and it would bias the result. The items and "
            "the votes of each item were shuffled. `--order given` keeps the order of the rows."
        ]
    if found["mostly"]:
        return [
            f"Warning: {what} and were replayed in that order. If people were not asked in this order, it biases the "
            "result: `--order shuffled` shuffles the votes of each item."
        ]
    why = "--order given" if summary["settings"]["order"] == "given" else "the order of their times"
    return [
        f"Warning: {what} and were replayed in that order ({why}). The first vote then predicts the others: "
        "do not trust this run unless people were asked in that order. `--order shuffled` shuffles them."
    ]


def _few_errors(summary: Mapping[str, Any]) -> list[str]:
    """A note if a target allows too few errors to be held closely: e T errors have standard deviation sqrt(e T)."""
    control = summary["control"]
    if control is None or control["kind"] == "budget":
        return []
    allowed = control["asked_for"] * summary["num_items"]
    if allowed >= FEWEST_ERRORS:
        return []
    return [
        f"A target of {100 * control['asked_for']:.2f} % of {summary['num_items']} items is {allowed:.1f} errors, too "
        f"few to hold closely. Chance alone moves the error by about {100 / allowed**0.5:.0f} % of the target, and "
        "audits see only some errors. A longer stream, a higher target or a higher `--audit-rate` makes it easier."
    ]


def _cautious(summary: Mapping[str, Any]) -> list[str]:
    """A note if the default settings saved next to nothing compared with asking until settled."""
    used, saved = summary["method"], summary["votes"]["saved_against_until_settled"]
    is_default = summary["control"] is None and {key: used[key] for key in DEFAULT} == DEFAULT
    if not is_default or saved >= LITTLE_SAVED or summary["votes"]["audit_votes"]:
        return []
    return [
        f"The default is cautious: here it saves {100 * saved:.1f} % compared with asking until settled. `quorate "
        "plan` finds cheaper settings and says what they cost in errors; `--error-cost` says what an error costs you, "
        "`--budget` sets the votes."
    ]


def _many(count: int, one: str, several: str | None = None) -> str:
    """`1 item is`, `2 items are`.

    >>> _many(1, "row"), _many(2, "row")
    ('1 row is', '2 rows are')
    """
    return f"{count} {one} is" if count == 1 else f"{count} {several or one + 's'} are"


NEAR = 0.01  # a budget missed by less counts as kept, wherever the parameter ended


def unreachable(summary: Mapping[str, Any]) -> str | None:
    """Why a budget or a target error could not be reached, whatever the control did; None if it could."""
    control = summary["control"]
    if control is None:
        return None
    return _budget(summary, control) if control["kind"] == "budget" else _target(summary, control)


def _budget(summary: Mapping[str, Any], control: Mapping[str, Any]) -> str | None:
    votes, settings, asked = summary["votes"], summary["settings"], control["asked_for"]
    least, most = settings["min_votes"], settings["max_votes"]
    head = f"A budget of {asked:.2f} votes per item cannot be spent: "
    if asked > votes["ask_all_per_item"]:
        return f"{head}asking everybody recorded takes {votes['ask_all_per_item']:.2f}."
    if most is not None and asked > most:
        return f"{head}at most {most} votes are asked of an item (--max-votes)."
    if asked > votes["until_settled_per_item"]:
        return (
            f"{head}asking until every pool is settled takes {votes['until_settled_per_item']:.2f}, and no later vote "
            "could change an answer."
        )
    if control["gap"] < -NEAR and at_deepest(control["parameter"], control["last_parameter"]):
        return (
            f"The budget of {asked:.2f} votes per item was not spent: the method stopped at {control['reached']:.2f}, "
            "where the remaining votes could at best make a tie."
        )
    if control["gap"] > NEAR and least and asked < least:
        return f"A budget of {asked:.2f} votes per item cannot be kept: {least} are asked of every item (--min-votes)."
    return None


def _target(summary: Mapping[str, Any], control: Mapping[str, Any]) -> str | None:
    error, asked = summary["error"], control["asked_for"]
    ties, floor = control["ties_seen"], error["tie_rate"]
    head = f"A target error of {100 * asked:.2f} % cannot be reached: "
    if ties > asked:
        return (
            f"{head}it lies below the ties of the pool seen so far, {100 * ties:.2f} % (known from item "
            f"{control['unreachable_from']} on). In a tie any answer counts as partly wrong, even when everybody is "
            "asked."
        )
    if floor is not None and floor > asked:
        return f"{head}in the recorded votes, ties alone cause an error of {100 * floor:.2f} %."
    if control["gap"] < -NEAR and at_shallowest(control["parameter"], control["last_parameter"]):
        return f"No votes are needed: without any, the error is below the target of {100 * asked:.2f} %."
    return None
