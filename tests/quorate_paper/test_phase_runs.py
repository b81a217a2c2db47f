"""The runs that two experiments share: rows, parameters, origin of the classifiers, and verdicts on cells."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import synthetic, vote_dataset
from quorate.methods import method
from quorate_paper import phase_runs
from quorate_paper.datasets import cifar10h, has_papers_own
from quorate_paper.report import Context


@pytest.fixture(scope="module")
def toy():
    return synthetic(num_items=60, num_classes=3, pool_size=7, accuracy=0.6, seed=2)


def test_a_quick_run_has_the_first_seed_only(toy):
    context = Context({"cifar10h": toy}, (3, 4), True, lambda jobs: {})
    assert phase_runs.seeds(context) == (3,)
    assert phase_runs.seeds(replace(context, quick=False)) == (3, 4)


def test_a_printed_accuracy_stands_beside_one_classifier_only():
    votes = np.zeros((100, 3), dtype=np.int64)
    right = np.array([50, 68, 88, 94])[:, None] > np.arange(100)
    probs = np.where(right[..., None], [0.9, 0.1], [0.1, 0.9])  # (M, T, K)
    data = vote_dataset(votes, probs, classes=["a", "b"])
    assert [phase_runs.beside(data, model, (50, 70, 85)) for model in data.models] == [50, 70, 85, None]


def test_the_papers_methods_have_the_papers_hyperpriors_and_any_other_is_a_row_with_its_own_label():
    priors = {name: method(name).learner.hyperprior for name in phase_runs.PHASE_METHODS if name != "value"}
    gammas = {name: (prior.shape, prior.rate) for name, prior in priors.items()}
    assert gammas == {
        "finexp": (1.1, 1.0), "fixed-ask-finexp": (1.1, 1.0), "infexp": (3.0, 2.0), "fixed-ask-infexp": (3.0, 2.0),
        "finexp:hyperprior=infexp": (3.0, 2.0), "fixed-ask-finexp:hyperprior=infexp": (3.0, 2.0),
    }  # fmt: skip
    labels = phase_runs.PHASE_METHODS
    assert all(("Gamma(3, 2)" in label) == (":" in name) for name, label in labels.items())
    assert len(set(labels.values())) == len(labels)


def test_the_papers_classifiers_are_known_by_the_authors_file(tmp_path):
    (tmp_path / "cifar10h_annotator_preds.pkl").write_bytes(pickle.dumps(np.zeros((4, 50), dtype=np.int64)))
    for file in ("cifar10-fixmatch-rs1-s40.pkl", "probs.pkl"):
        (tmp_path / file).write_bytes(pickle.dumps(np.full((2, 4, 10), 0.1)))
    papers, others = cifar10h.load(tmp_path), cifar10h.load(tmp_path, predictions=tmp_path / "probs.pkl")
    assert has_papers_own(papers)
    assert phase_runs.whose(papers) == "the paper's own classifiers"
    assert "treated as the paper's own" in phase_runs.cautions([papers])[0]
    assert phase_runs.whose(others) == "classifiers unlike the paper's"
    assert "(probs-0, probs-1) are classifiers unlike the paper's" in phase_runs.cautions([others])[0]
