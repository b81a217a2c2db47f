"""Commands that pages show exist, with the options they are shown with; figures of a how-to are what its runs give."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

pytest.importorskip("pyarrow")

import quorate
from quorate.commands.main import app
from tests.docs.tutorial_blocks import blocks_of

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_BLOCK = re.compile(r"(?:^|; do |\$ )quorate ([a-z-]+(?![\w=])[^\n;#]*)", re.MULTILINE)
COMMANDS = typer.main.get_command(app)
IN_LINE = re.compile(r"`quorate ([a-z-][^`\n]*)`")


def commands_of(page: Path) -> list[str]:
    """What stands behind `quorate` in blocks of commands and in code within lines."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = [block for kind, block in FENCED.findall(text) if kind in ("", "bash", "console")]
    return [command for block in blocks for command in IN_BLOCK.findall(block)] + IN_LINE.findall(FENCED.sub("", text))


def option_names(words: list[str]) -> set[str]:
    """The options of the command that the words begin with; KeyError if there is none."""
    command: Any = COMMANDS
    for word in words:
        if not hasattr(command, "commands"):
            break
        if word.startswith("-") or not word.islower():
            return {"--version", "-V", "--help", "-h"}
        command = command.commands[word]
    options = {"--help", "-h"}
    for option in command.params:
        options |= {*option.opts, *option.secondary_opts}
    return options


def unknown_options(words: list[str]) -> list[str]:
    known = option_names(words)
    given = [word.split("=")[0].rstrip(",.:)") for word in words if re.match(r"--?[a-zA-Z]", word)]
    return [word for word in given if word not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_shown_exists_with_its_options(page):
    for shown in commands_of(page):
        words = shown.split()
        try:
            unknown = unknown_options(words)
        except KeyError as missing:
            pytest.fail(f"{page.name} shows `quorate {shown}`: there is no command {missing}")
        assert not unknown, f"{page.name} shows `quorate {shown}`: no option {unknown}"


def test_commands_are_found_in_blocks_and_lines():
    shown = commands_of(ROOT / "docs" / "howto" / "choose-a-threshold.md")
    assert any(each.startswith("run --votes votes.csv") for each in shown)
    assert "run --budget 1.8" in shown


def test_an_unknown_option_would_be_noticed():
    assert unknown_options(["run", "--votes", "v.csv", "--nonsense"]) == ["--nonsense"]
    assert unknown_options(["audit", "draw", "-q", "0.1"]) == []
    with pytest.raises(KeyError):
        unknown_options(["walk"])


def test_the_table_of_thresholds_is_what_the_runs_give(tmp_path):
    script = next(block for block in blocks_of(ROOT / "docs" / "tutorial.md") if block.title == "make_data.py")
    subprocess.run([sys.executable, "-c", script.text], cwd=tmp_path, check=True, capture_output=True)
    page = (ROOT / "docs" / "howto" / "choose-a-threshold.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(rows) == 3
    for error_cost, votes, wrong in rows:
        tables = tmp_path / "votes.csv", tmp_path / "predictions.csv"
        found = quorate.run(*tables, error_cost=float(error_cost)).summary()
        assert (f"{found['votes']['per_item']:.2f}", f"{100 * found['error']['rate']:.2f}") == (votes, wrong)
        if error_cost == "500":
            ties = 100 * found["error"]["from_ties"] / found["num_items"]
            assert f"At 500 the ties that nobody can avoid make {ties:.2f} %" in page
