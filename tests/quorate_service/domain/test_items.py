"""Items added while others write: decided first, then stored in one transaction."""

from sqlalchemy import select

from quorate_service.domain import items as adding
from quorate_service.domain.items import NewItem, add_items, decide_items, store_items
from quorate_service.domain.trail import disagreements
from quorate_service.store.schema import items
from tests.refusals import refused


def rows(desk):
    with desk.store.read() as connection:
        return {row.name: row for row in connection.execute(select(items))}


def test_items_stored_in_the_meantime_stay_unchanged(desk):
    project = desk.project()
    batch = decide_items(desk.projects, project.id, [NewItem("x", priority=1), NewItem("y")], now=1001.0)
    add_items(desk.projects, project.id, [NewItem("x", priority=2)], now=1002.0)
    told = store_items(desk.projects, batch, now=1003.0)
    assert [each.status for each in told] == ["exists", "open"]
    assert rows(desk)["x"].priority == 2 and len({row.number for row in rows(desk).values()}) == 2


def test_settings_changed_in_the_meantime_apply(desk):
    project = desk.project(method="quorum:votes=1", audit_rate=0.1)
    batch = decide_items(desk.projects, project.id, [NewItem("x")], now=1001.0)
    changed = desk.projects.change(project.id, pool_size=9, now=1002.0)
    store_items(desk.projects, batch, now=1003.0)
    assert rows(desk)["x"].pool_size == 9
    with desk.store.read() as connection:
        assert list(disagreements(desk.projects, connection, changed)) == []


def test_a_project_archived_in_the_meantime_refuses_items(desk):
    project = desk.project()
    batch = decide_items(desk.projects, project.id, [NewItem("x")], now=1001.0)
    desk.projects.change(project.id, state="archived", now=1002.0)
    with refused("state"):
        store_items(desk.projects, batch, now=1003.0)
    assert rows(desk) == {}


def test_parameters_learned_in_the_meantime_apply_later(desk, monkeypatch):
    project = desk.project()
    batch = decide_items(desk.projects, project.id, [NewItem("x")], now=1001.0)
    with desk.store.write() as connection:
        before = desk.projects.params(connection, project, 0)
        desk.projects.learn_in(connection, project.id, before, 1, now=1002.0)
    monkeypatch.setattr(adding, "item_session", lambda *_, **__: 1 / 0)
    store_items(desk.projects, batch, now=1003.0)
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        assert latest.learn_event > 0 and list(disagreements(desk.projects, connection, latest)) == []
