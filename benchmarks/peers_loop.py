"""The usual active-labelling loop around a peer that scores batches -> its error-cost points, and its speed.

The peer's curve is the best mixture of two loops: `barred` asks about every item below a bar, `lifted` about the items
with the lowest scores, as cleanlab's docs recommend. Settled items are not asked about and are answered with their
plurality, as in quorate's own methods: the peers use the pool size too.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from quorate.streams.curves import Curve, Point, cost_and_error, curve, lower_hull, point_of


class Parameter(NamedTuple):
    """The part of a method that a `Point` needs."""

    name: str
    parameters: dict


def lifted(case, peer, *, num_rounds, timed_at, every=2):
    """Points of one run: each round asks a vote for the items with the lowest scores and scores all items again.

    Every round asks about the same number of items, so that `num_rounds` reach the end; a point after each `every`
    rounds, its bar the highest score asked. Also the CPU seconds until `timed_at` votes per item, including labels.
    """
    limits, num, seconds = case.settled.costs, np.zeros(case.num_items, dtype=int), None
    batch = max(1, round(limits.sum() / num_rounds))
    points, begin = [point(case, peer, num, 0.0)], time.process_time()
    for number in range(1, int(limits.sum()) + 1):
        scores, still = peer.scores(num), (num < limits).sum()
        least = np.argsort(np.where(num < limits, scores, np.inf), kind="stable")[: min(batch, still)]
        num = num + np.isin(np.arange(case.num_items), least)
        reached, done = seconds is None and num.mean() >= timed_at, not (num < limits).any()
        if number % every == 0 or done or reached:
            before = time.process_time()
            points.append(point(case, peer, num, scores[least].max()))
            seconds = time.process_time() - begin if reached else seconds
            if peer.labels_apart and not reached:
                begin += time.process_time() - before  # a user needs the labels only once
        if done:
            break
    return points, seconds


def barred(case, peer, bars):
    """Points of one run: asks a vote for every item below the bar, scores again until none is, then raises the bar."""
    num, points = np.zeros(case.num_items, dtype=int), []
    for bar in bars:
        asks = (num < case.settled.costs) & (peer.scores(num) < bar)
        while asks.any():
            num = num + asks
            asks = (num < case.settled.costs) & (peer.scores(num) < bar)
        points.append(point(case, peer, num, bar))
    return points


def best_mixes(points):
    """A curve of the points that no mixture of two others beats, chosen on the same items they are scored on."""
    name = points[0].method.name
    return Curve(name, tuple(lower_hull(curve(name, points).points, at=cost_and_error)), tuple(points))


def point(case, peer, num, bar):
    """Cost and errors after `num` votes of each item."""
    labels = np.where(num >= case.settled.costs, case.settled.predictions, peer.labels(num))
    errors = np.where(num >= case.settled.costs, case.settled.expected_errors, case.error_of(labels))
    return Point(Parameter(peer.name, {"bar": float(bar)}), num.copy(), errors, np.full(len(num), np.nan))


def own_curve(case, methods):
    """A curve of one of quorate's methods over its parameter."""
    return curve(methods[0].name, [point_of(chosen, [case.run(chosen)]) for chosen in methods])


def nearest(found, cost):
    """The point of a curve closest to a cost."""
    return min(found.points, key=lambda each: abs(each.votes_per_item - cost))


def own_seconds(case, chosen, rounds=5):
    """CPU seconds of one whole stream, compiled; the median of a few."""
    case.run(chosen)
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        case.run(chosen)
        times.append(time.process_time() - begin)
    return float(np.median(times))
