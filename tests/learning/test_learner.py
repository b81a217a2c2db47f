import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.learning.fit import fit
from quorate.learning.learner import Window, fit_is_due, refit
from quorate.prior import hyperprior
from quorate.streams.simulate import simulate


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


@pytest.mark.parametrize(
    ("num_items", "refit_every", "after"), [(0, 1, 1), (500, 20, 20), (1000, 20, 40), (500, 1, 1), (1600, 5, 16)]
)
def test_a_bounded_window_of_more_than_500_items_is_fitted_less_often(num_items, refit_every, after):
    assert fit_is_due(after, num_items, refit_every, True) and not fit_is_due(after - 1, num_items, refit_every, True)
    assert fit_is_due(refit_every, num_items, refit_every, False)


def test_a_window_without_a_bound_is_fitted_after_every_refit_every_items():
    data = synthetic(num_items=1500, pool_size=3, seed=2)
    runs = [simulate(data, "finexp", seed=1, window=size, refit_every=20, min_votes=1) for size in (500, 1500, None)]
    assert [len(run.fitted_after) for run in (runs[0], runs[2])] == [75, 75]
    # from 500 items on, each fit of n items comes after n / 25 items
    assert len(runs[1].fitted_after) == pytest.approx(25 + 25 * np.log(1500 / 500), abs=2)
