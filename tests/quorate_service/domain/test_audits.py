"""The audit report of a project."""

import random
import tracemalloc

import pytest
from sqlalchemy import insert, select, update

from quorate_service.domain.audits import audit_report
from quorate_service.domain.ballots import act
from quorate_service.domain.item_actions import change_item
from quorate_service.domain.votes import Request
from quorate_service.store.schema import items


def report(desk, project):
    with desk.store.read() as connection:
        return audit_report(connection, project)


def vote(desk, project, name, labels, first=0):
    for number, label in enumerate(labels, start=first):
        act(desk.projects, Request(project.id, name, f"v{number}", "vote", label, served=False), now=1001.0)


def close(desk, project, name):
    act(desk.projects, Request(project.id, name, "owner", "close", served=False), now=1002.0)


def note(desk, name, **row):
    """Write the result of an audit into the item's row."""
    with desk.store.write() as connection:
        connection.execute(update(items).where(items.c.name == name).values(**row))


@pytest.mark.parametrize("audit_rate", [0.0, 0.5])
def test_where_votes_settled_every_answer_none_can_be_wrong_and_nothing_was_measured(desk, audit_rate):
    project = desk.project(["x", "y"], method="until-settled", audit_rate=audit_rate)
    for name in "xy":
        vote(desk, project, name, ["cat"] * 3)
    told = report(desk, project)
    assert (told.num_settled, told.measured_low, told.measured_high) == (2, None, None)
    assert (told.most_wrong, told.is_informative) == (0.0, True)


def test_a_completed_audit_counts_like_settled_items(desk):
    project = desk.project(["x", "y"], method="quorum:votes=4", audit_rate=1.0)
    vote(desk, project, "x", ["cat"] * 4)
    vote(desk, project, "y", ["cat"])
    close(desk, project, "y")
    waiting = report(desk, project)
    assert (waiting.measured_low, waiting.measured_high) == (None, None)
    assert (waiting.num_drawn, waiting.num_complete) == (1, 0)
    vote(desk, project, "y", ["cat"] * 4, first=1)
    told = report(desk, project)
    assert (told.num_settled, told.num_complete) == (1, 1)
    assert told.measured_low == told.measured_high == told.most_wrong == 0.0


@pytest.mark.parametrize("loss", [1.0, 0.5])
def test_known_errors_are_in_the_sentence(desk, loss):
    project = desk.project(["x", "y"], method="until-settled", audit_rate=0.5)
    vote(desk, project, "x", ["cat"] * 3)
    vote(desk, project, "y", ["cat"])
    close(desk, project, "y")
    note(desk, "y", audit="done", audit_loss=loss, audit_rate=0.5)
    told = report(desk, project)
    assert f"{50 * loss:.1f} %" in told.sentence
    assert told.most_wrong == told.measured_low == told.measured_high == loss / 2


def test_incomplete_audits_widen_the_interval_and_do_not_count_as_right(desk):
    """Half of the pools agree and are settled soon; the other half are contested and need every vote."""
    chance, names = random.Random(1), [f"i{number}" for number in range(60)]
    pools = [["cat"] * 5 if number % 2 else ["cat", "cat", "cat", "dog", "dog"] for number in range(60)]
    for pool in pools:
        chance.shuffle(pool)
    project = desk.project(names, classes=["cat", "dog"], method="quorum:votes=1", audit_rate=1.0)
    truth = sum(pool[0] == "dog" for pool in pools) / 60
    for number in range(5):
        for name, pool in zip(names, pools, strict=True):
            with desk.store.read() as connection:
                wanted = connection.scalar(select(items.c.is_wanted).where(items.c.name == name))
            if wanted:
                vote(desk, project, name, pool[number : number + 1], first=number)
        told = report(desk, project)
        if told.num_complete:
            assert told.measured_low <= truth + 1e-9 and truth <= told.measured_high + 1e-9
            assert told.audited_low <= truth + 1e-9 and truth <= told.audited_high + 1e-9
            assert (told.measured_low < told.measured_high) is (told.num_complete < told.num_drawn)
    assert told.measured_high == pytest.approx(truth)


