"""The settings of a method that cover its whole range of cost, and its name in tables.

A sweep changes the parameter that says how far to ask, and nothing else of the method. Called by `curves` and `plan`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.methods import METHODS, Method, as_method, method, policy_parameters
from quorate.model import DEFAULT_ERROR_COST, policy_name
from quorate.session import tuned

THRESHOLDS = (0.0, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)
ERROR_COSTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, DEFAULT_ERROR_COST, 1000.0, 1e9)  # the last: until settled
BETA_THRESHOLDS = (0.0, 0.6, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.996, 0.999, 1.0)
RATES = tuple(float(rate) for rate in np.linspace(0.0, 1.0, 13))
SCALES = (0.0, 0.1, 0.25, 0.5, 0.8, 1.2, 1.8, 2.5, 4.0, 7.0, 15.0, 50.0, 300.0, 1e4, 1e6)


def parameter_grid(name: str, *, pool_size: int, num_classes: int) -> tuple[dict[str, Any], ...]:
    """Values of the parameter of a method that say how far to ask, from no vote to the whole pool; none: ({},).

    >>> parameter_grid("quorum", pool_size=2, num_classes=2), parameter_grid("ask-all", pool_size=2, num_classes=2)
    (({'votes': 0}, {'votes': 1}, {'votes': 2}), ({},))
    """
    if name == "unanimous-then-cap":
        return tuple({"first": first, "cap": cap} for cap in range(pool_size + 1) for first in range(cap + 1))
    grids: dict[str, tuple[str, Any]] = {
        "value": ("error_cost", ERROR_COSTS),
        "beta": ("threshold", BETA_THRESHOLDS),
        "random": ("query_rate", RATES),
        # as defined in the paper, the entropy is at most ln K / K
        "entropy": ("scale", [float(f"{scale * num_classes / math.log(num_classes):.3g}") for scale in SCALES]),
        "mp": ("scale", SCALES),
        "quorum": ("votes", range(pool_size + 1)),
    }
    if name in METHODS and name not in grids and "threshold" in method(name).parameters:
        grids[name] = "threshold", THRESHOLDS
    key, values = grids.get(name, ("", ()))
    return tuple({key: value} for value in values) or ({},)


def grid_of(chosen: Method, *, pool_size: int, num_classes: int) -> tuple[Method, ...]:
    """The method at every value of its policy's grid; itself where that was given another value than the default.

    An own policy names its grid itself: `grid`, several policies; without it the method is one point.

    >>> sizes = {"pool_size": 5, "num_classes": 3}
    >>> [each.parameters["cap"] for each in grid_of(method("unanimous-then-cap", first=3), **sizes)]
    [3, 4, 5]
    >>> [each.policy for each in grid_of(method("finexp", threshold=0.83), **sizes)]
    [Threshold(threshold=0.83)]
    """
    policy_grid = getattr(chosen.policy, "grid", ())
    if policy_grid:
        return tuple(replace(chosen, policy=policy) for policy in policy_grid)
    kind = kind_of(chosen)
    rows = parameter_grid(kind, pool_size=pool_size, num_classes=num_classes)
    usual = policy_parameters(method(kind)) if kind else {}
    changed = {key: chosen.parameters[key] for key in rows[0] if chosen.parameters[key] != usual[key]}
    rows = tuple(row for row in rows if changed.items() <= row.items())
    if not rows or changed.keys() == rows[0].keys() or (chosen.costs is not None and "error_cost" in rows[0]):
        return (chosen,)
    return tuple(tuned(chosen, row) for row in rows)


def kind_of(chosen: Method) -> str:
    """The name of the method that has this policy: its own, or the first with a policy of the class; "" if none has.

    >>> kind_of(Method(policy="finexp", learner=None, name="mine")), kind_of(method("infexp"))
    ('finexp', 'infexp')
    """
    names = sorted(METHODS, key=lambda name: name != chosen.name)  # its own name first
    return next((name for name in names if type(method(name).policy) is type(chosen.policy)), "")


def label_of(chosen: Method, grid: tuple[Method, ...]) -> str:
    """The method as it is called in tables: its name, with the parameters that it was given and that do not vary.

    A name of the user's own stands alone.
    >>> chosen = method("finexp", threshold=0.9, hyperprior="infexp")
    >>> label_of(chosen, (chosen,)), label_of(chosen, (chosen, method("finexp")))
    ('finexp:threshold=0.9,hyperprior=infexp', 'finexp:hyperprior=infexp')
    """
    if chosen.name not in (*METHODS, policy_name(chosen.policy)):
        return chosen.name
    usual = as_method(chosen.name if chosen.name in METHODS else chosen.policy).parameters
    varied = {key for entry in grid for key, value in entry.parameters.items() if value != chosen.parameters[key]}
    changed = [key for key, value in chosen.parameters.items() if key not in varied and value != usual.get(key)]
    text = ",".join(f"{key}={chosen.parameters[key]}" for key in changed)
    return f"{chosen.name}:{text}" if text else chosen.name
