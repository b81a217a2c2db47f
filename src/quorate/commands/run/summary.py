"""A `RunResult` -> its figures as plain values: votes, savings, errors overall and by class.

Called by `RunResult.summary`; written to summary.json and shown by the report and the command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.commands.run.notes import notes, unreachable, warnings
from quorate.methods import parameter_text
from quorate.session import FEWEST_GOLD
from quorate.types import ConfidenceKind, FloatArray
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.commands.run.result import RunResult

MOST_CONFUSED = 60  # with more classes the confusion matrix is left out: it has K * K cells

MOST_STORED = 100  # in summary.json, those asked most; decisions.csv names everybody
MOST_NOTES = 6


def summarise(result: RunResult) -> dict[str, Any]:
    """Everything in one dictionary, without times or paths, so that equal runs give equal files."""
    found: dict[str, Any] = {
        "quorate": __version__,
        "method": method_summary(result),
        "settings": dict(result.settings),
        "num_items": len(result.items),
        "votes": votes_summary(result),
        "without_votes": without_votes(result),
        "error": error_summary(result),
        "pool_agreement": None if result.pool_agreement is None else asdict(result.pool_agreement),
        "confidence_is": _confidence_is(result),
        "calibration": calibration_summary(result),
        "error_cost": error_cost_summary(result),
        "pools": pools_summary(result),
        "stop_reasons": dict(sorted(Counter(result.outcome.reasons).items())),
        "per_class": per_class(result),
        "lost_class": _lost(result),
        "confusion": confusion_summary(result),
        "control": None if result.control is None else dict(result.control),
        "people": people_summary(result),
        "learned": learned_summary(result),
        "tradeoff": tradeoff_summary(result),
        "classifier": classifier_summary(result),
        "vote_order": None if result.vote_order is None else result.vote_order.describe(),
        "data": result.report.as_dict(),
    }
    if found["control"] is not None:
        found["control"]["unreachable"] = unreachable(found)
    return found | {"warnings": warnings(found), "notes": notes(found)[:MOST_NOTES]}


def tradeoff_summary(result: RunResult) -> dict[str, Any]:
    """Votes per item and the share wrong around the setting of the run, and at the ends."""
    found = asdict(result.tradeoff)
    return {key: value for key, value in found.items() if not key.endswith(("_classifier", "lost"))}


def classifier_summary(result: RunResult) -> dict[str, Any]:
    """What the classifier is worth, and columns that look swapped."""
    found = result.tradeoff
    own, alone = found.with_classifier, found.without_classifier
    return {
        "with": None if own is None else {"votes": own.votes, "error": own.error},
        "without": None if alone is None else {"votes": alone.votes, "error": alone.error},
        "saves_nothing": found.saves_nothing,
        "swapped_columns": [asdict(each) for each in result.swaps],
    }


def _lost(result: RunResult) -> dict[str, Any] | None:
    lost = result.tradeoff.lost
    return None if lost is None else asdict(lost) | {"sentence": str(lost)}


def _confidence_is(result: RunResult) -> ConfidenceKind:
    """Whether the confidence is a probability at the end: under target "truth" only with enough known classes."""
    is_known = result.method.target == "plurality" or result.pools.is_scored.sum() >= FEWEST_GOLD
    return "probability" if is_known else "score"


def method_summary(result: RunResult) -> dict[str, Any]:
    """The method and its parameters; one that a control changed is only in `turned`, with the kind of control."""
    described, control = result.method.describe(), result.control
    turned = {} if control is None else {control["parameter"]: control["kind"]}
    parameters = {name: value for name, value in described["parameters"].items() if name not in turned}
    text, knows = parameter_text(parameters), result.method.needs_people
    return {**described, "parameters": parameters, "turned": turned, "text": text, "knows_people": knows}


def votes_summary(result: RunResult) -> dict[str, Any]:
    """Votes asked, compared with asking everybody recorded and asking until settled; also in money."""
    outcome, num_items = result.outcome, len(result.items)
    asked, audits = int(outcome.num_votes.sum()), int(outcome.audit_votes.sum())
    everyone, settled = int(result.pools.stream.recorded.sum()), int(result.until_settled.sum())
    counts = {
        "asked": asked,
        "audit_votes": audits,
        "total": asked + audits,
        "per_item": (asked + audits) / num_items,
        "ask_all": everyone,
        "ask_all_per_item": everyone / num_items,
        "until_settled": settled,
        "until_settled_per_item": settled / num_items,
        "saved_against_ask_all": 1 - (asked + audits) / everyone,
        "saved_against_until_settled": 1 - (asked + audits) / settled if settled else 0.0,
    }
    return counts | {"price": result.price, "money": _money(counts, result)}


def without_votes(result: RunResult) -> dict[str, Any]:
    """How many items were answered without any vote, and the share of them that is wrong, where that is known."""
    none = result.outcome.num_votes == 0
    errors = item_errors(result)[none]
    known = np.isfinite(errors)
    rate = float(errors[known].mean()) if known.any() else None
    return {"items": int(none.sum()), "scored_items": int(known.sum()), "rate": rate}


def people_summary(result: RunResult) -> dict[str, Any] | None:
    """Who was asked: votes of each person, audits included, how many are for the answer, and their cost; most asked
    first, at most `MOST_STORED`. None where votes do not name their voters."""
    stream, outcome = result.pools.stream, result.outcome
    if stream.voters is None:
        return None
    taken = np.arange(stream.voters.shape[1]) < (outcome.num_votes + outcome.audit_votes)[:, None]
    taken &= stream.voters >= 0
    agrees = (stream.votes == outcome.labels[:, None])[taken]
    number = len(result.people)
    asked = np.bincount(stream.voters[taken], minlength=number)
    agreed = np.bincount(stream.voters[taken], weights=agrees, minlength=number)
    unit = 1.0 if result.price is None else result.price
    costs = np.ones(number) if result.voter_costs is None else np.array(result.voter_costs)
    order = np.argsort(-asked, kind="stable")
    shown = [int(e) for e in order[:MOST_STORED] if asked[e]]
    rows = [
        {
            "person": result.people[e],
            "asked": int(asked[e]),
            "agreed": int(agreed[e]),
            "agreement": float(agreed[e] / asked[e]),
            "cost": float(unit * costs[e] * asked[e]),
        }
        for e in shown
    ]
    return {"num_people": number, "num_asked": int((asked > 0).sum()), "rows": rows}


def _money(counts: Mapping[str, Any], result: RunResult) -> dict[str, float] | None:
    paid = result.spending
    if result.price is None and paid is None:
        return None
    price = 1.0 if result.price is None else result.price
    names = ("total", "ask_all", "until_settled")
    spent, everyone, settled = (price * (counts[name] if paid is None else getattr(paid, name)) for name in names)
    return {
        "spent": spent,
        "ask_all": everyone,
        "until_settled": settled,
        "saved_against_ask_all": everyone - spent,
        "saved_against_until_settled": settled - spent,
    }


def item_errors(result: RunResult) -> FloatArray:
    """(T,) probability that the answer is not the verdict, if ties fall at random; NaN where it is not scored."""
    rows = np.arange(len(result.items))
    wrong = 1.0 - result.pools.truth[rows, result.outcome.labels]
    return np.where(result.pools.is_scored, wrong, np.nan)


def error_summary(result: RunResult) -> dict[str, Any]:
    """The error over the scored items, in expectation over ties, and the error that the method expected."""
    errors, scored, refuted = item_errors(result), result.pools.is_scored, int(result.outcome.is_refuted.sum())
    if not scored.any():
        none = dict.fromkeys(("rate", "standard_error", "expected_rate", "tie_rate"))
        return {"scored_items": 0, "wrong": 0.0, **none, "tied_items": 0, "from_ties": 0.0, "refuted": refuted}
    best = result.pools.truth.max(axis=1)  # 1/t in a tie of t classes; 0 if the item counts as wrong anyway
    tied = (best < 1) & (best > 0) & scored
    return {
        "scored_items": int(scored.sum()),
        "rate": float(errors[scored].mean()),
        "wrong": float(errors[scored].sum()),
        "standard_error": float(errors[scored].std() / np.sqrt(scored.sum())),
        "expected_rate": float(1.0 - result.outcome.confidence[scored].mean()),
        "tied_items": int(tied.sum()),
        "from_ties": float(np.where(tied, errors, 0.0)[scored].sum()),
        "tie_rate": float(np.where(tied, 1.0 - best, 0.0)[scored].mean()),  # the error of asking everyone
        "refuted": refuted,
    }


def calibration_summary(result: RunResult) -> dict[str, Any] | None:
    """Whether the confidence is honest; None where that cannot be said."""
    found = result.calibration
    if found is None:
        return None
    bins = [asdict(one) | dict(zip(("right_low", "right_high"), one.interval, strict=True)) for one in found.bins]
    return asdict(found) | {"bins": bins, "is_honest": found.is_honest, "sentence": str(found)}


def error_cost_summary(result: RunResult) -> dict[str, Any] | None:
    """The cost of errors per item, in votes: expected under the posterior, and realised on the scored items."""
    if result.method.costs is None:
        return None
    costs = result.method.costs.votes
    labels, scored, truth = result.outcome.labels, result.pools.is_scored, result.pools.truth
    expected = np.einsum("tk,tk->t", result.outcome.probs, costs.T[labels])
    realised = np.einsum("tk,tk->t", truth, costs.T[labels])
    realised = np.where(truth.sum(axis=1) > 0, realised, costs.max(axis=0)[labels])  # unknown: the worst
    return {
        "classes": list(result.classes),
        "named": list(result.method.costs.by_name(result.classes)),
        "table": costs.tolist(),
        "expected_per_item": float(expected.mean()),
        "realised_per_item": float(realised[scored].mean()) if scored.any() else None,
    }


def pools_summary(result: RunResult) -> dict[str, Any]:
    """What N is, and how many pools are incomplete, not scored, or were short of votes."""
    pools = result.pools
    sizes = pools.stream.pool_sizes
    return {
        "pool_size": "recorded" if pools.pool_size is None else pools.pool_size,
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "incomplete": int(pools.is_incomplete.sum()),
        "not_scored": int((~pools.is_scored).sum()),
        "short_of_votes": result.outcome.reasons.count("closed"),
        "votes_beyond_the_pool": int(pools.surplus.sum()),
    }


def confusion(result: RunResult) -> FloatArray:
    """(K, K) scored items by verdict and answer; a tie is shared."""
    table = np.zeros((len(result.classes), len(result.classes)))
    np.add.at(table.T, result.outcome.labels, np.where(result.pools.is_scored[:, None], result.pools.truth, 0.0))
    return table


def confusion_summary(result: RunResult) -> dict[str, Any] | None:
    """The confusion matrix, rows the verdict, columns the answer; None if there are too many classes."""
    if len(result.classes) > MOST_CONFUSED:
        return None
    return {"classes": list(result.classes), "table": confusion(result).tolist()}


def per_class(result: RunResult) -> list[dict[str, Any]]:
    """For each class: how often it is the verdict, how often the answer, and how often both."""
    table = confusion(result)
    rows = []
    for k, name in enumerate(result.classes):
        verdict, answered, right = float(table[k].sum()), float(table[:, k].sum()), float(table[k, k])
        rows.append(
            {
                "class": name,
                "verdict": verdict,
                "answered": answered,
                "right": right,
                "missed": verdict - right,
                "found": right / verdict if verdict else None,  # of the items of this class: recall
                "right_when_answered": right / answered if answered else None,  # precision
            }
        )
    return rows


def learned_summary(result: RunResult) -> dict[str, Any] | None:
    """The learned parameters; None for a method that does not learn."""
    if result.method.learner is None:
        return None
    params = result.params
    bias = None if params.bias is None else dict(zip(result.classes, params.bias.tolist(), strict=True))
    tau = {
        model: dict(zip(result.classes, row.tolist(), strict=True))
        for model, row in zip(result.models, np.atleast_2d(params.tau), strict=True)
    }
    return {"fits": result.outcome.num_fits, "theta": params.theta, "phi": params.phi, "tau": tau, "bias": bias}
