from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.datasets import synthetic
from quorate.methods import method
from quorate.model.learning.fit import fit
from quorate.model.learning.learner import MapLearner, Window, fit_is_due, most_fits, refit
from quorate.model.prior import hyperprior
from quorate.streams.prepared_stream import prepare
from quorate.streams.runs import StreamOptions
from quorate.streams.session_run import SessionRun, start_run
from quorate.streams.simulation import simulate


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
    prior = hyperprior("infexp")
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
    assert fit_is_due(7 + after, 7, num_items, refit_every, True)
    assert not fit_is_due(6 + after, 7, num_items, refit_every, True)


@pytest.mark.parametrize("window", [200, 1500, None])
def test_quorate_is_fitted_in_proportion_and_finexp_after_every_refit_every_items(window):
    data = synthetic(num_items=1500, pool_size=3, seed=2)
    ours, theirs = (
        simulate(data, method(name, window=window), seed=1, min_votes=1).fitted_after for name in ("value", "finexp")
    )
    assert len(theirs) == 75
    sizes = np.minimum(ours + 1, window or 1500)  # items in the window at each fit
    assert ours[0] == 0
    np.testing.assert_array_equal(np.diff(ours), np.ceil(sizes[1:] / 25))


def fitted_after(voted, refit_every):
    """The items after which the paper fits: each `refit_every`-th, unless no vote came since the last fit."""
    due = [t for t in range(len(voted)) if (t + 1) % refit_every == 0]
    return [t for n, t in enumerate(due) if any(voted[due[n - 1] + 1 if n else 0 : t + 1])]


def test_a_fit_without_new_votes_is_skipped_and_moves_no_later_one():
    voted = [False] * 20 + [True] * 5 + [False] * 44 + [True] * 2  # of items 20 .. 24 and 69, 70
    data = synthetic(num_items=71, num_classes=3, pool_size=3, agreement=0.9, seed=2)
    sure = np.array([0.998, 0.001, 0.001])
    predictions = np.where(np.array(voted)[:, None], [0.34, 0.33, 0.33], sure)
    stream = prepare(replace(data, predictions=predictions[None]), None, 0, 1, "given")
    chosen, options = method("finexp", threshold=0.45, refit_every=7, hyperprior="infexp"), StreamOptions()
    runs = [start_run(stream, chosen, options, seed=1), SessionRun(stream, chosen, options, seed=1, keep_probs=False)]
    for run in runs:
        run.advance(0, 71)
        assert (run.outputs.costs > 0).tolist() == voted
        assert run.fitted_after.tolist() == fitted_after(voted, 7) == [20, 27, 69]


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 60), st.floats(0.001, 1.0), st.integers(0, 2**32 - 1))
def test_no_stream_has_more_fits_than_there_is_room_for(num_items, window, refit_every, share, seed):
    has_votes = np.random.default_rng(seed).random(num_items) < share
    num_fits = entered = new = fitted = 0
    for closed, voted in enumerate(has_votes, start=1):
        entered, new = entered + voted, new + voted
        if new and fit_is_due(closed, fitted, min(entered, window), refit_every, True):
            num_fits, new, fitted = num_fits + 1, 0, closed
    assert num_fits <= most_fits(MapLearner(window=window, refit_every=refit_every, proportional=True), num_items)
