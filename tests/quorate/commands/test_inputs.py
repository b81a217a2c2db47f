"""`read_inputs` and `truth_of`: arrays, tables and data sets become one joined table."""

import numpy as np
import pandas as pd
import pytest

from quorate.commands.inputs import read_inputs, truth_of
from quorate.datasets import vote_dataset
from quorate.tables.options import TableOptions
from tests.refusals import refused

VOTES = np.array([[0, 0, -1], [1, 0, 1]])
PROBS = np.array([[0.9, 0.1], [0.3, 0.7]])


def read(votes, predictions=None, **options):
    return read_inputs(votes, predictions, TableOptions(**options), by_time=True, progress=None)


def data(**more):
    return vote_dataset(VOTES, PROBS[None], classes=("cat", "dog"), **more)


def test_an_array_is_read_by_the_names_given():
    joined, has_order = read(VOTES, PROBS, classes=("cat", "dog"))
    assert (joined.items, joined.classes, has_order) == (("0", "1"), ("cat", "dog"), True)
    assert [joined.votes_of(t).tolist() for t in range(2)] == [[0, 0], [1, 0, 1]]
    np.testing.assert_allclose(joined.predictions[0], PROBS)


def test_a_data_set_brings_its_predictions_and_people():
    joined, _ = read(data(voters=np.array([[4, 5, -1], [4, -1, 6]])))
    assert joined.items == ("0", "1")
    assert joined.workers == ("4", "5", "6")
    assert joined.worker.tolist() == [0, 1, 0, -1, 2]
    np.testing.assert_allclose(joined.predictions[0], PROBS)


def test_counts_have_no_order():
    table = pd.DataFrame({"item": ["a", "b"], "cat": [2, 1], "dog": [0, 2]})
    assert read(table, format="counts")[1] is False


@pytest.mark.parametrize(
    ("votes", "options", "field"),
    [
        (VOTES.astype(float), {}, "votes"),
        (VOTES[0], {}, "votes"),
        (VOTES, {"classes": ("cat",)}, "classes"),
        (VOTES, {"label": "dx"}, "label"),
    ],
)
def test_an_array_that_cannot_be_meant_is_refused(votes, options, field):
    with refused(field):
        read(votes, **options)


def test_rows_of_predictions_are_the_rows_of_an_array_of_votes():
    np.testing.assert_allclose(read(np.array([[-1], [1]]), PROBS)[0].predictions, [[PROBS[1]]])
    with refused("predictions"):
        read(VOTES, PROBS[:1])


def truth(votes, table=None):
    true_classes = truth_of(votes, table, read(votes, PROBS)[0], TableOptions())
    return None if true_classes is None else true_classes.tolist()


def test_a_table_of_the_truth_comes_before_that_of_the_data_set():
    votes = data(truth=np.array([-1, 1]))
    assert truth(votes) == [-1, 1]
    assert truth(votes, pd.DataFrame({"item": ["0"], "truth": ["cat"]})) == [0, -1]


@pytest.mark.parametrize("votes", [VOTES, data(), data(truth=np.array([-1, -1]))])
def test_without_known_classes_there_is_no_truth(votes):
    assert truth(votes) is None
