import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.datasets import synthetic
from quorate.learning.fit import fit
from quorate.learning.learner import Window, fit_is_due, most_fits, refit
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
    ("num_items", "refit_every", "after"),
    [(1, 20, 1), (25, 20, 1), (26, 20, 2), (500, 20, 20), (1000, 20, 40), (500, 1, 1), (1600, 5, 16)],
)
def test_a_window_is_fitted_in_proportion_to_its_items(num_items, refit_every, after):
    assert fit_is_due(after, num_items, refit_every, True) and not fit_is_due(after - 1, num_items, refit_every, True)
    assert fit_is_due(refit_every, num_items, refit_every, False)
    assert not fit_is_due(refit_every - 1, num_items, refit_every, False)


@pytest.mark.parametrize("window", [200, 1500, None])
def test_quorate_is_fitted_in_proportion_and_finexp_after_every_refit_every_items(window):
    data = synthetic(num_items=1500, pool_size=3, seed=2)
    ours, theirs = (
        simulate(data, name, seed=1, window=window, refit_every=20, min_votes=1).fitted_after
        for name in ("value", "finexp")
    )
    assert len(theirs) == 75
    sizes = np.minimum(ours + 1, window or 1500)  # items in the window at each fit
    assert ours[0] == 0
    np.testing.assert_array_equal(np.diff(ours), np.ceil(sizes[1:] / 25))


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 60), st.floats(0.001, 1.0), st.integers(0, 2**32 - 1))
def test_no_stream_has_more_fits_than_there_is_room_for(num_items, window, refit_every, share, seed):
    has_votes = np.random.default_rng(seed).random(num_items) < share
    num_fits = entered = new = closed = 0
    for voted in has_votes:
        entered, new, closed = entered + voted, new + voted, closed + 1
        if new and fit_is_due(closed, min(entered, window), refit_every, True):
            num_fits, new, closed = num_fits + 1, 0, 0
    assert num_fits <= most_fits(num_items, window, refit_every, proportional=True)
