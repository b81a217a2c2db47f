"""Replays a stream of pools under a method, a budget or a target error -> votes, answers, and what audits prove.

Checks the arguments, builds the controller, replays, and reports how close it came, for a target error with its
audits. Called by `commands.run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.audit import audit_of, rounded_up, standing
from quorate.errors import InvalidInput
from quorate.methods import Method, Target, checked_target, chosen_method, with_costs
from quorate.methods import method as build_method
from quorate.model import ErrorCosts, ModelPicker, QueryPolicy, QuotaPolicy
from quorate.reasons import CERTAIN
from quorate.streams import (
    AUDIT_RATE,
    CONFIDENCE_LEVEL,
    BudgetControl,
    Control,
    ControlReport,
    Pools,
    ReplayResult,
    StreamOptions,
    TargetErrorControl,
    replay,
    rule_parameter,
    simulate_stream,
)
from quorate.tables import ErrorCost, is_number, read_error_cost
from quorate.types import IntArray, Progress
from quorate.validate import above_zero, fraction, invalid, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """How far to ask: at most one of the first four; an `error_cost` by truth and answer is no such number.

    `audit_rate`: None: no audits without a target, the control's default with one.
    """

    error_cost: ErrorCost | None = None
    threshold: float | None = None
    target_error: float | None = None
    budget: float | None = None
    audit_rate: float | None = None

    @property
    def parameters(self) -> dict[str, float | None]:
        """The parameters of a method that say how far to ask."""
        number = above_zero(self.error_cost, where="error_cost") if is_number(self.error_cost) else None
        return {"error_cost": number, "threshold": self.threshold}

    @property
    def has_table(self) -> bool:
        """Whether errors cost differently by truth and answer."""
        return self.error_cost is not None and not is_number(self.error_cost)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The checked settings of a replay: the method, its aim and how the stream is run."""

    method: Method
    aim: Aim
    seed: int
    options: StreamOptions

    @property
    def draws_quotas(self) -> bool:
        """Does the method draw the number of votes of an item when it opens?"""
        return isinstance(self.method.policy, (QuotaPolicy, ModelPicker))

    def describe(self) -> dict[str, Any]:
        """The settings, for summary.json; with a target error, the audit rates in force."""
        aim, control = self.aim, _control(self, mean_pool=1)
        held = control if isinstance(control, TargetErrorControl) else None
        return {
            "seed": self.seed,
            "target": self.method.target,
            "budget": aim.budget,
            "target_error": aim.target_error,
            "audit_rate": aim.audit_rate if held is None else held.audit_rate,
            "min_votes": self.options.min_votes,
            "max_votes": self.options.max_votes,
        }


def build_plan(
    method: str | Method | QueryPolicy | None,
    aim: Aim,
    *,
    seed: int,
    options: StreamOptions,
    target: Target | None = None,
) -> RunPlan:
    """Check the arguments before any table is read."""
    _check_aim(aim)
    chosen = chosen_method(method, target=target, **aim.parameters)
    checked_target(target, chosen)
    plan = RunPlan(chosen, aim, whole(seed, where="seed", least=0), options)
    _control(plan, mean_pool=1)  # only to check: raises if a controller cannot do it
    return plan


def _check_aim(aim: Aim) -> None:
    """Refuse more than one way to say how far to ask, and audits at a rate of 0."""
    wanted = aim.parameters | {"target_error": aim.target_error, "budget": aim.budget}
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) > 1:
        names = [f"`{name}`" for name in reversed(given)]
        text = f"Use either {', '.join(names[:-1])} or {names[-1]}."
        raise InvalidInput(text, field=next(iter(given)), value=given, rule="one way to say how far to ask")
    price = given.get("error_cost")
    if price is not None and price <= 1:
        rule = "above 1: if a wrong answer costs no more than a vote, nobody is asked"
        raise invalid("error_cost", price, rule, "pass e.g. 50 if it costs as much as 50 votes.")
    if aim.has_table and aim.target_error is not None:
        rule = "no table of error costs with it: a target counts every error as one"
        raise invalid("target_error", aim.target_error, rule, "use a budget, or leave one of them out.")
    if aim.target_error is not None and fraction(aim.target_error, where="target_error") == 0:
        raise invalid("target_error", 0, "a share above 0", "pass `method='until-settled'` for no errors but ties.")
    if aim.audit_rate is not None and fraction(aim.audit_rate, where="audit_rate") == 0:
        raise invalid("audit_rate", 0, "a share above 0 and at most 1", "leave it out for no audits.")


def priced(plan: RunPlan, method: str | Method | QueryPolicy | None, classes: Sequence[str]) -> RunPlan:
    """The plan with the table of error costs, read by class names; a table of equal costs is the number."""
    if plan.aim.error_cost is None or not plan.aim.has_table:
        return plan
    costs = read_error_cost(plan.aim.error_cost, classes)
    if isinstance(costs, ErrorCosts):
        return replace(plan, method=with_costs(plan.method, costs))
    aim = replace(plan.aim, error_cost=costs)
    return build_plan(method, aim, seed=plan.seed, options=plan.options, target=plan.method.target)


