"""What knowing the experts is worth on a pilot."""

import numpy as np
import pytest

from quorate.datasets import vote_dataset
from quorate.methods import method
from quorate.workflows.plan import people
from quorate.workflows.plan.people import people_worth

ADVISED = method("quorate", min_gain=0.01)


def pilot(skills, *, num_items=200, named=True, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, num_items)
    guesses = rng.integers(0, 3, (num_items, len(skills)))
    votes = np.where(rng.random(guesses.shape) < np.array(skills), truth[:, None], guesses)
    voters = np.tile(np.arange(len(skills)), (num_items, 1)) if named else None
    return vote_dataset(votes, np.full((num_items, 3), 1 / 3), classes=["a", "b", "c"], voters=voters)


def worth(data, **options):
    return people_worth(data, ADVISED, **{"pool_size": None, "level": 0.9, "seed": 1} | options)


def test_people_of_different_skill_are_worth_knowing(monkeypatch):
    monkeypatch.setattr(people, "SCALES", (0.1, 1.0))
    found = worth(pilot((0.95, 0.95, 0.95, 0.3, 0.3, 0.3)))
    assert found is not None
    assert found.saves > 0
    assert found.low <= found.saves <= found.high
    assert found.with_names == pytest.approx(found.without - found.saves)


def test_without_names_or_with_few_items_nothing_is_claimed():
    assert worth(pilot((0.9, 0.9, 0.9), named=False)) is None
    assert worth(pilot((0.9, 0.9, 0.9), num_items=50)) is None


@pytest.mark.parametrize(
    ("costs", "errors", "saving"),
    [
        ([3.0, 2.0, 4.0], [0.1, 0.2, 0.0], 0.0),  # half-way between the two
        ([3.0, 2.0, 4.0], [0.2, 0.2, 0.0], 1.0),  # the cheaper one is good enough
        ([3.0, 2.0, 4.0], [0.1, 0.3, 0.2], -1.0),  # neither is: at least the dearer one is needed
        ([5.0, 2.0, 4.0], [0.1, 0.3, 0.2], 0.0),  # neither is, and cheap errors save nothing
        ([3.0, 4.0, 2.0], [0.1, 0.0, 0.2], 0.0),  # whatever their order
    ],
)
def test_a_curve_is_read_at_the_error_of_the_run_without_names(costs, errors, saving):
    assert people._saving(np.array(costs), np.array(errors)) == pytest.approx(saving)
