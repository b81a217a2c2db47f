import numpy as np
import pytest

from quorate.datasets import load_npz, vote_dataset
from quorate.datasets.arrays import expand_counts
from quorate.errors import InvalidInput


def test_counts_become_votes():
    votes = expand_counts([[2, 0, 1], [0, 1, 0]])
    assert votes.tolist() == [[0, 0, 2], [1, -1, -1]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"votes": [[0, 5]]}, "range over 0..5"),
        ({"votes": [[-1, -1]]}, "item 0 has no vote"),
        ({"votes": [[0.5, 1]]}, "whole numbers"),
        ({"predictions": [[0.2, 0.8], [0.5, 0.5]]}, "expected .models, 1, 2."),
        ({"models": ["a", "b"]}, "models names 2"),
        ({"models": 3}, "models=3; expected a list"),
        ({"blocks": [0, 1]}, "blocks has shape"),
        ({"blocks": ["x"]}, "blocks=.*is not numeric"),
        ({"blocks": [np.nan]}, "blocks contains nan"),
        ({"blocks": [0.5]}, "blocks contains 0.5"),
        ({"votes": [[0, 1], [1]]}, "is ragged.*-1"),
        ({"votes": np.zeros((0, 2), dtype=int), "predictions": np.zeros((1, 0, 2))}, "at least one item"),
        ({"votes": []}, "at least one item"),
        ({"votes": None}, "whole numbers"),
        ({"votes": [["a", "b"]]}, "whole numbers"),
        ({"classes": None}, "classes=None"),
        ({"classes": [str(k) for k in range(40_000)]}, "at most 32767"),
    ],
)
def test_arrays_that_do_not_fit_are_named(arguments, words):
    good = {"votes": [[0, 1]], "predictions": [[0.2, 0.8]], "classes": ["a", "b"]} | arguments
    with pytest.raises(InvalidInput, match=words):
        vote_dataset(good.pop("votes"), good.pop("predictions"), **good)


def test_an_npz_is_renormalised_and_missing_predictions_are_filled_and_both_are_said(tmp_path):
    probs = np.full((2, 3, 2), 1e-9)
    probs[0, :, 0] = 3e-9
    probs[1, 1] = np.nan
    np.savez(
        tmp_path / "set.npz", votes=np.zeros((3, 4), dtype=np.int8), probs=probs, is_post_shift=[False, False, True]
    )
    data = load_npz(tmp_path / "set.npz")
    np.testing.assert_allclose(data.predictions[1, 1], [0.5, 0.5])
    assert data.blocks.tolist() == [0, 0, 1]
    np.testing.assert_allclose(data.predictions[0, 0], [0.75, 0.25])
    assert "1 of 6 predictions are missing" in data.notes[0]
    assert "renormalised" in data.notes[1]


def test_a_pickled_npz_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", votes=np.array([object()]), probs=np.ones((1, 1, 2)))
    with pytest.raises(InvalidInput, match="Pickles are not read"):
        load_npz(tmp_path / "evil.npz")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"votes": [[0, 1]], "probs": [[0.5, 0.5]]}, "probs has shape"),
        ({"votes": [[0, 1]], "probs": [[["a", "b"]]]}, "probs=.*not numeric"),
        ({"counts": [1, 2], "probs": [[[0.5, 0.5]]]}, "counts has shape"),
        ({"counts": [[1e19, 2]], "probs": [[[0.5, 0.5]]]}, "counts contains 1e"),
        ({"votes": [[0, 1]], "probs": [[[0.5, 0.5]]], "is_post_shift": ["x"]}, "blocks"),
        ({"votes": [[0, 1]]}, "expected `probs`"),
        ({"votes": [[0, 1]], "probs": [[[-2.0, 5.0]]]}, "contains -2.*not logits"),
        ({"votes": [[0, 1]], "probs": [[[0.0, 0.0]]]}, "for every class of an item"),
    ],
)
def test_an_npz_with_nonsense_is_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "set.npz", **arrays)
    with pytest.raises(InvalidInput, match=words):
        load_npz(tmp_path / "set.npz")


def test_falling_blocks_are_refused():
    with pytest.raises(InvalidInput, match="non-decreasing"):
        vote_dataset([[0, 1], [1, 1]], [[0.2, 0.8], [0.5, 0.5]], classes=["a", "b"], blocks=[1, 0])


def test_a_missing_file_is_named():
    with pytest.raises(InvalidInput, match=r"'nowhere\.npz' is not a file"):
        load_npz("nowhere.npz")


def test_the_real_sets_load_with_their_shapes(data_dir):
    shift = load_npz(data_dir / "imagenet16h_shift.npz")
    assert (shift.num_items, shift.num_classes, len(shift.models)) == (2400, 16, 5)
    assert load_npz(data_dir / "chaosnli_snli.npz").votes.shape == (1514, 100)
