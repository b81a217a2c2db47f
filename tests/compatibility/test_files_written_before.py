"""Files written by version 0.1, before the code was reorganised, still open and mean the same.

`version_0_1/` was written by that version: journals, a database (as SQL), a results folder, scores and an audit sample.
`expected.json` has the answers of that version.
"""

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quorate.cli.main import app
from quorate.decision.value import ValueOfInformation
from quorate.errors import JournalMismatch
from quorate.methods import method
from quorate.session import JsonlJournal, Session

BEFORE = Path(__file__).parent / "version_0_1"
EXPECTED = json.loads((BEFORE / "expected.json").read_text(encoding="utf-8"))
CLASSES = ["cat", "dog", "bird"]


def run(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


def plain(decision):
    return {name: getattr(decision, name) for name in ("ask", "label", "confidence", "num_votes", "reason")}


@pytest.mark.parametrize("name", EXPECTED["journals"])
def test_a_journal_resumes_and_goes_on_as_before(name, tmp_path):
    expected = EXPECTED["journals"][name]
    path = shutil.copy(BEFORE / f"journal-{name}.jsonl", tmp_path)
    with closing(JsonlJournal(path)) as journal:
        session = Session.resume(journal, verify=True)
        assert session.counts() == expected["counts"]
        assert {item: plain(session.decision(item)) for item in expected["decisions"]} == expected["decisions"]
        params = session.params
        assert (params.theta, params.phi, params.tau.tolist()) == tuple(
            expected[each] for each in ("theta", "phi", "tau")
        )
        decisions = [session.open("next", [0.5, 0.3, 0.2])]
        decisions += [session.vote("next", CLASSES[voter % 2], f"v{voter}") for voter in range(4)]
    assert [plain(each) for each in decisions] == expected["next"]


def test_parameters_give_the_same_scores(tmp_path):
    out = tmp_path / "scores.csv"
    run("score", "--params", BEFORE / "results/params.json", "--predictions", BEFORE / "predictions.csv", "--out", out)
    assert out.read_text() == (BEFORE / "scores.csv").read_text()


def test_the_same_tables_and_seed_give_the_same_decisions_and_replace_the_old_folder(tmp_path):
    results = shutil.copytree(BEFORE / "results", tmp_path / "results")
    tables = ("--votes", BEFORE / "votes.csv", "--predictions", BEFORE / "predictions.csv")
    rule = ("--method", "quorate:rule=optimistic,hyperprior=default,fits=regular", "--window", 500)  # the defaults then
    run("run", *tables, "--out", results, "--seed", 3, "--overwrite", "--order", "given", *rule)
    now, before = _rows(results / "decisions.csv"), _rows(BEFORE / "results/decisions.csv")
    assert [_exact(row) for row in _without_new(now, before)] == [_exact(row) for row in before]
    figures = [[float(row[name]) for row in rows for name in _FIGURES] for rows in (now, before)]
    assert figures[0] == pytest.approx(figures[1], abs=1e-6)  # fits end within their tolerance, not at the same bit


_FIGURES = ("confidence", "prob_cat", "prob_dog", "prob_bird")


def _exact(row: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name not in _FIGURES}


def test_an_audit_sample_of_an_old_results_folder_can_be_drawn_again(tmp_path):
    sample = shutil.copy(BEFORE / "audit.csv", tmp_path)
    decisions = BEFORE / "results/decisions.csv"
    run("audit", "draw", "--decisions", decisions, "--rate", 0.5, "--seed", 7, "--out", sample)
    assert Path(sample).read_text().splitlines()[1:] == (BEFORE / "audit.csv").read_text().splitlines()[1:]


def test_a_database_is_upgraded_and_goes_on(tmp_path):
    from fastapi.testclient import TestClient

    from quorate.service.app import create_app
    from quorate.service.config import ServiceConfig
    from quorate.service.store import Store
    from quorate.service.store.upgrade import prepare

    expected = EXPECTED["database"]
    file = tmp_path / "service.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript((BEFORE / "service.sql").read_text(encoding="utf-8"))
    with closing(Store(f"sqlite:///{file}")) as store:
        prepare(store)
        app = create_app(store, ServiceConfig())
        listing = f"/api/v1/projects/{expected['project']}/items"
        owner = TestClient(app, headers={"Authorization": f"Bearer {expected['owner_key']}"})
        assert (
            _without_new(owner.get(listing).json()["items"], expected["items"]["items"]) == expected["items"]["items"]
        )
        voter = TestClient(app, headers={"Authorization": f"Bearer {expected['voter_key']}"})
        given = voter.post(f"/api/v1/projects/{expected['project']}/next", json={}).json()["items"]
        vote = {"item": given[0]["item"], "label": "cat"}
        assert voter.post(f"/api/v1/projects/{expected['project']}/votes", json=vote).status_code == 200
    run("service", "check", "--database", f"sqlite:///{file}")


def _rows(file):
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _without_new(items, before):
    """The fields that version 0.1 had."""
    return [{name: item[name] for name in old} for item, old in zip(items, before, strict=True)]


def test_a_journal_without_the_name_of_its_rule_goes_on_by_the_rule_of_its_time(tmp_path):
    path = shutil.copy(BEFORE / "journal-quorate.jsonl", tmp_path)
    with closing(JsonlJournal(path)) as journal:
        session = Session.resume(journal)
        assert session.method.knobs["rule"] == "optimistic"
    with closing(JsonlJournal(path)) as journal:
        same = method("quorate", rule="optimistic", hyperprior="default", fits="regular")
        assert Session.resume(journal, method=same).method.policy == ValueOfInformation(0.002)
    with closing(JsonlJournal(path)) as journal, pytest.raises(JournalMismatch):
        Session.resume(journal, method=method("quorate"))


def test_a_new_journal_names_its_rule(tmp_path):
    for rule in ("blended", "optimistic"):
        path = tmp_path / f"{rule}.jsonl"
        with closing(JsonlJournal(path)) as journal:
            session = Session(method("quorate", rule=rule), classes=CLASSES, pool_size=5, journal=journal)
            session.open("x", [0.5, 0.3, 0.2])
        assert json.loads(path.read_text().splitlines()[0])["method"]["knobs"]["rule"] == rule
        with closing(JsonlJournal(path)) as journal:
            assert Session.resume(journal, verify=True).method == session.method
