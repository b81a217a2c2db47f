import pickle

import numpy as np
import pytest

from quorate.errors import InvalidInput, InvalidPrediction, RefusedPickle
from quorate_paper.datasets.prediction_files import read_predictions
from tests.refusals import refused

CLASSES = ("cat", "dog", "bird")
PROBS = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])


def read(source):
    return read_predictions(source, num_items=2, classes=CLASSES)


def write(folder, name, content):
    path = folder / name
    if name.endswith(".npy"):
        np.save(path, content)
    elif name.endswith(".npz"):
        np.savez(path, **content)
    elif name.endswith(".pkl"):
        path.write_bytes(pickle.dumps(content))
    elif name.endswith(".parquet"):
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(content), path)
    else:
        path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.npy", PROBS),
        ("m.npy", PROBS[None].astype(np.float32)),
        ("m.npz", {"probs": PROBS}),
        ("m.npz", {"m": PROBS, "labels": np.zeros(2)}),
        ("m.npz", {"probs": PROBS[None], "models": np.array(["m"])}),
        ("m.pkl", PROBS),
        ("m.pkl", {"model_confs": PROBS[None], "model_preds": np.array([[0, 2]])}),
        ("m.csv", "0.5,0.3,0.2\n0.1,0.1,0.8\n"),
        ("m.csv", "cat,dog,bird\n0.5,0.3,0.2\n0.1,0.1,0.8\n"),
        ("m.csv", "bird,cat,dog\n0.2,0.5,0.3\n0.8,0.1,0.1\n"),
        ("m.csv", "\ufeffp2,p1,p0\n0.2,0.3,0.5\n0.8,0.1,0.1\n"),
        ("m.csv", "item,cat,dog,bird\n1,0.1,0.1,0.8\n0,0.5,0.3,0.2\n"),
        ("m.csv", "model,cat,dog,bird\nm,0.5,0.3,0.2\nm,0.1,0.1,0.8\n"),
        ("m.parquet", {"dog": [0.3, 0.1], "cat": [0.5, 0.1], "bird": [0.2, 0.8]}),
        ("m.parquet", {"item": [1, 0], "0": [0.1, 0.5], "1": [0.1, 0.3], "2": [0.8, 0.2]}),
    ],
)
def test_every_form_gives_the_same_probabilities(tmp_path, name, content):
    got = read(write(tmp_path, name, content))
    np.testing.assert_allclose(got.probs, PROBS[None], atol=1e-7)
    assert got.models == ("m",)
    assert got.notes == ()


def test_several_models_of_one_file_are_told_apart(tmp_path):
    both = np.stack([PROBS, PROBS[::-1]])
    assert read(write(tmp_path, "m.npy", both)).models == ("m-0", "m-1")
    named = write(tmp_path, "n.npz", {"probs": both, "models": np.array(["a", "b"])})
    assert read(named).models == ("a", "b")
    assert read({"x": named}).models == ("x-a", "x-b")
    table = "model,cat,dog,bird\na,0.5,0.3,0.2\nb,0.1,0.1,0.8\na,0.1,0.1,0.8\nb,0.5,0.3,0.2\n"
    got = read(write(tmp_path, "t.csv", table))
    assert got.models == ("a", "b")
    np.testing.assert_allclose(got.probs, both)


def test_several_files_are_stacked_under_their_names(tmp_path):
    one, two = write(tmp_path, "one.npy", PROBS), write(tmp_path, "two.npy", PROBS)
    assert read([one, two]).models == ("one", "two")
    assert read({"a": one, "b": str(two)}).models == ("a", "b")
    with refused("predictions", value="one"):
        read([one, one])


def test_rows_without_a_prediction_are_alike_for_all_classes_and_said(tmp_path):
    for name, content in (("m.npy", np.array([[np.nan] * 3, PROBS[1]])), ("m.csv", "cat,dog,bird\n,,\n0.1,0.1,0.8\n")):
        got = read(write(tmp_path, name, content))
        np.testing.assert_allclose(got.probs[0, 0], 1 / 3)
        assert "1 of 2 predictions are missing" in got.notes[0]


def test_the_authors_confidences_are_normalised_as_their_code_does(tmp_path):
    got = read(write(tmp_path, "cifar10-fixmatch-rs1-s40.pkl", {"model_confs": 1e-9 * PROBS[None]}))
    np.testing.assert_allclose(got.probs[0], PROBS)
    assert "renormalised" in got.notes[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.npy", PROBS[:1]),
        ("m.npy", PROBS[:, :2]),
        ("m.npy", np.zeros((2, 2, 2, 3))),
        ("m.npy", PROBS * 2),
        ("m.npy", PROBS - 0.4),
        ("m.npy", np.zeros((2, 3))),
        ("m.npy", np.array([[np.nan, 0.5, 0.5], PROBS[1]])),
        ("m.npy", np.array([["a", "b", "c"]] * 2)),
        ("m.npz", {"labels": np.zeros(2)}),
        ("m.csv", "cat,dog,fish\n0.5,0.3,0.2\n0.1,0.1,0.8\n"),
        ("m.csv", "cat,dog,bird,note\n0.5,0.3,0.2,x\n0.1,0.1,0.8,x\n"),
        ("m.csv", "cat,dog,bird\n0.5,x,0.2\n0.1,0.1,0.8\n"),
        ("m.csv", "cat,dog,bird\n0.5,0.2\n0.1,0.1,0.8\n"),
        ("m.csv", "cat,dog,cat\n0.5,0.2,0.3\n0.1,0.1,0.8\n"),
        ("m.csv", "cat,dog,bird\n"),
        ("m.csv", ""),
        ("m.csv", "item,cat,dog,bird\n1,0.1,0.1,0.8\n7,0.5,0.3,0.2\n"),
        ("m.csv", "id,cat,dog,bird\nx9,0.1,0.1,0.8\nx8,0.5,0.3,0.2\n"),
        ("m.txt", "0.5"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, name, content):
    with pytest.raises((InvalidInput, InvalidPrediction), match=r"^predictions="):
        read(write(tmp_path, name, content))


def test_broken_and_hostile_files_are_refused(tmp_path):
    for name in ("m.npy", "m.npz", "m.csv", "m.parquet"):
        (tmp_path / name).write_bytes(b"\xff\x00broken")
        with pytest.raises(InvalidInput, match=name):
            read(tmp_path / name)
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(InvalidInput, match="plain arrays"):
        read(tmp_path / "o.npy")
    (tmp_path / "e.pkl").write_bytes(pickle.dumps(print))
    with pytest.raises(RefusedPickle, match=r"e\.pkl.*print"):
        read(tmp_path / "e.pkl")
    for nothing in (tmp_path / "none.npy", [], 3):
        with pytest.raises(InvalidInput, match="predictions"):
            read(nothing)
