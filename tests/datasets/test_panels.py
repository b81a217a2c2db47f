"""Panels with a column of votes for each expert."""

import numpy as np
import pytest

from quorate.datasets import panels
from quorate.errors import InvalidInput


def test_columns_are_experts(tmp_path):
    np.savez(tmp_path / "kelly_nih.npz", votes=np.array([[0, 1, 1], [1, 1, 0]]), probs=[[0.5, 0.5], [0.1, 0.9]])
    found = panels.load("kelly_nih", tmp_path)
    assert found.votes.tolist() == [[0, 1, 1], [1, 1, 0]] and found.voters.tolist() == [[0, 1, 2]] * 2
    assert found.predictions.shape == (1, 2, 2)


def test_what_is_wrong_is_named(tmp_path):
    np.savez(tmp_path / "kelly_nih.npz", other=[1])
    for field, call in (
        ("path", lambda: panels.load("kelly_nih", tmp_path)),
        ("path", lambda: panels.load("kelly_cifar", tmp_path)),
        ("name", lambda: panels.load("mnist", tmp_path)),
    ):
        with pytest.raises(InvalidInput) as raised:
            call()
        assert raised.value.field == field
