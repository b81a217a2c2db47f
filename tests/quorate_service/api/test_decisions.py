"""Decisions and exports: the same answers in every format, inert in spreadsheets, resumable as a session."""

import csv
import io
import json
import re
import threading
from collections import Counter
from datetime import datetime

import pytest
from sqlalchemy import func, select, update

import quorate
from quorate.commands.run.result import DECISION_COLUMNS
from quorate.session import JsonlJournal
from quorate.tables import read_votes
from quorate.types import PriorParams
from quorate_service.api import exports
from quorate_service.api.exports import VERDICT_COLUMNS, WRITERS, Export, inert
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.listing import find_item
from quorate_service.domain.votes import Request
from quorate_service.store.schema import items
from tests.quorate_service.api.conftest import NOW, rows_of

NAMES = ["=HYPERLINK(1)", "-2", "@x", "+y", "plain", 'z,"q"', "n7", "n8"]


def vote(world, item, voter, label, kind="vote"):
    act(world.projects, Request(world.here, item, voter, kind, label, served=False), now=1001.0)


def busy(world):
    """Items closed under several learned parameters and policies, some undone, skipped, reopened."""
    learned = PriorParams(3.0, 0.4, [1.2, 0.9, 1.0], None)
    batch = [NewItem(name, {"cat": 0.3 + 0.05 * n}) for n, name in enumerate(NAMES)]
    add_items(world.projects, world.here, batch, now=1000.0)

    for n, name in enumerate(NAMES[:6]):
        if n == 2:
            with world.store.write() as connection:
                world.projects.learn_in(connection, world.here, learned, 3, now=1001.0)
        if n == 4:
            world.projects.change(world.here, method="finexp:threshold=0.8", now=1001.0)
        vote(world, name, "skipper", None, "skip")
        for voter, label in zip("abcde", ["cat", "cat", "dog", "cat", "bird"], strict=True):
            vote(world, name, voter, label)
        vote(world, name, "e", None, "retract")
    vote(world, "n7", "a", None, "abstain")


@pytest.fixture
def exporting(world):
    world.here = world.project("p", owner="owner", reader="reader", method="finexp:threshold=0.99", price=0.5)
    busy(world)
    return world


def export(world, status=200, role="reader", **params):
    return world.client(role).api("GET", f"/projects/{world.here}/export", status, params=params)


def test_every_format_holds_the_same_decisions(exporting):
    rows = rows_of(export(exporting, what="decisions"))
    assert len(rows) >= 5
    assert list(rows[0]) == [
        "item",
        "answer",
        *(name for name in DECISION_COLUMNS[1:] if name != "refuted"),  # `answer` differs from `consensus_label`
        "prob_cat",
        "prob_dog",
        "prob_bird",
        *VERDICT_COLUMNS,
        "voters",
    ]
    table = list(csv.DictReader(io.StringIO(export(exporting, format="csv").text)))
    assert [row["item"] for row in table] == [
        ("'" + row["item"]) if row["item"][0] in "=+-@" and row["item"] != "-2" else row["item"] for row in rows
    ]
    assert [float(row["confidence"]) for row in table] == [row["confidence"] for row in rows]
    with exporting.store.read() as connection:
        project = exporting.projects.get_in(connection, exporting.here)
        for row in rows:
            stored = find_item(connection, project.id, row["item"])
            assert (row["consensus_label"], row["confidence"]) == (stored.label, stored.confidence)
            assert row["cost"] == stored.num_votes * 0.5
            assert row["prob_" + row["consensus_label"]] == pytest.approx(row["confidence"])
            assert 0 < row["agreement"] <= 1


def test_decisions_come_in_pages(exporting):
    seen, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = exporting.client("reader").api("GET", f"/projects/{exporting.here}/decisions", 200, params=params).json()
        seen += page["items"]
        if (cursor := page["next"]) is None:
            break
    rows = {row["item"]: row for row in rows_of(export(exporting))}
    assert [each["item"] for each in seen] == [name for name in NAMES if name in rows] and len(seen) == len(rows) > 4
    for each in seen:
        assert each["probs"] == {name: rows[each["item"]][f"prob_{name}"] for name in ("cat", "dog", "bird")}


def test_pages_list_each_closed_item_once_while_items_close(world):
    """In the order of closing, an item that closes again, or commits late, would be listed twice or never."""
    world.items("a", "b", "c")
    reader, path = world.client("reader"), f"/projects/{world.here}/decisions"
    for name in "cab":
        act(world.projects, Request(world.here, name, "o", "close", served=False), now=1001.0)
    seen, cursor = [], None
    while True:
        params = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = reader.api("GET", path, 200, params=params).json()
        seen += [each["item"] for each in page["items"]]
        with world.store.write() as connection:  # as if the item just told had been opened and closed again
            told, latest = items.c.name == seen[-1], select(func.max(items.c.closed_event) + 1).scalar_subquery()
            connection.execute(update(items).where(told).values(closed_event=latest))
        if (cursor := page["next"]) is None:
            break
    assert seen == ["a", "b", "c"]


