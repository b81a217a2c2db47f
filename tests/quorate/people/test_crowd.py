"""The crowd model: against its equations in plain NumPy, in its limits, and on voters whose kind is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import core
from quorate.people.ballots import Ballots, from_matrix
from quorate.people.crowd import CrowdItems, new_state, person
from quorate.people.crowd_stream import run_crowd, stream
from tests.quorate.people import crowd_oracle

PEOPLE, CLASSES = 6, 3


def world(seed, num_items=45, *, with_predictions=True):
    """Votes of people of uneven skill, one of whom votes at random; every third item has no prediction."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(CLASSES, size=num_items)
    skill = np.array([0.9, 0.8, 0.8, 0.6, 1 / 3, 0.7])
    wrong = (truth[:, None] + rng.integers(1, CLASSES, size=(num_items, PEOPLE))) % CLASSES
    votes = np.where(rng.random((num_items, PEOPLE)) < skill, truth[:, None], wrong)
    votes[rng.random(votes.shape) < 0.3] = -1
    f = 0.3 * rng.dirichlet(np.ones(CLASSES), size=num_items) + 0.7 * np.eye(CLASSES)[truth]
    f[::3] = 1 / CLASSES
    return truth, votes, (f if with_predictions else None)


def as_items(votes, log_f):
    """`CrowdItems` of a matrix of votes, in its order, and the same votes as lists for the oracle."""
    ballots = from_matrix(votes, classes=["a", "b", "c"])
    start = np.concatenate([[0], np.cumsum((votes >= 0).sum(axis=1))])
    V = ballots.num_votes
    items = CrowdItems(
        start,
        ballots.person.copy(),
        ballots.label.copy(),
        log_f,
        np.empty(log_f.shape),
        np.empty(V),
        np.empty((V, 2, 4)),
        np.empty((V, CLASSES)),
    )
    listed = [[(e, int(row[e])) for e in np.flatnonzero(row >= 0)] for row in votes]
    return items, listed


