"""Accuracy of each person, kinds of voters, copied pairs and calibrated scores, on crowds whose truth is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.people.ballots import from_matrix
from quorate.people.calibration import calibrated, temperature
from quorate.people.copies import copied_pairs
from quorate.people.crowd_stream import run_crowd
from quorate.people.quality import quality_of


def crowd(seed, num_items=400, accuracies=(0.95, 0.9, 0.8, 0.7, 0.6, 0.85), K=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=num_items)
    right = rng.random((num_items, len(accuracies))) < np.array(accuracies)
    wrong = (truth[:, None] + rng.integers(1, K, size=right.shape)) % K
    return rng, truth, np.where(right, truth[:, None], wrong)


def test_intervals_hold_the_true_accuracy():
    covered, total = 0, 0
    for seed in range(8):
        _, _, votes = crowd(seed)
        ballots = from_matrix(votes)
        for each, accuracy in zip(
            quality_of(ballots, run_crowd(ballots)), (0.95, 0.9, 0.8, 0.7, 0.6, 0.85), strict=True
        ):
            covered += each.accuracy.low <= accuracy <= each.accuracy.high
            total += 1
    assert covered / total > 0.85


def test_accuracy_with_truth_is_counted():
    _, truth, votes = crowd(1)
    known = np.where(np.arange(400) < 50, truth, -1)
    found = quality_of(from_matrix(votes), run_crowd(from_matrix(votes)), truth=known)
    for e, each in enumerate(found):
        assert each.num_known == 50
        assert each.with_truth == pytest.approx((votes[:50, e] == truth[:50]).mean())


def test_each_kind_of_careless_voter_is_named_with_evidence():
    rng, truth, votes = crowd(2)
    predictions = np.full((400, 3), 0.1)
    shown = np.where(rng.random(400) < 0.8, truth, rng.integers(3, size=400))
    predictions[np.arange(400), shown] = 0.8
    spam = np.column_stack([rng.integers(3, size=400), np.full(400, 2), shown])
    ballots = from_matrix(np.column_stack([votes, spam]))
    found = quality_of(ballots, run_crowd(ballots, predictions), predictions=predictions)
    assert [each.kind for each in found[:6]] == ["careful"] * 6
    assert found[6].kind in ("uniform", "habit")
    assert [each.kind for each in found[7:]] == ["habit", "copier"]
    assert all(bool(each.evidence) == (each.kind != "careful") for each in found)


def test_nobody_is_called_careless_after_a_few_votes():
    _, _, votes = crowd(3)
    stranger = np.full((400, 1), -1)
    stranger[:4] = (votes[:4, :1] + 1) % 3
    ballots = from_matrix(np.column_stack([votes, stranger]))
    assert quality_of(ballots, run_crowd(ballots))[-1].kind == "careful"


def test_copies_are_found_and_good_people_are_not_suspected():
    rng, _, votes = crowd(4, accuracies=(0.97, 0.97, 0.97, 0.7, 0.7, 0.7))
    copy = np.where(rng.random((400, 1)) < 0.9, votes[:, 3:4], rng.integers(3, size=(400, 1)))
    ballots = from_matrix(np.column_stack([votes, copy]))
    found = copied_pairs(ballots, run_crowd(ballots))
    assert [(each.first, each.second) for each in found] == [("3", "6")]
    assert found[0].num_equal > found[0].expected and found[0].num_items == 400


def test_honest_panels_are_rarely_suspected():
    suspected = 0
    for seed in range(20):
        _, _, votes = crowd(seed, accuracies=(0.95, 0.9, 0.9, 0.8, 0.7, 0.7), num_items=200)
        ballots = from_matrix(votes)
        suspected += bool(copied_pairs(ballots, run_crowd(ballots)))
    assert suspected <= 1


class TestCalibration:
    def test_the_temperature_is_the_best_of_a_fine_grid(self):
        rng = np.random.default_rng(0)
        beliefs = rng.dirichlet([0.2, 0.2, 0.2], size=200)
        truth = np.where(rng.random(200) < 0.7, beliefs.argmax(axis=1), rng.integers(3, size=200))
        grid = np.exp(np.linspace(0, 5, 5000))
        losses = [-np.log(calibrated(beliefs, t)[np.arange(200), truth]).sum() for t in grid]
        assert temperature(beliefs, truth) == pytest.approx(grid[int(np.argmin(losses))], rel=2e-3)

    @settings(max_examples=50)
    @given(st.lists(st.floats(0.001, 1), min_size=2, max_size=5), st.floats(0.2, 50))
    def test_order_of_classes_stays(self, weights, t):
        belief = np.array([weights]) / sum(weights)
        found = calibrated(belief, t)
        assert found.sum() == pytest.approx(1)
        assert found[0, belief[0].argmax()] == pytest.approx(found.max())

    def test_right_answers_alone_do_not_make_it_surer(self):
        assert temperature(np.array([[0.9, 0.1]] * 20), np.zeros(20, dtype=int)) == pytest.approx(1, abs=1e-3)

    def test_limits(self):
        belief = np.array([[0.7, 0.2, 0.1]])
        np.testing.assert_allclose(calibrated(belief, 1.0), belief)
        np.testing.assert_allclose(calibrated(belief, 1e9), 1 / 3, atol=1e-6)

    def test_an_honest_belief_stays_as_it_is(self):
        rng = np.random.default_rng(1)
        beliefs = rng.dirichlet([1, 1], size=20_000)
        truth = (rng.random(20_000) > beliefs[:, 0]).astype(int)
        assert temperature(beliefs, truth) == pytest.approx(1, abs=0.05)


def test_sure_and_wrong_stays_finite():
    assert np.isfinite(temperature(np.array([[1.0, 0.0]] * 5), np.array([0, 0, 0, 0, 1])))
