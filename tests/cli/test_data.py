"""`quorate data list | fetch | check`."""

import json
import pickle

import numpy as np
import pytest

from quorate.datasets.catalogue import CATALOGUE

pytest.importorskip("pooch")


def test_the_list_has_every_set_with_its_licence_and_whether_it_is_here(run, tmp_path):
    content = json.loads(run("data", "list", "--cache", tmp_path, "--json").stdout)
    assert [row["name"] for row in content["sets"]] == list(CATALOGUE)
    assert {row["name"]: row["state"] for row in content["sets"]}["chaosnli"] == "by hand"
    text = run("data", "list", "--cache", tmp_path).stdout
    assert "CC BY-NC-SA 4.0" in text
    assert "to fetch" in text


def test_nothing_is_fetched_without_agreeing_to_the_licence(run, tmp_path):
    result = run("data", "fetch", "imagenet16h_shift", "--cache", tmp_path, "--from", tmp_path)
    assert result.exit_code == 1
    assert "Licence:" in result.stdout
    assert "Cite:" in result.stdout
    assert "pass --yes" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("mnist",), "choose one of cifar10h"),
        (("chaosnli", "--yes"), "chaosNLI_v1.0.zip"),
        (("imagenet16h_shift", "--yes", "--mirror", "http://127.0.0.1:9"), "By hand: download https://raw."),
        (("imagenet16h_shift", "--yes", "--from", "nowhere"), "has no imagenet16h_dist_shift.pkl"),
    ],
)
def test_what_cannot_be_fetched_is_one_line_with_the_way_out(run, tmp_path, args, says):
    result = run("data", "fetch", *args, "--cache", tmp_path)
    assert result.exit_code == 1
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_fetched_set_is_here_and_loads(run, tmp_path, data_dir):
    args = ("data", "fetch", "imagenet16h_shift", "--yes", "--cache", tmp_path, "--from", data_dir)
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["files"][0]["how"] == "copied"
    assert "Licence" in result.stderr
    assert "verified" in run(*args).stdout
    listed = json.loads(run("data", "list", "--cache", tmp_path, "--json").stdout)["sets"]
    assert {row["name"]: row["state"] for row in listed}["imagenet16h_shift"] == "here"
    text = run("data", "check", tmp_path).stdout
    assert "77.5 % / 53.9 %" in text
    assert "2400 items, 16 classes, 6 votes an item" in text
    assert "note: predictions renormalised" in text


def test_a_file_is_checked_and_trouble_is_exit_code_one(run, tmp_path):
    np.savez(tmp_path / "mine.npz", votes=[[0, 1, 1]], probs=[[[0.2, 0.8]]])
    good = run("data", "check", tmp_path / "mine.npz", "--json")
    assert good.exit_code == 0
    assert json.loads(good.stdout)["datasets"][0]["num_items"] == 1
    (tmp_path / "cifar10h_annotator_preds.pkl").write_bytes(pickle.dumps(print))
    bad = run("data", "check", tmp_path / "cifar10h_annotator_preds.pkl")
    assert bad.exit_code == 1
    assert "builtins.print" in bad.stderr
    assert "Traceback" not in bad.output
    assert run("data", "check", tmp_path / "none").exit_code == 1


def test_a_classifier_without_predictions_has_a_null_accuracy_in_strict_json(run, tmp_path):
    probs = np.array([[[0.2, 0.8]], [[np.nan, np.nan]]])
    np.savez(tmp_path / "mine.npz", votes=[[0, 1, 1]], probs=probs)
    found = run("data", "check", tmp_path / "mine.npz", "--json")
    accuracy = json.loads(found.stdout, parse_constant=pytest.fail)["datasets"][0]["accuracy"]
    assert accuracy == {"model-0": [1.0], "model-1": [None]}


def test_a_damaged_npz_is_one_line_not_a_traceback(run, tmp_path):
    file = tmp_path / "mine.npz"
    np.savez_compressed(file, votes=np.arange(300).reshape(100, 3) % 2, probs=np.full((1, 100, 2), 0.5))
    whole = file.read_bytes()
    for place in range(40, len(whole), len(whole) // 8):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        found = run("data", "check", file)
        assert found.exception is None or isinstance(found.exception, SystemExit), place
        assert "Traceback" not in found.output
