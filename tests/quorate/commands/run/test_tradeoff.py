"""What the trade-off of a run says about its classifier."""

import numpy as np
import pytest

import quorate
from quorate.datasets import synthetic

POOLS = synthetic(num_items=200, pool_size=9, num_classes=2, accuracy=0.9, agreement=0.8, seed=3)


@pytest.mark.parametrize(("error_cost", "is_blamed"), [(200, True), (1e6, False)])
def test_a_classifier_is_not_blamed_where_none_could_save(error_cost, is_blamed):
    noise = np.random.default_rng(0).dirichlet([1, 1], size=200)
    found = quorate.run(POOLS.votes, noise, error_cost=error_cost, classes=["a", "b"]).tradeoff
    assert found.with_classifier.votes >= found.without_classifier.votes
    assert found.saves_nothing is is_blamed
