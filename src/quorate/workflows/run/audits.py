"""The audits of a run that held a target error -> what they show and what they prove, overall and by class, in words.

Takes a `ReplayResult` and its control as they ended; called by `run.replay` for the control's summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.audit import audit_of
from quorate.audit.statement import rounded_up, standing
from quorate.reasons import CERTAIN
from quorate.streams.class_targets import ClassTarget
from quorate.streams.replay import ReplayResult
from quorate.streams.target_error import AUDIT_RATE, TargetErrorControl
from quorate.types import FloatArray


def proved_error(run: ReplayResult, final: TargetErrorControl) -> float | None:
    """With probability `sureness` no larger share of the answers is wrong, ties included; None if nothing is proved.

    The bound of `quorate.audit` on the items closed unsettled, by the audit sample the run drew, plus the errors of the
    settled ones, which are known. It holds whatever the confidence is worth; the control's own figures do not.
    """
    every = np.ones(len(run.labels), dtype=bool)
    total = _at_most(run, every, 1.0 - run.confidence, 1.0 - final.sureness, final.audit_rate, run.labels, wrong=True)
    return None if total is None else _telling(total / final.num_items)


def proved_missed(run: ReplayResult, target: ClassTarget, min_rate: float) -> float | None:
    """With probability `sureness` no larger share of the items whose pool says the class has another answer.

    Misses are bounded from above on the items answered otherwise, false alarms on those answered so, each with half of
    the chance of being wrong: what is left of the latter was found. None if nothing is proved, or no more than that all
    may be missed.
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
    """A bound on a share; None if it is printed as 100 %, which says nothing."""
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
    """The most that the losses of these items sum to: the pool's share of `classes`, or 1 less it; None: not proved."""
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
    """For each class with a target: asked for, what the audits show and prove, the last weight of its errors."""
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
    """What a run with a target error may say of itself: held, or an aim, and what the audits prove and suggest."""
    head = f"Target error {100 * control['asked_for']:.2f} %: "
    return head + _words(control, f"The audits ({control['audited']})", "of the answers are wrong")


def class_sentence(row: Mapping[str, Any], sureness: float) -> str:
    """The same for a class with a target."""
    head = f"Class {row['class']!r}, at most {100 * row['asked_for']:.2f} % of its items missed: "
    return head + _words({**row, "sureness": sureness}, "The audits", "of its items are missed")


def _words(row: Mapping[str, Any], who: str, what: str) -> str:
    """The bound first, which assumes nothing; the estimate only where the audits support it."""
    sure = f"{100 * row['sureness']:g} % confidence"
    if row["upper"] is None:
        return "an aim; no such item was seen."
    if row["proved"] is None:
        return f"an aim, not proved. {who} are too few to prove a bound or to support an estimate."
    bound = f"{who} prove that at most {rounded_up(100 * row['proved']):.2f} % {what} ({sure})"
    said = f"{'held' if row['supported'] else 'an aim, not proved'}. {bound}."
    if not row["estimate_supported"]:
        return said
    said += f" Their estimate is {100 * row['reached']:.2f} %"
    if row["reached"] <= row["upper"] <= row["proved"]:
        said += f", at most {rounded_up(100 * row['upper']):.2f} % if audited items are typical of the others"
    return said + "."
