"""`hindsight.py` on tiny streams: which votes it fits, how it compares curves. The figures are not tested here."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from quorate import method
from quorate.datasets import synthetic
from quorate.streams import prepare

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def hindsight(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("areas", "hindsight"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("hindsight")


@pytest.fixture
def stream():
    return prepare(synthetic(num_items=30, pool_size=5, seed=1), 5, 0, 3)


def test_counts_are_those_of_the_votes_asked(hindsight, stream):
    assert np.array_equal(hindsight.asked_counts(stream, stream.pool_sizes), stream.counts)
    first = hindsight.asked_counts(stream, np.ones(30, dtype=np.int64))
    assert np.array_equal(first.argmax(axis=1), stream.votes[:, 0]) and first.sum() == 30


def test_without_votes_the_parameters_stay_at_the_start(hindsight, stream):
    nothing = np.zeros_like(stream.counts)
    never, chosen = method("quorate", min_gain=1.0), method("quorate", min_gain=0.05)
    assert hindsight.in_hindsight(stream, never, nothing)[0] == 0.0
    assert hindsight.in_hindsight(stream, chosen, nothing)[0] > 0.0
    assert hindsight.in_hindsight(stream, chosen, stream.counts) != hindsight.in_hindsight(stream, chosen, nothing)


def test_a_curve_with_half_the_error_has_half_the_area_in_every_part(hindsight):
    theirs = [(0.0, 0.4), (1.0, 0.2), (3.0, 0.1)]
    ours = [(cost, error / 2) for cost, error in theirs]
    assert np.allclose(hindsight.ratios(ours, theirs), 0.5)
