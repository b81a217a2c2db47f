"""What exists is documented: methods, parameters, reasons, events, commands, options, make targets, public names."""

import re
import runpy
from inspect import signature
from pathlib import Path

import pytest

import quorate
from quorate.methods import METHODS
from quorate.reasons import REASONS

ROOT = Path(__file__).parents[2]
METHODS_PAGE = (ROOT / "docs" / "reference" / "quorate.md").read_text()
SESSION = (ROOT / "docs" / "session.md").read_text()
STOPPING = (ROOT / "docs" / "concepts.md").read_text()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_and_each_of_its_parameters_stands_in_the_reference(name):
    row = next((line for line in METHODS_PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line), None)
    assert row, f"{name} has no row in the table of methods"
    for parameter in signature(METHODS[name]).parameters:
        assert f"`{parameter}`" in row


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_explained(reason):
    assert f"| `{reason}` |" in STOPPING


@pytest.mark.parametrize("event", ["open", "vote", "abstain", "retract", "close", "learn", "tune"])
def test_every_event_is_explained(event):
    assert f"`{event}`" in SESSION.split("## The journal")[1]


@pytest.mark.parametrize("name", [name for name in dir(quorate.Session) if not name.startswith("_")])
def test_every_call_of_a_session_is_named_in_its_guide(name):
    assert re.search(rf"`{name}[`(]", SESSION), f"docs/session.md does not name `{name}`"


def test_the_command_reference_is_fresh():
    page = runpy.run_path(str(ROOT / "docs" / "command_line.py"))["page"]()
    assert (ROOT / "docs" / "cli.md").read_text() == page, "run: python docs/command_line.py > docs/cli.md"


def test_every_option_has_help():
    for line in (ROOT / "docs" / "cli.md").read_text().splitlines():
        assert not re.match(r"\| `-.*` \|\s*\|", line), line


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_public_names_have_docstrings():
    for name in quorate.__all__:
        value = getattr(quorate, name)
        assert isinstance(value, (str, type(METHODS))) or value.__doc__, name


def test_pages_name_functions_and_tests_that_exist():
    """docs/maths.md and docs/paper-notes.md promise a function and a test for each formula: the files must be there."""
    for page in ("maths.md", "paper-notes.md"):
        text = (ROOT / "docs" / page).read_text()
        for path in re.findall(r"`(tests/[\w/]+\.py)`", text):
            assert (ROOT / path).exists(), path
        for path in re.findall(r"`((?:model|methods|people|streams|audit|quorate_paper)/[\w/]+\.py)`", text):
            package = ROOT / "src" if path.startswith("quorate_") else ROOT / "src" / "quorate"
            assert (package / path).exists(), path


def test_no_machine_path_or_workplace_stands_in_the_project():
    folders = [(ROOT / name).rglob("*") for name in ("docs", "src", "tests", "benchmarks")]
    workplace = ("/" + "shared", "/" + "work/")  # in parts: this file is looked at too
    for path in [*ROOT.glob("*.*"), *(file for files in folders for file in files)]:
        if path.is_file() and path.suffix in {".md", ".py", ".toml", ".cff", ".json", ".csv", ".txt", ".yml", ".sh"}:
            text = path.read_text()
            assert not [name for name in workplace if name in text], path
