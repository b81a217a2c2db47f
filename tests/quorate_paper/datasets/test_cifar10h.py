import pickle

import numpy as np
import pytest

from quorate.errors import InvalidInput
from quorate_paper.datasets import accuracies, checksum, cifar10h
from quorate_paper.datasets.content import has_papers_own, vote_counts
from tests.refusals import refused


@pytest.fixture
def small(tmp_path):
    rng = np.random.default_rng(1)
    votes = rng.integers(10, size=(6, 50))
    probs = rng.dirichlet(np.ones(10), size=(2, 6))
    return tmp_path, votes, probs


def layouts(votes, probs):
    """The files as people have them, by path."""
    counts = np.stack([(votes == k).sum(axis=1) for k in range(10)], axis=1)
    confs = {"model_confs": probs, "model_preds": probs.argmax(axis=-1), "model_perf": np.array([0.5, 0.6])}
    return {
        "data/cifar-10H/cifar10h_annotator_preds.pkl": votes,
        "data/cifar-10/cifar10-fixmatch-rs1-s40.pkl": confs,
        "counts/cifar10h-counts.npy": counts,
        "npz/cifar10h.npz": {"votes": votes.astype(np.int8), "probs": probs.astype(np.float32)},
    }


def write(folder, votes, probs):
    for name, content in layouts(votes, probs).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".pkl"):
            path.write_bytes(pickle.dumps(content, 4))
        elif name.endswith(".npy"):
            np.save(path, content)
        else:
            np.savez(path, **content)


def test_the_authors_folder_the_counts_and_the_npz_give_the_same_votes_and_predictions(small):
    folder, votes, probs = small
    write(folder, votes, probs)
    pickled = cifar10h.load(folder)  # finds votes and predictions in the authors' layout
    inner = cifar10h.load(folder / "data" / "cifar-10H" / "cifar10h_annotator_preds.pkl")
    counted = cifar10h.load(folder / "counts", predictions=folder / "data/cifar-10/cifar10-fixmatch-rs1-s40.pkl")
    plain = cifar10h.load(folder / "npz")
    assert checksum(pickled) == checksum(inner)
    assert pickled.models == ("paper-0", "paper-1")
    for other in (counted, plain):
        assert np.array_equal(vote_counts(other), vote_counts(pickled))
        np.testing.assert_allclose(other.predictions, pickled.predictions, atol=1e-7)
        assert (other.classes, other.name) == (cifar10h.CLASSES, "cifar10h")
    assert "sorted by annotator" in pickled.notes[0]
    assert "votes from counts: 50 to 50" in counted.notes[0]


def test_the_papers_own_files_are_read_though_the_npz_lies_beside_them(small):
    folder, votes, probs = small
    write(folder, votes, probs)
    other = np.full((1, 6, 10), 0.1)
    np.savez(folder / "cifar10h.npz", votes=votes.astype(np.int8), probs=other, models=["ours"])
    own = cifar10h.load(folder)
    assert own.models == ("paper-0", "paper-1")
    np.testing.assert_allclose(own.predictions, probs, atol=1e-7)
    assert own.notes[-1] == (
        "read from cifar10h_annotator_preds.pkl and cifar10-fixmatch-rs1-s40.pkl: the paper's own predictions"
    )
    assert has_papers_own(own)
    mine = cifar10h.load(folder, predictions=folder / "cifar10h.npz")
    assert mine.models == ("ours",)
    assert not has_papers_own(mine)


def test_the_environment_names_the_folder_and_else_the_cache_is_read(small, monkeypatch):
    folder, votes, probs = small
    write(folder, votes, probs)
    monkeypatch.setenv("QUORATE_DATA", str(folder / "npz"))
    assert cifar10h.load().num_items == 6
    monkeypatch.delenv("QUORATE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    with pytest.raises(InvalidInput, match="quorate reproduce fetch cifar10h"):
        cifar10h.load()
    (folder / "npz").rename(folder / "quorate")
    assert cifar10h.load().num_items == 6


@pytest.mark.parametrize("content", [{"a": 1}, np.zeros(3), np.zeros((2, 3), dtype="U1"), [1, 2], np.zeros((0, 5))])
def test_other_pickles_are_no_known_form(tmp_path, content):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(InvalidInput, match="a known form of cifar10h"):
        cifar10h.load(tmp_path / "x.pkl")
    (tmp_path / "x.npy").write_text("votes")
    with refused("source", value=str(tmp_path / "x.npy")):
        cifar10h.load(tmp_path / "x.npy")
    (tmp_path / "x.txt").write_text("votes")
    with pytest.raises(InvalidInput, match="a known form of cifar10h"):
        cifar10h.load(tmp_path / "x.txt")


def test_the_published_pickle_holds_the_votes_of_the_npz(data_dir):
    plain = cifar10h.load(data_dir)
    pickled = cifar10h.load(data_dir / "raw" / "cifar10h_annotator_preds.pkl", predictions=data_dir / "cifar10h.npz")
    assert np.array_equal(vote_counts(pickled), vote_counts(plain))
    assert np.array_equal(pickled.predictions, plain.predictions)
    assert pickled.models == plain.models


def test_the_published_counts_are_of_all_voters_and_agree_with_the_fifty_on_the_verdict(data_dir):
    """CIFAR-10H publishes 47 to 63 votes an item; the paper's authors made it 50, so rows differ by a few votes."""
    plain = vote_counts(cifar10h.load(data_dir))
    counted = cifar10h.load(data_dir / "raw" / "cifar10h-counts.npy", predictions=data_dir / "cifar10h.npz")
    counts = vote_counts(counted)
    assert np.array_equal(counts, np.load(data_dir / "raw" / "cifar10h-counts.npy"))
    assert counted.votes.shape == (10000, 63)
    assert (counts == plain).all(axis=1).sum() == 2355
    assert np.abs(counts - plain).sum(axis=1).max() == 13
    assert (counts.argmax(axis=1) == plain.argmax(axis=1)).mean() > 0.999


def test_the_classifiers_accuracies_are_those_of_the_datas_description(data_dir):
    data = cifar10h.load(data_dir)
    np.testing.assert_allclose(accuracies(data), [0.502, 0.681, 0.888, 0.937], atol=5.1e-4)
    assert "not a person" in " ".join(data.notes)
