"""Votes sorted within items are found out; random ones, and people who differ, are not."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from quorate.commands.run import run
from quorate.datasets import synthetic
from quorate.tables import join, read_votes
from quorate.tables.votes.vote_order import inversions, vote_order


@pytest.mark.parametrize("keys", [(0, 0, 1), (0, 1, 2, 2), (0, 0, 1, 1, 1), (3, 3, 3)])
def test_the_moments_are_those_of_all_orders(keys):
    every = [inversions(np.array(order), np.array([0, len(keys)])) for order in permutations(keys)]
    seen = np.array([each.seen for each in every])
    assert every[0].expected == pytest.approx(seen.mean())
    assert every[0].variance == pytest.approx(seen.var())


def table(votes, workers):
    rows, places = np.nonzero(votes >= 0)
    columns = {"task": [f"i{t}" for t in rows], "label": [f"c{k}" for k in votes[rows, places]]}
    return join(read_votes(pa.table({**columns, "worker": [workers(t, p) for t, p in zip(rows, places, strict=True)]})))


def anyone(t, p):
    return f"w{(7 * t + 13 * p * p + p) % 997}"


VOTES = synthetic(num_items=300, pool_size=5, num_classes=3, seed=4).votes


@pytest.mark.parametrize("workers", [anyone, lambda t, p: f"w{p}"])
@pytest.mark.parametrize(("votes", "found"), [(VOTES, None), (np.sort(VOTES), "label"), (-np.sort(-VOTES), "label")])
def test_sorted_votes_are_found_in_both_directions(votes, found, workers):
    assert vote_order(table(votes, workers)).sorted_by == found


def test_people_who_differ_are_not_sorting():
    rng = np.random.default_rng(2)
    votes = (rng.normal(size=(400, 1)) + 0.7 * rng.normal(size=(400, 5)) > np.linspace(-1, 1, 5)).astype(int)
    assert vote_order(table(votes, lambda t, p: f"w{p}")).sorted_by is None


def test_unnamed_votes_that_are_mostly_sorted_are_warned_of_but_not_shuffled():
    """One item in twenty is in another order, as after a correction: tau is about 0.95."""
    votes = np.sort(VOTES)
    votes[::20] = VOTES[::20]
    rows, places = np.nonzero(votes >= 0)
    unnamed = pa.table({"task": [f"i{t}" for t in rows], "label": [f"c{k}" for k in votes[rows, places]]})
    found = vote_order(join(read_votes(unnamed)))
    assert 0.9 < found.tau < 0.999
    assert (found.sorted_by, found.mostly) == ("label", True)
    result = run(unnamed, method="until-settled")
    assert result.summary()["settings"]["shuffled_because"] is None
    assert any("shuffled" in note for note in result.summary()["warnings"])
    rng = np.random.default_rng(3)
    mixed = pa.table({"task": unnamed["task"], "label": [f"c{k}" for k in rng.permuted(votes, axis=1)[rows, places]]})
    assert vote_order(join(read_votes(mixed))).sorted_by is None
