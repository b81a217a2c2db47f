import numpy as np
import pytest

from quorate.errors import InvalidInput
from quorate.types import Item, PriorParams


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"theta": 0.0}, "theta=0.0 must be positive"),
        ({"phi": -1.0}, "phi=-1.0 must be positive"),
        ({"tau": [1.0, np.nan]}, "tau=.*must be positive"),
        ({"tau": [[[1.0, 1.0]]]}, r"tau has shape \(1, 1, 2\)"),
        ({"tau": [1.0]}, "K >= 2"),
        ({"bias": [0.0, 0.0, 0.0]}, "bias=.*must be 2 finite"),
        ({"theta": "x"}, "theta='x' is not numeric"),
        ({"theta": None}, "theta=None must be positive"),
        ({"phi": "1.0"}, "phi='1.0' is not numeric"),
        ({"phi": [1.0, 1.0]}, "expected one number"),
        ({"tau": "x"}, "tau='x' is not numeric"),
        ({"tau": [[1.0, 1.0], [1.0]]}, "rectangular"),
        ({"bias": "x"}, "bias='x' is not numeric"),
        ({"bias": [0.0, np.inf]}, "bias=.*must be 2 finite"),
    ],
)
def test_parameters_outside_the_support_are_refused(arguments, words):
    with pytest.raises(InvalidInput, match=words):
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
