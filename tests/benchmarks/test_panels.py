"""How benchmarks/panels.py reads curves. Its figures are not tested here."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from quorate.paper.experts import StreamCurves

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def panels(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("panels")


def test_the_spread_has_a_figure_for_every_twelve_streams(panels):
    costs = np.tile([0.0, 2.0], (24, 1))
    costs[1::2, 1] = 4.0  # every other stream asks for more
    errors = np.tile([0.001 * 2, 0.0], (24, 1))
    assert panels._spread(StreamCurves(costs, errors)) == "1.00, 2.00"
    assert panels._spread(StreamCurves(costs[:2], errors[:2])) == "1.50"


def test_errors_are_read_between_the_points_of_the_mean_curve(panels):
    found = panels._errors_at(StreamCurves(np.array([[4.0, 0.0]]), np.array([[0.0, 0.04]]))).split(" | ")
    assert len(found) == len(panels.SHOWN_VOTES)
    assert [float(each) for each in found] == pytest.approx([4.0 - votes for votes in panels.SHOWN_VOTES], abs=0.006)
