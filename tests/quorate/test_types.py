from dataclasses import replace

import numpy as np
import pytest

from quorate.types import Item, PriorParams, VoteDataset
from tests.refusals import refused


@pytest.mark.parametrize(
    "arguments",
    [
        {"theta": 0.0},
        {"phi": -1.0},
        {"tau": [1.0, np.nan]},
        {"tau": [[[1.0, 1.0]]]},
        {"tau": [1.0]},
        {"bias": [0.0, 0.0, 0.0]},
        {"theta": "x"},
        {"theta": None},
        {"phi": "1.0"},
        {"phi": [1.0, 1.0]},
        {"tau": "x"},
        {"tau": [[1.0, 1.0], [1.0]]},
        {"bias": "x"},
        {"bias": [0.0, np.inf]},
    ],
)
def test_parameters_outside_the_support_are_refused(arguments):
    with refused(next(iter(arguments))):
        PriorParams(**({"theta": 1.0, "phi": 1.0, "tau": [1.0, 1.0]} | arguments))


def test_parameters_cannot_be_changed_behind_our_back():
    tau = np.ones(3)
    params = PriorParams(theta=1, phi=1, tau=tau)
    tau[0] = 5
    assert params.tau[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        params.tau[0] = 2


def test_one_and_several_classifiers():
    assert PriorParams(1, 1, np.ones(4)).num_classifiers == 1
    several = PriorParams(1, 1, np.ones((3, 4)))
    assert (several.num_classifiers, several.num_classes) == (3, 4)


def test_an_item_counts_its_votes():
    item = Item(np.array([0.5, 0.5]), np.array([[0.5, 0.5]]), np.array([2, 1]), 7)
    assert (item.num_votes, item.num_remaining) == (3, 4)


def test_the_people_of_a_data_set_are_its_voters_by_number():
    votes = np.zeros((2, 2), dtype=np.int16)
    data = VoteDataset("votes", votes, np.full((1, 2, 2), 0.5), ("model",), ("a", "b"), np.zeros(2, dtype=np.int64))
    assert data.people == ()
    named = replace(data, voters=np.array([[0, 2], [-1, 0]]))
    assert named.people == ("0", "1", "2")
    assert named.rows(slice(0)).people == (), "nobody voted on no items"
