"""The reference names what the program gives: every public name, command, option, output column and key."""

import importlib
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

pytest.importorskip("pyarrow")


from quorate.commands.audit import draw_audit, report_audit
from quorate.commands.audit.files import COLUMNS as AUDIT_COLUMNS
from quorate.commands.compare import compare
from quorate.commands.main import app
from quorate.commands.params_file import read_params
from quorate.commands.plan import plan
from quorate.commands.run import run
from quorate.commands.run.result import DECISION_COLUMNS, RunResult
from quorate.commands.score import score
from quorate.commands.score.output import schema
from quorate.datasets import synthetic
from quorate.tables import REJECT_COLUMNS, RULES

DOCS = Path(__file__).parents[2] / "docs"
OUTPUTS = (DOCS / "reference" / "outputs.md").read_text()
CLASSES = ["cat", "dog", "bird"]
NAMED_BY_DATA = {
    "stop_reasons",
    "reasons",
    "parameters",
    "tau",
    "bias",
    "error_cost",
    "findings",
    "totals",
}  # keys below are not ours
MODULES = ["quorate", "quorate.live", "quorate.datasets", "quorate.tables", "quorate.audit"]
SMALL = synthetic(num_items=60, num_classes=3, pool_size=5, seed=1)


def section(head: str) -> str:
    """The part of the page on outputs under a heading."""
    return next(part for part in re.split(r"^## ", OUTPUTS, flags=re.MULTILINE) if part.startswith(head))


def keys_of(value: Any) -> Iterator[str]:
    """Every key at any depth, but for those that the data name."""
    if isinstance(value, list | tuple):
        for each in value[:1]:
            yield from keys_of(each)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in NAMED_BY_DATA:
                yield from keys_of(inner)


def assert_named(names: Any, head: str) -> None:
    text = section(head)
    missing = sorted({name for name in names if f"`{name}`" not in text})
    assert not missing, f"docs/reference/outputs.md, {head!r}: {missing} not documented"


def small_run(**options: Any) -> RunResult:
    return run(SMALL.votes, SMALL.predictions[0], classes=CLASSES, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A finished run with a price, unequal costs and a budget, in its folder."""
    path = tmp_path_factory.mktemp("outputs") / "run"
    small_run(out=path, price=0.1, budget=2.0, error_cost={"cat": {"dog": 500.0}})
    return path


def test_every_column_of_the_decisions_is_documented(folder):
    header = (folder / "decisions.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert header == [*DECISION_COLUMNS, *(f"prob_{name}" for name in CLASSES), "voters"]
    assert_named([*DECISION_COLUMNS, "prob_<class>", "voters"], "decisions.csv")


@pytest.mark.parametrize(
    "options", [{}, {"budget": 2.0, "price": 0.1}, {"target_error": 0.1}, {"error_cost": {"cat": {"dog": 5.0}}}]
)
def test_every_key_of_the_summary_is_documented(options):
    assert_named(keys_of(small_run(**options).summary()), "summary.json")


def test_every_key_of_the_parameters_is_documented(folder):
    import json

    read_params(folder / "params.json")
    assert_named(keys_of(json.loads((folder / "params.json").read_text()) | {"error_cost": None}), "params.json")


def test_every_column_of_rejects_and_results_is_documented():
    assert_named(REJECT_COLUMNS.names, "rejects.csv")
    assert_named(compare(SMALL, ["quorum"], [1]).records()[0], "results.csv")


def test_every_column_and_key_of_scores_is_documented(folder, tmp_path):
    assert_named([*schema([]).names, "prob_<class>"], "Scores")
    np.save(tmp_path / "probs.npy", SMALL.predictions[0])
    scores = score(folder / "params.json", tmp_path / "probs.npy", out=tmp_path / "scores.csv", pool_size=5)
    assert_named(keys_of(scores.summary()), "Scores")


def test_every_column_and_key_of_audits_is_documented(folder, tmp_path):
    assert_named(AUDIT_COLUMNS, "audit.csv")
    draw_audit(folder / "decisions.csv", rate=0.5, seed=1, out=tmp_path / "audit.csv")
    votes = "item,worker,label\n" + "".join(
        f"{item},w{voter},{CLASSES[label]}\n"
        for item, labels in enumerate(SMALL.votes)
        for voter, label in enumerate(labels)
    )
    (tmp_path / "votes.csv").write_text(votes)
    report = report_audit(tmp_path / "audit.csv", votes=tmp_path / "votes.csv")
    assert_named(keys_of(report.summary()), "audit.csv")


def test_every_key_of_a_plan_is_documented():
    made = plan(SMALL.votes, SMALL.predictions[0], target_error=0.2, price=0.1)
    assert_named(keys_of(made.summary() | {"data": None}), "plan.json")


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for each, command in group.commands.items():
        full = f"{name} {each}".strip()
        yield from commands(command, full) if hasattr(command, "commands") else [(full, command)]


@pytest.mark.parametrize(("name", "command"), list(commands(typer.main.get_command(app))))
def test_every_command_and_option_stands_in_the_reference(name, command):
    page = (DOCS / "cli.md").read_text().split(f"## `quorate {name}`\n", 1)
    assert len(page) == 2, f"docs/cli.md has no section on quorate {name}"
    own = page[1].split("\n## ", 1)[0]
    for option in command.params:
        for spelling in option.opts if option.name != "help" else []:
            assert re.search(rf"^\| `[^`]*{re.escape(spelling)}\b", own, re.MULTILINE), f"{name} {spelling}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_stands_in_the_reference(module):
    page = "quorate" if module == "quorate" else module.removeprefix("quorate.")
    text = (DOCS / "reference" / f"{page}.md").read_text()
    for name in importlib.import_module(module).__all__:
        assert re.search(rf"^::: [\w.]*\.{name}$|`{module}\.{name}`", text, re.MULTILINE), f"{module}.{name}"


def test_every_name_of_the_reference_exists():
    for page in (DOCS / "reference").glob("*.md"):
        for path in re.findall(r"^::: ([\w.]+)", page.read_text(), re.MULTILINE):
            owner, _, name = path.rpartition(".")
            assert path in [*MODULES, "quorate.testing"] or hasattr(importlib.import_module(owner), name), path


def test_the_page_of_project_settings_is_fresh():
    page = runpy.run_path(str(DOCS / "project_settings.py"))["page"]()
    fresh = (DOCS / "reference" / "project-settings.md").read_text() == page
    assert fresh, "run: python docs/project_settings.py > docs/reference/project-settings.md"


def test_the_page_of_rules_is_fresh():
    page = runpy.run_path(str(DOCS / "table_rules.py"))["page"]()
    fresh = (DOCS / "reference" / "table-rules.md").read_text() == page
    assert fresh, "run: python docs/table_rules.py > docs/reference/table-rules.md"
    assert all(f"`{name}`" in page for name in RULES)
