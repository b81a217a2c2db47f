from functools import cache

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate_paper.jobs import PAPER_METHODS, Job, grid, settings
from quorate_paper.sweep import run_job

METHODS = (*PAPER_METHODS, "value")
DATA = synthetic(num_items=800, num_classes=5, pool_size=12, accuracy=0.6, agreement=0.7, seed=4)


@cache
def outcome(name, pool_size, parameters):
    return run_job(Job("toy", pool_size, "model-0", 3, name, parameters), DATA)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("pool_size", "least"), [(3, 15), (10, 15), (11, 8), (100, 8)])
def test_a_grid_is_as_dense_as_promised_and_names_no_setting_twice(name, pool_size, least):
    parameters = grid(name, pool_size=pool_size, num_classes=10)
    assert len(set(parameters)) == len(parameters) >= least


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("pool_size", [3, 10, 12])
@pytest.mark.parametrize("name", METHODS)
def test_a_grid_rises_from_no_vote_to_all_that_can_matter(name, pool_size, quick):
    done = outcome(name, pool_size, grid(name, pool_size=pool_size, num_classes=5, quick=quick))
    settled = outcome("until-settled", pool_size, settings(None))
    assert done.mean_costs[0] == 0
    if name == "value":  # it does not ask for a vote that can at best bring a tie
        assert done.mean_errors[-1] == pytest.approx(settled.mean_errors[0])
        assert done.mean_costs[-1] <= settled.mean_costs[0]
    else:
        assert done.mean_costs[-1] == pytest.approx(settled.mean_costs[0], rel=0.01)
    learns = name in ("finexp", "infexp", "value", "mp")  # what is learned on the way may turn two near values round
    assert np.all(np.diff(done.mean_costs) >= (-0.03 * settled.mean_costs[0] if learns else 0))


@pytest.mark.parametrize("name", ["until-settled", "ask-all"])
def test_a_method_without_a_parameter_has_one_setting(name):
    assert grid(name, pool_size=5, num_classes=3) == ((),)


@pytest.mark.parametrize("name", ["finexp", "infexp", "fixed-finexp"])
def test_one_threshold_never_asks(name):
    """The next one is above 1 / K, so that no run is computed twice."""
    never, second = (dict(parameters)["threshold"] for parameters in grid(name, pool_size=6, num_classes=5)[:2])
    assert never == 0.0 and second > 0.2
