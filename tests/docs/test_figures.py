"""The pictures of the concept pages: the script draws every one, and prints the figures that the pages quote."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
CONCEPTS = (ROOT / "docs" / "concepts.md").read_text()


@pytest.fixture(scope="module")
def command():
    spec = importlib.util.spec_from_file_location("docs_figures", ROOT / "benchmarks" / "docs_figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_drawn_kept_and_shown(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["docs_figures.py", "--out", str(tmp_path)])
    assert command.main() == 0
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (ROOT / "docs" / "figures").glob("concepts-*")}
    assert all(f"figures/{name})" in CONCEPTS for name in drawn)
    assert "0.0194" in capsys.readouterr().out


def test_the_pages_say_of_the_example_what_the_library_computes(command):
    probs, gains = command.beliefs()
    assert int((probs.max(axis=1) > 0.95).argmax()) == int((gains <= 1 / command.ERROR_COST).argmax()) == 5
    assert "both rules stop after the fifth vote" in CONCEPTS
    assert probs[6].max() < 0.95
    assert round(float(gains[6]), 4) == 0.0194
    assert "0.0194" in CONCEPTS
    assert int((probs[:, 0] == 1.0).argmax()) == 7
    assert "After seven votes cat leads five to two" in CONCEPTS
