"""`make areas` on tiny streams: what it says and how it ends. The figures are not tested here."""

import importlib.util
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from quorate.paper.jobs import grid

AREAS = Path(__file__).resolve().parents[2] / "benchmarks" / "areas.py"


@pytest.fixture
def areas(monkeypatch, tmp_path):
    """The script as a module, on one seed of forty items and few settings, without real data."""
    monkeypatch.syspath_prepend(str(AREAS.parent))
    spec = importlib.util.spec_from_file_location("areas", AREAS)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "areas", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path / "none"))
    monkeypatch.setattr(module, "EVEN", module.EVEN | {"num_items": 40})
    monkeypatch.setattr(module, "grid", partial(grid, quick=True))
    monkeypatch.setattr(sys, "argv", ["areas.py", "--seeds", "3", "--threads", "1", "--runs", str(tmp_path / "runs")])
    return module


def test_a_missed_set_is_named_and_fails(areas, monkeypatch, capsys):
    rows = (areas.Row("easy", "even", 5, required=10.0), areas.Row("out of reach", "even", 5, required=0.01))
    monkeypatch.setattr(areas, "MADE", rows)
    assert areas.main() == 1
    missed = capsys.readouterr().out.partition("missed:")[2]
    assert "out of reach" in missed and "easy" not in missed


def test_sets_without_data_are_named_and_do_not_fail(areas, monkeypatch, capsys):
    monkeypatch.setattr(areas, "MADE", ())
    assert areas.main() == 0
    said = " ".join(capsys.readouterr().out.split())  # lines may be wrapped
    assert all(row.title in said for row in areas.REAL)


def test_one_bad_classifier_misses_though_the_mean_is_good(areas):
    row = areas.Row("two classifiers", "even", 5, required=0.95)
    good = np.array([[0.80, 0.82], [0.90, 0.91]])  # (classifiers, seeds)
    assert areas.line(row, good)[1]
    assert not areas.line(row, good + np.array([[0.0], [0.15]]))[1]  # mean 0.9325, the second 1.055


def test_by_default_the_jobs_are_those_of_a_reproduction(areas, monkeypatch):
    monkeypatch.setattr(areas, "grid", grid)
    dataset = areas.made("even", 3)
    for job in areas.jobs_of(areas.MADE[0], "even/3", dataset, "model-0", 3)[:2]:
        assert job.parameters == grid(job.method, pool_size=10, num_classes=dataset.num_classes)
