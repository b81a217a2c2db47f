"""The summary of a run -> warnings and notes, in short sentences: three on the screen, six in the report.

Warnings say that the tables may not be what they seem; a reader must see them before the answer. Notes are those that
change a decision, the most important first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.session import FEWEST_GOLD
from quorate.streams import at_deepest, at_shallowest, uneven_pools

FEWEST_SCORED = 100
FEWEST_ERRORS = 30  # a target that allows fewer errors is missed by a fifth or more by chance alone
NEAR = 0.01  # a budget missed by less counts as kept, wherever the parameter ended
MOST_SWAPS = 4  # columns named


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """A permuted classifier, sorted votes, odd pools, and what the tables themselves make doubtful."""
    pools = summary["pools"]
    found = [*_swapped(summary["classifier"]), *_sorted(summary), *summary["data"]["warnings"]]
    if pools["pool_size"] == "recorded" and pools["smallest"] < pools["largest"]:
        found.append(uneven_pools(pools["smallest"], pools["largest"]))
    return found


def _swapped(classifier: Mapping[str, Any]) -> list[str]:
    swaps = classifier["swapped_columns"]
    if not swaps:
        return []
    pairs = ", ".join(f"{each['column']!r} fits {each['looks_like']!r}" for each in swaps[:MOST_SWAPS])
    more = f" and {len(swaps) - MOST_SWAPS} more" if len(swaps) > MOST_SWAPS else ""
    models = " and ".join(dict.fromkeys(each["model"] for each in swaps))
    return [f"Columns of {models} look swapped: by the votes, {pairs}{more}. Check the order of the classes."]


def _sorted(summary: Mapping[str, Any]) -> list[str]:
    """Whether votes come sorted by label, which is no order in which people are asked."""
    because, found = summary["settings"]["shuffled_because"], summary["vote_order"]
    if found is None or found["sorted_by"] is None:
        return []
    how = "by label" if found["sorted_by"] == "label" else "by how many agree"
    if because == "sorted":
        return [f"The votes of each item are sorted {how}, so they were shuffled. `order='given'` keeps their order."]
    return [
        f"The votes of each item are {'mostly ' if found['mostly'] else ''}sorted {how} and were replayed so: do not "
        "trust this run unless people were asked in that order. `order='shuffled'` shuffles them."
    ]


def notes(summary: Mapping[str, Any]) -> list[str]:
    """What a reader must know before acting on the figures, the most important first."""
    pools, error, control = summary["pools"], summary["error"], summary["control"]
    found = [summary["lost_class"]["sentence"]] if summary["lost_class"] is not None else []
    if control is not None:
        found.append(str(control["unreachable"] or control["sentence"]))
        found += _few_errors(summary)
    if summary["settings"]["target"] == "truth":
        found += _about_truth(summary)
    elif error["rate"] is not None and error["scored_items"] < FEWEST_SCORED:
        found.append(f"Only {_many(error['scored_items'], 'item')} scored: too few for a reliable error.")
    if summary["classifier"]["saves_nothing"]:
        found.append("The classifier saves nothing here: check that it belongs to these items, or leave it out.")
    if pools["short_of_votes"]:
        found.append(f"{_many(pools['short_of_votes'], 'item')} out of recorded votes: more would have been asked.")
    if control is not None and control.get("incomplete_audits"):
        found.append(
            f"{control['incomplete_audits']:,} of {control['audited']:,} audits had too few recorded votes and count "
            "as errors; without `pool_size` the votes of an item are its pool."
        )
    found += _order(summary)
    if error["tie_rate"]:
        found.append(f"{percent_of(error['tie_rate'])} are ties of the pool itself, whoever is asked.")
    return found


def percent_of(share: float | None) -> str:
    """A share for a sentence.

    >>> percent_of(0.0213), percent_of(0.0002), percent_of(0.0), percent_of(None)
    ('2.1 %', '0.02 %', '0.0 %', '–')
    """
    if share is None:
        return "–"
    return f"{100 * share:.2f} %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def _about_truth(summary: Mapping[str, Any]) -> list[str]:
    """Under target "truth": whether the confidence is a probability."""
    if summary["confidence_is"] == "probability":
        return []
    known = summary["error"]["scored_items"]
    return [
        f"Truth cannot be told from agreement with {known} items of known class: people who share their errors look "
        f"right, and the confidence is a score. {FEWEST_GOLD} or more (`truth`) tell them apart."
    ]


def _order(summary: Mapping[str, Any]) -> list[str]:
    """Votes without an order, or people who were asked in one and the same order."""
    because, found = summary["settings"]["shuffled_because"], summary["vote_order"]
    if because == "counts":
        return ["Counts have no order: the votes of each item were shuffled by the seed."]
    if found is not None and found["by_people"] and because is None and not summary["method"]["knows_people"]:
        return [
            "Every item has its people in one and the same order: the first are asked always, the last seldom. "
            "`order='shuffled'` mixes them."
        ]
    return []


def _few_errors(summary: Mapping[str, Any]) -> list[str]:
    """A note if a target allows too few errors to be held closely: e T errors have standard deviation sqrt(e T)."""
    control = summary["control"]
    allowed = control["asked_for"] * summary["num_items"]
    if control["kind"] == "budget" or allowed >= FEWEST_ERRORS:
        return []
    return [
        f"The target allows {allowed:.1f} errors: chance alone moves the error by {100 / allowed**0.5:.0f} % of it. "
        "More items or a higher `audit_rate` hold it more closely."
    ]


def _many(count: int, one: str) -> str:
    """`1 item is`, `2 items are`.

    >>> _many(1, "row"), _many(2, "row")
    ('1 row is', '2 rows are')
    """
    return f"{count:,} {one} is" if count == 1 else f"{count:,} {one}s are"


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
        return f"{head}at most {most} votes are asked of an item (`max_votes`)."
    if asked > votes["until_settled_per_item"]:
        return f"{head}every pool is settled after {votes['until_settled_per_item']:.2f}."
    if control["gap"] < -NEAR and at_deepest(control["parameter"], control["last_parameter"]):
        return (
            f"The budget of {asked:.2f} votes per item was not spent: the method stopped at {control['reached']:.2f}, "
            "where the remaining votes could at best make a tie."
        )
    if control["gap"] > NEAR and least and asked < least:
        return f"A budget of {asked:.2f} votes per item cannot be kept: {least} are asked of every item (`min_votes`)."
    return None


def _target(summary: Mapping[str, Any], control: Mapping[str, Any]) -> str | None:
    error, asked = summary["error"], control["asked_for"]
    ties = max(control["ties_seen"], error["tie_rate"] or 0.0)
    if ties > asked:
        return f"{100 * asked:.4g} % wrong cannot be reached: ties alone make {100 * ties:.1f} %."
    if control["gap"] < -NEAR and at_shallowest(control["parameter"], control["last_parameter"]):
        return f"No votes are needed: without any, the error is below the target of {100 * asked:.2f} %."
    return None
