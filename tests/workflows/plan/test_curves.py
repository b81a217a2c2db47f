"""Curves of a pilot: what every item costs and errs over orderings, and pilots resampled from it."""

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.methods import ANONYMOUS, method
from quorate.streams import simulate
from quorate.workflows.plan.curves import measure, plan_grid
from quorate.workflows.plan.forecast import inflations, resampled
from quorate.workflows.plan.pools import pilot_of

PILOT = synthetic(num_items=200, pool_size=5, accuracy=0.8, seed=2)
WHOLE = pilot_of(PILOT)
COUNTS = [method("quorum", votes=k) for k in range(6)]


def curves_of(*families, batch_size=200, orderings=3):
    return measure(WHOLE, families, orderings=orderings, batch_size=batch_size, seed=5)


def test_a_curve_holds_the_means_of_its_runs():
    (curve,) = curves_of(COUNTS)
    runs = [simulate(PILOT, COUNTS[2], seed=seed, model="all") for seed in (5, 6, 7)]
    setting = next(s for s in curve.settings if s.method.parameters["votes"] == 2)
    assert setting.votes.mean == pytest.approx(np.mean([run.mean_cost for run in runs]))
    assert setting.errors.items.mean() == pytest.approx(np.mean([run.error_rate for run in runs]))
    assert (np.diff(curve.votes) > 0).all()


def test_a_short_batch_is_the_first_items_of_each_ordering():
    (curve,) = curves_of([COUNTS[2]], batch_size=50)
    runs = [simulate(PILOT, COUNTS[2], seed=seed, model="all") for seed in (5, 6, 7)]
    assert curve.settings[0].votes.mean == pytest.approx(np.mean([run.costs[:50].mean() for run in runs]))


def test_in_a_long_batch_the_items_to_come_go_as_the_last_half_did():
    (curve,) = curves_of([COUNTS[2]], batch_size=400)
    runs = [simulate(PILOT, COUNTS[2], seed=seed, model="all") for seed in (5, 6, 7)]
    expected = np.mean([(run.costs.sum() + 2 * run.costs[100:].sum()) / 400 for run in runs])
    assert curve.settings[0].votes.mean == pytest.approx(expected)


def test_resampled_pilots_vary_as_the_mean_of_items_does():
    (curve,) = curves_of(COUNTS)
    (drawn,) = resampled([curve], inflations(WHOLE, [curve], seed=1), draws=2000, seed=1)
    for k, setting in enumerate(curve.settings):
        expected = setting.votes.items.var() / 200
        assert drawn.votes[:, k].var() == pytest.approx(expected, rel=4 * np.sqrt(2 / 2000) + 0.05, abs=1e-12)
        assert drawn.errors[:, k].mean() == pytest.approx(setting.errors.mean, abs=0.004)


def test_a_method_that_learns_nothing_has_no_inflation():
    (curve,) = curves_of(COUNTS)
    (ratio,) = inflations(WHOLE, [curve], seed=1)
    assert (ratio.votes[:, 0] == 1).all()
    assert (ratio.votes[:, 1] <= 1).all()


def test_the_same_seed_gives_the_same_inflation_and_it_is_within_reason():
    (curve,) = curves_of([method("value", error_cost=cost) for cost in (5, 20, 100)])
    first, again = (inflations(WHOLE, [curve], seed=1)[0] for _ in range(2))
    assert (first.votes == again.votes).all()
    assert (first.votes[:, 0] >= 1).all()
    assert (first.votes[:, 1] <= first.votes[:, 0]).all()


@pytest.mark.parametrize("name", ["value", "finexp", "beta", "quorum", "unanimous-then-cap", "random"])
def test_grids_stay_small_for_large_pools_and_reach_both_ends(name):
    grid = plan_grid(name, pool_size=100, num_classes=3)
    assert 10 <= len(grid) <= 40
    (curve,) = measure(
        WHOLE, [[method(name, **parameters) for parameters in plan_grid(name, pool_size=5, num_classes=10)]],
        orderings=2, batch_size=200, seed=1,
    )  # fmt: skip
    assert curve.votes[0] == 0
    assert curve.errors[-1] == pytest.approx(simulate(PILOT, "until-settled", seed=1).error_rate, abs=0.02)


@pytest.mark.parametrize("name", [name for name in ANONYMOUS if "threshold" in method(name).parameters])
def test_a_threshold_of_one_asks_until_settled(name):
    """Which is why a plan runs the cheaper method in its place."""
    sure = simulate(PILOT, method(name, threshold=1.0), seed=5, model="all")
    settled = simulate(PILOT, "until-settled", seed=5, model="all")
    np.testing.assert_array_equal(sure.costs, settled.costs)
    np.testing.assert_array_equal(sure.expected_errors, settled.expected_errors)


def test_a_setting_that_asks_all_that_matters_has_no_path_of_learning():
    every = [method("value", error_cost=cost) for cost in (20, 1e9)]
    (curve,) = curves_of(every)
    (found,) = inflations(WHOLE, [curve], seed=5)
    last = [s.method.parameters["error_cost"] for s in curve.settings].index(0.0)
    assert found.votes[last, 0] == found.errors[last, 0] == 1.0
    assert not found.paths[:, [last, last + len(curve.settings)]].any()
    assert found.paths.any()
