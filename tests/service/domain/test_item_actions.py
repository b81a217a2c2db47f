"""Actions on items: numbers and decisions follow, the author is stored; verdicts stand beside the pool's answer."""

import pytest
from sqlalchemy import select

from quorate import Session
from quorate.errors import InvalidInput, QuorateError, UnknownClass
from quorate.service.access.accounts import add_member, create_account
from quorate.service.api.exports import journal, votes
from quorate.service.domain.ballots import act
from quorate.service.domain.events import list_actions
from quorate.service.domain.item_actions import change_pool, close_open, give_verdict, restore, withdraw
from quorate.service.domain.items import NewItem
from quorate.service.domain.listing import all_decisions, counts, find_item, is_waiting, num_waiting, waiting
from quorate.service.domain.queue import next_items
from quorate.service.domain.stats import stats
from quorate.service.domain.trail import disagreements, trail
from quorate.service.domain.votes import Request
from quorate.service.store.schema import items


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
    withdraw(desk.projects, project.id, "z", by="ada", now=1001.0)
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
        withdraw(desk.projects, project.id, name, by="ada", now=1002.0)
    withdraw(desk.projects, project.id, "y", by="ada", now=1002.0)
    act(desk.projects, Request(project.id, "y", "b", "vote", "dog"), now=1003.0)  # it was on its way
    told, _rows, decided, actions, acts, _ = look(desk, project)
    assert (told.num_items, told.num_votes, told.money_spent, told.voters, decided, acts) == (0, 0, 0.0, [], [], [])
    assert next_items(desk.projects, project.id, "c", now=1003.0) == []
    with desk.store.read() as connection:
        assert (counts(connection, project.id).items, counts(connection, project.id).withdrawn) == (0, 2)
    assert [(each.kind, each.item, each.who) for each in actions[1:]] == [("withdraw", n, "ada") for n in "xy"]
    with pytest.raises(InvalidInput) as refused:
        act(desk.projects, Request(project.id, "y", "ada", "close", served=False), now=1003.0)
    assert refused.value.field == "item"
    restore(desk.projects, project.id, "x", by="ada", now=1004.0)
    told, _, decided, *_ = look(desk, project)
    assert (told.num_items, told.num_votes, [each.item for each in decided]) == (1, 1, ["x"])
    with pytest.raises(QuorateError):
        withdraw(desk.projects, project.id, "nothing", by="ada", now=1004.0)


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
    with pytest.raises(InvalidInput) as refused:
        change_pool(desk.projects, project.id, 3, by="ada", now=1002.0)
    assert (refused.value.field, refused.value.value) == ("pool_size", 3)
    assert refused.value.rule and refused.value.fix
    _, rows, *_ = look(desk, project)
    assert (rows["x"].pool_size, rows["y"].pool_size) == (5, 13_300)
    assert change_pool(desk.projects, project.id, 3, by="ada", now=1002.0, names=["x"]).changed == 1


def cast(desk, project, item, voter, label, kind="vote"):
    act(desk.projects, Request(project.id, item, voter, kind, label, served=False), now=1001.0)


def line(desk, project, senior="senior", **more):
    with desk.store.read() as connection:
        return waiting(connection, desk.projects.get_in(connection, project.id), senior, limit=9, **more)


@pytest.fixture
def doubtful(desk):
    """`tied` 2 to 2 after the whole pool, `unsure` closed by its most votes, `sure` 4 to 0, `open` with a vote left."""
    project = desk.project(
        ["tied", "unsure", "sure", "open"], pool_size=4, method="until-settled", max_votes=None, adjudicate_below=0.9
    )
    for item, labels in {"sure": ["cat"] * 3, "tied": ["cat", "cat", "dog", "dog"], "unsure": ["cat", "dog"]}.items():
        for number, label in enumerate(labels):
            cast(desk, project, item, f"ext:{number}", label)
    cast(desk, project, "unsure", "owner", None, kind="close")
    cast(desk, project, "open", "senior", "cat")
    return project


def test_ties_and_low_confidence_wait_and_nothing_else(desk, doubtful):
    assert [(each.item, each.tied, each.votes) for each in line(desk, doubtful)] == [
        ("tied", True, (2, 2, 0)), ("unsure", False, (1, 1, 0)),
    ]  # fmt: skip
    desk.projects.change(doubtful.id, adjudicate_below=0.0, now=1002.0)
    assert [each.item for each in line(desk, doubtful)] == ["tied"]
    desk.projects.change(doubtful.id, adjudicate_below=None, now=1003.0)
    assert line(desk, doubtful) == []


def test_a_verdict_stands_beside_the_pools_answer_and_can_be_corrected(desk, doubtful):
    with desk.store.read() as connection:
        before = find_item(connection, doubtful.id, "tied")
    given = {"by": "a_senior", "signed_in_by": "own link"}
    give_verdict(desk.projects, doubtful.id, "tied", "bird", **given, note="a beak", now=1005.0)
    give_verdict(desk.projects, doubtful.id, "tied", "dog", **given, now=1006.0)
    assert [each.item for each in line(desk, doubtful)] == ["unsure"]
    with desk.store.read() as connection:
        row, project = find_item(connection, doubtful.id, "tied"), desk.projects.get_in(connection, doubtful.id)
        said = [
            each for each in trail(desk.projects, connection, project, "tied")["beside"] if each["type"] == "verdict"
        ]
        decided = {each.item: each for each in all_decisions(desk.projects, connection, project)}
        assert not list(disagreements(desk.projects, connection, project))
        assert (num_waiting(connection, project), is_waiting(connection, project, row.id)) == (1, False)
    assert (row.label, row.confidence, row.votes, row.reason) == (
        before.label,
        before.confidence,
        before.votes,
        before.reason,
    )
    assert [(each["label"], each["note"], each["pool"]["label"]) for each in said] == [
        ("bird", "a beak", before.label), ("dog", "", before.label),
    ]  # fmt: skip
    assert (decided["tied"].verdict, decided["tied"].verdict_by, decided["tied"].verdict_time) == (
        "dog",
        "a_senior",
        1006.0,
    )
    assert decided["sure"].verdict is None
    cast(desk, doubtful, "tied", "ext:0", None, kind="retract")  # votes after a verdict go on as ever
    with desk.store.read() as connection:
        assert not list(disagreements(desk.projects, connection, project))


def test_what_does_not_wait_gets_no_verdict(desk, doubtful):
    given = {"by": "a_senior", "signed_in_by": None, "now": 1005.0}
    for item in ("sure", "open", "nothing"):
        with pytest.raises(InvalidInput):
            give_verdict(desk.projects, doubtful.id, item, "cat", **given)
    with pytest.raises(UnknownClass):
        give_verdict(desk.projects, doubtful.id, "tied", "zebra", **given)


def test_an_item_in_the_audit_waits_until_it_is_voted_to_the_end(desk):
    project = desk.project(["x"], pool_size=3, method="quorum:votes=1", audit_rate=1.0, adjudicate_below=1.0)
    cast(desk, project, "x", "ext:a", "cat")
    assert line(desk, project) == []
    cast(desk, project, "x", "ext:b", "dog")
    cast(desk, project, "x", "ext:c", "bird")
    assert [(each.item, each.tied) for each in line(desk, project)] == [("x", True)]
