"""What a run reports about sorted votes and about a classifier that is good, useless, swapped or missing."""


import numpy as np
import pytest

import quorate
from quorate.datasets import synthetic
from quorate.streams.classifier_saving import ClassifierReport, Saving

DATA = synthetic(num_items=600, pool_size=7, num_classes=3, accuracy=0.9, seed=2)


def classifier(predictions):
    return quorate.run(DATA.votes, predictions, classes=DATA.classes, threshold=0.9).summary()["classifier"]


def test_a_good_classifier_saves_and_others_are_warned_of():
    good, uniform = classifier(DATA.predictions[0]), classifier(np.full((600, 3), 1 / 3))
    assert good["here"]["low"] > 0.1
    assert not good["warns"]
    assert uniform["here"]["saves"] == pytest.approx(0, abs=0.01)
    assert uniform["warns"]


def test_swapped_columns_are_named():
    found = classifier(DATA.predictions[0][:, [1, 2, 0]])
    a, b, c = DATA.classes
    pairs = {(each["column"], each["looks_like"]) for each in found["swapped_columns"]}
    assert pairs == {(a, b), (b, c), (c, a)}
    assert found["warns"]


def test_without_a_classifier_nothing_is_claimed():
    result = quorate.run(DATA.votes, classes=DATA.classes)
    found = result.summary()["classifier"]
    assert found["models"] == []
    assert found["here"] is None
    assert "theta" not in result.to_html()


def test_sorted_votes_are_shuffled_unless_given():
    votes = np.sort(DATA.votes, axis=1)
    runs = {order: quorate.run(votes, classes=DATA.classes, threshold=0.9, order=order) for order in ("time", "given")}
    assert runs["time"].settings["shuffled_because"] == "sorted"
    assert runs["given"].settings["shuffled_because"] is None
    assert runs["given"].summary()["vote_order"]["sorted_by"] == "label"
    assert runs["time"].summary()["error"]["rate"] < runs["given"].summary()["error"]["rate"]


def test_a_saving_that_is_not_clear_is_no_warning():
    def report(saves, low, high):
        saving = Saving(votes=3.0, error=0.02, without=3.0 + saves, saves=saves, low=low, high=high)
        return ClassifierReport(("net",), "value", 900, saving, None, ())

    assert report(0.0, -0.2, 0.2).warns
    assert not report(0.15, -0.05, 0.3).warns
    assert not report(0.15, 0.05, 0.3).warns
    assert len({report(*each).sentence() for each in ((0.0, -0.2, 0.2), (0.15, -0.05, 0.3), (0.15, 0.05, 0.3))}) == 3
