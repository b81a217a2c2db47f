"""Items without a vote whose pool could not tell, or that were closed by hand: they have no answer and save nothing."""

import csv
import io
import json

import pytest
from sqlalchemy import select

from quorate_service.api.exports import chunks, exported
from quorate_service.api.items import as_shown
from quorate_service.api.votes import decided as told_to_owner
from quorate_service.domain.audits import audit_report
from quorate_service.domain.ballots import act
from quorate_service.domain.item_actions import close_open
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.learning import steer, stored_control
from quorate_service.domain.listing import Filter, decided, find_item, list_items
from quorate_service.domain.stats import stats
from quorate_service.domain.trail import disagreements
from quorate_service.domain.verdicts import waiting
from quorate_service.domain.votes import RecordedVote, Request
from quorate_service.domain.webhooks import create_webhook
from quorate_service.label_studio.connections import as_view
from quorate_service.label_studio.plan import with_decision
from quorate_service.store.schema import deliveries


def abstain(desk, project, names, voters=5):
    for name in names:
        for number in range(voters):
            act(desk.projects, Request(project.id, name, f"v{number}", "abstain", served=False), now=1001.0)


def told(desk, project):
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        assert list(disagreements(desk.projects, connection, latest)) == []
        return stats(connection, latest, now=1002.0)


def decisions(desk, project):
    with desk.store.read() as connection:
        rows = list_items(connection, project.id, Filter(status="closed"))
        return decided(desk.projects, connection, desk.projects.get(project.id), rows)


def test_items_on_which_everybody_abstained_have_no_answer_and_save_nothing(desk):
    names = [f"x{number}" for number in range(10)]
    project = desk.project(names, price=0.1)
    abstain(desk, project, names)
    numbers = told(desk, project)
    assert (numbers.num_closed, numbers.num_unanswered, numbers.num_abstained) == (10, 10, 50)
    assert (numbers.votes_saved, numbers.share_saved, numbers.money_saved) == (0, None, 0.0)
    assert (numbers.labels, numbers.believed_error, numbers.votes_per_closed) == ({}, None, None)
    assert {(row.consensus_label, row.confidence) for row in decisions(desk, project)} == {(None, None)}
    file = b"".join(chunks(exported(desk.projects, project.id, "decisions", "csv")))
    rows = list(csv.DictReader(io.StringIO(file.decode())))
    assert len(rows) == 10 and {(row["consensus_label"], row["confidence"]) for row in rows} == {("", "")}


def test_an_abstention_is_no_saving_on_an_item_with_votes(desk):
    project = desk.project(["x"], method="until-settled")
    abstain(desk, project, ["x"], voters=2)
    for number in range(2, 5):
        act(desk.projects, Request(project.id, "x", f"v{number}", "vote", "cat", served=False), now=1001.0)
        if not told(desk, project).num_open:
            break
    numbers = told(desk, project)
    assert (numbers.num_votes, numbers.votes_saved, numbers.num_unanswered) == (2, 1, 0)
    assert numbers.share_saved == pytest.approx(1 / 3)


def test_an_answer_that_the_method_gave_without_a_vote_is_one(desk):
    project = desk.project([NewItem("sure", [0.999, 0.0005, 0.0005])], error_cost=1.5)
    (row,) = decisions(desk, project)
    assert (row.consensus_label, row.num_votes) == ("cat", 0) and row.confidence > 0.5
    assert told(desk, project).num_unanswered == 0


def test_an_item_closed_by_hand_without_a_vote_has_no_answer_and_takes_no_part_in_the_audit(desk):
    project = desk.project(["x", "y"], audit_rate=1.0)
    act(desk.projects, Request(project.id, "y", "v0", "vote", "cat", served=False), now=1001.0)
    close_open(desk.projects, project.id, by="ada", now=1002.0)
    assert {row.item: row.consensus_label for row in decisions(desk, project)} == {"x": None, "y": "cat"}
    with desk.store.read() as connection:
        report = audit_report(connection, desk.projects.get(project.id))
        assert find_item(connection, project.id, "x").audit_rate is None
    assert (report.num_closed, report.num_drawn) == (1, 1)
    assert told(desk, project).num_unanswered == 1


def test_an_undone_abstention_opens_the_item_again(desk):
    project = desk.project(["x"])
    abstain(desk, project, ["x"])
    act(desk.projects, Request(project.id, "x", "v4", "retract", served=False), now=1002.0)
    numbers = told(desk, project)
    assert (numbers.num_open, numbers.num_unanswered) == (1, 0)


@pytest.mark.parametrize("goal", [{"budget": 2.0}, {"target_error": 0.1, "audit_rate": 0.1}])
def test_items_without_an_answer_count_for_no_goal(desk, goal):
    project = desk.project(["x", "y"], **goal)
    abstain(desk, project, ["x", "y"])
    steer(desk.projects, project.id, now=1002.0)
    with desk.store.read() as connection:
        assert stored_control(connection, desk.projects.get_in(connection, project.id)).num_items == 0


def test_items_without_an_answer_wait_for_a_senior(desk):
    project = desk.project(["x"], adjudicate_below=0.0)
    abstain(desk, project, ["x"])
    with desk.store.read() as connection:
        assert [each.item for each in waiting(connection, project, "ada")] == ["x"]


def test_items_can_be_added_after_many_without_an_answer(desk):
    names = [f"x{number}" for number in range(6)]
    project = desk.project(names)
    abstain(desk, project, names)
    add_items(desk.projects, project.id, [NewItem("y")], now=1003.0)
    assert told(desk, project).num_open == 1


def test_programs_are_told_that_there_is_no_answer(desk):
    project = desk.project(["x"])
    create_webhook(desk.store, project.id, "https://example.org/x", ["item.completed"], allow_private=False, now=1.0)
    abstain(desk, project, ["x"])
    with desk.store.read() as connection:
        row = find_item(connection, project.id, "x")
        sent = json.loads(connection.execute(select(deliveries.c.body)).scalar_one())["data"]
    shown = as_shown(project, row)
    assert (sent["label"], sent["confidence"], sent["reason"]) == (None, None, "exhausted")
    assert (shown["answer"], shown["label"], shown["confidence"]) == (None, None, None)
    assert with_decision({}, as_view(row._mapping))["quorate_consensus"] is None
    recorded = RecordedVote("x", "skip", None, 1002.0, 1, None, repeated=False, late=False, decision=None)
    told = told_to_owner(desk.projects, Request(project.id, "x", "ext:a", "skip", served=False), recorded)
    assert (told.ask, told.label, told.confidence) == (False, None, None)
