from dataclasses import replace

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate_paper.datasets import accuracies, checksum
from quorate_paper.datasets.content import missing_predictions, vote_counts, with_predictions


def test_the_checksum_follows_the_content_and_not_the_name():
    data = synthetic(num_items=20, num_classes=3, pool_size=4, seed=1)
    assert checksum(replace(data, name="other", notes=("x",))) == checksum(data)
    votes = data.votes.copy()
    votes[3, 2] = (votes[3, 2] + 1) % 3
    for change in (
        {"votes": votes},
        {"predictions": data.predictions * (1 + 1e-15)},
        {"classes": ("a", "b", "c")},
        {"models": ("other",)},
        {"blocks": data.blocks + 1},
    ):
        assert checksum(replace(data, **change)) != checksum(data)


def test_counts_are_the_votes_of_each_class_without_the_missing():
    data = replace(synthetic(num_items=2, num_classes=3, pool_size=3, seed=1), votes=np.array([[0, 2, 2], [1, -1, -1]]))
    assert vote_counts(data).tolist() == [[1, 0, 2], [0, 1, 0]]


def test_accuracy_is_over_the_items_a_classifier_has_predictions_for():
    data = synthetic(num_items=50, num_classes=3, pool_size=5, num_models=2, agreement=0.95, seed=2)
    probs = data.predictions.copy()
    probs[1, :40] = 1 / 3
    part = replace(data, predictions=probs)
    assert missing_predictions(part).sum(axis=1).tolist() == [0, 40]
    rows = replace(data, predictions=data.predictions[:, 40:], votes=data.votes[40:], blocks=data.blocks[40:])
    assert accuracies(part)[1] == pytest.approx(accuracies(rows)[1])
    assert np.isnan(accuracies(replace(part, predictions=np.full_like(probs, 1 / 3)))).all()


def test_a_file_of_predictions_replaces_the_data_sets_own(tmp_path):
    data = synthetic(num_items=4, num_classes=3, pool_size=3, seed=1)
    assert with_predictions(data, None) is data
    np.save(tmp_path / "mine.npy", np.full((4, 3), 1 / 3))
    assert with_predictions(data, tmp_path / "mine.npy").models == ("mine",)
