"""Replays a stream of pools under a method, a budget or a target error -> votes, answers, and what audits prove.

Checks the arguments, builds the controllers, replays, and reports how close a control came, for a target error with its
audits, overall and by class. Called by `workflows.run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.audit import audit_of
from quorate.audit.statement import rounded_up, standing
from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import QuotaPolicy
from quorate.methods import Method, Target, as_method, checked_target, default_for, with_parameter
from quorate.methods import method as build_method
from quorate.reasons import CERTAIN
from quorate.streams.class_targets import ClassTarget, ClassTargetControl, class_numbers
from quorate.streams.control import BudgetControl, Control, Speed, rule_parameter
from quorate.streams.pools import Pools
from quorate.streams.replay import ControlReport, ReplayResult, replay
from quorate.streams.runs import StreamOptions
from quorate.streams.simulate import simulate_stream
from quorate.streams.target_error import AUDIT_RATE, FOCUS, SURENESS, TargetErrorControl
from quorate.tables.readers.sources import Progress
from quorate.types import FloatArray, IntArray
from quorate.validate import above_zero, bounded, fraction, invalid, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """How far to ask: at most one of the first four. Closed items are audited by the whole panel with probability
    `audit_rate` + `audit_focus` (1 - confidence); None: no audits without a target, the control's defaults with one.
    """

    error_cost: float | None = None
    threshold: float | None = None
    target_error: float | None = None
    budget: float | None = None
    audit_rate: float | None = None
    audit_focus: float | None = None
    control_speed: Speed = "normal"
    sureness: float | None = None
    class_targets: Mapping[str, float] | None = None

    @property
    def parameters(self) -> dict[str, float | None]:
        """The parameters of a method that say how far to ask."""
        return {"error_cost": self.error_cost, "threshold": self.threshold}

    @property
    def held_with(self) -> float:
        """The probability with which a target is to be held."""
        return SURENESS if self.sureness is None else self.sureness


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
            "class_targets": None if aim.class_targets is None else dict(aim.class_targets),
            "sureness": None if held is None else held.sureness,
            "audit_rate": aim.audit_rate if held is None else held.audit_rate,
            "audit_focus": None if held is None else held.focus,
            "control_speed": None if aim.budget is None else aim.control_speed,
            "min_votes": self.options.min_votes,
            "max_votes": self.options.max_votes,
            "window": self.options.window,
            "refit_every": self.options.refit_every,
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
    chosen = _method(default_for(method, target, threshold=aim.threshold), aim)
    checked_target(target, chosen)
    plan = RunPlan(chosen, aim, whole(seed, where="seed", least=0), options)
    _control(plan, mean_pool=1)  # only to check: raises if a controller cannot do it
    return plan


def _check_aim(aim: Aim) -> None:
    """Refuse more than one way to say how far to ask, and options of audits or controls that nothing would use."""
    wanted = aim.parameters | {"target_error": aim.target_error, "budget": aim.budget}
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) > 1:
        (first, value), *_ = given.items()
        rule = f"at most one of {', '.join(f'`{name}`' for name in given)}: each says how far to ask"
        raise invalid(first, value, rule, "pass one of them.")
    if aim.error_cost is not None and above_zero(aim.error_cost, where="error_cost") <= 1:
        rule = "above 1: if a wrong answer costs no more than a vote, nobody is asked"
        raise invalid("error_cost", aim.error_cost, rule, "pass e.g. 50 if it costs as much as 50 votes.")
    if aim.target_error is not None and fraction(aim.target_error, where="target_error") == 0:
        raise invalid("target_error", 0, "a share above 0", "pass `method='until-settled'` for no errors but ties.")
    if aim.audit_rate is not None and fraction(aim.audit_rate, where="audit_rate") == 0:
        raise invalid("audit_rate", 0, "a share above 0 and at most 1", "leave it out for no audits.")
    if aim.audit_focus is not None:
        bounded(aim.audit_focus, where="audit_focus", least=0.0)
        if aim.target_error is None:
            rule = "a target error too: it says which items the audits of a target prefer"
            raise invalid("audit_focus", aim.audit_focus, rule, "pass `target_error=0.02` too, or leave it out.")
    for name in ("sureness", "class_targets"):
        value = getattr(aim, name)
        if value is not None and aim.target_error is None:
            raise invalid(name, value, "a target error too", "pass e.g. `target_error=0.03` with it, or leave it out.")
    if aim.control_speed == "slow" and aim.budget is None:
        rule = "a budget too: only a budget can be held slowly"
        raise invalid("control_speed", "slow", rule, "pass e.g. `budget=3` with it, or leave it out.")


def _method(given: str | Method | QueryPolicy, aim: Aim) -> Method:
    if isinstance(given, str):
        return with_parameter(given, **aim.parameters)
    for name, value in aim.parameters.items():
        if value is not None:
            rule = "a `method` given by name: a Method object has its own parameters"
            raise invalid(name, value, rule, f"set the {name} of the method.")
    return as_method(given)


def _control(plan: RunPlan, *, mean_pool: int) -> Control | None:
    aim = plan.aim
    if aim.budget is not None:
        rule = rule_parameter(plan.method)
        return BudgetControl(aim.budget, pool_size=mean_pool, speed=aim.control_speed, rule=rule)
    if aim.target_error is not None:
        return TargetErrorControl(
            aim.target_error,
            audit_rate=AUDIT_RATE if aim.audit_rate is None else aim.audit_rate,
            focus=FOCUS if aim.audit_focus is None else aim.audit_focus,
            sureness=aim.held_with,
            pool_size=mean_pool,
            rule=rule_parameter(plan.method),
        )
    return None


def _class_control(plan: RunPlan, classes: Sequence[str]) -> ClassTargetControl | None:
    if not plan.aim.class_targets:
        return None
    targets = class_numbers(plan.aim.class_targets, classes)
    return ClassTargetControl.start(targets, num_classes=len(classes), sureness=plan.aim.held_with)


def replayed(
    pools: Pools,
    plan: RunPlan,
    error_costs: FloatArray | None,
    *,
    classes: Sequence[str],
    ids: Sequence[str],
    voter_costs: tuple[float, ...] | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Run the plan over the pools."""
    if error_costs is not None and plan.aim.target_error is not None:
        rule = "no `error_costs` with it: a target counts every error as one"
        fix = "pass `error_cost`, `threshold` or `budget` with `error_costs`."
        raise invalid("target_error", plan.aim.target_error, rule, fix)
    if progress is not None:
        progress(0, len(ids), "replaying the votes")
    return replay(
        pools.stream,
        plan.method,
        control=_control(plan, mean_pool=max(round(float(pools.stream.pool_sizes.mean())), 1)),
        class_control=_class_control(plan, classes),
        error_costs=error_costs,
        audit_rate=plan.aim.audit_rate or 0.0,
        ids=ids,
        seed=plan.seed,
        window=plan.options.window,
        refit_every=plan.options.refit_every,
        min_votes=plan.options.min_votes,
        max_votes=plan.options.max_votes,
        voter_costs=voter_costs,
        progress=None if progress is None else lambda done, total: progress(done, total, "replaying the votes"),
    )


