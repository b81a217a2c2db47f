"""The pool size, which votes are a pool, and which items count in the error."""

import numpy as np
import pytest

from quorate.errors import InvalidInput
from quorate.model.posterior.settled import is_settled
from quorate.streams.pools import build_pools
from quorate.tables import join, read_votes

CLASSES = ["cat", "dog", "bird"]


def joined(items, *, classes=CLASSES):
    """Items as {id: "ccd"}: a letter per vote."""
    import pyarrow as pa

    names = {"c": "cat", "d": "dog", "b": "bird"}
    pairs = [(item, names[letter]) for item, votes in items.items() for letter in votes]
    return join(read_votes(pa.table({"task": [p[0] for p in pairs], "label": [p[1] for p in pairs]}), classes=classes))


def pools(items, **options):
    return build_pools(joined(items), **{"seed": 0, "order": "given"} | options)


def test_the_pool_of_an_item_is_the_votes_recorded_for_it():
    made = pools({"x": "ccd", "y": "d"})
    assert made.stream.pool_sizes.tolist() == [3, 1]
    assert made.stream.votes.tolist() == [[0, 0, 1], [1, -1, -1]]
    assert made.is_scored.all()
    assert not made.is_incomplete.any()
    assert made.params_pool_size == 3


def test_the_word_recorded_means_the_same_as_none():
    assert pools({"x": "cc"}, pool_size="recorded").pool_size is None


def test_the_voter_stays_with_the_vote_in_any_order():
    import pyarrow as pa

    rng = np.random.default_rng(3)
    rows = {"task": [], "worker": [], "label": []}
    for item in range(20):
        for person in rng.permutation(9)[: rng.integers(1, 9)]:
            rows["task"].append(str(item))
            rows["worker"].append(f"p{person}")
            rows["label"].append(CLASSES[(item + person) % 3])
    both = join(read_votes(pa.table(rows), classes=CLASSES))
    for order in ("given", "shuffled"):
        made = build_pools(both, order=order, seed=5, keeps_voters=True).stream
        for t, (votes, voters) in enumerate(zip(made.votes, made.voters, strict=True)):
            item = int(both.items[made.items[t]])
            people = [int(both.workers[e][1:]) for e in voters[: made.recorded[t]]]
            assert [(item + person) % 3 for person in people] == votes[: made.recorded[t]].tolist()
            assert (voters[made.recorded[t] :] == -1).all()


def test_ties_share_the_verdict():
    assert pools({"x": "cd", "y": "ccd"}).truth.tolist() == [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]


def test_of_more_votes_than_the_pool_the_first_are_the_pool():
    made = pools({"x": "cdddd", "y": "ccc"}, pool_size=3)
    assert made.stream.votes.tolist() == [[0, 1, 1], [0, 0, 0]]
    assert made.surplus.tolist() == [2, 0]
    assert made.truth[0].tolist() == [0, 1, 0]


def test_an_incomplete_pool_enters_the_error_only_if_its_votes_settle_the_pool():
    made = pools({"x": "ccc", "y": "cc", "z": "ccccc"}, pool_size=5)
    assert made.is_incomplete.tolist() == [True, True, False]
    assert made.is_scored.tolist() == [True, False, True]
    assert made.truth[1].tolist() == [0, 0, 0]


def test_settled_agrees_with_the_kernel_on_every_small_pool():
    for first in range(4):
        for second in range(4):
            for size in range(1, 7):
                if 0 < first + second <= size:
                    made = pools({"x": "c" * first + "d" * second}, pool_size=size)
                    assert made.is_scored[0] == is_settled(np.array([first, second, 0]), size)


def test_shuffling_keeps_each_items_votes_and_repeats_by_seed():
    items = {f"i{t}": "ccdb"[: 1 + t % 4] for t in range(40)}
    given = pools(items)
    one, same, other = (pools(items, order="shuffled", seed=seed) for seed in (1, 1, 2))
    assert one.stream.items.tolist() == same.stream.items.tolist() != other.stream.items.tolist()
    assert (one.stream.votes == same.stream.votes).all()
    assert (one.stream.counts == given.stream.counts[one.stream.items]).all()
    assert (np.sort(one.stream.votes, axis=1) != one.stream.votes).any()


@pytest.mark.parametrize("options", [{"pool_size": "all"}, {"pool_size": 0}, {"order": "random"}])
def test_a_wrong_choice_is_named(options):
    with pytest.raises(InvalidInput) as caught:
        pools({"x": "cc"}, **options)
    assert {caught.value.field: caught.value.value} == options
