"""A stream of pools under a method, a budget or a target error -> what was asked and answered.

Without a control and with one of our own methods it is one compiled call; otherwise a replay vote by vote. Called by
`workflows.run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.catalogue import parse_method
from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import QuotaPolicy
from quorate.decision.rules import rule_of
from quorate.errors import InvalidInput
from quorate.methods import Method, as_method
from quorate.methods import method as build_method
from quorate.session.decide import NO_LIMIT
from quorate.streams.class_targets import ClassTargetControl, class_numbers
from quorate.streams.control import BudgetControl, Control, Speed, rule_knob
from quorate.streams.error_costs import cheapest_answers, with_costs
from quorate.streams.pools import Pools
from quorate.streams.recorded import Recorded, recorded
from quorate.streams.replay import ControlReport, Replay, replay
from quorate.streams.simulate import Simulation, run_compiled
from quorate.streams.target_error import AUDIT_RATE, FOCUS, SURENESS, TargetErrorControl
from quorate.tables.readers.sources import Progress
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import bounded, broken, fraction, vote_limits, whole
from quorate.workflows.run.audits import class_rows, proved_error, standing, target_sentence
from quorate.workflows.run.result import Outcome


@dataclass(frozen=True, slots=True)
class Aim:
    """How far to ask: at most one of the first three. Closed items go to the whole panel with probability
    `audit_rate` + `audit_focus` (1 - confidence); None: none without a target, the control's own with one.
    """

    threshold: float | None = None
    target_error: float | None = None
    budget: float | None = None
    audit_rate: float | None = None
    audit_focus: float | None = None
    control_speed: Speed = "normal"
    sureness: float | None = None
    class_targets: Mapping[str, float] | None = None

    @property
    def held_with(self) -> float:
        """The probability with which a target is to be held."""
        return SURENESS if self.sureness is None else self.sureness


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked replay: the method, its aim and its limits."""

    method: Method
    aim: Aim
    seed: int
    min_votes: int
    max_votes: int | None
    window: int | None
    refit_every: int

    @property
    def draws_quotas(self) -> bool:
        """Does the method draw the number of votes of an item when it opens?"""
        return isinstance(self.method.policy, (QuotaPolicy, ModelPicker))

    @property
    def is_compiled(self) -> bool:
        """Can the whole stream run in one call?"""
        aim = self.aim
        steered = aim.target_error is not None or aim.budget is not None or aim.audit_rate is not None
        return rule_of(self.method.policy) is not None and not steered

    def describe(self) -> dict[str, Any]:
        """The settings, for summary.json; with a target error the audits that are in force."""
        aim, control = self.aim, _control(self, mean_pool=1)
        held = control if isinstance(control, TargetErrorControl) else None
        return {
            "seed": self.seed,
            "budget": aim.budget,
            "target_error": aim.target_error,
            "class_targets": None if aim.class_targets is None else dict(aim.class_targets),
            "sureness": None if held is None else held.sureness,
            "audit_rate": aim.audit_rate if held is None else held.audit_rate,
            "audit_focus": None if held is None else held.focus,
            "control_speed": None if aim.budget is None else aim.control_speed,
            "min_votes": self.min_votes,
            "max_votes": self.max_votes,
            "window": self.window,
            "refit_every": self.refit_every,
        }


def build_plan(
    method: str | Method | QueryPolicy,
    aim: Aim,
    *,
    seed: int,
    min_votes: int,
    max_votes: int | None,
    window: int | None,
    refit_every: int,
) -> Plan:
    """Check what was asked for before anything is read."""
    _check_aim(aim)
    chosen = _method(method, aim.threshold)
    low = whole(min_votes, where="min_votes", least=0)
    high = None if max_votes is None else whole(max_votes, where="max_votes", least=0)
    vote_limits(low, high)
    plan = Plan(
        method=chosen,
        aim=aim,
        seed=whole(seed, where="seed", least=0),
        min_votes=low,
        max_votes=high,
        window=None if window is None else whole(window, where="window"),
        refit_every=whole(refit_every, where="refit_every"),
    )
    _control(plan, mean_pool=1)  # refuses what a controller cannot do
    return plan


