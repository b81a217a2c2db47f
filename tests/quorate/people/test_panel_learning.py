"""What a panel learns: against the equations in plain NumPy, in its limits, and on members whose skill is known."""

import numpy as np
import pytest
from scipy.special import softmax

from quorate.people.panel import ENTERED, GONE, UNSEEN, new_panel, with_members
from quorate.people.panel_learning import (
    improve_trust,
    latent,
    learn_item,
    revise_item,
    sweep,
    weigh_models,
)
from tests.quorate.people.panel_oracle import joint, random_panel
from tests.refusals import refused


def world(seed, num_items, skill=(0.95, 0.8, 0.6), num_classes=3):
    """Votes of members of uneven skill; one in four is not asked for."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(num_classes, size=num_items)
    wrong = (truth[:, None] + rng.integers(1, num_classes, size=(num_items, len(skill)))) % num_classes
    votes = np.where(rng.random(wrong.shape) < skill, truth[:, None], wrong)
    votes[rng.random(votes.shape) < 0.25] = UNSEEN
    f = 0.4 * rng.dirichlet(np.ones(num_classes), size=num_items) + 0.6 * np.eye(num_classes)[truth]
    return truth, votes, np.log(f)[:, None, :]


def filled(seed, num_items=12):
    """A panel with arbitrary parameters and a window of a few items."""
    state = random_panel(3, 3, np.random.default_rng(seed))
    _, votes, log_f = world(seed, num_items)
    state.votes[:num_items], state.log_f[:num_items] = votes, log_f
    state.counts[ENTERED] = num_items
    return state, votes, log_f


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_sweep_follows_its_equations(seed):
    state, votes, log_f = filled(seed)
    pi = softmax((state.tau * log_f).sum(axis=1) + state.bias, axis=1)
    bins = np.searchsorted([0.3, 0.7, 0.95], pi)
    r = pi[:, None, :] * state.difficulty[bins].transpose(0, 2, 1)  # (n, d, z)
    for i, e in zip(*np.nonzero(votes >= 0), strict=True):
        r[i] *= state.rows[e, :, :, votes[i, e]]
    r /= r.sum(axis=(1, 2), keepdims=True)
    n, m = np.zeros((3, 3, 3, 3)), np.zeros((4, 3))
    for i, e in zip(*np.nonzero(votes >= 0), strict=True):
        n[e, :, :, votes[i, e]] += r[i]
    for i, z in np.ndindex(pi.shape):
        m[bins[i, z]] += r[i, :, z]

    found_bins, found_r, _ = latent(state, log_f, votes)
    np.testing.assert_array_equal(found_bins, bins)
    np.testing.assert_allclose(found_r, r, atol=1e-13)

    sweep(state, log_f, votes)
    for d, diagonal in enumerate((0.97, 0.8, 0.5)):
        first = np.where(np.eye(3, dtype=bool), diagonal, (1 - diagonal) / 2)
        pooled = 10 * first + n[:, d].sum(axis=0)
        pooled /= pooled.sum(axis=1, keepdims=True)
        for e in range(3):
            expected = (8 * pooled + n[e, d]) / (8 + n[e, d].sum(axis=1, keepdims=True))
            np.testing.assert_allclose(state.rows[e, d], expected, atol=1e-13)
    np.testing.assert_allclose(
        state.difficulty, (10 * np.array([0.6, 0.25, 0.15]) + m) / (10 + m.sum(axis=1, keepdims=True)), atol=1e-13
    )


def test_newton_steps_raise_what_they_maximise_until_nothing_moves():
    state, _, log_f = filled(4, num_items=60)
    belief = np.random.default_rng(0).dirichlet(np.ones(3), size=60)

    def objective(tau, bias):
        pi = softmax((tau * log_f).sum(axis=1) + bias, axis=1)
        return float((belief * np.log(pi)).sum() + (2 * np.log(tau) - 2 * tau).sum() - (bias**2).sum() / 0.5)

    before = objective(state.tau, state.bias)
    improve_trust(state, log_f, belief)
    assert objective(state.tau, state.bias) > before
    for _ in range(80):
        improve_trust(state, log_f, belief)
    best = objective(state.tau, state.bias)
    for k in range(3):
        for change in (-1e-3, 1e-3):
            tau, bias = state.tau.copy(), state.bias.copy()
            tau[0, k] += change
            bias[k] += change
            assert objective(tau, state.bias) < best > objective(state.tau, bias)


def test_models_are_weighed_by_the_probability_of_the_votes():
    state = random_panel(3, 3, np.random.default_rng(2))
    log_f = np.log(np.random.default_rng(3).dirichlet(np.ones(3), size=1))
    state.evidence[:] = 0.0
    for model in range(2):
        alone = state._replace(evidence=np.array([0.0, -800.0]) if model == 0 else np.array([-800.0, 0.0]))
        of_all = joint(alone, log_f, np.full(3, UNSEEN))
        changed = state._replace(evidence=np.zeros(2))
        weigh_models(changed, log_f, np.array([0, 2, 1]))
        assert changed.evidence[model] == pytest.approx(np.log(of_all[0, 2, 1]), abs=1e-12)


def test_an_item_without_votes_is_not_learned_from():
    state = new_panel(2, 2)
    assert learn_item(state, np.log([[0.5, 0.5]]), np.array([UNSEEN, GONE])) == -1
    assert state.counts.tolist() == [0, 0, 0]


def test_a_late_vote_counts_as_if_it_had_been_there_for_the_next_fit():
    _, votes, log_f = world(6, 12)
    early, late = new_panel(3, 3), new_panel(3, 3)
    for i in range(11):
        learn_item(early, log_f[i], votes[i])
        number = learn_item(late, log_f[i], votes[i] if i else np.array([0, UNSEEN, UNSEEN]))
        if i == 0:
            revise_item(late, number, votes[0])
    assert np.array_equal(early.votes, late.votes) and np.array_equal(early.vote_counts, late.vote_counts)


def test_items_that_left_the_window_are_not_revised():
    state = new_panel(2, 2, window=3)
    log_f, votes = np.log([[0.6, 0.4]]), np.array([0, 1])
    for _ in range(5):
        learn_item(state, log_f, votes)
    before = state.votes.copy()
    revise_item(state, 1, np.array([1, 1]))
    assert np.array_equal(before, state.votes)
    revise_item(state, 2, np.array([1, 1]))
    assert state.votes[2].tolist() == [1, 1] and state.vote_counts[2].tolist() == [0, 2]


def test_new_members_are_expected_to_vote_as_the_panel_does():
    state = random_panel(2, 3, np.random.default_rng(1))
    grown = with_members(state, 3)
    np.testing.assert_allclose(grown.rows[2], state.rows.mean(axis=0))
    assert np.array_equal(grown.rows[:2], state.rows) and np.all(grown.votes[:, 2] == UNSEEN)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("num_experts", lambda: new_panel(0, 2)),
        ("num_classes", lambda: new_panel(2, 1)),
        ("num_experts", lambda: new_panel(10, 1000)),
        ("num_experts", lambda: with_members(new_panel(3, 2), 2)),
    ],
)
def test_panels_that_cannot_be_are_refused(field, call):
    with refused(field):
        call()
