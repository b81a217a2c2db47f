"""Learned tau against accuracy per class: what is correlated, and what is left blank."""

import math
from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import synthetic, vote_dataset
from quorate_paper import calibration, two_phase
from quorate_paper import calibration as calibration_plots
from quorate_paper.datasets import cifar10h
from quorate_paper.phase_runs import rows_of, runs
from quorate_paper.report import Context
from quorate_paper.sweep import run_job

matplotlib_figure = pytest.importorskip("matplotlib.figure")


def context_of(datasets, seeds=(3,)):
    return Context(datasets, seeds, True, lambda jobs: {job: run_job(job, datasets[job.data]) for job in jobs})


def test_without_the_data_the_section_says_so():
    assert "was not found" in calibration.section(context_of({})).lead[0]


def test_accuracy_per_class_shares_out_ties():
    votes = [[0, 0], [0, 1], [1, 1], [1, 1]]
    data = vote_dataset(votes, [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
    np.testing.assert_allclose(calibration.class_accuracy(data, data.models[0]), [1.0, 1 / 2.5])
    np.testing.assert_allclose(calibration.class_precision(data, data.models[0]), [0.5, 1.0])


def test_correlation_is_pearsons():
    rng = np.random.default_rng(0)
    tau, accuracy = rng.random((5, 10)), rng.random(10)
    expected = [np.corrcoef(row, accuracy)[0, 1] for row in tau]
    np.testing.assert_allclose(calibration.correlations(tau, accuracy), expected)
    assert math.isnan(calibration.correlations(np.ones((1, 10)), accuracy)[0])


def test_a_budget_that_no_run_comes_near_is_left_blank():
    costs, values = np.array([0.0, 2.0]), np.array([0.4, 0.6])
    assert math.isnan(calibration._at(costs, values, 1.0))
    assert calibration._at(costs, values, 1.8) == pytest.approx(0.58)
    assert math.isnan(calibration._at(costs, np.array([np.nan, np.nan]), 1.0))


def test_it_asks_for_the_very_jobs_of_the_two_phase_experiment():
    toy = synthetic(num_items=1200, num_classes=3, pool_size=7, accuracy=0.6, seed=2)
    asked = []

    def run(jobs):
        asked.append(tuple(jobs))
        return {job: run_job(job, toy) for job in jobs}

    context = Context({"cifar10h": toy}, (3,), True, run)
    section = calibration.section(context)
    two_phase.section(context)
    assert asked[0] == asked[1]
    rows = [row for row in section.summary["calibration"] if row["num_streams"]]
    assert {row["method"] for row in rows} >= {"finexp", "infexp", "value"}
    job = next(job for job in asked[0] if job.method == "finexp")
    outcome = run_job(job, toy)
    tau = calibration.learned_tau(outcome, 3)
    read = [np.corrcoef(row, calibration.class_accuracy(toy, job.model))[0, 1] for row in tau]
    mine = [row for row in rows if row["method"] == "finexp"]
    assert mine
    for row in mine:
        assert row["correlation"] == pytest.approx(np.interp(row["budget"], outcome.costs[:, 0], read))


def test_a_cell_that_not_every_stream_comes_near_is_not_compared():
    toy = synthetic(num_items=1200, num_classes=3, pool_size=7, accuracy=0.6, seed=2)
    row = next(row for row in runs(context_of({"cifar10h": toy}), "cifar10h") if row.method == "finexp")
    far = replace(row.outcomes[0], costs=row.outcomes[0].costs + 100)
    cells = rows_of(toy, [row, replace(row, outcomes=(row.outcomes[0], far))], calibration.cell, calibration.BUDGETS)
    judged = {cell.budget for cell in cells if cell.num_streams == 1 and cell.is_whole}
    assert judged
    halves = [cell for cell in cells[len(cells) // 2 :] if cell.budget in judged]
    assert [cell.num_streams for cell in halves] == [1] * len(judged)
    assert not any(cell.is_whole for cell in halves)


@pytest.mark.slow
def test_quick_on_the_real_data_tau_knows_the_good_classes(data_dir):
    data = cifar10h.load(data_dir)
    section = calibration.section(context_of({"cifar10h": data}))
    rows = [row for row in section.summary["calibration"] if row["method"] in ("finexp", "infexp")]
    rows = [row for row in rows if row["num_streams"]]
    assert {row["model"] for row in rows} == {"patches-50", "patches-68"}
    assert all(row["correlation"] > 0.4 for row in rows if row["model"] == "patches-50")
    figure = matplotlib_figure.Figure(figsize=section.figures[0].size, layout="constrained")
    section.figures[0].draw(figure)
    assert len(figure.axes) == 4


def test_a_budget_that_no_run_reached_is_drawn_as_nothing():
    figures = pytest.importorskip("matplotlib.figure")
    blank = np.full(3, np.nan)
    for lines in (("infexp", 1.0, blank), ("infexp", 1.0, np.ones(3))):
        figure = figures.Figure()
        calibration_plots.draw((calibration_plots.TauPanel("toy", ("a", "b", "c"), np.ones(3), (lines,)),), figure)
        assert figure.axes[1].get_ylim()[1] > 1