def _check_aim(aim: Aim) -> None:
    """One way to say how far to ask, and no audits that nothing would use."""
    wanted = {"threshold": aim.threshold, "target_error": aim.target_error, "budget": aim.budget}
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) > 1:
        said = " and ".join(f"{name}={value!r}" for name, value in given.items())
        raise InvalidInput(f"{said} are given; expected at most one way to say how far to ask. Pass one.")
    if aim.target_error is not None and fraction(aim.target_error, where="target_error") == 0:
        raise InvalidInput("target_error=0; expected a share above 0; for none but ties use the method until-settled.")
    if aim.audit_rate is not None and fraction(aim.audit_rate, where="audit_rate") == 0:
        raise InvalidInput("audit_rate=0; expected a share above 0 and at most 1; leave it out for no audits.")
    if aim.audit_focus is not None:
        bounded(aim.audit_focus, where="audit_focus", least=0.0)
        if aim.target_error is None:
            raise InvalidInput(
                f"audit_focus={aim.audit_focus!r} without a target error; it says which items the audits of a target "
                "look at. Pass target_error=0.02 with it, or leave it out."
            )
    for name in ("sureness", "class_targets"):
        value = getattr(aim, name)
        if value is not None and aim.target_error is None:
            raise broken(name, value, "a target error beside it", "pass e.g. target_error=0.03 too, or leave it out.")
    if aim.control_speed == "slow" and aim.budget is None:
        raise InvalidInput("control_speed='slow' without a budget; it is the budget that may be held slowly. Pass one.")


def _method(given: str | Method | QueryPolicy, threshold: float | None) -> Method:
    if isinstance(given, str):
        return parse_method(given, threshold=threshold)
    if threshold is not None:
        raise InvalidInput(f"threshold={threshold!r} beside a method that has its knobs; pass one of the two.")
    return as_method(given)


def _control(plan: Plan, *, mean_pool: int) -> Control | None:
    aim = plan.aim
    if aim.budget is not None:
        rule = rule_knob(plan.method)
        return BudgetControl(aim.budget, pool_size=mean_pool, speed=aim.control_speed, rule=rule)
    if aim.target_error is not None:
        return TargetErrorControl(
            aim.target_error,
            audit_rate=AUDIT_RATE if aim.audit_rate is None else aim.audit_rate,
            focus=FOCUS if aim.audit_focus is None else aim.audit_focus,
            sureness=aim.held_with,
            pool_size=mean_pool,
            rule=rule_knob(plan.method),
        )
    return None


def _class_control(plan: Plan, classes: Sequence[str]) -> ClassTargetControl | None:
    if not plan.aim.class_targets:
        return None
    targets = class_numbers(plan.aim.class_targets, classes)
    return ClassTargetControl.start(targets, num_classes=len(classes), sureness=plan.aim.held_with)


def replayed(
    pools: Pools,
    plan: Plan,
    error_costs: FloatArray | None,
    *,
    classes: Sequence[str],
    ids: Sequence[str],
    progress: Progress | None = None,
) -> Outcome:
    """Run the plan over the pools."""
    if error_costs is not None and plan.aim.target_error is not None:
        raise InvalidInput(
            f"target_error={plan.aim.target_error!r} beside error_costs: a target counts every error as one. Pass a "
            "threshold or a budget with error_costs."
        )
    if progress is not None:
        progress(0, len(ids), "replaying the votes")
    if plan.is_compiled:
        return _from_simulation(_compiled(pools, plan, error_costs), pools)
    items = recorded(pools.stream.votes, pools.stream.predictions, classes=classes, ids=ids)
    return _vote_by_vote(pools, plan, error_costs, items, progress)


def until_settled(pools: Pools) -> IntArray:
    """(T,) votes each item takes until no further one can matter, or until there are no more."""
    plan = Plan(build_method("until-settled"), Aim(), 0, 0, None, 1, 1)
    return _compiled(pools, plan, None).costs


