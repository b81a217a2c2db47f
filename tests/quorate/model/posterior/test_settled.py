import itertools

import numpy as np
import pytest

from quorate.model.posterior.settled import are_settled, is_settled, plurality_shares


def share(votes):
    return plurality_shares(np.array(votes)).tolist()


def outcomes(votes, pool_size):
    """The verdict of every pool that the votes seen can still become."""
    remaining = pool_size - sum(votes)
    for cast in itertools.combinations_with_replacement(range(len(votes)), remaining):
        yield tuple(share(np.add(votes, np.bincount(np.array(cast, int), minlength=len(votes)))))


def test_lead_that_the_rest_can_only_equal_is_not_settled():
    assert not is_settled(np.array([3, 1, 0]), 6)


def test_lead_that_the_rest_cannot_equal_is_settled():
    assert is_settled(np.array([3, 1, 0]), 5)


def test_runner_up_behind_the_leader_in_order_is_seen():
    assert not is_settled(np.array([2, 3, 0]), 6)
    assert not is_settled(np.array([0, 3, 2]), 6)


def test_pool_that_has_voted_is_settled_even_when_tied():
    assert is_settled(np.array([2, 2]), 4)


@pytest.mark.parametrize("pool_size", [1, 2, 3, 4, 5])
def test_settled_means_that_every_ending_gives_the_same_verdict(pool_size):
    for votes in itertools.product(range(pool_size + 1), repeat=3):
        if sum(votes) <= pool_size:
            assert is_settled(np.array(votes), pool_size) == (len(set(outcomes(votes, pool_size))) == 1)


def test_many_items_are_judged_like_one():
    votes = np.random.default_rng(1).integers(0, 6, (200, 3))
    one = [is_settled(each, 9) for each in votes]
    assert are_settled(votes, 9 - votes.sum(axis=1)).tolist() == one


def test_plurality_takes_all():
    assert share([1, 4, 2]) == [0.0, 1.0, 0.0]


def test_tied_pool_shares_probability_equally():
    assert share([2, 0, 2, 2]) == [1 / 3, 0.0, 1 / 3, 1 / 3]
