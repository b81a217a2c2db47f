"""What benchmarks/crowds.py compares must rest on the same votes. Its figures are not tested here."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from quorate.experts.ballots import Ballots
from quorate.experts.crowd_stream import run_crowd

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def crowds(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("crowds")


@pytest.fixture
def ballots():
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(40), 6)
    person = np.concatenate([rng.permutation(12)[:6] for _ in range(40)])
    label = np.where(rng.random(240) < 0.7, item % 3, rng.integers(3, size=240))
    names = (tuple(map(str, range(number))) for number in (40, 12, 3))
    return Ballots(item, person, label, *names)


def test_the_votes_asked_for_are_those_the_run_learned_from(crowds, ballots):
    run = run_crowd(ballots, doubt=0.05, seed=4)
    asked = crowds.asked_for(ballots, run, 4)
    assert 40 < asked.num_votes < ballots.num_votes
    assert np.bincount(asked.item, minlength=40).tolist() == run.num_votes.tolist()
    by_person = np.zeros((12, 3))
    np.add.at(by_person, (asked.person, asked.label), 1)
    np.testing.assert_array_equal(by_person, run.state.labels)


def test_a_cut_has_so_many_votes_of_every_item(crowds, ballots):
    assert np.bincount(crowds.cut_of(ballots, 2, seed=0).item).tolist() == [2] * 40
    assert crowds.cut_of(ballots, 10, seed=0).num_votes == ballots.num_votes


def test_half_of_the_items_keep_all_their_votes_truth_and_predictions(crowds, ballots):
    truth = np.arange(40)
    part, kept, predictions = crowds.half_of(ballots, truth, np.eye(40), 0)
    assert len(part.items) == len(kept) == 20
    assert part.counts.sum(axis=1).tolist() == [6] * 20
    np.testing.assert_array_equal(part.counts, ballots.counts[kept])
    np.testing.assert_array_equal(predictions, np.eye(40)[kept])
    assert [int(name) for name in part.items] == kept.tolist()


def test_answers_far_below_the_majority_of_the_same_votes_are_missed(crowds):
    required = crowds.Required()
    crowds.check_majority(required, "level", np.array([[90.0, 89.8, 89.9], [80.0, 79.7, 80.1]]))
    assert not required.missed and len(required.rows) == 2
    crowds.check_majority(required, "below", np.array([[90.0, 89.6, 90.5]]))
    assert required.missed == 1


def test_a_small_set_is_read_in_more_orders(crowds, ballots):
    assert crowds.orders_of(ballots, range(3, 5)) == range(3, 3 + 2 * crowds.MORE_ORDERS)