CLOSED = {
    "pool_size": 5, "slots": 0, "to_close": 0, "label": "cat", "reason": "rule", "seq": 4, "created": 1.0,
    "show": "{}", "is_open": False, "is_wanted": False, "votes": "[3, 0, 0]",
}  # fmt: skip


def closed_items(desk, project, *, drawn, wrong=0, items_each=10):
    """Closed items, of each `items_each` one drawn and complete; the first `wrong` of those are wrong."""
    made = CLOSED | {"project_id": project.id, "confidence": 0.98, "audit_rate": 1 / items_each}
    made |= {"audit": None, "audit_loss": None, "is_settled": False}
    rows = [made | {"name": f"i{n}", "number": 1000 + n, "closed_event": n} for n in range(drawn * items_each)]
    for place, row in enumerate(rows[:: items_each or 1]):
        row |= {"audit": "done", "audit_loss": float(place < wrong)}
    with desk.store.write() as connection:
        connection.execute(insert(items), rows)


FEW, MANY_WRONG = [(8, 0, False), (20, 3, False), (25, 0, True)], [(4, 2, False), (5, 2, True), (20, 8, True)]


@pytest.mark.parametrize(("drawn", "wrong", "is_enough"), FEW + MANY_WRONG)
def test_a_wide_bound_from_a_few_audits_is_not_shown_as_a_result_but_many_wrong_answers_are(
    desk, drawn, wrong, is_enough
):
    project = desk.project(audit_rate=0.1)
    closed_items(desk, project, drawn=drawn, wrong=wrong)
    told = report(desk, project)
    assert told.most_wrong is not None and told.num_complete == drawn
    assert told.is_enough is ("%" in told.sentence) is is_enough
    if not is_enough:
        assert told.num_complete < told.num_needed and told.most_wrong > 0.2


def test_withdrawing_drawn_items_does_not_improve_the_bound(desk):
    project = desk.project(["x", "y", "z", "open"], method="quorum:votes=1", audit_rate=1.0)
    for name in "xyz":
        vote(desk, project, name, ["cat"])
    vote(desk, project, "x", ["dog"] * 4, first=1)
    before = report(desk, project)
    assert (before.num_closed, before.num_drawn, before.num_complete, before.measured_low) == (3, 3, 1, 1 / 3)
    for name in ("x", "y", "open"):
        change_item(desk.projects, project.id, "withdraw", name, by="ada", now=1003.0)
    assert report(desk, project) == before


def test_reading_in_parts_gives_the_same_report_in_constant_memory(desk, monkeypatch):
    project = desk.project(audit_rate=0.5)
    made = CLOSED | {"project_id": project.id}
    rows = [
        made | {"name": f"i{n}", "number": n, "closed_event": n, "confidence": 0.9 + n % 10 / 100, "audit_rate": 0.5}
        | {"audit": ("done", "drawn", None)[n % 3], "audit_loss": float(n % 2) if n % 3 == 0 else None}
        | {"is_settled": n % 7 == 0}
        | ({"audit": None, "audit_rate": None, "audit_loss": 0.0} if n % 7 == 0 else {})
        for n in range(6000)
    ]  # fmt: skip
    with desk.store.write() as connection:
        connection.execute(insert(items), rows)
    tracemalloc.start()
    whole = report(desk, project)
    at_once = tracemalloc.get_traced_memory()[1]
    monkeypatch.setattr("quorate_service.domain.audits.PART", 500)
    tracemalloc.reset_peak()
    parts = report(desk, project)
    in_parts = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for name in ("num_closed", "num_settled", "num_drawn", "num_complete", "is_informative", "sentence"):
        assert getattr(parts, name) == getattr(whole, name)
    for name in ("measured_low", "measured_high", "most_wrong", "audited_low", "audited_high", "believed_error"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    assert whole.num_complete > 1000 and in_parts < at_once / 2
