"""The time a decision takes, by method, classes and pool: refuses pools that are too slow, limits the look-ahead."""

from __future__ import annotations

from quorate.methods import Method
from quorate.model import BlendedValue
from quorate.validate import MOST_VOTES, invalid

DECISION_SECONDS = 0.05  # limit for one decision
AHEAD_SECONDS = 0.05  # limit for all look-ahead decisions of one vote together

# Seconds of one belief, measured on one core of 2.1 to 3 GHz. Finite pools: levels that three or more classes can tie
# at cost K N^3; while K is small few of them matter, and of very many classes few can tie.
BASE, BY_CLASS = 2e-5, 2e-6
BY_PAIRS, MANY = 1.4e-10, 50
BY_LEVELS, CROWDED = 2e-12, 12
BY_CLASS_INFINITE = 2e-5
AHEAD = 5e-5  # of the look-ahead of the blended rule: at most 1,024 states


def belief_seconds(posterior: str, num_classes: int, pool_size: int) -> float:
    """Upper estimate of the time of one belief.

    >>> belief_seconds("finite", 10, 50) < 5e-4 < 0.1 < belief_seconds("finite", 10, 1000) < 1
    True
    """
    if posterior == "vote_share":
        return BASE
    if posterior == "infinite":
        return BASE + BY_CLASS_INFINITE * num_classes
    crowd = min(num_classes, CROWDED) if num_classes > 3 else 0
    by_pool = (BY_PAIRS * min(num_classes, MANY) + BY_LEVELS * crowd * pool_size) * num_classes * float(pool_size) ** 2
    return BASE + BY_CLASS * num_classes + by_pool


def decision_seconds(method: Method, num_classes: int, pool_size: int) -> float:
    """Upper estimate of the time of one decision: one belief, two if asking and predicting differ, and look-ahead."""
    beliefs = {method.asking, method.predicting}
    seconds = sum(belief_seconds(belief.posterior, num_classes, pool_size) for belief in beliefs)
    if isinstance(method.policy, BlendedValue):
        seconds += AHEAD
    return seconds


def decisions_ahead(method: Method, num_classes: int, pool_size: int, *, most: int) -> int:
    """How many look-ahead decisions are affordable for one vote: up to `most`, within AHEAD_SECONDS."""
    return min(most, int(AHEAD_SECONDS / decision_seconds(method, num_classes, pool_size)))


def largest_pool(method: Method, num_classes: int) -> int:
    """The largest pool for which a decision is fast enough.

    >>> from quorate import method
    >>> largest_pool(method("value"), 2) > largest_pool(method("value"), 10) > 500
    True
    """
    least, largest = 1, MOST_VOTES
    while least < largest:
        middle = (least + largest + 1) // 2
        if decision_seconds(method, num_classes, middle) <= DECISION_SECONDS:
            least = middle
        else:
            largest = middle - 1
    return least


def check_pool(method: Method, num_classes: int, pool_size: int, *, where: str = "pool_size") -> None:
    """Raise unless a decision about a pool of this size is fast enough."""
    if decision_seconds(method, num_classes, pool_size) <= DECISION_SECONDS:
        return
    largest = largest_pool(method, num_classes)
    rule = (
        f"at most {largest} with {num_classes} classes and method {method.name!r}, "
        f"so that a decision takes at most {1000 * DECISION_SECONDS:g} ms"
    )
    fix = "lower it, merge classes, or use the method 'infexp', which takes any pool."
    raise invalid(where, pool_size, rule, fix)
