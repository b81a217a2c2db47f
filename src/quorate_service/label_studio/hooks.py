"""The webhook that Label Studio calls after a change of annotations.

Label Studio sends it within the annotator's own request, waits at most a second and does not retry. So it is
acknowledged first, and the connector does the work; only the task numbers are read from the body.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import cast

from fastapi import APIRouter, BackgroundTasks, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from quorate_service.access.request_context import now_of, store_of
from quorate_service.api.dependencies import ProjectId
from quorate_service.label_studio.connections import is_secret, mark_changed
from quorate_service.label_studio.connector import Connector
from quorate_service.label_studio.reconcile import PATH, SECRET
from quorate_service.problems import NotSignedIn
from quorate_service.store import Store, StoreUnavailable

log = logging.getLogger("quorate_service.connector")
router = APIRouter(include_in_schema=False)
MOST_TASKS = 1000  # if a webhook names more, all tasks are read


@router.post(PATH + "{project_id}", status_code=204)
async def label_studio_hook(project_id: ProjectId, request: Request, later: BackgroundTasks) -> Response:
    """A webhook of Label Studio; it must carry the secret with which it was registered."""
    store, secret = store_of(request), request.headers.get(SECRET, "")
    if not secret or not await run_in_threadpool(_knows, store, project_id, secret):
        raise NotSignedIn("not signed in", "send the secret of the webhook.", field=SECRET, rule="the webhook's secret")
    try:
        body = await request.json()
    except (ValueError, ClientDisconnect):  # Label Studio stopped waiting: the task is unknown, so all tasks are read
        body = None
    connector = cast(Connector, request.app.state.connector)
    later.add_task(_mark, store, connector, project_id, tasks_of(body), now_of(request))
    return Response(status_code=204, background=later)


def tasks_of(body: object) -> list[int]:
    """The numbers of the tasks that a webhook is about; empty if it does not say.

    >>> tasks_of({"action": "ANNOTATION_CREATED", "annotation": {"id": 5, "task": 17}, "task": {"id": 17}})
    [17]
    >>> tasks_of({"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 5}]})
    []
    """
    if not isinstance(body, Mapping):
        return []
    several = body.get("annotations")
    about = [body.get("annotation"), *(several if isinstance(several, list) else [])]
    ids = [task.get("task") if isinstance(task, Mapping) else None for task in about if task is not None]
    if not ids or len(ids) > MOST_TASKS:
        return []
    numbers = [number for number in ids if isinstance(number, int) and 0 < number < 2**63]
    return sorted(set(numbers)) if len(numbers) == len(ids) else []


def _knows(store: Store, project_id: str, secret: str) -> bool:
    with store.read() as connection:
        return is_secret(connection, project_id, secret)


def _mark(store: Store, connector: Connector, project_id: str, tasks: list[int], now: float) -> None:
    try:
        mark_changed(store, project_id, tasks, now=now)
    except StoreUnavailable as problem:  # the next full read finds the change
        log.warning("a webhook could not be stored: %s", problem)
    connector.wake()
