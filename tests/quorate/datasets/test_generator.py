import sys

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.errors import InvalidInput

generator = sys.modules["quorate.datasets.generator"]


def share_right(data, model=0, rows=slice(None)):
    counts = (data.votes[:, :, None] == np.arange(data.num_classes)).sum(axis=1)
    return float((data.predictions[model].argmax(axis=1) == counts.argmax(axis=1))[rows].mean())


def per_class(data):
    counts = (data.votes[:, :, None] == np.arange(data.num_classes)).sum(axis=1)
    right = data.predictions[0].argmax(axis=1) == counts.argmax(axis=1)
    return np.array([right[counts.argmax(axis=1) == k].mean() for k in range(data.num_classes)])


@pytest.mark.parametrize("accuracy", [0.1, 0.5, 0.9])
def test_the_accuracy_dial_is_the_classifiers_accuracy(accuracy):
    data = synthetic(num_items=4000, accuracy=accuracy, agreement=0.99, pool_size=9, seed=1)
    assert share_right(data) == pytest.approx(accuracy, abs=4 * np.sqrt(accuracy * (1 - accuracy) / 4000) + 0.01)


def test_the_calibration_dial_is_honest_at_one_and_overconfident_above():
    honest, boastful = (
        synthetic(num_items=4000, agreement=0.999, pool_size=9, calibration=c, seed=1) for c in (1.0, 3.0)
    )
    assert honest.predictions[0].max(axis=1).mean() == pytest.approx(share_right(honest), abs=0.03)
    assert boastful.predictions[0].max(axis=1).mean() > share_right(boastful) + 0.1


def test_the_agreement_dial_is_how_often_experts_are_right(monkeypatch):
    seen = {}
    inner = generator._votes

    def spy(truth, *arguments):
        seen["truth"] = truth
        return inner(truth, *arguments)

    monkeypatch.setattr(generator, "_votes", spy)
    for agreement in (0.6, 0.9):
        data = synthetic(num_items=3000, agreement=agreement, pool_size=20, seed=1)
        assert (data.votes == seen["truth"][:, None]).mean() == pytest.approx(agreement, abs=0.03)


def test_the_unevenness_dial_spreads_the_classes():
    even, uneven = (per_class(synthetic(num_items=6000, agreement=0.99, unevenness=u, seed=1)) for u in (0.0, 1.0))
    assert np.ptp(uneven) > 3 * np.ptp(even)


def test_the_shift_changes_the_second_half_only():
    data = synthetic(num_items=4000, accuracy=0.9, shift_accuracy=0.3, agreement=0.95, seed=1)
    assert share_right(data, rows=slice(0, 2000)) > 0.8
    assert share_right(data, rows=slice(2000, None)) < 0.4
    assert data.blocks.sum() == 2000


def test_the_same_seed_gives_the_same_data_and_models_are_independent():
    one, two = (synthetic(num_items=300, num_models=2, seed=5) for _ in range(2))
    assert np.array_equal(one.votes, two.votes)
    assert np.array_equal(one.predictions, two.predictions)
    assert not np.array_equal(one.predictions[0], one.predictions[1])


@pytest.mark.parametrize(
    ("option", "value"),
    [("accuracy", 0.05), ("agreement", 1.2), ("num_items", 0), ("unevenness", 2), ("shift_accuracy", 0.01)],
)
def test_options_outside_their_range_are_refused(option, value):
    with pytest.raises(InvalidInput) as caught:
        synthetic(**{option: value})
    assert caught.value.field in (option, option.removeprefix("shift_"))
    assert caught.value.value == value
