"""Actions on items: numbers and decisions follow, the author is stored; verdicts stand beside the pool's answer."""

import pytest
from sqlalchemy import select

from quorate import Session
from quorate.errors import QuorateError
from quorate_service.access.accounts import add_member, create_account
from quorate_service.api.exports import journal, votes
from quorate_service.domain.ballots import act
from quorate_service.domain.events import list_actions
from quorate_service.domain.item_actions import change_item, change_items, change_pool, close_open
from quorate_service.domain.items import NewItem
from quorate_service.domain.listing import Filter, all_decisions, counts
from quorate_service.domain.queue import next_items
from quorate_service.domain.stats import stats
from quorate_service.domain.trail import disagreements
from quorate_service.domain.votes import Request
from quorate_service.store.schema import items
from tests.refusals import refused


def vote(desk, project, item, voter, label, now=1001.0):
    return act(desk.projects, Request(project.id, item, voter, "vote", label, served=False), now=now)


def look(desk, project):
    """The numbers, the rows by name, the decisions; every decision follows from the events."""
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        assert list(disagreements(desk.projects, connection, latest)) == []
        rows = {row.name: row for row in connection.execute(select(items).where(items.c.project_id == project.id))}
        return (
            stats(connection, latest, now=1010.0),
            rows,
            list(all_decisions(desk.projects, connection, latest)),
            list_actions(connection, project.id),
            list(votes(connection, latest).rows),
            list(journal(connection, latest)),
        )


def test_a_smaller_pool_closes_items_of_a_small_team_and_the_journal_replays(desk, tmp_path):
    project = desk.project(["x", "y", "z"], method="ask-all")
    for voter in "abc":
        vote(desk, project, "x", voter, "cat")
    vote(desk, project, "y", "a", "dog")
    done = change_pool(desk.projects, project.id, 3, by="ada", now=1002.0)
    assert (done.changed, done.closed, done.kept) == (3, 1, 0)
    told, rows, decided, actions, acts, lines = look(desk, project)
    assert (rows["x"].is_open, rows["x"].pool_size, rows["x"].num_abstained, rows["x"].num_ballots) == (False, 3, 0, 3)
    assert rows["y"].is_open and rows["y"].pool_size == 3
    assert [each.item for each in decided] == ["x"] and decided[0].pool_size == 3 and decided[0].cost == 3
    assert told.num_voters == 3 and told.num_abstained == 0 and len(acts) == 4
    changes = [(each.item, each.who, each.body) for each in actions if each.kind == "pool"]
    assert sorted(changes) == [(name, "ada", {"from": 5, "to": 3}) for name in "xyz"]
    (tmp_path / "session.jsonl").write_bytes(b"".join(lines))
    session = Session.resume(tmp_path / "session.jsonl")
    assert session.decision("x").label == "cat" and not session.decision("x").ask and session.decision("y").ask
    assert change_pool(desk.projects, project.id, 9, by="ada", now=1003.0).kept == 2, "not more than at first"
    assert change_pool(desk.projects, project.id, 5, by="ada", now=1003.0, names=["y"]).changed == 1
    _, rows, *_ = look(desk, project)
    assert (rows["y"].pool_size, rows["z"].pool_size) == (5, 3)


def test_a_smaller_pool_completes_audits_that_nobody_could(desk):
    project = desk.project(["x"], method="quorum:votes=2", audit_rate=1.0)
    for voter in "ab":
        vote(desk, project, "x", voter, "cat")
    vote(desk, project, "x", "c", "dog")
    _, rows, *_ = look(desk, project)
    assert rows["x"].audit == "drawn" and rows["x"].is_wanted
    change_pool(desk.projects, project.id, 3, by="ada", now=1002.0)
    _, rows, *_ = look(desk, project)
    assert (rows["x"].audit, rows["x"].audit_loss, rows["x"].is_wanted) == ("done", 0.0, False)


def test_all_open_items_are_closed_at_once(desk):
    project = desk.project(["x", "y", "z"], method="ask-all")
    vote(desk, project, "x", "a", "cat")
    change_item(desk.projects, project.id, "withdraw", "z", by="ada", now=1001.0)
    assert close_open(desk.projects, project.id, by="ada", now=1002.0) == 2
    told, rows, _, actions, *_ = look(desk, project)
    assert (told.num_open, told.num_closed) == (0, 2) and rows["z"].is_open
    assert [(each.who, each.body) for each in actions if each.kind == "close-open"] == [("ada", {"closed": 2})]


