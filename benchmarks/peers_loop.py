"""The usual active-labelling loop around a peer that scores batches -> its error-cost points, and its speed.

Two loops, and the best mixes of both are the peer's curve: `barred` asks for every item below a bar, `lifted` for the
items with the lowest scores, as cleanlab's docs advise. Nothing settled is asked, and a settled item is answered with
its plurality, as quorate's own methods do: the peers get to know the pool too.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from quorate.streams.sweep import Curve, Point, cost_and_error, curve, lower_hull


class Knob(NamedTuple):
    """What a `Point` wants to know of its method."""

    name: str
    knobs: dict


def lifted(case, peer, *, num_rounds, timed_at, every=2):
    """Points of one run: each round a vote for the items it is least sure of, all scored anew, until all is settled.

    A round asks the same number of items, so that `num_rounds` reach the end; a point every so many rounds, its bar the
    highest score still asked. Also the CPU seconds until `timed_at` votes per item, with the labels given then.
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
                begin += time.process_time() - before  # a user wants the labels once
        if done:
            break
    return points, seconds


def barred(case, peer, bars):
    """Points of one run: a vote for every item below the bar, all scored anew, until none is; then the bar rises."""
    num, points = np.zeros(case.num_items, dtype=int), []
    for bar in bars:
        asks = (num < case.settled.costs) & (peer.scores(num) < bar)
        while asks.any():
            num = num + asks
            asks = (num < case.settled.costs) & (peer.scores(num) < bar)
        points.append(point(case, peer, num, bar))
    return points


def best_mixes(points):
    """A curve of the points that no mixture of two others beats, chosen on the very items they are judged by."""
    return Curve(points[0].method.name, tuple(lower_hull(curve(points).points, at=cost_and_error)), tuple(points))


def point(case, peer, num, bar):
    """Cost and errors once `num` votes are in."""
    labels = np.where(num >= case.settled.costs, case.settled.predictions, peer.labels(num))
    errors = np.where(num >= case.settled.costs, case.settled.expected_errors, case.error_of(labels))
    return Point(Knob(peer.name, {"bar": float(bar)}), float(num.mean()), errors)


def own_curve(case, methods):
    """A curve of one of quorate's methods over its parameter."""
    points = []
    for chosen in methods:
        run = case.run(chosen)
        points.append(Point(chosen, run.mean_cost, run.expected_errors))
    return curve(points)


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
