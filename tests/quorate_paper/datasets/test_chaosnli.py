import json

import numpy as np
import pytest

from quorate.errors import InvalidInput
from quorate_paper.datasets import chaosnli
from quorate_paper.datasets.content import vote_counts

LINES = [
    {"uid": "a", "label_count": [76, 20, 4], "majority_label": "e"},
    {"uid": "b", "label_count": [0, 1, 99], "majority_label": "c"},
]


def publish(folder, *, logits=True):
    """The published layout: votes as JSON lines, predictions as logits by item."""
    (folder / "data" / "chaosNLI_v1.0").mkdir(parents=True)
    file = folder / "data" / "chaosNLI_v1.0" / "chaosNLI_snli.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in LINES) + "\n")
    if logits:
        (folder / "data" / "model_predictions").mkdir()
        said = {"b": {"logits": [0.0, 0.0, np.log(2.0)]}, "a": {"logits": [np.log(2.0), 0.0, 0.0]}, "c": {}}
        path = folder / "data" / "model_predictions" / "model_predictions_for_snli_mnli.json"
        path.write_text(json.dumps({"bert": said, "bart": said}))
    return file


def test_the_published_files_are_read_with_the_softmax_of_the_logits(tmp_path):
    file = publish(tmp_path)
    for path in (tmp_path, file):
        data = chaosnli.load(path)
        assert vote_counts(data).tolist() == [[76, 20, 4], [0, 1, 99]]
        assert data.models == ("bert", "bart")
        np.testing.assert_allclose(data.predictions[0], [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
        assert "softmax" in data.notes[0]


def test_votes_alone_need_predictions(tmp_path):
    file = publish(tmp_path, logits=False)
    with pytest.raises(InvalidInput, match=r"^predictions=None.*put model_predictions_for_snli_mnli\.json"):
        chaosnli.load(file)
    np.save(tmp_path / "mine.npy", np.full((2, 3), 1 / 3))
    assert chaosnli.load(file, predictions=tmp_path / "mine.npy").models == ("mine",)
    (tmp_path / "few.json").write_text(json.dumps({"bert": {"a": {"logits": [1, 2, 3]}}}))
    with pytest.raises(InvalidInput, match="logits for every item"):
        chaosnli.load(file, predictions=tmp_path / "few.json")


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", '{"uid": "a", "label_count": [1, 2]}\n'])
def test_other_lines_are_no_known_form(tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)
    (tmp_path / "x.pkl").write_text(text)
    for name in ("x.jsonl", "x.pkl"):
        with pytest.raises(InvalidInput, match="a known form of chaosnli"):
            chaosnli.load(tmp_path / name)


def test_the_real_set_has_a_hundred_votes_for_each_of_1514_items(data_dir):
    data = chaosnli.load(data_dir)
    assert data.votes.shape == (1514, 100)
    with np.load(data_dir / "chaosnli_snli.npz") as archive:
        assert np.array_equal(vote_counts(data), archive["counts"])
    assert data.classes == chaosnli.CLASSES
    assert len(data.models) == 5