def test_a_session_resumes_from_the_journal_with_the_same_decisions(exporting, tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(export(exporting, what="journal").content)
    session = quorate.Session.resume(JsonlJournal(path))
    with exporting.store.read() as connection:
        project = exporting.projects.get_in(connection, exporting.here)
        for name in NAMES:
            stored, resumed = find_item(connection, project.id, name), session.decision(name)
            assert (resumed.ask, resumed.label, resumed.reason) == (stored.is_open, stored.label, stored.reason)
            assert resumed.confidence == stored.confidence
    assert session.vote("n8", "cat", voter="later").num_votes == 1


def test_each_decision_names_its_voters_in_order(exporting):
    vote(exporting, "plain", "a", None, "retract")
    vote(exporting, "plain", "a", "cat")  # now the last one, or late
    rows = rows_of(export(exporting, what="decisions"))
    acts = rows_of(export(exporting, what="votes"))
    for row in rows:
        mine = [act for act in acts if act["item"] == row["item"] and act["label"]]
        asked = row["voters"].split(";")
        assert len(set(asked)) == row["num_votes"] > 0
        assert asked == [act["voter_name"] for act in mine][: row["num_votes"]]
        labels = {act["voter_name"]: act["label"] for act in mine}
        assert row["agreement"] == pytest.approx(sum(labels[v] == row["consensus_label"] for v in asked) / len(asked))
    listed = exporting.client("reader").api("GET", f"/projects/{exporting.here}/decisions", 200).json()["items"]
    assert {each["item"]: ";".join(each["voters"]) for each in listed} == {row["item"]: row["voters"] for row in rows}


def test_every_act_is_exported_once_and_the_votes_can_be_read_back(exporting, tmp_path):
    vote(exporting, "plain", "e", "dog")  # after it was taken back
    vote(exporting, "n8", "a", None, "skip")
    vote(exporting, "n8", "a", None, "retract")
    rows = rows_of(export(exporting, what="votes"))
    columns = [
        "item",
        "voter",
        "voter_name",
        "label",
        "time",
        "kind",
        "late",
        "retracted",
        "cast_label",
        "signed_in_by",
    ]
    assert list(rows[0]) == columns
    assert [row["kind"] for row in rows if row["item"] == "plain"] == ["skip", *["vote"] * 6]
    changed = [row for row in rows if row["item"] == "plain" and row["voter"] == "e"]
    assert [(row["label"], row["cast_label"], row["retracted"]) for row in changed] == [
        (None, "bird", True),
        ("dog", "dog", False),
    ]
    assert [(row["kind"], row["retracted"]) for row in rows if row["item"] == "n8"] == [("skip", True)]
    assert [row["kind"] for row in rows if row["item"] == "n7"] == ["abstain"]
    path = tmp_path / "votes.csv"
    path.write_bytes(export(exporting, what="votes", format="csv").content)
    with exporting.store.read() as connection:
        stored = connection.execute(select(items).where(items.c.project_id == exporting.here)).all()
    assert read_votes(path).num_votes == sum(row.num_votes for row in stored) == 6 * 4 + 1
    late = {row.name: row.num_late for row in stored if row.num_late}
    assert late and late == Counter(row["item"] for row in rows if row["late"] and not row["retracted"])


def test_events_are_exported_as_they_were_written(exporting):
    rows = export(exporting, what="events", format="jsonl").text.splitlines()
    kinds = {json.loads(row)["kind"] for row in rows}
    assert kinds == {"tune", "open", "vote", "skip", "retract", "abstain", "learn"}
    assert json.loads(json.loads(rows[1])["body"])["type"] == "open"


def test_an_empty_project_exports_empty_files(world):
    assert export(world).text == ""
    assert export(world, format="csv").text.startswith("item,answer,consensus_label")
    assert "json" in export(world, 422, what="journal", format="csv").json()["detail"]


def test_large_exports_go_through_a_file_and_not_through_memory(world, monkeypatch):
    monkeypatch.setattr("quorate_service.api.exports.IN_MEMORY", 1000)
    monkeypatch.setattr("quorate_service.domain.listing.BATCH", 7)
    world.items(*(f"i{n}" for n in range(40)))
    for n in range(40):
        act(world.projects, Request(world.here, f"i{n}", "o", "close", served=False), now=1001.0)
    assert [row["item"] for row in rows_of(export(world))] == [f"i{n}" for n in range(40)]
    for format_ in ("csv", "jsonl"):
        answer = export(world, format=format_)
        assert int(answer.headers["content-length"]) == len(answer.content) > 1000


def test_an_account_makes_one_export_at_a_time(world, monkeypatch):
    begun, go_on, made = threading.Event(), threading.Event(), exports.exported

    def slow(*args, **options):
        begun.set()
        assert go_on.wait(10)
        return made(*args, **options)

    monkeypatch.setattr(exports, "exported", slow)
    first = threading.Thread(target=export, args=(world,))
    first.start()
    assert begun.wait(10)
    refused = export(world, 429)
    assert refused.headers["retry-after"] == "5" and "exporting already" in refused.json()["detail"]
    monkeypatch.setattr(exports, "exported", made)
    world.client("owner").api("GET", f"/projects/{world.here}/export", 200)
    monkeypatch.setattr("quorate_service.api.exports.MOST", 1)
    world.client("owner").api("GET", f"/projects/{world.here}/export", 429)
    go_on.set()
    first.join()
    export(world)
    export(world, 422, what="journal", format="csv")
    export(world)


@pytest.mark.parametrize("cell", ["=1+1", "a;=1+1", "a; =1", "a\t+1", "a|=1", ";;=1", 'a;"=1"', "a;=b;=c"])
def test_no_part_of_a_cell_is_a_formula_wherever_a_spreadsheet_splits_it(cell):
    for split in ";\t|":
        for part in inert(cell).split(split):
            assert not part.strip(' "').startswith(("=", "+", "-", "@")), (inert(cell), split)


def test_json_in_a_csv_file_stays_the_same_json_and_holds_no_formula():
    bodies = [{"bias": [0.1, -0.2], "item": "see, -3 mm"}, {"item": "a;=1+1", "x": "|@b; -c", "q": ';"=1', "n": [-1]}]
    export_ = Export(("body", "item"), iter([(json.dumps(body), body["item"]) for body in bodies]))
    WRITERS["csv"](export_, file := io.BytesIO())
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))
    assert [json.loads(row["body"]) for row in rows] == bodies
    assert [row["item"] for row in rows] == ["see, -3 mm", "a;'=1+1"]
    for part in re.split(r"[;|]", file.getvalue().decode()):
        assert not part.strip(' "').startswith(("=", "+", "-", "@")), part


