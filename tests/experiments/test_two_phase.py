"""Learning with experts and answering without them: what is counted, what is compared, what is said."""

import math
from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import accuracies, cifar10h, synthetic, vote_dataset
from quorate.experiments import two_phase
from quorate.experiments.runs import run_job
from quorate.experiments.section import Context
from quorate.methods import method
from quorate.simulation import prepare, simulate


def context_of(datasets, seeds=(3,), quick=True):
    return Context(datasets, seeds, quick, lambda jobs: {job: run_job(job, datasets[job.data]) for job in jobs})


@pytest.fixture(scope="module")
def toy():
    return synthetic(num_items=1300, num_classes=3, pool_size=7, accuracy=0.6, seed=2)


def test_without_the_data_the_section_says_so():
    section = two_phase.section(context_of({}))
    assert section.tables == ()
    assert "not at hand" in section.lead[0]


def test_gain_is_against_the_classifier_on_the_very_items_that_nobody_was_asked_about(toy):
    done = two_phase.runs(context_of({"cifar10h": toy}))
    row = next(row for row in done if row.kind.method == "finexp")
    outcome = row.outcomes[0]
    assert outcome.sizes.tolist() == [1000, 300]
    assert np.all(outcome.costs[:, 1] == 0)
    assert np.all(outcome.costs[:, 0] > 0)
    run = simulate(
        toy, method("finexp", **dict(outcome.job.knobs[0])), pool_size=7, model=row.model, seed=3, window=None,
        query_free_after=1000,
    )  # fmt: skip
    stream = prepare(toy, 7, row.model, 3)
    top = stream.counts == stream.counts.max(axis=1, keepdims=True)
    share = top / top.sum(axis=1, keepdims=True)
    rows = np.arange(1000, 1300)
    with_learning = share[rows, run.predictions[1000:]].mean()
    alone = share[rows, stream.predictions[1000:, 0].argmax(axis=1)].mean()
    assert two_phase.gains(outcome, toy)[0] == pytest.approx(100 * (with_learning - alone))


def test_a_printed_accuracy_stands_beside_one_classifier_only():
    votes = np.zeros((100, 3), dtype=np.int64)
    right = np.array([50, 68, 88, 94])[:, None] > np.arange(100)
    probs = np.where(right[..., None], [0.9, 0.1], [0.1, 0.9])  # (M, T, K)
    data = vote_dataset(votes, probs, classes=["a", "b"])
    assert [two_phase.beside(data, model, (50, 70, 85)) for model in data.models] == [50, 70, 85, None]


def test_every_seed_counts_once_and_the_error_is_over_seeds(toy):
    context = context_of({"cifar10h": toy}, seeds=(3, 4))
    assert two_phase.seeds(context) == (3,)
    done = [replace(row) for row in two_phase.runs(replace(context, quick=False)) if row.kind.method == "infexp"]
    assert [outcome.job.seed for outcome in done[0].outcomes] == [3, 4]
    rows = [row for row in two_phase.rows_of(toy, done) if row.budget == 1.0]
    assert len(rows) == 1
    assert math.isfinite(rows[0].se)


def test_another_classifier_is_never_called_a_failure_to_reproduce():
    assert two_phase.compared("patches-50", "not reproduced") == "differs (another classifier)"
    assert two_phase.compared("their-resnet18", "not reproduced") == "differs"
    assert two_phase.compared("patches-50", "agrees") == "agrees"


def test_knobs_of_a_row_differ_only_by_the_hyperprior_it_is_marked_with():
    kind = two_phase.Kind("finexp", paper_prior=True)
    assert kind.name == "finexp, Gamma(1.1, 1)"
    for knobs in kind.knobs(quick=False):
        assert method("finexp", **dict(knobs)).learner.hyperprior.shape == 1.1


def test_quick_on_the_real_data_gives_every_cell_and_learns_from_all_of_the_first_thousand(data_dir):
    data = cifar10h.load(data_dir)
    section = two_phase.section(context_of({"cifar10h": data}))
    rows = section.summary["two_phase"]
    assert {row["model"] for row in rows} == {"patches-50", "patches-68"}
    assert {row["method"] for row in rows} == {kind.name for kind in two_phase.KINDS if not kind.paper_prior}
    assert all(row["paper"] is not None for row in rows if row["method"] != "quorate")
    first = [row for row in rows if row["model"] == "patches-50"]
    assert len(first) >= 12
    assert all(row["gain"] > 1.0 for row in first)
    assert accuracies(data)[0] == pytest.approx(first[0]["accuracy"] / 100, abs=1e-4)
    run = simulate(
        data, method("infexp", threshold=0.8), model="patches-50", seed=3, window=None, query_free_after=1000
    )
    assert run.fitted_after[-1] == 999
