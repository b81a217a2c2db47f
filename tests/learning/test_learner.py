import numpy as np
import pytest

from quorate.learning.fit import OLDER_WEIGHT, fit
from quorate.learning.learner import Window, refit
from quorate.learning.objective import negative_log_posterior
from quorate.learning.problem import pack, unpack
from quorate.prior import hyperprior


def logs(number):
    return np.log(np.array([[0.5 + number / 100, 0.5 - number / 100]]))


def test_the_oldest_item_leaves_a_full_window():
    window = Window(3, 1, 2)
    for number in range(5):
        window.enter(f"i{number}", logs(number))
        window.add(f"i{number}", 0, 1)
    assert len(window) == 3
    assert "i1" not in window
    assert "i4" in window
    assert not window.add("i1", 0, 1)
    np.testing.assert_array_equal(window.log_predictions, np.stack([logs(3), logs(4), logs(2)]))


def test_votes_are_added_and_taken_back_in_place():
    window = Window(3, 1, 2)
    window.enter("a", logs(0))
    assert window.add("a", 1, 1)
    assert window.add("a", 1, 1)
    assert window.add("a", 1, -1)
    assert window.votes.tolist() == [[0, 1]]


def test_a_reused_slot_starts_without_votes():
    window = Window(1, 1, 2)
    for name in ("a", "b"):
        window.enter(name, logs(0))
        window.add(name, 0, 1)
    assert window.votes.tolist() == [[1, 0]]


def test_a_window_without_limit_grows():
    window = Window(None, 1, 2)
    for number in range(200):
        window.enter(f"i{number}", logs(number % 40))
    assert len(window) == 200
    np.testing.assert_array_equal(window.log_predictions[150], logs(150 % 40))


@pytest.mark.parametrize("with_bias", [False, True])
def test_refit_is_fit_on_the_windows_items(with_bias):
    window, rng = Window(50, 1, 2), np.random.default_rng(1)
    predictions = rng.dirichlet([1, 1], size=40)
    for number, prediction in enumerate(predictions):
        window.enter(str(number), np.log(prediction)[None])
        for label in rng.integers(2, size=3):
            window.add(str(number), int(label), 1)
    prior = hyperprior("default")
    start = prior.mode(2, 1, with_bias=with_bias)
    ours, report = refit(start, window, prior)
    theirs, _ = fit(predictions, window.votes, hyperprior=prior, bias=with_bias)
    assert report.converged
    assert ours.theta == pytest.approx(theirs.theta, rel=1e-5)  # a warm refit stops at a gradient of 1e-8
    np.testing.assert_allclose(ours.tau, theirs.tau, rtol=1e-5)


def filled(window, num_items, seed=1):
    rng = np.random.default_rng(seed)
    predictions = rng.dirichlet([1, 1], size=num_items)
    votes = rng.integers(1, 4, size=(num_items, 2))
    for number in range(num_items):
        window.enter(str(number), np.log(predictions[number])[None])
        for label in range(2):
            window.add(str(number), label, int(votes[number, label]))
    return predictions, votes


def test_items_that_leave_the_window_are_kept_as_older_with_their_votes():
    window = Window(3, 1, 2, older=2)
    predictions, votes = filled(window, 11)
    assert len(window) == 3 and len(window.older) == 6
    order = [6, 7, 2, 3, 4, 5]  # items 2 .. 7 in their slots; 8, 9 and 10 are in the window
    np.testing.assert_array_equal(window.older.votes, votes[order])
    np.testing.assert_array_equal(window.older.log_predictions[:, 0], np.log(predictions[order]))
    assert "1" not in window.older and "8" in window and "8" not in window.older


def test_late_votes_reach_older_items_and_no_others():
    window = Window(2, 1, 2, older=1)
    filled(window, 5)
    before = window.older.votes.sum()
    assert window.add("1", 0, 1) and window.add("2", 0, 1)
    assert window.older.votes.sum() == before + 2
    assert not window.add("0", 0, 1)
    assert "1" not in window


def test_a_window_without_limit_or_without_older_items_keeps_none():
    assert Window(None, 1, 2, older=4).older is None
    assert Window(5, 1, 2).older is None


@pytest.mark.parametrize("with_bias", [False, True])
def test_refit_gives_older_items_a_tenth_of_the_weight(with_bias):
    window = Window(20, 1, 2, older=2)
    predictions, votes = filled(window, 60)
    prior = hyperprior("default")
    start = prior.mode(2, 1, with_bias=with_bias)
    ours, report = refit(start, window, prior)
    assert report.converged

    def objective(params):
        def part(rows):
            return negative_log_posterior(params, predictions[rows], votes[rows], hyperprior=prior)

        nothing = part(slice(0, 0))  # the hyperprior alone
        return part(slice(40, 60)) + OLDER_WEIGHT * (part(slice(0, 40)) - nothing)

    best = objective(ours)
    assert best == pytest.approx(-report.log_posterior, rel=1e-12)
    packed = pack(ours)
    for place in range(packed.size):
        for step in (-1e-3, 1e-3):
            moved = packed.copy()
            moved[place] += step * max(1.0, abs(moved[place]))
            assert objective(unpack(moved, (2,))) > best


def test_refit_without_older_items_has_the_bits_of_a_window_alone():
    prior = hyperprior("default")
    start = prior.mode(2, 1, with_bias=True)
    both = Window(60, 1, 2, older=4), Window(60, 1, 2)
    for window in both:
        filled(window, 60)
    ours, theirs = (pack(refit(start, window, prior)[0]) for window in both)
    np.testing.assert_array_equal(ours, theirs)
