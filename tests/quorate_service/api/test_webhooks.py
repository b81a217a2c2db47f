"""Webhooks of a connected tool need its secret, and only say which tasks to read."""

import pytest
from sqlalchemy import select

from quorate_service.label_studio.connections import (
    change_connection,
    changed_tasks,
    insert_connection,
    remember_tasks,
    set_webhook,
)
from quorate_service.label_studio.settings import ConnectSettings
from quorate_service.label_studio.tasks import Task
from quorate_service.store.schema import connections
from tests.quorate_service.api.conftest import NOW, Caller, World

SECRET = "of-the-webhook"


@pytest.fixture
def world(database_url):
    made = World(database_url)
    with made.store.write() as connection:
        insert_connection(connection, made.here, "http://127.0.0.1:1", 3, ConnectSettings(), {}, now=NOW)
    set_webhook(made.store, made.here, 9, SECRET)
    remember_tasks(made.store, made.here, [Task(17, 1, False, {})])
    yield made
    made.store.close()


def sent(world, secret=SECRET, project=None, **body):
    headers = {"X-Quorate-Secret": secret} if secret is not None else {}
    path = f"/hooks/label-studio/{project or world.here}"
    return Caller(world.app).post(path, headers=headers, **(body or {"json": {}})).status_code


def marked(world):
    with world.store.read() as connection:
        is_all = connection.execute(select(connections.c.reread)).scalar_one()
        return changed_tasks(connection, world.here), is_all


@pytest.mark.parametrize("secret", [None, "", "wrong"])
def test_without_the_secret_nothing_is_marked(world, secret):
    assert sent(world, secret, json={"annotation": {"task": 17}}) == 401
    assert marked(world) == ([], False)


def test_another_project_has_another_secret(world):
    assert sent(world, project=world.there) == 401


def test_a_known_task_is_marked_once_however_often_it_is_reported(world):
    for _ in range(2):
        assert sent(world, json={"action": "ANNOTATION_CREATED", "annotation": {"id": 5, "task": 17}}) == 204
    assert marked(world) == ([17], False)


@pytest.mark.parametrize(
    "body", [{"json": {"annotation": {"task": 18}}}, {"json": {"annotations": [{"id": 5}]}}, {"json": []},
             {"content": b"{"}, {"json": {"annotation": {"task": "17"}}}, {"json": {"annotation": {"task": 2**70}}}]
)  # fmt: skip
def test_a_webhook_without_known_tasks_has_all_tasks_read(world, body):
    assert sent(world, **body) == 204
    assert marked(world) == ([], True)


def test_the_secret_is_invalid_after_disconnecting(world):
    change_connection(world.store, world.here, ended=NOW)
    assert sent(world) == 401
