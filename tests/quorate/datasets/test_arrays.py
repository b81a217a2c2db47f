import numpy as np
import pytest

from quorate.datasets import load_npz, vote_dataset
from quorate.datasets.arrays import expand_counts
from quorate.errors import InvalidInput
from tests.refusals import refused


def test_voters_are_kept_where_there_is_a_vote():
    data = vote_dataset([[0, 1, -1]], [[0.5, 0.5]], classes=["a", "b"], voters=[[4, -1, 4]])
    assert data.voters.tolist() == [[4, -1, -1]]


def test_counts_become_votes():
    votes = expand_counts([[2, 0, 1], [0, 1, 0]])
    assert votes.tolist() == [[0, 0, 2], [1, -1, -1]]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"votes": [[0, 5]]}, "0..5"),
        ({"votes": [[-1, -1]]}, 0),
        ({"votes": [[0.5, 1]]}, "float64[1, 2]"),
        ({"predictions": [[0.2, 0.8], [0.5, 0.5]]}, (1, 2, 2)),
        ({"models": ["a", "b"]}, ["a", "b"]),
        ({"models": 3}, 3),
        ({"voters": [[0, 1, 2]]}, "int64[1, 3]"),
        ({"voters": [[0.5, 1.0]]}, "float64[1, 2]"),
        ({"voters": [[0, -2]]}, -2),
        ({"voters": [[7, 7]]}, 7),
        ({"truth": [0, 1]}, "int64[2]"),
        ({"truth": [0.5]}, "float64[1]"),
        ({"truth": [2]}, "2..2"),
        ({"blocks": [0, 1]}, (2,)),
        ({"blocks": [0.5]}, 0.5),
        (
            {"blocks": [1, 0], "votes": [[0, 1], [1, 1]], "predictions": [[0.2, 0.8], [0.5, 0.5]]},
            [1, 0],
        ),
        ({"votes": [[0, 1], [1]]}, [[0, 1], [1]]),
        ({"votes": np.zeros((0, 2), dtype=int), "predictions": np.zeros((1, 0, 2))}, (0, 2)),
        ({"votes": []}, (0,)),
        ({"votes": None}, "object[]"),
        ({"votes": [["a", "b"]]}, "<U1[1, 2]"),
        ({"classes": None}, None),
        ({"classes": [str(k) for k in range(40_000)]}, 40_000),
    ],
)
def test_arrays_that_do_not_fit_are_named(arguments, value):
    good = {"votes": [[0, 1]], "predictions": [[0.2, 0.8]], "classes": ["a", "b"]} | arguments
    with refused(next(iter(arguments)), value=value):
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
    ("arrays", "field"),
    [
        ({"votes": [[0, 1]], "probs": [[0.5, 0.5]]}, "probs"),
        ({"votes": [[0, 1]], "probs": [[["a", "b"]]]}, "probs"),
        ({"counts": [1, 2], "probs": [[[0.5, 0.5]]]}, "counts"),
        ({"counts": [[1e19, 2]], "probs": [[[0.5, 0.5]]]}, "counts"),
        ({"votes": [[0, 1]], "probs": [[[0.5, 0.5]]], "is_post_shift": ["x"]}, "blocks"),
        ({"votes": [[0, 1]]}, "path"),
        ({"votes": [[0, 1]], "probs": [[[-2.0, 5.0]]]}, "probs"),
        ({"votes": [[0, 1]], "probs": [[[0.0, 0.0]]]}, "probs"),
    ],
)
def test_an_npz_with_nonsense_is_refused(tmp_path, arrays, field):
    np.savez(tmp_path / "set.npz", **arrays)
    with pytest.raises(InvalidInput, match=rf"^{field}[ =]"):
        load_npz(tmp_path / "set.npz")


def test_a_missing_file_is_named():
    with refused("path", value="nowhere.npz"):
        load_npz("nowhere.npz")


def test_the_real_sets_load_with_their_shapes(data_dir):
    shift = load_npz(data_dir / "imagenet16h_shift.npz")
    assert (shift.num_items, shift.num_classes, len(shift.models)) == (2400, 16, 5)
    assert load_npz(data_dir / "chaosnli_snli.npz").votes.shape == (1514, 100)
