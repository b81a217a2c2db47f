import pickle

import numpy as np
import pytest
from scipy.spatial import cKDTree

from quorate.errors import InvalidInput
from quorate_paper.datasets import accuracies, checksum, imagenet16h, imagenet16h_shift
from quorate_paper.datasets.content import vote_counts


def test_the_authors_pickle_is_normalised_and_split_into_two_blocks(tmp_path):
    rng = np.random.default_rng(1)
    confs = rng.dirichlet(np.ones(16), size=(2, 4)) * 1e-8
    votes = rng.integers(16, size=(6, 4))
    clean = np.concatenate([votes[:, :2], votes[:, :2]], axis=1)
    content = {"model_confs": confs, "expert_preds_clean": clean, "expert_preds_dirty": votes}
    (tmp_path / "imagenet16h_dist_shift.pkl").write_bytes(pickle.dumps(content, 4))
    data = imagenet16h_shift.load(tmp_path)
    assert np.array_equal(data.votes, votes.T)
    assert data.blocks.tolist() == [0, 0, 1, 1]
    assert data.models == ("model-0", "model-1")
    np.testing.assert_allclose(data.predictions, confs * 1e8, rtol=1e-6)
    assert "renormalised: rows summed to between 1e-08 and 1e-08" in data.notes[0]
    np.savez(tmp_path / "imagenet16h_shift.npz", votes=votes.T, probs=np.full((1, 4, 16), 1 / 16))
    again = imagenet16h_shift.load(tmp_path)  # the authors' file before the npz
    assert checksum(again) == checksum(data)
    assert again.notes[-1] == "read from imagenet16h_dist_shift.pkl: the paper's own predictions"
    assert imagenet16h_shift.load(tmp_path / "imagenet16h_shift.npz").notes[-1] == "read from imagenet16h_shift.npz"
    np.save(tmp_path / "mine.npy", np.full((4, 16), 1 / 16))
    assert imagenet16h_shift.load(tmp_path, predictions=tmp_path / "mine.npy").models == ("mine",)


@pytest.mark.parametrize(
    "content",
    [
        np.zeros((2, 2)),
        {"model_confs": np.ones((1, 4, 16))},
        {"model_confs": np.ones((1, 3, 16)), "expert_preds_dirty": np.zeros((6, 3), dtype=int)},
        {"model_confs": np.ones((1, 4, 10)), "expert_preds_dirty": np.zeros((6, 4), dtype=int)},
    ],
)
def test_other_pickles_are_no_known_form(tmp_path, content):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(InvalidInput, match="a known form of imagenet16h_shift"):
        imagenet16h_shift.load(tmp_path / "x.pkl")


def test_the_published_pickle_and_the_npz_are_equal_data(data_dir):
    plain = imagenet16h_shift.load(data_dir / "imagenet16h_shift.npz")
    pickled = imagenet16h_shift.load(data_dir / "raw" / "imagenet16h_dist_shift.pkl")
    assert np.array_equal(plain.votes, pickled.votes)
    assert np.array_equal(plain.predictions, pickled.predictions)
    assert checksum(plain) == checksum(pickled)
    assert "5.2e-09" in pickled.notes[0]
    assert plain.votes.shape == (2400, 6)
    assert np.bincount(plain.blocks).tolist() == [1200, 1200]


def test_the_classifiers_accuracies_are_those_of_the_datas_description(data_dir):
    """The description breaks ties at random, we share them: a difference of a few thousandths in 1200 items."""
    data = imagenet16h_shift.load(data_dir)
    np.testing.assert_allclose(accuracies(data, block=0), [0.652, 0.773, 0.688, 0.744, 0.787], atol=0.004)
    np.testing.assert_allclose(accuracies(data, block=1), [0.295, 0.539, 0.407, 0.415, 0.416], atol=0.004)


@pytest.mark.parametrize(("level", "block"), [(80, 0), (125, 1)])
def test_the_names_of_classes_and_classifiers_are_those_of_imagenet16h(data_dir, level, block):
    """The file has numbers only. So named, all five predictions of an item are those of one ImageNet-16H item."""
    shift, full = imagenet16h_shift.load(data_dir), imagenet16h.load(data_dir)
    rows = imagenet16h.noise_levels(data_dir) == level
    late = [name for name in full.models if name.endswith("_epoch00")]
    models = [full.models.index(next(name for name in late if name.startswith(ours))) for ours in shift.models]
    theirs = np.concatenate(full.predictions[models][:, rows], axis=1)  # (1200, 5 * 16)
    order = [shift.classes.index(name) for name in full.classes]
    ours = np.concatenate(shift.predictions[:, shift.blocks == block][..., order], axis=1)
    distance, nearest = cKDTree(theirs).query(ours)
    assert distance.max() < 1e-12
    assert len(set(nearest)) == 1200
    counts = vote_counts(full)[rows][nearest]
    assert np.all(vote_counts(shift)[shift.blocks == block][:, order] <= counts)
