"""One decision from one prediction and some votes, without a session: what a session would say of its first item.

Runs the session's own `decide` with the parameters at their start (theta = phi = tau = 1). Called by `quorate decide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.catalogue import knob_text
from quorate.errors import InvalidInput
from quorate.methods import Method
from quorate.reasons import CERTAIN, SENTENCES
from quorate.rng import stream
from quorate.session.decide import decide, draw_quota, prior_of
from quorate.session.inputs import parse_prediction
from quorate.session.items import ItemState, opened
from quorate.types import Decision, FloatArray, IntArray, Reason
from quorate.validate import class_names, counts, members, whole

DETAILS: dict[Reason, str] = {  # in brackets behind the reason's sentence
    "ask": "{who}; {left} of the pool have not voted",
    "quota": "{who}; drawn with seed {seed}, see --seed",
    "settled": "{left} of the pool have not voted",
}


def decide_once(
    method: Method,
    *,
    prediction: Any = None,  # noqa: ANN401
    votes: Sequence[float] | None = None,
    pool_size: int,
    classes: Sequence[str],
    seed: int = 0,
) -> Decision:
    """Ask one more expert, or stop? `votes` are counts in the order of `classes`; `prediction` as in `Session.open`.

    `seed`: of the quota, for methods that draw one (random, entropy, mp).

    >>> import quorate.methods
    >>> decide_once(quorate.methods.method("quorum"), votes=[3, 1], pool_size=6, classes=["cat", "dog"]).reason
    'rule'
    """
    names = class_names(classes)
    size = members(pool_size)
    rng = stream(whole(seed, where="seed", least=0), "quota", 0)
    cast = _counts(votes, names, size)
    start = method.initial_params(len(names))
    policy_state = method.policy.init(len(names))
    item = _item(parse_prediction(prediction, names, 1), size)
    item = replace(item, quota=draw_quota(method, policy_state, item, rng=rng), votes=cast)
    verdict = decide(method, prior_of(start, 0), policy_state, item)
    return Decision(
        verdict.ask, names[verdict.label], verdict.confidence, verdict.probs, int(cast.sum()), verdict.reason
    )


def _item(probs: FloatArray, pool_size: int) -> ItemState:
    event = {
        "prediction": probs,
        "pool_size": pool_size,
        "quota": None,
        "tie_draw": 0.0,
        "min_votes": 0,
        "max_votes": None,
    }
    return opened(event, 0)


def _counts(votes: Sequence[float] | None, classes: Sequence[str], pool_size: int) -> IntArray:
    if votes is None:
        return np.zeros(len(classes), dtype=np.int64)
    cast = counts(votes)
    if cast.shape != (len(classes),):
        raise InvalidInput(
            f"votes={list(votes)!r} counts {len(cast)} classes; expected {len(classes)} counts, one per class; "
            "write 0 for a class without votes."
        )
    if cast.sum() > pool_size:
        raise InvalidInput(
            f"votes={list(votes)!r} are {int(cast.sum())} votes, more than pool_size={pool_size}; raise --pool-size."
        )
    return cast


def explain(decision: Decision, method: Method, *, pool_size: int, seed: int = 0) -> str:
    """The decision as a sentence for people."""
    sure = f"{100 * decision.confidence:.1f} % sure"
    if method.predicting.posterior == "vote_share" and decision.reason not in CERTAIN:
        share = f"with {100 * decision.confidence:.0f} % of the votes"
        sure = f"{share} (this method has no probability)" if decision.num_votes else "the classifier's choice"
    knobs = knob_text(method.knobs)
    who = f"{method.name}: {knobs}" if knobs else method.name
    detail = DETAILS.get(decision.reason, "{who}").format(who=who, left=pool_size - decision.num_votes, seed=seed)
    because = f"{SENTENCES[decision.reason]} ({detail})"
    if decision.ask:
        return f"Ask one more. So far the answer would be '{decision.label}', {sure}, but {because}."
    return f"Stop: '{decision.label}', {sure}, because {because}."
