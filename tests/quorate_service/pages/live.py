"""A real server in a thread, on its own port, with a new SQLite file, for tests with a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from quorate_service.access.credentials import first_owner_link
from quorate_service.app import create_app
from quorate_service.config import ServiceConfig
from quorate_service.domain.projects import Projects
from quorate_service.store import Store
from quorate_service.store.prepare import prepare


@dataclass
class Live:
    """A running service: its address, its store, and the link of its first start."""

    url: str
    store: Store
    projects: Projects
    app: FastAPI
    owner_link: str


@contextmanager
def running(folder: Path) -> Iterator[Live]:
    """A service on a fresh database in `folder`."""
    store = Store(f"sqlite:///{folder / 'service.db'}")
    prepare(store)
    app = create_app(store, ServiceConfig())
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
        assert thread.is_alive(), "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    link = first_owner_link(store, url, now=time.time())
    assert link is not None
    try:
        yield Live(url, store, app.state.projects, app, link)
    finally:
        server.should_exit = True
        thread.join(15)
        store.close()
