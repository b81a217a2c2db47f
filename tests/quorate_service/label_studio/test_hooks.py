"""The webhook that Label Studio calls: who may call it, and which tasks are read again."""

import asyncio
from types import SimpleNamespace

import pytest
from fastapi import BackgroundTasks, Request

from quorate_service.label_studio.connections import connection_of, set_webhook
from quorate_service.label_studio.hooks import MOST_TASKS, label_studio_hook, tasks_of
from tests.quorate_service.label_studio.test_connector import working
from tests.quorate_service.label_studio.test_reconcile import Double, connected


def test_a_report_whose_sender_waits_no_longer_has_all_tasks_read_again(store):
    project_id = connected(store, Double(1))
    set_webhook(store, project_id, 7, "secret")
    state = SimpleNamespace(store=store, connector=working(store, None), clock=lambda: 2.0)
    headers = [(b"x-quorate-secret", b"secret"), (b"content-length", b"900")]
    scope = {"type": "http", "method": "POST", "headers": headers, "app": SimpleNamespace(state=state)}

    async def sent():
        async def gone():
            return {"type": "http.disconnect"}

        later = BackgroundTasks()
        answer = await label_studio_hook(project_id, Request(scope, gone), later)
        await later()
        return answer.status_code

    assert asyncio.run(sent()) == 204
    with store.read() as connection:
        assert connection_of(connection, project_id).reread


@pytest.mark.parametrize(
    ("body", "tasks"),
    [
        ({"annotations": [{"task": 9}, {"task": 2}, {"task": 9}]}, [2, 9]),
        ({"annotation": {"task": 4}, "annotations": [{"task": 3}]}, [3, 4]),
        ({"annotations": [{"task": 3}, {"id": 5}]}, []),
        ({"annotation": {"task": -1}}, []),
        ({"annotations": [{"task": 1}] * (MOST_TASKS + 1)}, []),
        ([17], []),
        (None, []),
    ],
)
def test_tasks_are_read_from_a_webhook_only_if_it_names_them_all(body, tasks):
    assert tasks_of(body) == tasks