def until_settled(pools: Pools) -> IntArray:
    """(T,) votes each item takes until no further vote can matter, or until there are no more."""
    return simulate_stream(pools.stream, build_method("until-settled"), StreamOptions(window=1), seed=0).costs


def control_summary(run: ReplayResult, plan: RunPlan, classes: Sequence[str]) -> dict[str, Any] | None:
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
        ahead = [_ahead(report, "errors", "of the target")] if found["estimate_supported"] else []
        found["sentence"] = " ".join([target_sentence(found), *ahead])
        return found
    return found | {"sentence": _budget_sentence(report)}


def _ahead(report: ControlReport, what: str, whole: str) -> str:
    """A sentence on how far votes or errors were ahead of an even spread over the items."""
    if report.overshoot <= 0:
        return f"At no time were there more {what} than an even spread over the items allows."
    most = f"{100 * report.overshoot:.1f} % {whole}"
    return f"At any time there were at most {most} more {what} than an even spread over the items allows."


def _budget_sentence(report: ControlReport) -> str:
    gap = f"{100 * abs(report.final_gap):.1f} % {'above' if report.final_gap > 0 else 'below'}"
    ahead = _ahead(report, "votes", "of the budget")
    return f"Budget {report.asked_for:.2f} votes per item: {report.reached:.2f} were spent, {gap}. {ahead}"


def proved_error(run: ReplayResult, final: TargetErrorControl) -> float | None:
    """An upper bound on the share of wrong answers, ties included, with probability `sureness`; None: not proved.

    The bound of `quorate.audit` on the items closed unsettled, from the audit sample of the run, plus the known errors
    of the settled items. It holds even if the confidence is wrong; the control's own figures do not.
    """
    every = np.ones(len(run.labels), dtype=bool)
    total = _at_most(run, every, 1.0 - run.confidence, 1.0 - final.sureness, final.audit_rate, run.labels, wrong=True)
    return None if total is None else _telling(total / final.num_items)


