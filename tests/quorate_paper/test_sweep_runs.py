import math
from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import load_npz, synthetic, vote_dataset
from quorate.methods import ANONYMOUS, with_learning
from quorate.streams import prepare, simulate
from quorate.streams.simulation import expected_errors
from quorate_paper.jobs import ARRAYS, Job, settings
from quorate_paper.released import paper_method
from quorate_paper.sweep import SAMPLED, run_job
from tests.refusals import refused

GRIDS = {
    "value": settings("error_cost", (0.2, 0.01)),
    "random": settings("query_rate", (0.1, 0.6)),
    "entropy": settings("scale", (0.5, 5.0)),
    "mp": settings("scale", (0.5, 5.0)),
    "mp-released": settings("scale", (0.5, 5.0)),
    "quorum": settings("votes", (2, 3)),
    "unanimous-then-cap": ((("cap", 4), ("first", 2)),),
    "ask-all": settings(None),
    "until-settled": settings(None),
}
THRESHOLDS = settings("threshold", (0.0, 0.6, 0.95, 1.0))
DATA = synthetic(num_items=200, num_classes=4, pool_size=7, accuracy=0.6, num_models=2, shift_accuracy=0.4, seed=2)


def job(name, **changed):
    base = Job("toy", 6, "model-1", 5, name, GRIDS.get(name, THRESHOLDS), window=40, refit_every=7, keep_items=True)
    return replace(base, **changed)


def check(wanted, dataset):
    found = run_job(wanted, dataset)
    phases = dataset.blocks
    if wanted.query_free_after is not None:
        phases = np.arange(dataset.num_items) >= wanted.query_free_after
    for row, parameters in enumerate(wanted.parameters):
        run = simulate(
            dataset,
            with_learning(
                paper_method(wanted.method, **dict(parameters)), window=wanted.window, refit_every=wanted.refit_every
            ),
            pool_size=wanted.pool_size,
            model=wanted.model,
            seed=wanted.seed,
            query_free_after=wanted.query_free_after,
        )
        assert np.array_equal(found.item_costs[row], run.costs)
        np.testing.assert_allclose(found.item_errors[row], run.expected_errors, atol=1e-7)
        for column, phase in enumerate(np.unique(phases)):
            here = phases == phase
            assert found.sizes[column] == here.sum()
            assert found.costs[row, column] == pytest.approx(run.costs[here].mean())
            assert found.errors[row, column] == pytest.approx(run.expected_errors[here].mean())
            assert found.drawn_errors[row, column] == pytest.approx(run.errors[here].mean())
            rows = np.flatnonzero(here)
            if wanted.query_free_after is not None and column:
                learned = paper_method(wanted.method).predicting.learned
                rows = rows[: math.ceil(SAMPLED * len(rows))] if learned else rows
            assert found.confidence[row, column] == pytest.approx(run.confidence[rows].mean(), abs=1e-9)
        settles = dict(parameters).get("threshold") == 1.0 and wanted.query_free_after is None  # runs as until-settled
        if len(run.fits) and not settles:
            assert np.array_equal(found.params[row], run.fits[-1])
        else:
            assert np.isnan(found.params[row]).all()
    return found


@pytest.mark.parametrize("name", ANONYMOUS)
def test_a_job_is_what_simulate_makes_of_each_of_its_parameters(name):
    check(job(name), DATA)


@pytest.mark.parametrize("name", ["value", "infexp", "fixed-finexp", "fixed-ask-infexp"])
def test_so_it_is_when_experts_leave(name):
    assert check(job(name, query_free_after=120), DATA).costs[:, 1].tolist() == [0] * len(job(name).parameters)


def test_so_it_is_with_all_classifiers_and_no_window():
    check(job("value", model="all", window=None), DATA)


@pytest.mark.parametrize("name", ["finexp", "fixed-infexp", "mp"])
def test_so_it_is_on_the_real_shift_set(data_dir, name):
    dataset = load_npz(data_dir / "imagenet16h_shift.npz")
    found = check(job(name, model=dataset.models[1], parameters=job(name).parameters[-2:]), dataset)
    assert found.sizes.tolist() == np.unique(dataset.blocks, return_counts=True)[1].tolist()


def test_the_same_job_gives_the_same_bits():
    first, again = (run_job(job("value"), DATA).arrays() for _ in range(2))
    assert all(first[name].tobytes() == again[name].tobytes() for name in ARRAYS)


def test_an_error_is_expected_over_the_ties_of_the_pool():
    dataset = vote_dataset([[0, 1], [0, 0]], np.full((2, 3), 1 / 3), classes=["a", "b", "c"])
    stream = prepare(dataset, 2, 0, 3)
    tied, clear = np.argsort(stream.counts.max(axis=1))
    labels = np.zeros((3, 2), dtype=np.int64)
    labels[:, tied] = labels[:, clear] = [0, 1, 2]
    errors = expected_errors(stream, labels)
    assert errors[:, tied].tolist() == [0.5, 0.5, 1.0]
    assert errors[:, clear].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("after", [0, 200, 900])
def test_a_phase_without_items_is_refused(after):
    with refused("query_free_after", value=after):
        run_job(job("value", query_free_after=after), DATA)


PUBLISHED = {"variant": "as-published", "parameters": settings("threshold", (0.0, 0.7)), "refit_every": 20}


@pytest.mark.parametrize("name", ["infexp", "finexp", "fixed-finexp"])
@pytest.mark.parametrize("variant", ["as-published", "as-released"])
def test_the_published_variants_run_and_repeat(name, variant):
    few = synthetic(num_items=40, num_classes=3, pool_size=5, seed=2)
    wanted = job(name, **PUBLISHED | {"variant": variant}, model="model-0", pool_size=5)
    first, again = run_job(wanted, few), run_job(wanted, few)
    assert first.costs[0, 0] == 0 < first.costs[1, 0] <= 5
    assert np.array_equal(first.item_costs, again.item_costs)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("random", {}),
        ("infexp", {"query_free_after": 9}),
        ("infexp", {"model": "all"}),
    ],
)
def test_what_was_never_published_is_refused(name, wrong):
    with refused("method", value=name):
        run_job(job(name, **PUBLISHED | wrong), DATA)