def _compiled(pools: Pools, plan: Plan, error_costs: FloatArray | None) -> Simulation:
    rule = rule_of(plan.method.policy)
    assert rule is not None
    limits = (plan.min_votes, NO_LIMIT if plan.max_votes is None else plan.max_votes)
    return run_compiled(
        pools.stream, plan.method, rule, plan.window, plan.refit_every, limits, len(pools.recorded),
        recorded=pools.recorded, error_costs=error_costs, keep_probs=True,
    )  # fmt: skip


def _from_simulation(run: Simulation, pools: Pools) -> Outcome:
    none = np.zeros(len(run.costs), dtype=np.int64)
    assert run.probs is not None
    trace = run.trace
    return Outcome(
        num_votes=run.costs,
        labels=run.predictions,
        probs=run.probs,
        reasons=run.reasons,
        is_audited=none.astype(bool),
        audit_votes=none,
        params=trace[-1][1] if trace else _first_params(run.method, pools),
        num_fits=len(trace),
        fitted_after=trace[-1][0] + 1 if trace else 0,
    )


def _vote_by_vote(
    pools: Pools, plan: Plan, error_costs: FloatArray | None, items: Recorded, progress: Progress | None
) -> Outcome:
    run = replay(
        items,
        plan.method if error_costs is None else with_costs(plan.method, error_costs),
        control=_control(plan, mean_pool=max(round(float(pools.stream.pool_sizes.mean())), 1)),
        pool_sizes=pools.stream.pool_sizes,
        window=plan.window,
        refit_every=plan.refit_every,
        min_votes=plan.min_votes,
        max_votes=plan.max_votes,
        seed=plan.seed,
        audit_rate=plan.aim.audit_rate or 0.0,
        class_control=_class_control(plan, items.classes),
        progress=None if progress is None else lambda done, total: progress(done, total, "replaying the votes"),
    )
    labels = run.labels
    if error_costs is not None:
        labels = cheapest_answers(error_costs, run.probs, pools.stream.tie_draws)
    return Outcome(
        num_votes=run.num_votes,
        labels=labels,
        probs=run.probs,
        reasons=run.reasons,
        is_audited=run.audited,
        audit_votes=run.audit_votes,
        params=run.params,
        num_fits=run.num_fits,
        fitted_after=items.num_items if run.num_fits else 0,
        control=_control_summary(run, plan, items.classes),
        reached=None if run.control is None else run.control.asked_for * (1.0 + run.control.gap),
    )


def _first_params(method: Method, pools: Pools) -> PriorParams:
    """Where learning starts: for a method that learns nothing, and before the first fit."""
    _, num_models, num_classes = pools.stream.predictions.shape
    return method.initial_params(num_classes, num_models)


def _control_summary(run: Replay, plan: Plan, classes: Sequence[str]) -> dict[str, Any] | None:
    """How close it came, as plain values."""
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
        "knob": rule_knob(plan.method),
        "first_knob": float(run.knob[0]),
        "last_knob": float(run.knob[-1]),
    }
    final = report.final
    if isinstance(final, TargetErrorControl):
        found |= {
            "gap": final.reached / final.target - 1.0,
            "upper": final.upper,
            "sureness": final.sureness,
            "audited": final.num_audited,
            "incomplete_audits": run.num_incomplete,
            "audit_votes": int(run.audit_votes.sum()),
            "factor": final.factor,
            "ties_seen": final.ties,
            "unreachable_from": report.unreachable_from,
            "proved": proved_error(run, final),
            "classes": class_rows(run, classes),
        }
        found |= standing(final.target, final.reached, found["proved"])
        ahead = [_ahead(report)] if found["estimate_supported"] else []
        found["sentence"] = " ".join([target_sentence(found), *ahead])
        return found
    return found | {"sentence": _budget_sentence(report)}


def _ahead(report: ControlReport) -> str:
    if report.overshoot <= 0:
        return "It never ran ahead of an even pace."
    return f"On the way it ran ahead of an even pace by at most {100 * report.overshoot:.1f} % of the whole."


def _budget_sentence(report: ControlReport) -> str:
    gap = f"{100 * abs(report.final_gap):.1f} % {'above' if report.final_gap > 0 else 'below'}"
    return f"Budget {report.asked_for:.2f} votes per item: {report.reached:.2f} were spent, {gap}. {_ahead(report)}"
