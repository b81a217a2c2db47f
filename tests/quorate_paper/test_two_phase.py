"""Learning with experts and answering without them: what is counted, compared and reported."""

import math
from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.methods import method
from quorate.streams import prepare, simulate
from quorate_paper import two_phase
from quorate_paper.datasets import accuracies, cifar10h
from quorate_paper.phase_runs import BUDGETS, PHASE_METHODS, rows_of, runs
from quorate_paper.report import Context
from quorate_paper.sources import _thinned
from quorate_paper.sweep import run_job


def context_of(datasets, seeds=(3,), quick=True):
    return Context(datasets, seeds, quick, lambda jobs: {job: run_job(job, datasets[job.data]) for job in jobs})


@pytest.fixture(scope="module")
def toy():
    return synthetic(num_items=1300, num_classes=3, pool_size=7, accuracy=0.6, seed=2)


def test_without_the_data_the_section_says_so():
    section = two_phase.section(context_of({}))
    assert section.tables == ()
    assert "was not found" in section.lead[0]


def test_gain_is_against_the_classifier_on_the_very_items_that_nobody_was_asked_about(toy):
    done = runs(context_of({"cifar10h": toy}), "cifar10h")
    row = next(row for row in done if row.method == "finexp")
    outcome = row.outcomes[0]
    assert outcome.sizes.tolist() == [1000, 300]
    assert np.all(outcome.costs[:, 1] == 0)
    assert np.all(outcome.costs[:, 0] > 0)
    run = simulate(
        toy, method("finexp", window=None, **dict(outcome.job.parameters[0])), pool_size=7, model=row.model, seed=3,
        query_free_after=1000,
    )  # fmt: skip
    stream = prepare(toy, 7, row.model, 3)
    top = stream.counts == stream.counts.max(axis=1, keepdims=True)
    share = top / top.sum(axis=1, keepdims=True)
    rows = np.arange(1000, 1300)
    with_learning = share[rows, run.predictions[1000:]].mean()
    alone = share[rows, stream.predictions[1000:, 0].argmax(axis=1)].mean()
    assert two_phase.gains(outcome, toy)[0] == pytest.approx(100 * (with_learning - alone))


@pytest.fixture(scope="module")
def infexp_runs(toy):
    """One row of runs, over two seeds."""
    context = context_of({"cifar10h": toy}, seeds=(3, 4), quick=False)
    asked = []

    def only_infexp(jobs):
        asked.extend(job for job in jobs if job.method == "infexp")
        done = {job: run_job(job, toy) for job in asked}
        return {job: done.get(job) for job in jobs}

    return next(row for row in runs(replace(context, run=only_infexp), "cifar10h") if row.method == "infexp")


def test_every_seed_counts_once_and_the_error_is_over_seeds(toy, infexp_runs):
    assert [outcome.job.seed for outcome in infexp_runs.outcomes] == [3, 4]
    row = next(row for row in rows_of(toy, [infexp_runs], two_phase.cell, BUDGETS) if row.budget == 1.0)
    read = [np.interp(1.0, outcome.costs[:, 0], two_phase.gains(outcome, toy)) for outcome in infexp_runs.outcomes]
    assert row.num_streams == 2
    assert row.value == pytest.approx(np.mean(read))
    assert row.se == pytest.approx(abs(read[0] - read[1]) / 2)
    assert row.is_whole


def test_a_cell_that_not_every_stream_reaches_is_not_compared_and_says_how_many_do(toy, infexp_runs):
    first, second = infexp_runs.outcomes
    short = replace(second, costs=second.costs * 0.9 / second.costs[:, :1].max())
    both = replace(infexp_runs, outcomes=(first, short))
    rows = {row.budget: row for row in rows_of(toy, [both], two_phase.cell, BUDGETS)}
    assert rows[1.0].num_streams == 1
    assert rows[1.0].paper is not None
    assert not rows[1.0].is_whole
    none = replace(infexp_runs, outcomes=(short, short))
    unreached = [row for row in rows_of(toy, [none], two_phase.cell, BUDGETS) if row.num_streams == 0]
    assert [row.budget for row in unreached] == [1.0, 2.0, 3.0]
    assert all(math.isnan(row.value) and not row.is_whole for row in unreached)


@pytest.mark.slow
def test_quick_on_the_real_data_gives_every_cell_and_learns_from_all_of_the_first_thousand(data_dir):
    data = cifar10h.load(data_dir)
    section = two_phase.section(context_of({"cifar10h": data}))
    rows = section.summary["two_phase"]
    assert {row["model"] for row in rows} == {"patches-50", "patches-68"}
    assert {row["method"] for row in rows} == set(PHASE_METHODS)
    assert all((row["paper"] is None) == (row["method"] == "value" or ":" in row["method"]) for row in rows)
    first = [row for row in rows if row["model"] == "patches-50" and row["num_streams"] == 1]
    assert len(first) >= 12
    assert all(row["gain"] > 1.0 for row in first)
    assert accuracies(data)[0] == pytest.approx(first[0]["accuracy"] / 100, abs=1e-4)
    run = simulate(
        data, method("infexp", threshold=0.8, window=None), model="patches-50", seed=3, query_free_after=1000
    )
    assert run.fitted_after[-1] == 999


def test_claims_are_tested_on_each_set_of_classifiers(data_dir):
    sets = {"cifar10h": cifar10h.load(data_dir), "cifar10h_imbalanced": cifar10h.load_imbalanced(data_dir)}
    imbalanced = sets["cifar10h_imbalanced"]
    assert np.array_equal(imbalanced.votes, sets["cifar10h"].votes)
    np.testing.assert_allclose(100 * accuracies(imbalanced), [52.0, 63.4, 65.8], atol=0.1)
    thinned = {name: _thinned(dataset, 1500) for name, dataset in sets.items()}
    section = two_phase.section(context_of(thinned))
    assert [claim.source for claim in section.claims] == 2 * [
        "section 4.5", "appendix B, two-phase evaluation", "appendix C, time-averaged distribution shift",
    ]  # fmt: skip
    assert "uneven class counts" in section.claims[0].measured and section.claims[1].holds
    assert [table.key for table in section.tables] == ["two_phase_imbalanced", "two_phase"]
    assert {"two_phase", "two_phase_imbalanced"} <= set(section.summary)
