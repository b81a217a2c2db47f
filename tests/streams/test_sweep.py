"""Curves, interpolation between their points, and the comparison item by item."""

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.methods import ANONYMOUS, method
from quorate.streams import simulate
from quorate.streams.sweep import (
    Point,
    Replicate,
    curve,
    grid_methods,
    paired,
    refine,
    run_point,
    sweep,
)


@pytest.fixture(scope="module")
def replicates():
    return tuple(Replicate(synthetic(num_items=150, pool_size=5, seed=seed), seed) for seed in (1, 2))


def made(name, *pairs):
    return [Point(method(name), cost, np.full(4, error)) for cost, error in pairs]


def test_a_point_is_what_simulate_says_over_all_seeds(replicates):
    point = run_point(method("finexp", threshold=0.8), replicates)
    runs = [simulate(each.dataset, method("finexp", threshold=0.8), seed=each.seed) for each in replicates]
    assert point.votes_per_item == pytest.approx(np.mean([run.mean_cost for run in runs]))
    assert point.error_rate == pytest.approx(np.mean([run.error_rate for run in runs]))


def test_every_grid_spans_no_vote_to_until_settled(replicates):
    names = [name for name in ANONYMOUS if name not in ("ask-all", "until-settled")]
    curves = sweep(grid_methods(names, pool_size=5, num_classes=10, quick=True), replicates[:1])
    settled = run_point(method("until-settled"), replicates[:1])
    for each in curves:
        last = each.points[-1]
        assert each.points[0].votes_per_item == 0, each.name
        assert last.error_rate == pytest.approx(settled.error_rate), each.name
        # quorate stops a little earlier, where the missing votes can make a tie but no new winner
        assert last.votes_per_item == pytest.approx(settled.votes_per_item, rel=0.06), each.name


def test_between_points_a_curve_mixes_the_two():
    reading = curve(made("beta", (1.0, 0.4), (3.0, 0.2))).at(1.5)
    assert (reading.votes_per_item, reading.error_rate) == pytest.approx((1.5, 0.35))


def test_beyond_its_ends_a_curve_gives_its_end():
    ends = curve(made("beta", (1.0, 0.4), (3.0, 0.2)))
    assert ends.at(9.0).votes_per_item == 3.0
    assert ends.at(0.5).error_rate == pytest.approx(0.4)


def test_the_cost_of_an_error_is_the_way_back():
    falling = curve(made("beta", (0.0, 0.5), (1.0, 0.4), (3.0, 0.2)))
    assert falling.cost_of(0.3) == pytest.approx(2.0)
    assert falling.at(falling.cost_of(0.25)).error_rate == pytest.approx(0.25)
    assert falling.cost_of(0.2) == pytest.approx(3.0)
    assert falling.cost_of(0.7) == 0.0
    assert falling.cost_of(0.1) is None


def test_of_equal_costs_the_better_point_is_kept():
    assert [p.error_rate for p in curve(made("beta", (1.0, 0.4), (1.0, 0.3))).points] == [0.3]


def test_a_two_parameter_method_is_read_at_its_best_mixes():
    points = made("unanimous-then-cap", (0.0, 0.6), (1.0, 0.5), (2.0, 0.2))
    assert [p.votes_per_item for p in curve(points).points] == [0.0, 2.0]


def test_refining_adds_parameters_close_to_the_budget(replicates):
    coarse = sweep([[method("random", query_rate=rate) for rate in (0.0, 1.0)]], replicates)
    fine = refine(coarse, replicates, [1.0], rounds=3)
    assert 3 <= len(fine[0].points) <= 5
    assert min(abs(point.votes_per_item - 1.0) for point in fine[0].points) < 0.05


def test_whole_numbered_parameters_are_not_refined(replicates):
    coarse = sweep([[method("quorum", votes=votes) for votes in (0, 3)]], replicates)
    assert len(refine(coarse, replicates, [1.0])[0].points) == 2


def test_the_paired_error_is_that_of_the_differences():
    worse, better = (
        curve([Point(method("beta"), 1.0, np.array(errors))]).at(1) for errors in ([1.0, 0, 1, 0], [0.0, 0, 0, 0])
    )
    difference, error = paired(better, worse)
    assert difference == 0.5
    assert error == pytest.approx(np.std([1, 0, 1, 0], ddof=1) / 2)
