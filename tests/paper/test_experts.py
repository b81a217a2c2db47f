"""Knowing who votes: how the curves of a panel are read, the protocol's streams, and the section on small data."""

import numpy as np
import pytest

from quorate.datasets import vote_dataset
from quorate.paper import experts
from quorate.paper.experts import PANEL, RANDOM, REPORTED, StreamCurves, part_of, rows_of, section
from quorate.paper.report import Context
from quorate.paper.sources import PANELS, Sources
from tests.experts.test_panel_learning import world


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two of the panels, small."""
    where = tmp_path_factory.mktemp("panels")
    for seed, name in ((1, "kelly_nih"), (2, "kelly_cifar")):
        _, votes, log_f = world(seed, 30)
        np.savez(where / f"{name}.npz", votes=np.maximum(votes, 0), probs=np.exp(log_f[:, 0]))
    return where


def test_votes_at_an_error_are_read_between_the_points_of_the_mean():
    costs, errors = np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 3.0]]), np.array([[0.3, 0.1, 0.0], [0.3, 0.3, 0.0]])
    found = StreamCurves(costs, errors)
    assert found.votes_at(0.2) == pytest.approx(1.5)
    assert found.votes_at(0.1) == pytest.approx(2.0)
    assert found.votes_at(0.0) == pytest.approx(2.5)
    assert found.votes_at(0.9) == 0.0
    assert np.isnan(StreamCurves(costs, errors + 0.1).votes_at(0.05))
    assert found.mean_errors[0] == pytest.approx((0.075 + 0.05) / 1.5)


def test_streams_are_shuffled_but_for_the_set_that_is_cut(folder):
    sources = Sources(folder)
    shuffled, cut = sources["kelly_nih"], sources["kelly_cifar"]
    assert sorted(rows_of(shuffled, 1)) == list(range(30)) and rows_of(shuffled, 1).tolist() != list(range(30))
    assert rows_of(cut, 0).tolist() == list(range(30))
    part = part_of(shuffled, np.array([3, 1]))
    assert np.array_equal(part.votes, shuffled.votes[[3, 1]]) and part.voters.shape == (2, 3)


def test_the_section_compares_the_ways_to_ask(folder, monkeypatch):
    monkeypatch.setattr("quorate.compiled.wait_until_compiled", lambda **_: None)
    monkeypatch.setattr("quorate.paper.experts.QUICK_GAINS", (0.0, 0.02, 1.0))
    monkeypatch.setattr("quorate.paper.experts.QUICK_STREAMS", 2)
    found = section(Context(Sources(folder), (3,), True, lambda jobs: {}))
    votes, errors = found.tables
    assert {row[0] for row in votes.rows} == {PANELS[name] for name in ("kelly_nih", "kelly_cifar")}
    assert {row[1] for row in votes.rows} >= {RANDOM, PANEL}
    assert len(errors.rows) == 4 and len(found.claims) == 4
    (told,) = [row[-1] for row in votes.rows if row[:2] == (PANELS["kelly_nih"], PANEL)]
    assert told == REPORTED["kelly_nih"], "the figure of the paper beside ours"
    assert all(not claim.of_paper for claim in found.claims)


def test_with_real_ids_the_most_reliable_first_is_compared_with_random_order(monkeypatch):
    waits = []
    monkeypatch.setattr("quorate.compiled.wait_until_compiled", lambda **how: waits.append(how))
    rng = np.random.default_rng(1)
    truth, voters = rng.integers(3, size=200), rng.permuted(np.tile(np.arange(6), (200, 1)), axis=1)
    right = rng.random((200, 6)) < np.array([0.95, 0.95, 0.9, 0.5, 0.4, 0.4])[voters]
    votes = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, size=(200, 6))) % 3)
    data = vote_dataset(votes, np.full((1, 200, 3), 1 / 3), classes=["a", "b", "c"], voters=voters)
    monkeypatch.setitem(experts.IDS, "cifar10h", ("CIFAR-10H, 6 votes", 6))
    found = section(Context({"cifar10h": data}, (3,), True, lambda jobs: {}))
    ((name, asked, _, audited, _),) = found.tables[0].rows
    assert name.startswith("CIFAR-10H") and 0 < audited < 1 and 0 < asked < 1
    assert waits and not any(waits), "it needs no kernels of crowds and panels"
