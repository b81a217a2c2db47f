"""The grid of each method: from no vote to until settled, all else unchanged, and a name that says what was given."""

from dataclasses import replace

import pytest

from quorate.datasets import synthetic
from quorate.methods import ANONYMOUS, method
from quorate.model.prior import hyperprior
from quorate.streams import simulate
from quorate.streams.grid import grid_of, label_of, parameter_grid

SIZES = {"pool_size": 5, "num_classes": 10}


@pytest.mark.parametrize("name", [name for name in ANONYMOUS if name not in ("ask-all", "until-settled")])
def test_every_grid_spans_no_vote_to_until_settled(name):
    data = synthetic(num_items=150, pool_size=5, seed=1)
    grid = grid_of(method(name), **SIZES)
    first, last, settled = (simulate(data, each, seed=1) for each in (grid[0], grid[-1], "until-settled"))
    assert first.mean_cost == 0
    assert last.error_rate == pytest.approx(settled.error_rate)
    # value stops a little earlier, where the missing votes can make a tie but no new winner
    assert last.mean_cost == pytest.approx(settled.mean_cost, rel=0.06)


def test_what_was_given_is_not_varied_and_stands_in_the_name():
    chosen = method("finexp", hyperprior="infexp")
    grid = grid_of(chosen, **SIZES)
    assert len(grid) > 5 and {each.learner for each in grid} == {chosen.learner}
    assert label_of(chosen, grid) == "finexp:hyperprior=infexp"
    assert label_of(method("finexp"), grid_of(method("finexp"), **SIZES)) == "finexp"
    at = method("finexp", threshold=0.9)
    assert grid_of(at, **SIZES) == (at,) and label_of(at, (at,)) == "finexp:threshold=0.9"
    capped = method("unanimous-then-cap", cap=4)
    assert label_of(capped, grid_of(capped, **SIZES)) == "unanimous-then-cap:cap=4"


def test_a_method_with_another_learner_keeps_it():
    chosen = method("finexp")
    changed = replace(chosen, learner=replace(chosen.learner, hyperprior=hyperprior("infexp")))
    assert {each.learner for each in grid_of(changed, **SIZES)} == {changed.learner}


def test_unanimous_then_cap_has_every_pair():
    assert len(parameter_grid("unanimous-then-cap", pool_size=3, num_classes=2)) == 10
