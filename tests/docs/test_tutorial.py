"""The tutorial as a newcomer follows it: every block saved or run in order in an empty folder, output compared."""

import os
import subprocess
import sys
import tomllib
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.tutorial_blocks import Block, blocks_of

pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[2]
BLOCKS = blocks_of(ROOT / "docs" / "tutorial.md")


def run_block(text: str, folder: Path) -> str:
    """What the commands print on stdout, with the quorate and Python of these tests first on the path."""
    tools = Path(sys.executable).parent
    settings = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    done = subprocess.run(
        ["bash", "-euc", text], cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def same(shown: str, printed: str) -> bool:
    """Equal but for white space, and `...` for anything."""
    return OutputChecker().check_output(shown, printed, ELLIPSIS | NORMALIZE_WHITESPACE)


def test_every_step_works_and_prints_what_the_page_shows(tmp_path):
    printed = None
    for block in BLOCKS:
        if block.kind == "python":
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.kind == "bash" and not block.text.startswith("pip install"):
            printed = run_block(block.text, tmp_path)
        elif block.kind == "text":
            assert printed is not None
            assert same(block.text, printed), f"the page shows\n{block.text}\nbut it printed\n{printed}"


def test_only_known_kinds_of_blocks_stand_in_the_tutorial():
    assert BLOCKS
    assert {block.kind for block in BLOCKS} == {"bash", "python", "text"}
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(BLOCKS), "a fence that the test does not understand"


def test_every_script_is_named_and_run_right_after_it_is_saved():
    scripts = [(first, second) for first, second in pairwise(BLOCKS) if first.kind == "python"]
    assert len(scripts) == sum(block.kind == "python" for block in BLOCKS) > 0
    for script, command in scripts:
        assert command == Block("bash", "", f"python {script.title}\n")


def test_the_extras_to_install_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installs = [block.text for block in BLOCKS if block.text.startswith("pip install")]
    assert installs == ["pip install '.[tables,plot]'\n"]
    assert {"tables", "plot"} <= set(extras)


def test_wrong_figures_would_be_noticed():
    assert same("wrong on ... % of items\n", "wrong on 3.0 % of items\n")
    assert not same("3.77 votes per item\n", "3.78 votes per item\n")
