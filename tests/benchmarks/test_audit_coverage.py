"""The command behind the tables of docs/audit.md, on a small scale: it runs and prints every stream."""

import importlib.util
from pathlib import Path

from tests.audit.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]


def test_every_stream_and_the_published_figure_are_printed(capsys, monkeypatch):
    spec = importlib.util.spec_from_file_location("audit_coverage", ROOT / "benchmarks" / "audit_coverage.py")
    command = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(command)
    monkeypatch.setattr(command, "STREAMS", 100)
    monkeypatch.setattr(command, "BLOCK", 50)
    monkeypatch.setattr(command, "ITEMS", 20)
    command.coverage()
    command.batch()
    printed = capsys.readouterr().out
    assert all(f"| {name} | " in printed for name in SCENARIOS)
    assert "100 streams of 20 items" in printed
    assert "| 240 | 0 | 28 | 0.70 |" in printed
