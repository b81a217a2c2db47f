"""The runs that two experiments share: rows, parameters, origin of the classifiers, and verdicts on cells."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import cifar10h, synthetic, vote_dataset
from quorate.datasets.content import has_papers_own
from quorate.datasets.places import PAPERS_OWN
from quorate.methods import method
from quorate.paper import phase_runs
from quorate.paper.published import Printed
from quorate.paper.report import Context

SUFFIX = " (another classifier)"


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


def test_parameters_of_a_row_differ_only_by_the_hyperprior_it_is_marked_with():
    kind = phase_runs.Kind("finexp", hyperprior="infexp")
    assert kind.name == "finexp, Gamma(3, 2)"
    for parameters in kind.parameters(quick=False):
        assert method("finexp", **dict(parameters)).learner.hyperprior.shape == 3.0


@pytest.mark.parametrize(
    ("ours", "own", "other"),
    [(1.1, "agrees", "agrees"), (2.0, "better", "better"), (0.2, "not reproduced", "differs")],
)
def test_on_another_classifier_every_verdict_is_marked_so(toy, ours, own, other):
    papers = replace(toy, notes=(PAPERS_OWN,))
    printed = Printed(1.0, 0.05)
    assert phase_runs.compared(papers, (ours, 0.05), printed, points=0.25) == own
    assert phase_runs.compared(toy, (ours, 0.05), printed, points=0.25) == other + SUFFIX


def test_the_wrong_sign_does_not_agree_however_wide_the_error(toy):
    papers = replace(toy, notes=(PAPERS_OWN,))
    assert phase_runs.compared(papers, (-0.1, 1.0), Printed(0.5, 0.1), points=0.25) == "not reproduced"
    assert phase_runs.compared(papers, (0.1, 1.0), Printed(0.5, 0.1), points=0.25) == "agrees"


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
