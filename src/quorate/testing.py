"""The checks every policy must pass, ours or a user's: `check_policy(MyPolicy())`.

Runs a small stream of items through the policy twice and compares. Raises `PolicyError` with the broken rule; returns
None if the policy passes.
"""

from __future__ import annotations

import json
from typing import Any, get_args

import numpy as np

from quorate.decision.policy import PolicyState, QueryPolicy, invalid_policy
from quorate.errors import PolicyError
from quorate.learning.learner import MapLearner
from quorate.methods import method
from quorate.posterior.finite import plurality_finite
from quorate.rng import stream
from quorate.session import Session
from quorate.types import FloatArray, IntArray, Item, Reason, frozen_array
from quorate.validate import invalid

REASONS = get_args(Reason)

_JSON_STATE = "keep it in numbers, strings, lists and dicts."


def check_policy(policy: QueryPolicy, *, num_classes: int = 4, pool_size: int = 7, num_items: int = 60) -> None:
    """Raise `PolicyError` if the policy breaks a rule of the protocol.

    The same seed gives the same answers; quotas are None or whole numbers >= 0; `asks` returns True or False; array
    arguments stay unchanged; the state survives JSON; a session never asks beyond quota or pool.

    >>> class AskTwice:
    ...     name = "ask-twice"
    ...     def init(self, num_classes): return None
    ...     def quota(self, state, item, *, rng): return 2
    ...     def asks(self, state, item, probs): return item.num_votes < 2
    ...     def update(self, state, closed): return state
    >>> check_policy(AskTwice())
    """
    if isinstance(policy, type):
        fix = f"pass an instance of it: check_policy({policy.__name__}(...))."
        raise invalid("policy", policy, "an instance, not a class", fix, error=PolicyError)
    if not isinstance(policy, QueryPolicy):
        missing = [part for part in ("name", "init", "quota", "asks", "update") if not hasattr(policy, part)]
        rule = f"an object that also has {', '.join(missing)}"
        raise invalid("policy", policy, rule, "add what is missing.", error=PolicyError)
    if not isinstance(policy.name, str) or not policy.name:
        raise invalid("name", policy.name, "a non-empty string", "give the policy one.", error=PolicyError)
    if getattr(policy, "stop_reason", "rule") not in REASONS:
        reason = policy.stop_reason  # type: ignore[attr-defined]
        raise invalid_policy(policy, "stop_reason", reason, f"one of: {', '.join(REASONS)}", "set it to one of these.")
    first = _direct_answers(policy, num_classes, pool_size, num_items)
    if first != _direct_answers(policy, num_classes, pool_size, num_items):
        rule = "the same answers from the same seed"
        raise invalid_policy(policy, "policy", policy, rule, "draw only from the `rng` argument.")
    _check_session(policy, num_classes, pool_size, num_items)


def _direct_answers(policy: QueryPolicy, num_classes: int, pool_size: int, num_items: int) -> list[Any]:
    """Every answer of the policy on a small stream, from direct calls."""
    draws = stream(11, "check-policy")
    state = _through_json(policy, policy.init(num_classes))
    answers: list[Any] = []
    for number in range(num_items):
        prediction = draws.dirichlet(np.full(num_classes, 0.7)) * 0.99 + 0.01 / num_classes
        cast = draws.integers(num_classes, size=pool_size)
        item = _item(prediction, np.zeros(num_classes, dtype=np.int64), pool_size, None)
        quota = policy.quota(state, item, rng=stream(11, "check-quota", number))
        if quota is not None and (isinstance(quota, bool) or not isinstance(quota, (int, np.integer)) or quota < 0):
            raise invalid_policy(policy, "quota()", quota, "None or a whole number >= 0", "return one of these.")
        answers.append(quota)
        for num_votes in range(pool_size):
            votes = np.bincount(cast[:num_votes], minlength=num_classes)
            item = _item(prediction, votes, pool_size, None if quota is None else int(quota))
            answers.append(_asks(policy, state, item))
            if not answers[-1]:
                break
        before = json.dumps(state)
        after = policy.update(state, item)
        if json.dumps(state) != before:
            raise invalid_policy(policy, "update()", state, "an unchanged state", "return a new one.")
        state = _through_json(policy, after)
        answers.append(json.dumps(state))
    return answers


def _asks(policy: QueryPolicy, state: PolicyState, item: Item) -> bool:
    probs = plurality_finite(0.5 + 3 * item.prediction, item.votes, pool_size=item.pool_size)
    given = [item.prediction, item.predictions, item.votes, probs]
    before = [array.copy() for array in given]
    try:
        answer = policy.asks(state, item, probs)
    except ValueError as cause:
        if "read-only" in str(cause):
            raise invalid_policy(policy, "asks()", policy, "unchanged arrays", "copy what you write to.") from cause
        raise
    if not isinstance(answer, (bool, np.bool_)):
        raise invalid_policy(policy, "asks()", answer, "True or False", "return one of these.")
    if any(not np.array_equal(old, new) for old, new in zip(before, given, strict=True)):
        raise invalid_policy(policy, "asks()", policy, "unchanged arrays", "copy what you write to.")
    return bool(answer)


def _item(prediction: FloatArray, votes: IntArray, pool_size: int, quota: int | None) -> Item:
    alone = frozen_array(prediction)
    return Item(alone, frozen_array(alone[None]), frozen_array(votes, np.int64), pool_size, quota)


def _through_json(policy: QueryPolicy, state: PolicyState) -> PolicyState:
    try:
        copy = json.loads(json.dumps(state, allow_nan=False))
    except (TypeError, ValueError) as cause:
        raise invalid_policy(policy, "state", state, f"a value that JSON can store ({cause})", _JSON_STATE) from cause
    if copy != state:
        rule = f"a value that is unchanged by JSON; it becomes {copy!r}"
        raise invalid_policy(policy, "state", state, rule, _JSON_STATE)
    return copy


def _check_session(policy: QueryPolicy, num_classes: int, pool_size: int, num_items: int) -> None:
    """In a session: never beyond the quota or the pool, and the same decisions from the same seed."""
    runs = [_session_outcomes(policy, num_classes, pool_size, num_items) for _ in range(2)]
    if runs[0] != runs[1]:
        rule = "the same decisions in two sessions with the same seed"
        raise invalid_policy(policy, "policy", policy, rule, "keep no state outside `state`.")


def _session_outcomes(
    policy: QueryPolicy, num_classes: int, pool_size: int, num_items: int
) -> list[tuple[str, int, Reason]]:
    names = [f"class-{k}" for k in range(num_classes)]
    chosen = method(policy, learner=MapLearner(window=20, refit_every=10))
    session = Session(chosen, classes=names, pool_size=pool_size, seed=5)
    draws = stream(12, "check-session")
    outcomes = []
    for number in range(num_items):
        decision = session.open(str(number), draws.dirichlet(np.ones(num_classes)))
        cast = draws.integers(num_classes, size=pool_size)
        while decision.ask:
            if decision.num_votes >= pool_size:
                rule = f"at most {pool_size} votes, the size of the pool"
                raise invalid_policy(policy, "asks()", True, rule, "stop when item.num_remaining is 0.")
            decision = session.vote(str(number), names[cast[decision.num_votes]])
        outcomes.append((decision.label, decision.num_votes, decision.reason))
    return outcomes