def _control(plan: RunPlan, *, mean_pool: int) -> Control | None:
    aim = plan.aim
    if aim.budget is not None:
        rule = rule_parameter(plan.method)
        return BudgetControl(aim.budget, pool_size=mean_pool, rule=rule)
    if aim.target_error is not None:
        return TargetErrorControl(
            aim.target_error,
            audit_rate=AUDIT_RATE if aim.audit_rate is None else aim.audit_rate,
            pool_size=mean_pool,
            rule=rule_parameter(plan.method),
        )
    return None


def replayed(
    pools: Pools,
    plan: RunPlan,
    *,
    ids: Sequence[str],
    voter_costs: tuple[float, ...] | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Run the plan over the pools."""
    if progress is not None:
        progress(0, len(ids), "replaying the votes")
    return replay(
        pools.stream,
        plan.method,
        control=_control(plan, mean_pool=max(round(float(pools.stream.pool_sizes.mean())), 1)),
        audit_rate=plan.aim.audit_rate or 0.0,
        ids=ids,
        seed=plan.seed,
        min_votes=plan.options.min_votes,
        max_votes=plan.options.max_votes,
        voter_costs=voter_costs,
        progress=None if progress is None else lambda done, total: progress(done, total, "replaying the votes"),
    )


def until_settled(pools: Pools) -> IntArray:
    """(T,) votes each item takes until no further vote can matter, or until there are no more."""
    return simulate_stream(pools.stream, build_method("until-settled"), seed=0).costs


def control_summary(run: ReplayResult, plan: RunPlan) -> dict[str, Any] | None:
    """How close the control came, as plain values; None without a control."""
    report = run.control
    if report is None:
        return None
    kind = "budget" if plan.aim.budget is not None else "target error"
    found: dict[str, Any] = {
        "kind": kind,
        "asked_for": report.asked_for,
        "reached": report.reached,
        "gap": report.final_gap,
        "overshoot": report.overshoot,
        "parameter": rule_parameter(plan.method),
        "first_parameter": float(run.parameter[0]),
        "last_parameter": float(run.parameter[-1]),
    }
    final = report.final
    if isinstance(final, TargetErrorControl):
        found |= {
            "gap": final.reached / final.target - 1.0,
            "upper": final.upper,
            "confidence_level": CONFIDENCE_LEVEL,
            "audited": final.num_audited,
            "incomplete_audits": run.num_incomplete,
            "audit_votes": int(run.audit_votes.sum()),
            "factor": final.factor,
            "ties_seen": final.ties,
            "unreachable_from": report.unreachable_from,
            "proved": proved_error(run, final),
        }
        found |= standing(final.target, final.reached, found["proved"])
        return found | {"sentence": target_sentence(found)}
    return found | {"sentence": _budget_sentence(report)}


def _budget_sentence(report: ControlReport) -> str:
    ahead = f"{100 * max(report.overshoot, 0.0):.1f} %"
    return (
        f"Budget {report.asked_for:.2f}: {report.reached:.2f} votes per item were spent, never more than {ahead} ahead "
        "of the budget."
    )


def proved_error(run: ReplayResult, final: TargetErrorControl) -> float | None:
    """An upper bound on the share of wrong answers, ties included, at the confidence level; None: not proved.

    The bound of `quorate.audit` on the items closed unsettled, from the audit sample of the run, plus the known errors
    of the settled items. It holds even if the confidence is wrong; the control's own figures do not.
    """
    loss = 1.0 - run.truth[np.arange(len(run.labels)), run.labels]
    is_open = ~np.isin(run.reasons, CERTAIN)
    total = float(loss[~is_open].sum())
    if is_open.any():
        audit = audit_of(
            np.clip(1.0 - run.confidence[is_open], 0.0, 1.0),
            np.clip(run.audit_rates[is_open], final.audit_rate, 1.0),
            run.is_audited[is_open],
            loss[is_open],
            min_rate=final.audit_rate,
        )
        bound = audit.bound(1.0 - CONFIDENCE_LEVEL)
        if not bound.is_informative:
            return None
        total += bound.total
    share = total / final.num_items
    return share if rounded_up(100 * share) < 100 else None  # a bound printed as 100 % means nothing


def target_sentence(control: Mapping[str, Any]) -> str:
    """The result of a run with a target error: the bound first, which assumes nothing; the estimate if supported."""
    head, who = f"Target error {100 * control['asked_for']:.2f} %: ", f"The audits ({control['audited']})"
    if control["proved"] is None:
        return f"{head}an aim, not proved. {who} are too few to prove a bound or to support an estimate."
    level = f"{100 * CONFIDENCE_LEVEL:g} % confidence"
    proved = f"{who} prove that at most {rounded_up(100 * control['proved']):.2f} % of the answers are wrong ({level})"
    text = f"{head}{'held' if control['supported'] else 'an aim, not proved'}. {proved}."
    if control["estimate_supported"]:
        text += f" Their estimate is {100 * control['reached']:.2f} %."
    return text
