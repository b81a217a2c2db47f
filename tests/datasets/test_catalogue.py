import os
import pickle

import numpy as np
import pytest

from quorate.datasets import checksum, imagenet16h_shift
from quorate.datasets.catalogue import inspect
from quorate.errors import InvalidInput


def test_a_users_own_npz_is_described_and_nothing_is_wrong(tmp_path):
    np.savez(tmp_path / "mine.npz", votes=[[0, 1, 1], [0, 0, -1]], probs=[[[0.2, 0.8], [0.4, 0.6]]])
    found = inspect(tmp_path / "mine.npz")
    assert found.problems == ()
    assert (found.files[0].published, found.files[0].intact) == (None, None)
    assert "votes int64[2, 3]" in found.files[0].content
    assert found.datasets[0].votes_per_item == (2, 3)
    assert found.datasets[0].accuracy == {"model-0": [0.5]}


def test_a_hostile_pickle_is_reported_and_not_run(tmp_path, monkeypatch):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch hacked",)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "cifar10h_annotator_preds.pkl").write_bytes(pickle.dumps(Evil()))
    found = inspect(tmp_path)
    assert found.files[0].intact is False
    assert any("not the file published" in problem for problem in found.problems)
    assert any("system" in problem for problem in found.problems)
    assert not (tmp_path / "hacked").exists()


def test_nothing_known_and_nothing_there_are_said(tmp_path):
    assert "no file of a known name" in inspect(tmp_path).problems[0]
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"a": np.zeros(3), "b": [1]}))
    assert inspect(tmp_path / "x.pkl").files[0].content == "a float64[3], b list"
    with pytest.raises(InvalidInput, match=r"^path="):
        inspect(tmp_path / "none")


def test_votes_without_predictions_are_a_problem_until_predictions_are_named(tmp_path):
    np.save(tmp_path / "cifar10h-counts.npy", np.full((3, 10), 5))
    assert any("predictions=None" in problem for problem in inspect(tmp_path).problems)
    np.save(tmp_path / "mine.npy", np.full((3, 10), 0.1))
    found = inspect(tmp_path / "cifar10h-counts.npy", predictions=tmp_path / "mine.npy")
    assert list(found.datasets[0].accuracy) == ["mine"]


def test_the_real_folder_is_recognised_whole(data_dir):
    found = inspect(data_dir)
    assert {facts.name for facts in found.datasets} == {"cifar10h", "imagenet16h", "imagenet16h_shift", "chaosnli"}
    assert found.problems == ()
    assert len(found.files) == 9
    assert all(facts.intact for facts in found.files)
    shift = next(facts for facts in found.datasets if facts.name == "imagenet16h_shift")
    assert shift.checksum == checksum(imagenet16h_shift.load(data_dir))
    assert [round(x, 3) for x in shift.accuracy["densenet"]] == [0.775, 0.539]