def test_a_senior_sees_what_waits_without_names_and_gives_a_verdict(world):
    here, owner, senior = f"/projects/{world.here}", world.client("owner"), world.client("senior")
    owner.api("PATCH", here, 200, json={"settings": {"adjudicate_below": 1.0}})
    world.items("x", "y", prediction={"cat": 0.123456})
    for item in ("x", "y"):
        owner.api("POST", f"{here}/votes", 200, json={"item": item, "label": "dog", "voter": "secret-anna"})
        owner.api("POST", f"{here}/item/close", 200, json={"id": item})
    first = senior.api("GET", f"{here}/adjudication", 200, params={"limit": 1}).json()
    rest = senior.api("GET", f"{here}/adjudication", 200, params={"limit": 1, "cursor": first["next"]}).json()
    assert [each["item"] for each in first["items"] + rest["items"]] == ["x", "y"] and rest["next"] is None
    assert first["items"][0]["votes"] == {"cat": 0, "dog": 1, "bird": 0}
    assert not any(word in str(first) for word in ("secret", "0.123", "confidence"))
    assert senior.api("POST", f"{here}/verdicts", 409, json={"item": "x", "label": "bird", "replaces": "dog"})
    verdict = {"item": "x", "label": "bird", "note": "It has wings."}
    head = {"Idempotency-Key": "v1"}
    made = senior.api("POST", f"{here}/verdicts", 200, json=verdict, headers=head).json()
    assert senior.api("POST", f"{here}/verdicts", 200, json=verdict, headers=head).json() == made
    rows = {row["item"]: row for row in rows_of(owner.api("GET", f"{here}/export", 200))}
    assert (rows["x"]["consensus_label"], rows["x"]["verdict"], rows["x"]["verdict_by"]) == (
        "dog",
        "bird",
        "senior",
    )
    assert (rows["x"]["answer"], rows["y"]["answer"], rows["y"]["verdict"]) == ("bird", "dog", None)
    assert datetime.fromisoformat(rows["x"]["verdict_time"]).timestamp() == pytest.approx(NOW, abs=1.0)
    (said,) = owner.api("GET", f"{here}/item/trail", 200, params={"id": "x"}).json()["beside"]
    assert (said["label"], said["note"]) == ("bird", "It has wings.")
