"""Changes parameters of a method's policy: a method and new values -> a new method. Pure.

Called by `Session.tune` before the event is written, and by `state.apply` when it takes effect or is replayed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.errors import UnknownMethod
from quorate.methods import Method, policy_parameters
from quorate.validate import invalid


def checked_parameters(method: Method, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The new values for an event, checked by the policy; an error if there are none."""
    if not parameters:
        has = ", ".join(policy_parameters(method)) or "none"
        rule = f"at least one parameter of the policy, which has: {has}"
        raise invalid("parameters", dict(parameters), rule, "pass one, e.g. tune(error_cost=100).")
    taken = policy_parameters(tuned(method, parameters))
    return {name: taken[name] for name in parameters}


def in_force(method: Method, parameters: Mapping[str, Any]) -> bool:
    """True if the method's policy already has these values."""
    now = policy_parameters(method)
    return all(now[name] == value for name, value in parameters.items())


def tuned(method: Method, parameters: Mapping[str, Any]) -> Method:
    """The method with other values for parameters of its policy; its name, beliefs and learner stay.

    >>> from quorate.methods import method
    >>> tuned(method("finexp", threshold=0.9), {"threshold": 0.95}).policy
    Threshold(threshold=0.95)
    """
    known = policy_parameters(method)
    for name, value in parameters.items():
        if name not in known:
            raise _untunable(method, name, value, known)
    values = {name: _plain(name, value) for name, value in parameters.items()}
    policy: Any = method.policy
    return replace(method, policy=replace(policy, **values))


def _untunable(method: Method, name: str, value: object, known: Mapping[str, object]) -> UnknownMethod:
    """The error for a parameter that cannot be tuned."""
    is_part = name in ("choose", "posterior") or hasattr(method.learner, name)
    why_not = "belongs to the learner or the belief" if is_part else f"is not one of {method.name!r}"
    has = ", ".join(known) or "none"
    rule = f"a parameter of the policy ({has}), because only these can be tuned during a session; {name} {why_not}"
    return invalid(name, value, rule, "start a new session to change others.", error=UnknownMethod)


def _plain(name: str, value: object) -> object:
    """The value after a round trip through JSON."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        same = json.loads(json.dumps(plain, allow_nan=False)) == plain
    except (TypeError, ValueError):
        same = False
    if not same:
        raise invalid(name, value, "a finite number or text that JSON can store", "pass a number.")
    return plain
