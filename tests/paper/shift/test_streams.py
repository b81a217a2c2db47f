"""Streams of the shift experiment: run on a small made-up shift, and read back in order."""

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.paper.runs import run_job
from quorate.paper.section import Context
from quorate.paper.shift.streams import DATA, FUSED, LABELS, SETTLED, streams
from quorate.streams import prepare
from tests.paper.made_streams import END, made

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
