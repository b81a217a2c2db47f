"""Curves, interpolation between their points, areas, and the comparison item by item."""

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.errors import InvalidInput
from quorate.methods import method
from quorate.streams import simulate
from quorate.streams.curves import Point, curve, difference, point_of, swept

DATA = synthetic(num_items=150, pool_size=5, seed=1)


def made(name, *pairs):
    return [Point(method(name), np.full(4, cost), np.full(4, error), np.full(4, 0.5)) for cost, error in pairs]


def test_a_point_is_what_simulate_says_over_all_seeds():
    runs = [simulate(DATA, method("finexp", threshold=0.8), seed=seed) for seed in (1, 2)]
    point = point_of(runs[0].method, runs)
    assert point.votes_per_item == pytest.approx(np.mean([run.mean_cost for run in runs]))
    assert point.error_rate == pytest.approx(np.mean([run.error_rate for run in runs]))


def test_between_points_a_curve_mixes_the_two():
    reading = curve("beta", made("beta", (1.0, 0.4), (3.0, 0.2))).at(1.5)
    assert (reading.votes_per_item, reading.error_rate) == pytest.approx((1.5, 0.35))
    assert reading.influence.mean() == pytest.approx(0.35)


def test_beyond_its_ends_a_curve_gives_its_cheapest_way_or_nothing():
    ends = curve("beta", made("beta", (1.0, 0.4), (3.0, 0.2)))
    assert ends.at(9.0).votes_per_item == 3.0
    assert ends.at(0.5) is None


def test_of_equal_costs_the_better_point_is_kept():
    points = made("beta", (1.0, 0.4), (1.0, 0.3))
    assert [p.error_rate for p in curve("beta", points).points] == [pytest.approx(0.3)]


def test_a_two_parameter_method_is_read_at_its_best_mixes():
    points = made("unanimous-then-cap", (0.0, 0.6), (1.0, 0.5), (2.0, 0.2))
    assert [p.votes_per_item for p in curve("", points).points] == [0.0, 2.0]


def test_an_area_is_the_mean_error_over_the_range_and_a_point_has_none():
    area, influence = curve("beta", made("beta", (0.0, 0.4), (2.0, 0.2), (4.0, 0.2))).area(0.0, 4.0)
    assert area == pytest.approx(0.25) and influence.mean() == pytest.approx(0.25)
    with pytest.raises(InvalidInput, match="area"):
        curve("beta", made("beta", (1.0, 0.4))).area(0.0, 4.0)


def test_the_interval_of_a_difference_is_that_of_paired_items():
    found = difference(np.array([0.0, 0, 0, 0]), np.array([1.0, 0, 1, 0]), np.arange(4))
    half = 1.96 * np.std([1, 0, 1, 0], ddof=1) / 2
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))


def test_the_interval_of_an_area_has_the_size_of_its_scatter():
    """Over many data sets the area scatters by the standard error that each of them reports."""
    families = {"quorum": [method("quorum", votes=votes) for votes in range(4)]}
    areas, errors = [], []
    for seed in range(60):
        data = synthetic(num_items=150, num_classes=3, pool_size=5, seed=seed)
        (found,) = swept(families, lambda chosen, data=data, seed=seed: [simulate(data, chosen, seed=seed)])
        area, influence = found.area(0.0, 2.0)
        areas.append(area)
        errors.append(influence.std(ddof=1) / np.sqrt(len(influence)))
    assert np.std(areas, ddof=1) / np.mean(errors) == pytest.approx(1.0, abs=0.3)  # of 60: 4 standard errors are 0.37


def test_progress_counts_up_to_the_total():
    seen = []
    swept(
        {"beta": [method("beta"), method("beta", threshold=0.5)]},
        lambda chosen: [simulate(DATA, chosen, seed=1)],
        progress=lambda done, total, name: seen.append((done, total)),
    )
    assert seen == [(1, 2), (2, 2)]
