"""Required figures end a benchmark with an error if one is missed, and only then."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def required(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("required").Required()


def test_a_figure_at_its_limit_holds(required, capsys):
    required.least("share", 0.5, 0.5)
    required.most("cost", 2.0, 2.0)
    required.end()
    assert capsys.readouterr().err.count("| yes |") == 2


@pytest.mark.parametrize(("way", "measured"), [("least", 0.4), ("most", 0.6), ("least", float("nan"))])
def test_a_missed_figure_ends_the_process_and_stands_in_the_table(required, capsys, way, measured):
    required.least("holds", 1.0, 0.0)
    getattr(required, way)("missed", measured, 0.5)
    with pytest.raises(SystemExit) as ended:
        required.end()
    assert ended.value.code != 0
    assert "| missed |" in capsys.readouterr().err