@pytest.mark.parametrize("doubt", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("with_predictions", [True, False])
def test_it_is_the_model_of_the_equations(doubt, with_predictions):
    _, votes, f = world(3, with_predictions=with_predictions)
    log_f = np.zeros((len(votes), CLASSES)) if f is None else np.log(f)
    items, listed = as_items(votes, log_f)
    draws = np.random.default_rng(8).random((len(votes), 2))
    state = new_state(PEOPLE, CLASSES)
    online, asked = np.empty(log_f.shape), np.empty(len(votes), dtype=np.int64)
    stream(state, items, doubt, draws, online, asked)
    core.crowd_revise(*state, *items, asked)
    oracle, expected = crowd_oracle.run(listed, PEOPLE, log_f, doubt, draws)
    np.testing.assert_allclose(online, expected, atol=1e-9)
    np.testing.assert_allclose(items.belief, [oracle.closed[i]["r"] for i in range(len(votes))], atol=1e-9)
    np.testing.assert_allclose(state.confusion, oracle.C, atol=1e-9)
    np.testing.assert_allclose(state.evidence, oracle.L, atol=1e-8)
    np.testing.assert_allclose(state.tau, oracle.tau, atol=1e-9)
    np.testing.assert_allclose(state.bias, oracle.b, atol=1e-9)
    assert asked.tolist() == [len(oracle.closed[i]["votes"]) for i in range(len(votes))]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_what_an_item_added_can_be_taken_back(seed):
    _, votes, f = world(seed, num_items=8)
    items, _ = as_items(votes, np.log(f))
    state = new_state(PEOPLE, CLASSES)
    items.belief[:] = f
    core.crowd_add(*state, *items, np.diff(items.start))
    before = [each.copy() for each in state]
    core.crowd_add(*state, *items, np.diff(items.start))
    core.crowd_take_back(*state, *items, np.diff(items.start))
    for name, old, new in zip(state._fields, before, state, strict=True):
        if name != "skill":  # follows by Newton steps, which are not undone
            np.testing.assert_allclose(new, old, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("has_prediction", [True, False])
def test_an_only_vote_can_be_taken_back_and_teaches_no_confusion_beside_a_prediction(has_prediction):
    votes = np.full((1, PEOPLE), -1)
    votes[0, 2] = 1
    f = np.array([[0.2, 0.3, 0.5]]) if has_prediction else np.full((1, CLASSES), 1 / CLASSES)
    items, _ = as_items(votes, np.log(f))
    state = new_state(PEOPLE, CLASSES)
    state.pooled[:] = np.arange(1.0, 10.0).reshape(3, 3)
    before = state.pooled.copy()
    items.belief[:] = f
    core.crowd_add(*state, *items, np.diff(items.start))
    added = state.pooled - before
    assert added[1, 1] > 0 and added.min() >= 0
    wrong = added[2, :2]  # an item of class 2: the vote was for 1
    assert wrong[0] == pytest.approx(wrong[1] if has_prediction else 0.0) and wrong[1] > 0
    core.crowd_take_back(*state, *items, np.diff(items.start))
    np.testing.assert_allclose(state.pooled, before, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(CLASSES)), st.permutations(range(PEOPLE)))
def test_names_do_not_matter(seed, classes, people):
    _, votes, f = world(seed, num_items=25)
    ballots = from_matrix(votes, classes=["a", "b", "c"])
    classes, people = np.array(classes), np.array(people)
    moved = Ballots(
        ballots.item, people[ballots.person], classes[ballots.label], ballots.items, ballots.people, ballots.classes
    )
    turned = np.empty_like(f)
    turned[:, classes] = f
    one, other = run_crowd(ballots, f, seed=2), run_crowd(moved, turned, seed=2)
    np.testing.assert_allclose(other.revised[:, classes], one.revised, atol=1e-9)
    np.testing.assert_allclose(other.state.skill[people], one.state.skill, atol=1e-9)


def test_careless_voters_are_told_from_careful_ones():
    rng = np.random.default_rng(4)
    truth = rng.integers(CLASSES, size=600)
    careful = np.where(rng.random((600, 4)) < 0.85, truth[:, None], rng.integers(CLASSES, size=(600, 4)))
    votes = np.column_stack([careful, rng.integers(CLASSES, size=600), np.full(600, 1)])
    state = run_crowd(from_matrix(votes)).state
    weights = np.array([person(state, e)[1] for e in range(6)])
    assert np.all(weights[:4, 1:3] < 0.001)  # copiers cannot be seen without a prediction
    assert weights[4, 1:3].sum() > 0.9 and weights[5, 2] > 0.9
    assert np.all(state.skill[:4] > state.skill[4])


def test_the_better_person_wins_a_disagreement():
    """Two people, one right on 95 % and one on 60 %: a majority cannot choose between them, the model does."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=800)
    right = rng.random((800, 4)) < np.array([0.95, 0.6, 0.6, 0.6])
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    found = run_crowd(from_matrix(votes))
    assert (found.revised.argmax(axis=1) == truth).mean() > 0.92
    assert (votes.mean(axis=1).round() == truth).mean() < 0.85


@pytest.mark.parametrize("seed", range(3))
def test_one_vote_per_item_does_not_pull_the_answers_away_from_the_majority(seed):
    """With one vote per item nothing in the votes tells people apart: the answers must not get worse than the votes."""
    rng = np.random.default_rng(seed)
    n, E, K = 2000, 100, 4
    truth, person = rng.integers(K, size=n), rng.integers(E, size=n)
    right = rng.random(n) < rng.beta(6, 2, size=E)[person]
    label = np.where(right, truth, (truth + rng.integers(1, K, size=n)) % K)
    names = (tuple(map(str, range(size))) for size in (n, E, K))
    run = run_crowd(Ballots(np.arange(n), person, label, *names), seed=seed)
    for belief in (run.online, run.revised):
        assert (belief.argmax(axis=1) == truth).mean() >= (label == truth).mean() - 0.003
