"""What a decision may cost: pools that take too long are refused where they are chosen; looking ahead is bounded."""

import time

import numpy as np
import pytest

from quorate import method
from quorate.errors import InvalidInput
from quorate.posterior.finite import finite_into
from quorate.service.deciding import cost
from quorate.service.deciding.items import NewItem, add_items
from quorate.service.deciding.settings import ProjectSettings

TEN = [f"c{number}" for number in range(10)]


@pytest.mark.parametrize(("classes", "pool_size"), [(TEN[:3], 100_000), (TEN, 1000), (TEN[:2], 100_000)])
def test_a_pool_that_takes_too_long_is_refused_for_projects_changes_and_items(desk, classes, pool_size):
    with pytest.raises(InvalidInput) as refused:
        desk.projects.create("large", ProjectSettings(classes=classes, pool_size=pool_size), now=1000.0)
    error = refused.value
    assert (error.field, error.value) == ("pool_size", pool_size)
    most = cost.largest_pool(method("quorate"), len(classes))
    assert str(most) in error.rule
    assert error.fix
    made = desk.projects.create("fits", ProjectSettings(classes=classes, pool_size=most), now=1000.0)
    with pytest.raises(InvalidInput):
        desk.projects.change(made.id, pool_size=most + 1, now=1001.0)
    with pytest.raises(InvalidInput) as refused:
        add_items(desk.projects, made.id, [NewItem("x", pool_size=pool_size)], now=1001.0)
    assert refused.value.value == pool_size


def test_methods_without_the_exact_posterior_take_any_pool():
    for name in ("infexp", "ask-all"):
        ProjectSettings(classes=TEN, pool_size=100_000, method=name).check_limits()


def test_look_ahead_fits_its_budget_with_every_pool_that_is_taken():
    for num_classes in (2, 3, 10, 50, 200):
        most = cost.largest_pool(method("quorate"), num_classes)
        for pool_size in (5, most // 2, most):
            ahead = cost.decisions_ahead(method("quorate"), num_classes, pool_size, most=60)
            spent = ahead * cost.decision_seconds(method("quorate"), num_classes, pool_size)
            assert spent <= cost.AHEAD_SECONDS, (num_classes, pool_size)
    assert cost.decisions_ahead(method("quorate"), 3, 7, most=60) == 60


@pytest.mark.parametrize("num_classes", [2, 3, 5, 10, 50])
def test_the_largest_pool_that_is_taken_is_fast_indeed(num_classes):
    pool_size, out = cost.largest_pool(method("quorate"), num_classes), np.empty(num_classes)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        finite_into(np.ones(num_classes), np.zeros(num_classes, np.int64), pool_size, out)
        times.append(time.perf_counter() - begin)
    assert min(times) < 6 * cost.DECISION_SECONDS  # a slow, busy machine; without a bound it is seconds to minutes
