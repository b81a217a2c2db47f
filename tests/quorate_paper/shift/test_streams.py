"""The streams of the shift experiment, and its courses over time: what is run, in which order, and how it is read."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.datasets import synthetic
from quorate.streams import prepare
from quorate_paper.jobs import Job, JobOutcome, settings
from quorate_paper.report import Context
from quorate_paper.shift.near import near_budgets, parameter_at
from quorate_paper.shift.streams import (
    DATA,
    FUSED,
    LABELS,
    QUICK_ORDERINGS,
    SETTLED,
    Course,
    band,
    courses,
    moving_average,
    orderings,
    streams,
)
from quorate_paper.sweep import run_job
from tests.quorate_paper.made_streams import END, made

TINY = synthetic(num_items=60, num_classes=3, pool_size=6, shift_accuracy=0.4, num_models=2, seed=1)


def run_here(jobs):
    return {job: run_job(job, TINY) for job in jobs}


@pytest.fixture(scope="module")
def found():
    return streams(Context({DATA: TINY}, (3, 4), True, run_here), TINY)


def test_every_method_has_a_stream_for_each_classifier_and_seed(found):
    pairs = [(model, seed) for model in TINY.models for seed in (3, 4)]
    for name in (*LABELS, SETTLED):
        met = [(each.job.model, each.job.seed) for each in found.outcomes[name]]
        assert met == ([("all", 3), ("all", 4)] if name == FUSED else pairs)


def test_every_curve_runs_from_no_votes_to_the_tie_floor(found):
    for name in LABELS:
        for each in found.outcomes[name]:
            assert each.mean_costs.min() == 0.0
            assert 100 * each.errors[-1] == pytest.approx(found.floors, abs=4.0 if name in BASELINES else 1e-9)


def test_the_floor_is_what_ties_leave(found):
    counts = prepare(TINY, 6, 0, 3).counts  # all six votes are in every pool: the same for each seed
    blocks = prepare(TINY, 6, 0, 3).blocks
    top = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1)
    expected = [100 * np.mean(1 - 1 / top[blocks == phase]) for phase in (0, 1)]
    assert found.floors == pytest.approx(expected)


def test_a_method_is_read_on_one_classifier_the_fused_one_on_any():
    streams = made()
    assert [(each.job.model, each.job.seed) for each in streams.of("finexp", "densenet")] == [
        ("densenet", 3),
        ("densenet", 4),
    ]
    assert streams.of(FUSED, "densenet") == streams.outcomes[FUSED]
    assert streams.settled_cost == END


BASELINES = ("random", "entropy", "mp", "mp-released")


def swept(parameter, values, costs):
    none = np.zeros((len(costs), 0))
    both = np.repeat(np.asarray(costs, float)[:, None], 2, axis=1)
    return JobOutcome(Job("d", 6, "m", 3, "x", settings(parameter, values)), np.array([5, 5]), both, both, both, both,
                   none, none, none)  # fmt: skip


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=40), st.integers(1, 50))
def test_the_moving_average_is_the_mean_of_the_last_items(values, window):
    slow = [np.mean(values[max(0, place + 1 - window) : place + 1]) for place in range(len(values))]
    assert moving_average(np.array(values), window) == pytest.approx(slow, abs=1e-9)


def test_runs_are_averaged_each_for_itself():
    table = np.arange(12.0).reshape(3, 4)
    assert moving_average(table, 2) == pytest.approx(np.array([moving_average(row, 2) for row in table]))


def at(outcome, budget):
    return parameter_at(outcome, budget, "whole-stream cost")


def test_a_rate_is_read_in_a_straight_line():
    assert at(swept("query_rate", (0.0, 0.5, 1.0), (0.0, 2.0, 4.0)), 3.0) == 0.75


def test_a_scale_is_read_in_the_log_and_a_threshold_in_the_log_of_its_doubt():
    assert at(swept("scale", (0.0, 1.0, 100.0), (0.0, 1.0, 3.0)), 2.0) == 10.0
    assert at(swept("threshold", (0.0, 0.9, 0.999), (0.0, 1.0, 3.0)), 2.0) == 0.99


@pytest.mark.parametrize(("budget", "value"), [(-1.0, 0.2), (9.0, 0.8)])
def test_beyond_the_grid_the_nearest_value_is_taken(budget, value):
    assert at(swept("query_rate", (0.2, 0.8), (1.0, 2.0)), budget) == value


def test_a_step_in_cost_takes_a_value_at_the_step():
    assert 0.5 <= at(swept("threshold", (0.5, 0.6, 0.7), (1.0, 1.0, 1.0)), 1.0) <= 0.7


def test_runs_are_added_until_one_costs_within_a_tenth_of_each_budget():
    """Costs rise smoothly up to a jump from 1.5 to 2.5: no run can come near 2 there."""

    def run(jobs):
        def costs(job):
            rates = np.array([value for ((_, value),) in job.parameters])
            return 3.2 * rates + 0.9 * (rates > 0.5)

        return {job: replace(swept("query_rate", [value for ((_, value),) in job.parameters], costs(job)), job=job)
                for job in jobs}  # fmt: skip

    job = Job("d", 6, "m", 3, "random", settings("query_rate", (0.0, 1.0)))
    found = near_budgets(run, [job])[job]
    near = {budget: np.abs(found.mean_costs - budget).min() <= 0.1 for budget in (0.5, 1.0, 2.0, 3.0)}
    assert near == {0.5: True, 1.0: True, 2.0: False, 3.0: True}
    assert [value for ((_, value),) in found.job.parameters] == sorted({v for ((_, v),) in found.job.parameters})


def test_the_band_is_the_mean_and_its_standard_errors():
    course = Course("random", "m", 2.0, np.array([[0.0, 0.0], [100.0, 100.0]]), np.zeros((2, 2)))
    mean, half = band(course)
    assert mean == pytest.approx([50.0, 50.0])
    assert half == pytest.approx([1.96 * 50.0] * 2)


@pytest.fixture(scope="module")
def context():
    return Context({DATA: TINY}, (3, 4), True, run_here)


def test_courses_cover_all_budgets_on_one_classifier_and_one_on_the_others(context, found):
    done = courses(context, found)
    first, other = found.models
    assert {key[1:] for key in done} == {(first, b) for b in (0.5, 1.0, 2.0, 3.0)} | {(other, 2.0)}
    assert all(course.errors.shape == course.costs.shape == (2, 60) for course in done.values())
    assert done["random", first, 2.0].cost == pytest.approx(2.0, abs=0.25)


def test_orderings_are_many_streams_at_one_parameter(context, found):
    done = orderings(context, found)
    assert set(done) == set(LABELS)
    assert all(len(course.costs) == QUICK_ORDERINGS for course in done.values())
    assert len(np.unique(done["finexp"].costs, axis=0)) == QUICK_ORDERINGS
    assert done["finexp"].costs[:, :30].mean() < done["finexp"].costs[:, 30:].mean()  # it asks more after the shift
