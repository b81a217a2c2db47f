"""`people_required.py` judges the figures of crowds.py and panels.py together. Neither is run here."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("people_required")


@pytest.mark.parametrize("missed", ["crowds", "panels", None])
def test_all_figures_stand_in_one_table_and_a_missed_one_ends_with_an_error(script, monkeypatch, capsys, missed):
    for name in ("crowds", "panels"):
        measured = 0.0 if name == missed else 2.0
        monkeypatch.setattr(getattr(script, name), "measure", lambda r, _, n=name, m=measured: r.least(n, m, 1.0))
    if missed is None:
        script.main()
    else:
        with pytest.raises(SystemExit) as ended:
            script.main()
        assert ended.value.code != 0
    said = capsys.readouterr().err
    assert said.index("| crowds |") < said.index("| panels |")
    assert said.count("| NO |") == (missed is not None)
