"""The time of a decision: pools that are too slow are refused; look-ahead is limited."""

import time

import numpy as np
import pytest

from quorate import method
from quorate.errors import InvalidInput
from quorate.model.posterior.finite import plurality_finite
from quorate_service.domain import cost
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.settings import ProjectSettings

TEN = [f"c{number}" for number in range(10)]


@pytest.mark.parametrize(("classes", "pool_size"), [(TEN[:5], 100_000), (TEN, 5000), (TEN[:4], 50_000)])
def test_a_pool_that_takes_too_long_is_refused_for_projects_changes_and_items(desk, classes, pool_size):
    with pytest.raises(InvalidInput) as caught:
        desk.projects.create("large", ProjectSettings(classes=classes, pool_size=pool_size), now=1000.0)
    error = caught.value
    assert (error.field, error.value) == ("pool_size", pool_size)
    most = cost.largest_pool(method("value"), len(classes))
    assert str(most) in error.rule
    assert error.fix
    made = desk.projects.create("fits", ProjectSettings(classes=classes, pool_size=most), now=1000.0)
    with pytest.raises(InvalidInput):
        desk.projects.change(made.id, pool_size=most + 1, now=1001.0)
    with pytest.raises(InvalidInput) as caught:
        add_items(desk.projects, made.id, [NewItem("x", pool_size=pool_size)], now=1001.0)
    assert caught.value.value == pool_size


def test_methods_without_the_exact_posterior_accept_any_pool():
    for name in ("infexp", "ask-all"):
        ProjectSettings(classes=TEN, pool_size=100_000, method=name).check()


def test_look_ahead_fits_its_budget_with_every_accepted_pool():
    for num_classes in (2, 3, 10, 50, 200):
        most = cost.largest_pool(method("value"), num_classes)
        for pool_size in (5, most // 2, most):
            ahead = cost.decisions_ahead(method("value"), num_classes, pool_size, most=60)
            spent = ahead * cost.decision_seconds(method("value"), num_classes, pool_size)
            assert spent <= cost.AHEAD_SECONDS, (num_classes, pool_size)
    assert cost.decisions_ahead(method("value"), 3, 7, most=60) == 60


@pytest.mark.parametrize("num_classes", [2, 3, 5, 10, 50])
def test_the_largest_accepted_pool_is_fast(num_classes):
    pool_size = cost.largest_pool(method("value"), num_classes)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        plurality_finite(np.ones(num_classes), np.zeros(num_classes), pool_size=pool_size)
        times.append(time.perf_counter() - begin)
    assert min(times) < 6 * cost.DECISION_SECONDS  # a slow, busy machine; without a bound it is seconds to minutes


@pytest.mark.parametrize("num_classes", [2, 5, 10, 50, 100, 200])
def test_every_pool_up_to_the_largest_is_accepted(num_classes):
    most = cost.largest_pool(method("value"), num_classes)
    for pool_size in {1, most // 8, most // 4, most // 2, most}:
        cost.check_pool(method("value"), num_classes, pool_size)