def test_a_withdrawn_item_counts_nowhere_and_can_be_restored(desk):
    project = desk.project(["x", "y"], method="quorum:votes=1", price=0.5)
    vote(desk, project, "x", "a", "cat")
    (held,) = next_items(desk.projects, project.id, "b", now=1001.0)
    assert held.item == "y"
    for name in ("x", "y"):
        change_item(desk.projects, project.id, "withdraw", name, by="ada", now=1002.0)
    change_item(desk.projects, project.id, "withdraw", "y", by="ada", now=1002.0)
    act(desk.projects, Request(project.id, "y", "b", "vote", "dog"), now=1003.0)  # it was on its way
    told, _rows, decided, actions, acts, _ = look(desk, project)
    assert (told.num_items, told.num_votes, told.money_spent, told.voters, decided, acts) == (0, 0, 0.0, [], [], [])
    assert next_items(desk.projects, project.id, "c", now=1003.0) == []
    with desk.store.read() as connection:
        assert (counts(connection, project.id).items, counts(connection, project.id).withdrawn) == (0, 2)
    assert [(each.kind, each.item, each.who) for each in actions[1:]] == [("withdraw", n, "ada") for n in "xy"]
    with refused("item"):
        act(desk.projects, Request(project.id, "y", "ada", "close", served=False), now=1003.0)
    change_item(desk.projects, project.id, "restore", "x", by="ada", now=1004.0)
    told, _, decided, *_ = look(desk, project)
    assert (told.num_items, told.num_votes, [each.item for each in decided]) == (1, 1, ["x"])
    with pytest.raises(QuorateError):
        change_item(desk.projects, project.id, "withdraw", "nothing", by="ada", now=1004.0)


def test_items_that_wait_for_more_people_than_there_are_are_counted(desk):
    project = desk.project(["x", "y"], method="ask-all", pool_size=3)
    assert (look(desk, project)[0].num_people, look(desk, project)[0].num_short) == (0, 2)
    for name in "abc":
        account = create_account(desk.store, name, now=1000.0)
        add_member(desk.store, project.id, account.id, role="voter", now=1000.0)
    told = look(desk, project)[0]
    assert (told.num_people, told.num_short) == (3, 0)
    act(desk.projects, Request(project.id, "x", account.id, "skip", served=False), now=1001.0)
    assert look(desk, project)[0].num_short == 1, "who skipped it will not vote on it"


def test_a_pool_that_would_take_very_many_steps_is_refused_before_any_item_changes(desk):
    project = desk.project(["x", NewItem("y", pool_size=13_300)], method="quorum:votes=3", audit_rate=0.0)
    with refused("pool_size", value=3) as caught:
        change_pool(desk.projects, project.id, 3, by="ada", now=1002.0)
    assert caught.value.rule and caught.value.fix
    _, rows, *_ = look(desk, project)
    assert (rows["x"].pool_size, rows["y"].pool_size) == (5, 13_300)
    assert change_pool(desk.projects, project.id, 3, by="ada", now=1002.0, names=["x"]).changed == 1


def test_the_rest_of_the_pool_is_asked_again_and_its_verdict_is_the_answer(desk):
    project = desk.project(["x", "open"], pool_size=3, method="quorum:votes=1")
    vote(desk, project, "x", "a", "cat")
    found = Filter(search="X"), Filter(names=("x", "open"))
    done = [
        change_items(desk.projects, project.id, "ask-again", each, by="ada", now=1002.0) for each in (*found, *found)
    ]
    assert done == [1, 0, 0, 0], "once; an open item is asked about anyway"
    for voter in "bc":
        assert "x" in [each.item for each in next_items(desk.projects, project.id, voter, count=9, now=1003.0)]
        assert look(desk, project)[2][0].answer == "cat"
        vote(desk, project, "x", voter, "dog")
    _, rows, decided, actions, *_ = look(desk, project)
    assert (rows["x"].again, rows["x"].is_wanted, rows["x"].label) == ("done", False, "cat")
    assert (decided[0].answer, decided[0].consensus_label) == ("dog", "cat")
    assert [(each.kind, each.item, each.who) for each in actions[1:]] == [("ask-again", "x", "ada")]
    act(desk.projects, Request(project.id, "x", "c", "retract", served=False), now=1004.0)
    _, rows, decided, *_ = look(desk, project)
    assert (rows["x"].again, rows["x"].is_wanted, decided[0].answer) == ("asked", True, "cat")
