"""The summary of a run -> in words, what it was asked for and no run could have kept: a budget nobody can spend, a
target below the ties of the pool. Called by `run_summary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.workflows.control import at_deepest, at_shallowest

NEAR = 0.01  # a budget kept this closely was kept, wherever the knob ended


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
    if control["gap"] < -NEAR and at_deepest(control["knob"], control["last_knob"]):
        return (
            f"The budget of {asked:.2f} votes per item was not spent: the method stopped at {control['reached']:.2f}, "
            "where the votes left could at best bring a tie."
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
            f"{control['unreachable_from']} on). In a tie any answer counts as wrong in part, even when everybody is "
            "asked."
        )
    if floor is not None and floor > asked:
        return f"{head}by the recorded votes the ties of the pool alone are {100 * floor:.2f} %."
    if control["gap"] < -NEAR and at_shallowest(control["knob"], control["last_knob"]):
        return f"Fewer votes could not be asked: without any the error stays below the target of {100 * asked:.2f} %."
    return None
