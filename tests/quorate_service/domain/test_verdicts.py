"""Items in doubt wait for a senior, one senior at a time; a verdict is the final answer and can be corrected."""

import json

import pytest
from sqlalchemy import select

from quorate.errors import InvalidInput, UnknownClass
from quorate_service.domain.ballots import act
from quorate_service.domain.listing import all_decisions, find_item
from quorate_service.domain.trail import disagreements, trail
from quorate_service.domain.verdicts import closed_item, give_verdict, is_waiting, next_waiting, num_waiting, waiting
from quorate_service.domain.votes import Request
from quorate_service.domain.webhooks import create_webhook
from quorate_service.label_studio.connections import as_view
from quorate_service.problems import Outdated
from quorate_service.store.schema import deliveries


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
    for seen in (None, "cat"):
        with pytest.raises(Outdated):
            give_verdict(desk.projects, doubtful.id, "tied", "dog", replaces=seen, **given, now=1006.0)
    give_verdict(desk.projects, doubtful.id, "tied", "dog", replaces="bird", **given, now=1006.0)
    assert [each.item for each in line(desk, doubtful)] == ["unsure"]
    with desk.store.read() as connection:
        row, project = find_item(connection, doubtful.id, "tied"), desk.projects.get_in(connection, doubtful.id)
        said = [
            each for each in trail(desk.projects, connection, project, "tied")["beside"] if each["type"] == "verdict"
        ]
        decided = {each.item: each for each in all_decisions(desk.projects, connection, project)}
        assert not list(disagreements(desk.projects, connection, project))
        assert (num_waiting(connection, project), is_waiting(connection, project, row.id)) == (1, False)
    assert (as_view(before._mapping).label, as_view(row._mapping).label) == (before.label, "dog"), "in Label Studio"
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
    assert (decided["tied"].answer, decided["sure"].answer) == ("dog", "cat")
    cast(desk, doubtful, "tied", "ext:0", None, kind="retract")  # votes after a verdict go on as ever
    with desk.store.read() as connection:
        assert not list(disagreements(desk.projects, connection, project))


def test_an_answer_that_everybody_gave_is_corrected_and_webhooks_hear_the_final_one(desk, doubtful):
    create_webhook(desk.store, doubtful.id, "https://example.org", ["item.completed"], allow_private=False, now=1.0)
    for label, seen in (("cat", None), ("dog", "cat")):  # the first one changes nothing
        give_verdict(desk.projects, doubtful.id, "sure", label, replaces=seen, by="a", signed_in_by=None, now=1005.0)
    with desk.store.read() as connection:
        project = desk.projects.get_in(connection, doubtful.id)
        answers = {
            each.item: (each.answer, each.consensus_label) for each in all_decisions(desk.projects, connection, project)
        }
        said = [json.loads(body)["data"] for body in connection.scalars(select(deliveries.c.body))]
        assert not list(disagreements(desk.projects, connection, project))
    assert answers["sure"] == ("dog", "cat")
    assert [(each["item"], each["label"], each["confidence"]) for each in said] == [("sure", "dog", None)]


def test_what_is_not_closed_gets_no_verdict(desk, doubtful):
    given = {"by": "a_senior", "signed_in_by": None, "now": 1005.0}
    for item in ("open", "nothing"):
        with pytest.raises(InvalidInput):
            give_verdict(desk.projects, doubtful.id, item, "cat", **given)
    with pytest.raises(UnknownClass):
        give_verdict(desk.projects, doubtful.id, "tied", "zebra", **given)


def test_an_item_in_the_audit_waits_until_it_is_voted_to_the_end(desk):
    project = desk.project(["x"], pool_size=3, method="quorum:votes=1", audit_rate=1.0, adjudicate_below=1.0)
    cast(desk, project, "x", "ext:a", "cat")
    assert line(desk, project) == []
    with desk.store.read() as connection:
        shown = closed_item(connection, project, "senior", "x")
    assert shown.is_asked and shown.answer is None, "who may vote on it must not learn the answer"
    cast(desk, project, "x", "ext:b", "dog")
    cast(desk, project, "x", "ext:c", "bird")
    assert [(each.item, each.tied) for each in line(desk, project)] == [("x", True)]


def test_two_seniors_get_different_items_until_one_lets_go(desk, doubtful):
    def shown(senior, now, after=0):
        item = next_waiting(desk.projects, doubtful.id, senior, after=after, now=now)[1]
        return None if item is None else item.item

    assert [shown(senior, 1005.0) for senior in ("ann", "bo", "ann", "cy")] == ["tied", "unsure", "tied", None]
    with desk.store.read() as connection:
        first = find_item(connection, doubtful.id, "tied").closed_event
    assert shown("ann", 1006.0, after=first) == "tied", "the other one is with bo"
    assert shown("cy", 1006.0 + 121.0) == "tied", "after the time for which an item is kept for a voter"
