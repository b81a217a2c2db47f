"""One decision from one prediction and some votes, without a session: as a session decides on its first item.

Uses the parameters before any learning. Called by `quorate decide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from quorate.methods import Method, parameter_text
from quorate.reasons import CERTAIN, SENTENCES
from quorate.rng import stream
from quorate.session import decide_items, draw_quota, first_state, lone_item, parse_prediction
from quorate.types import Decision, IntArray, PredictionValue, Reason
from quorate.validate import class_names, counts, invalid, members

DETAILS: dict[Reason, str] = {  # in brackets after the reason's sentence
    "ask": "{who}; {left} of the pool have not voted",
    "quota": "{who}; drawn at random",
    "settled": "{left} of the pool have not voted",
}


def decide_once(
    method: Method,
    *,
    prediction: PredictionValue = None,
    votes: Sequence[float] | None = None,
    pool_size: int,
    classes: Sequence[str],
) -> Decision:
    """Ask one more expert, or stop? `votes` are counts in the order of `classes`; `prediction` as in `Session.open`.

    >>> import quorate.methods
    >>> decide_once(quorate.methods.method("quorum"), votes=[3, 1], pool_size=6, classes=["cat", "dog"]).reason
    'rule'
    """
    names = class_names(classes)
    size = members(pool_size)
    tally = _counts(votes, names, size)
    probs = parse_prediction(prediction, names, 1)
    quota = draw_quota(method, first_state(method, len(names)), lone_item(probs, size), rng=stream(0, "quota", 0))
    start = method.initial_params(len(names))
    found, reasons = decide_items(method, start, probs[None], tally[None], pool_size=size, quota=quota)
    (label,), (belief,), reason = found.labels, found.probs, cast("Reason", str(reasons[0]))
    return Decision(reason == "ask", names[label], float(belief[label]), belief, int(tally.sum()), reason)


def _counts(votes: Sequence[float] | None, classes: Sequence[str], pool_size: int) -> IntArray:
    if votes is None:
        return np.zeros(len(classes), dtype=np.int64)
    tally = counts(votes)
    if tally.shape != (len(classes),):
        rule = f"{len(classes)} counts, one per class of `classes`"
        raise invalid("votes", list(votes), rule, "write 0 for a class without votes.")
    if tally.sum() > pool_size:
        raise invalid("votes", list(votes), f"at most {pool_size} votes, the pool", "raise `pool_size`.")
    return tally


def explain(decision: Decision, method: Method, *, pool_size: int) -> str:
    """The decision as a sentence for people."""
    sure = f"{100 * decision.confidence:.1f} % sure"
    if method.predicting.posterior == "vote_share" and decision.reason not in CERTAIN:
        share = f"with {100 * decision.confidence:.0f} % of the votes"
        sure = f"{share} (this method has no probability)" if decision.num_votes else "as the classifier predicts"
    parameters = parameter_text(method.parameters)
    who = f"{method.name}: {parameters}" if parameters else method.name
    detail = DETAILS.get(decision.reason, "{who}").format(who=who, left=pool_size - decision.num_votes)
    because = f"{SENTENCES[decision.reason]} ({detail})"
    if decision.ask:
        return f"Ask one more. So far the answer would be '{decision.label}', {sure}, but {because}."
    return f"Stop: '{decision.label}', {sure}, because {because}."