def proved_missed(run: ReplayResult, target: ClassTarget, min_rate: float) -> float | None:
    """An upper bound on the share of a class's items (by their pools) with another answer, with probability `sureness`.

    Misses are bounded on the items with another answer, false alarms on the items with this answer, each with half of
    the error probability; the answers that are not false alarms were found. None if the bound is no better than 100 %.
    """
    number, alpha = target.number, (1.0 - target.sureness) / 2
    answered, prob = run.labels == number, run.probs[:, number]
    classes = np.full(len(run.labels), number)
    missed = _at_most(run, ~answered, prob, alpha, min_rate, classes, wrong=False)
    false = _at_most(run, answered, 1.0 - prob, alpha, min_rate, classes, wrong=True)
    found = 0.0 if false is None else int(answered.sum()) - false
    if missed is None or found <= 0:
        return None
    return _telling(missed / (missed + found))


def _telling(bound: float) -> float | None:
    """A bound on a share; None if it is printed as 100 %, which means nothing."""
    return bound if rounded_up(100 * bound) < 100 else None


def _at_most(
    run: ReplayResult,
    which: NDArray[np.bool_],
    expected: FloatArray,
    alpha: float,
    min_rate: float,
    classes: NDArray[np.int64],
    *,
    wrong: bool,
) -> float | None:
    """A bound on the summed losses of these items: the pool's share of `classes`, or 1 minus it; None: not proved."""
    if not which.any():
        return 0.0
    share = run.truth[np.arange(len(classes)), classes]
    loss = 1.0 - share if wrong else share
    is_open = which & ~np.isin(run.reasons, CERTAIN)
    known = float(loss[which & ~is_open].sum())
    if not is_open.any():
        return known
    audit = audit_of(
        np.clip(expected[is_open], 0.0, 1.0),
        np.clip(run.audit_rates[is_open], min_rate, 1.0),
        run.is_audited[is_open],
        loss[is_open],
        min_rate=min_rate,
    )
    bound = audit.bound(alpha)
    return bound.total + known if bound.is_informative else None


def class_rows(run: ReplayResult, classes: Sequence[str]) -> list[dict[str, Any]]:
    """For each class with a target: the target, what the audits estimate and prove, the last weight of its errors."""
    if run.class_control is None or run.control is None:
        return []
    min_rate = getattr(run.control.final, "audit_rate", AUDIT_RATE)
    rows = []
    for each in run.class_control.classes:
        proved = proved_missed(run, each, min_rate)
        row = {
            "class": classes[each.number],
            "asked_for": each.target,
            "reached": _number(each.reached),
            "upper": _number(each.upper),
            "proved": proved,
            **standing(each.target, _number(each.reached), proved),
            "estimated_items": each.num_items,
            "weight": float(np.exp(each.log_weight)),
        }
        rows.append(row | {"sentence": class_sentence(row, each.sureness)})
    return rows


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def target_sentence(control: Mapping[str, Any]) -> str:
    """The result of a run with a target error: held, or an aim, and what the audits prove and estimate."""
    head = f"Target error {100 * control['asked_for']:.2f} %: "
    return head + _words(control, f"The audits ({control['audited']})", "of the answers are wrong")


def class_sentence(row: Mapping[str, Any], sureness: float) -> str:
    """As `target_sentence`, for a class with a target."""
    head = f"Class {row['class']!r}, at most {100 * row['asked_for']:.2f} % of its items missed: "
    return head + _words({**row, "sureness": sureness}, "The audits", "of its items are missed")


def _words(row: Mapping[str, Any], who: str, what: str) -> str:
    """The bound first, because it assumes nothing; the estimate only if the audits support it."""
    sure = f"{100 * row['sureness']:g} % confidence"
    if row["upper"] is None:
        return "an aim; there was no such item."
    if row["proved"] is None:
        return f"an aim, not proved. {who} are too few to prove a bound or to support an estimate."
    bound = f"{who} prove that at most {rounded_up(100 * row['proved']):.2f} % {what} ({sure})"
    text = f"{'held' if row['supported'] else 'an aim, not proved'}. {bound}."
    if not row["estimate_supported"]:
        return text
    text += f" Their estimate is {100 * row['reached']:.2f} %"
    if row["reached"] <= row["upper"] <= row["proved"]:
        text += f", at most {rounded_up(100 * row['upper']):.2f} % if audited items are typical of the others"
    return text + "."
