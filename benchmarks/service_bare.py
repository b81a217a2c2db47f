"""Bare durable inserts: the speed of the database alone, with the same driver, table, row size and connections.

Inserts into the table `events` of a separate database with the same migrations, hence the same indexes and triggers, on
the same server or disk; each insert is committed. No SQLAlchemy, no HTTP, no reads. `processes` processes with
`threads` threads each, one connection per thread. Called by `service_load.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sqlalchemy import insert

from quorate.service.store import Store
from quorate.service.store.prepare import prepare
from quorate.service.store.schema import items, projects
from service_place import new_database

INSERTS = Path(__file__).with_name("service_inserts.py")


def bare(where: str, *, processes: int, threads: int, seconds: float, body: str) -> list[float]:
    """The seconds of every insert; a fresh table each time. `where`: as for `new_database`."""
    url = new_database(where, "bare")
    _prepare(url, processes * threads)
    plan = {"url": url, "threads": threads, "seconds": seconds, "body": body}
    running = []
    for number in range(processes):
        command = [sys.executable, str(INSERTS), json.dumps(plan | {"number": number})]
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for each in running:
        each.stdout.readline()  # it is ready
    for each in running:
        each.stdin.write("go\n")
        each.stdin.flush()
    times = [value for each in running for value in json.loads(each.communicate()[0])]
    if "://" not in url:
        for end in ("", "-wal", "-shm"):
            Path(url + end).unlink(missing_ok=True)
    return times


def _prepare(url: str, num_items: int) -> None:
    """The service's tables, with a project and an item for each connection."""
    store = Store(url)
    prepare(store)
    row = {
        "project_id": "p_bare", "show": "{}", "pool_size": 1, "is_open": True, "is_wanted": True, "slots": 0,
        "to_close": 1, "votes": "[]", "label": "", "confidence": 0.0, "reason": "", "seq": 0, "created": 0.0,
    }  # fmt: skip
    with store.write() as connection:
        connection.execute(insert(projects).values(id="p_bare", name="bare", settings="{}", created=0.0))
        connection.execute(insert(items), [row | {"name": str(n), "number": n} for n in range(num_items)])
    store.close()
