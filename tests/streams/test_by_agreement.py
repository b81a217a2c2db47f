"""The most reliable people are asked first: who is asked, and what does not change."""

import numpy as np
import pytest

from quorate.datasets import vote_dataset
from quorate.errors import InvalidInput
from quorate.methods import method
from quorate.streams import prepare, simulate
from quorate.streams.by_agreement import run_by_agreement

SKILL = np.array([0.95, 0.6, 0.6, 0.6])


def data(num_items=300, *, voters=True):
    """Four people, one of whom is nearly always right; the classifier says little."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=num_items)
    wrong = (truth[:, None] + rng.integers(1, 3, size=(num_items, 4))) % 3
    votes = np.where(rng.random((num_items, 4)) < SKILL, truth[:, None], wrong)
    people = np.tile(np.arange(4), (num_items, 1))
    predictions = 0.9 / 3 + 0.1 * np.eye(3)[truth]
    return vote_dataset(votes, predictions, classes=["a", "b", "c"], voters=people if voters else None)


@pytest.mark.parametrize("audited", [False, True])
def test_the_best_is_asked_first_in_the_end_and_errors_fall(audited):
    stream = prepare(data(), None, 0, 1)
    chosen = method("quorate", min_gain=0.06)
    found = run_by_agreement(stream, chosen, seed=1, audited=audited)
    late = found.voters[150:][found.costs[150:] > 0]
    assert (late[:, 0] == 0).mean() > 0.9
    plain = simulate(data(), chosen, seed=1)
    assert found.costs.mean() + 10 * found.expected_errors.mean() < plain.mean_cost + 10 * plain.error_rate


def test_every_vote_stays_with_its_voter():
    stream = prepare(data(50), None, 0, 3)
    found = run_by_agreement(stream, method("ask-all"), seed=3)
    for votes, voters, before, who in zip(found.votes, found.voters, stream.votes, stream.voters, strict=True):
        assert sorted(zip(voters, votes, strict=True)) == sorted(zip(who, before, strict=True))
    assert np.array_equal(found.labels, simulate(data(50), "ask-all", seed=3).predictions)


def test_people_without_a_name_are_asked_last():
    unnamed = data(60)
    voters = unnamed.voters.copy()
    voters[:, 0] = -1
    stream = prepare(
        vote_dataset(unnamed.votes, unnamed.predictions, classes=["a", "b", "c"], voters=voters), None, 0, 1
    )
    found = run_by_agreement(stream, method("until-settled"), seed=1)
    assert np.all(found.voters[:, -1] == -1) and np.all(found.voters[:, :-1] >= 0)


def test_a_stream_without_names_is_refused():
    with pytest.raises(InvalidInput) as raised:
        run_by_agreement(prepare(data(20, voters=False), None, 0, 1), method("quorate"), seed=1)
    assert raised.value.field == "stream"
