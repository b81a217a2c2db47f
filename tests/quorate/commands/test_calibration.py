"""Honest and dishonest confidences are told apart; a run compares its own with the verdicts of the pools."""

import numpy as np
import pytest

import quorate
from quorate.commands.calibration import calibration_of, equal_mass
from quorate.datasets import synthetic
from quorate.numerics import share_interval


def test_an_honest_predictor_is_found_honest_and_others_are_not():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, size=3000)
    right = (rng.random(3000) < sure).astype(float)
    honest, boaster, shy = (calibration_of(each, right) for each in (sure, np.minimum(sure + 0.05, 1), sure - 0.05))
    assert honest.is_honest and not boaster.is_honest and not shy.is_honest
    assert boaster.gap == pytest.approx(0.05, abs=0.02) and shy.gap < -0.03


def test_a_small_gap_in_every_bin_is_not_chance():
    sure = np.linspace(0.85, 0.95, 2000)
    right = np.diff(np.floor(np.cumsum(sure - 0.02)), prepend=0.0)
    found = calibration_of(sure, right)
    assert found.error < found.error_by_chance and found.gap > found.gap_by_chance
    assert not found.is_honest


def test_honest_predictors_are_called_dishonest_in_about_five_of_a_hundred_cases():
    rng = np.random.default_rng(5)
    sure = rng.uniform(0.6, 1, (60, 200))
    low = [not calibration_of(each, (rng.random(200) < each).astype(float)).is_honest for each in sure]
    assert sum(low) <= 9  # 3 expected; 10 or more once in a thousand


def test_the_error_is_the_weighted_distance_of_even_bins():
    rng = np.random.default_rng(2)
    sure, right = rng.uniform(size=300), rng.integers(0, 2, size=300).astype(float)
    found = calibration_of(sure, right)
    assert found.error == pytest.approx(sum(each.num * abs(each.right - each.confidence) for each in found.bins) / 300)
    assert [each.num for each in found.bins] == [30] * 10
    for each in found.bins:
        assert each.interval == share_interval(each.right, each.num)
    assert len(set(equal_mass(np.repeat([1.0, 0.5], [500, 50]), 10)[:500])) == 1, "equal confidences stay together"


def test_a_run_compares_the_answers_given_before_their_pool_was_settled():
    result = quorate.run(synthetic(num_items=400, pool_size=7, accuracy=0.7, seed=1), method="finexp")
    early = ~np.isin(result.outcome.reasons, ("settled", "exhausted"))
    assert result.calibration.num == early.sum()
    errors = 1 - result.pools.truth[np.arange(400), result.outcome.labels]
    assert result.calibration.right == pytest.approx(1 - errors[early].mean())
    assert quorate.run(synthetic(num_items=100, seed=1), method="until-settled").calibration is None
