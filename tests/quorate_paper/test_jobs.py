import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorate_paper.jobs import Job, area, area_ratio, at_cost, digest, mean_se, near_cost, settings

SIZES = st.integers(2, 12)
COSTS = SIZES.flatmap(lambda n: st.lists(st.integers(0, 40), min_size=n, max_size=n, unique=True))


@st.composite
def curves(draw, rising=False):
    """Points of a curve in any order, costs at least 0.25 apart."""
    costs = np.array(draw(COSTS)) / 4
    values = draw(arrays(float, len(costs), elements=st.floats(0, 1, width=32)))
    if rising:
        costs, values = np.sort(costs), np.sort(values)
    return costs, values


@given(curves())
def test_a_curve_is_read_exactly_at_its_points(points):
    costs, values = points
    np.testing.assert_allclose(at_cost(costs, values, costs), values, atol=1e-12)


@given(curves())
def test_nothing_is_read_beyond_the_points(points):
    costs, _ = points
    assert np.isnan(at_cost(*points, np.array([costs.min() - 0.1, costs.max() + 0.1]))).all()


@given(curves(), st.floats(0.0, 1.0))
def test_an_area_is_the_sum_of_its_parts(points, share):
    low, high = points[0].min(), points[0].max()
    middle = low * (1 - share) + high * share
    whole = area(*points, low, high)
    assert math.isclose(area(*points, low, middle) + area(*points, middle, high), whole, abs_tol=1e-9)


@pytest.mark.parametrize("part", [(0.0, 1.0), (0.25, 0.5)])
def test_areas_are_compared_on_the_costs_that_both_curves_reach(part):
    costs, flat = np.array([0.0, 2.0]), np.array([0.4, 0.4])
    later = np.array([1.0, 3.0])
    assert area_ratio(costs, flat / 4, later, flat, part) == pytest.approx(0.25)
    assert math.isnan(area_ratio(costs, flat, costs + 2.0, flat, part))  # they share a single cost
    assert math.isnan(area_ratio(costs, flat, costs + 5.0, flat, part))


def test_areas_of_zero_can_be_compared():
    costs, none, some = np.array([0.0, 2.0]), np.zeros(2), np.ones(2)
    assert area_ratio(costs, none, costs, none) == 1.0
    assert area_ratio(costs, some, costs, none) == math.inf


def test_points_that_share_a_cost_count_as_their_mean():
    costs, values = np.array([2.0, 0.0, 2.0 + 1e-12]), np.array([1.0, 0.0, 3.0])
    assert at_cost(costs, values, 2.0) == 2.0
    assert area(costs, values, 0.0, 2.0) == 2.0


def test_the_papers_grouping_takes_what_is_within_a_tenth():
    costs, values = np.array([0.85, 0.95, 1.05, 1.2]), np.arange(4.0)
    assert near_cost(costs, values, 1.0).tolist() == [1.0, 2.0]
    assert near_cost(costs, values, 5.0).size == 0


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_mean_and_standard_error_are_the_textbooks(values):
    mean, error = mean_se(values)
    assert mean == pytest.approx(np.mean(values), abs=1e-9)
    assert error == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9)


JOB = Job("toy", 5, "model-0", 3, "finexp", settings("threshold", (0.5, 0.9)))
OTHERS = {
    "data": "toys",
    "pool_size": 6,
    "model": "model-1",
    "seed": 4,
    "method": "infexp",
    "parameters": settings("threshold", (0.5, 0.91)),
    "window": None,
    "refit_every": 10,
    "query_free_after": 100,
    "keep_items": True,
    "variant": "as-published",
}


def named(job, data="d", code="c"):
    return digest(job, data=data, code=code)


@pytest.mark.parametrize("field", [field.name for field in fields(Job)])
def test_another_value_of_any_field_is_another_result(field):
    assert named(replace(JOB, **{field: OTHERS[field]})) != named(JOB)


def test_other_data_or_code_is_another_result():
    assert len({named(JOB), named(JOB, data="e"), named(JOB, code="e"), named(JOB, data="c", code="d")}) == 4


def test_the_order_and_the_number_of_the_parameters_count():
    first, second = JOB.parameters
    names = {
        named(replace(JOB, parameters=parameters))
        for parameters in ((first,), (second,), (second, first), JOB.parameters)
    }
    assert len(names) == 4


def test_a_job_has_the_usual_window_of_its_method_unless_another_is_given():
    def window(method, **options):
        return Job("toy", 3, "model-0", 3, method, settings(None), **options).window

    assert (window("value"), window("finexp"), window("random")) == (1000, 500, 500)
    assert (window("value", window=500), window("value", window=None)) == (500, None)
