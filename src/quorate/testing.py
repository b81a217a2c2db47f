"""The checks that every policy and every method must pass, ours or a user's: `check_policy`, `check_method`.

A small stream of items goes through the parts, then twice through a session. Raises `PolicyError` with the broken rule;
returns None if all is well.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from quorate.errors import PolicyError
from quorate.methods import Method, as_method, method
from quorate.model import (
    Learner,
    MapLearner,
    PolicyState,
    QueryPolicy,
    Window,
    invalid_policy,
    next_params,
    plurality_finite,
    policy_name,
)
from quorate.rng import stream
from quorate.session import MemoryJournal, Session, own_alpha
from quorate.types import FloatArray, IntArray, Item, Params, Reason, frozen_array
from quorate.validate import invalid

REASONS = get_args(Reason)

_JSON_STATE = "keep it in numbers, strings, lists and dicts."


def check_policy(policy: QueryPolicy, *, num_classes: int = 4, pool_size: int = 7, num_items: int = 60) -> None:
    """Raise `PolicyError` if the policy breaks a rule of the protocol.

    The same seed gives the same answers; `ask` returns True or False; quotas are None or whole numbers >= 0; arrays
    stay unchanged; the state survives JSON; a session never asks beyond quota or pool.

    >>> class AskTwice:
    ...     def ask(self, item): return item.num_votes < 2
    >>> check_policy(AskTwice())
    """
    if isinstance(policy, type):
        fix = f"pass an instance of it: check_policy({policy.__name__}(...))."
        raise invalid("policy", policy, "an instance, not a class", fix, error=PolicyError)
    if not isinstance(policy, QueryPolicy):
        raise invalid("policy", policy, "an object with ask(item)", "add it.", error=PolicyError)
    if not isinstance(getattr(policy, "name", "its class"), str) or not policy_name(policy):
        raise invalid("name", policy.name, "a non-empty string", "give the policy one.", error=PolicyError)  # type: ignore[attr-defined]
    reason = getattr(policy, "stop_reason", "rule")
    if reason not in REASONS:
        raise invalid_policy(policy, "stop_reason", reason, f"one of: {', '.join(REASONS)}", "set it to one of these.")
    first = _direct_answers(policy, num_classes, pool_size, num_items)
    if first != _direct_answers(policy, num_classes, pool_size, num_items):
        rule = "the same answers from the same seed"
        raise invalid_policy(policy, "policy", policy, rule, "draw only from the `rng` argument.")
    chosen = method(policy, learner=MapLearner(window=20, refit_every=10))
    _check_session(chosen, num_classes, pool_size, num_items)


def check_method(
    chosen: Method | str, *, num_classes: int = 4, num_classifiers: int = 1, pool_size: int = 7, num_items: int = 60
) -> None:
    """Raise `PolicyError` if a part of the method breaks a rule: its policy (`check_policy`), its prior or its learner.

    `alpha` gives a number above 0 for each class, `learn` a `PriorParams` or what JSON can store; both give the same
    for the same arguments and leave these unchanged; a session resumed from its journal continues as if never stopped.

    >>> check_method("finexp")
    """
    whole = as_method(chosen)
    check_policy(whole.policy, num_classes=num_classes, pool_size=pool_size, num_items=num_items)
    draws = stream(13, "check-method")
    shape = (num_classes,) if num_classifiers == 1 else (num_classifiers, num_classes)
    predictions = draws.dirichlet(np.ones(num_classes), size=(40, *shape[:-1])) * 0.99 + 0.01 / num_classes
    votes = draws.multinomial(5, draws.dirichlet(np.ones(num_classes), size=40))
    params = whole.initial_params(num_classes, num_classifiers)
    if whole.learner is not None:
        params = _learned(whole.learner, predictions, votes, params)
    shaped = predictions.reshape(40, num_classifiers, num_classes)
    _same_twice("alpha()", whole.prior, lambda t: own_alpha(whole.prior, shaped[t], params).tolist())
    if num_classifiers == 1 and not whole.answers_by_people:
        _check_session(whole, num_classes, pool_size, num_items)


def _learned(learner: Learner, predictions: FloatArray, votes: IntArray, params: Params) -> Params:
    """What it learns from a window, twice the same."""
    window = Window(None, *predictions.reshape(len(votes), -1, votes.shape[1]).shape[1:])
    for t, row in enumerate(votes):
        window.enter(str(t), np.log(predictions[t]))
        for k, count in enumerate(row):
            window.add(str(t), k, int(count))
    learned = [next_params(learner, params, window)[0] for _ in range(2)]
    if repr(learned[0]) != repr(learned[1]):
        raise _broken("learn()", learner, "the same parameters from the same votes")
    given = predictions.copy(), votes.copy()
    learner.learn(*given, params)
    if not (np.array_equal(given[0], predictions) and np.array_equal(given[1], votes)):
        raise _broken("learn()", learner, "unchanged arguments")
    return learned[0]


def _same_twice(field: str, part: object, call: Callable[[int], Any]) -> None:
    if [call(t) for t in range(40)] != [call(t) for t in range(40)]:
        raise _broken(field, part, "the same result for the same arguments")


def _broken(field: str, part: object, rule: str) -> PolicyError:
    return invalid(field, part, rule, "keep no state, and copy what you write to.", error=PolicyError)


def _direct_answers(policy: QueryPolicy, num_classes: int, pool_size: int, num_items: int) -> list[Any]:
    """Every answer of the policy on a small stream, from direct calls."""
    draws = stream(11, "check-policy")
    init, draw_quota, update = (getattr(policy, name, None) for name in ("init", "quota", "update"))
    state = None if init is None else _through_json(policy, init(num_classes))
    answers: list[Any] = []
    for number in range(num_items):
        prediction = draws.dirichlet(np.full(num_classes, 0.7)) * 0.99 + 0.01 / num_classes
        cast = draws.integers(num_classes, size=pool_size)
        item = _item(prediction, np.zeros(num_classes, dtype=np.int64), pool_size, None, state)
        quota = None if draw_quota is None else draw_quota(item, stream(11, "check-quota", number))
        if quota is not None and (isinstance(quota, bool) or not isinstance(quota, (int, np.integer)) or quota < 0):
            raise invalid_policy(policy, "quota()", quota, "None or a whole number >= 0", "return one of these.")
        answers.append(quota)
        for num_votes in range(pool_size):
            votes = np.bincount(cast[:num_votes], minlength=num_classes)
            item = _item(prediction, votes, pool_size, None if quota is None else int(quota), state)
            answers.append(_asks(policy, item))
            if not answers[-1]:
                break
        if update is None:
            continue
        before = json.dumps(state)
        after = update(item)
        if json.dumps(state) != before:
            raise invalid_policy(policy, "update()", state, "an unchanged state", "return a new one.")
        state = _through_json(policy, after)
        answers.append(json.dumps(state))
    return answers


def _asks(policy: QueryPolicy, item: Item) -> bool:
    probs = plurality_finite(0.5 + 3 * item.prediction, item.votes, pool_size=item.pool_size)
    alpha = 0.5 + 3 * item.prediction
    seen = replace(item, probs=probs, alpha=alpha)
    given = [item.prediction, item.predictions, item.votes, probs, alpha]
    before = [array.copy() for array in given]
    try:
        answer = policy.ask(seen)
    except ValueError as cause:
        if "read-only" in str(cause):
            raise invalid_policy(policy, "ask()", policy, "unchanged arrays", "copy what you write to.") from cause
        raise
    if not isinstance(answer, (bool, np.bool_)):
        raise invalid_policy(policy, "ask()", answer, "True or False", "return one of these.")
    if any(not np.array_equal(old, new) for old, new in zip(before, given, strict=True)):
        raise invalid_policy(policy, "ask()", policy, "unchanged arrays", "copy what you write to.")
    return bool(answer)


def _item(prediction: FloatArray, votes: IntArray, pool_size: int, quota: int | None, state: PolicyState) -> Item:
    alone = frozen_array(prediction)
    return Item(alone, frozen_array(alone[None]), frozen_array(votes, np.int64), pool_size, quota, state=state)


def _through_json(policy: QueryPolicy, state: PolicyState) -> PolicyState:
    try:
        copy = json.loads(json.dumps(state, allow_nan=False))
    except (TypeError, ValueError) as cause:
        raise invalid_policy(policy, "state", state, f"a value that JSON can store ({cause})", _JSON_STATE) from cause
    if copy != state:
        rule = f"a value that is unchanged by JSON; it becomes {copy!r}"
        raise invalid_policy(policy, "state", state, rule, _JSON_STATE)
    return copy


def _check_session(chosen: Method, num_classes: int, pool_size: int, num_items: int) -> None:
    """In a session: never beyond the quota or the pool, the same decisions from the same seed, and after a resume."""
    runs = [_session_outcomes(chosen, num_classes, pool_size, num_items, resumed) for resumed in (False, False, True)]
    for run, where in ((runs[1], "two sessions with the same seed"), (runs[2], "a session that was resumed")):
        if run != runs[0]:
            rule = f"the same decisions in {where}"
            raise invalid_policy(chosen.policy, "policy", chosen.policy, rule, "keep no state outside `state`.")


def _session_outcomes(
    chosen: Method, num_classes: int, pool_size: int, num_items: int, resumed: bool
) -> list[tuple[str, int, Reason]]:
    names = [f"class-{k}" for k in range(num_classes)]
    journal = MemoryJournal() if resumed else None
    session = Session(chosen, classes=names, pool_size=pool_size, seed=5, journal=journal)
    draws = stream(12, "check-session")
    outcomes = []
    for number in range(num_items):
        if journal is not None and number == num_items // 2:
            session = Session.resume(journal, method=chosen)
        decision = session.open(str(number), draws.dirichlet(np.ones(num_classes)))
        cast = draws.integers(num_classes, size=pool_size)
        while decision.ask:
            if decision.num_votes >= pool_size:
                rule = f"at most {pool_size} votes, the size of the pool"
                raise invalid_policy(chosen.policy, "ask()", True, rule, "stop when item.num_remaining is 0.")
            decision = session.vote(str(number), names[cast[decision.num_votes]])
        outcomes.append((decision.label, decision.num_votes, decision.reason))
    return outcomes
