"""One cell of the service's benchmark: a database, a number of workers, a number of items -> rates, times, CPU, memory.

Bare inserts run before and after the voters, under the same conditions. Called by `service.py` and by the soak test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from common import np
from quorate.service.store import POOL, Store
from quorate.service.store.schema import events
from service_bare import bare
from service_place import CLASSES, Place, Server, cpu_and_memory

VOTERS = Path(__file__).with_name("service_voters.py")
CONNECTIONS = 2 * POOL  # largest number of connections of a worker


@dataclass(frozen=True)
class Times:
    """Milliseconds of a kind of request."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Load:
    """Results of 50 voters. CPU is milliseconds of user and system time per vote, for all processes of each kind."""

    mode: str
    votes_per_second: float
    next: Times
    vote: Times
    idle: int
    problems: dict[str, int]
    cpu_workers: float
    cpu_database: float | None
    cpu_voters: float
    memory: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


MODES = {
    "apart": {"held": 1, "together": False, "think": 0.0},  # next, vote, next, vote: as fast as possible
    "page": {"held": 2, "together": True, "think": 0.0},  # like the voter's page: a response has the next items
    "people": {"held": 1, "together": False, "think": 1.0},  # each pauses for a second: times without a queue
}


def load(
    place: Place, server: Server, mode: str, *, seconds: float, most_votes: int | None = None, database: int | None
) -> Load:
    """Run the voters of the place against the server. `database`: PostgreSQL's process id, if it is private."""
    name = f"{mode}-{server.port}-{_num_events(place.url)}"
    plan = {
        "port": server.port, "project": place.project_id, "keys": place.keys, "classes": CLASSES, "name": name,
        "seconds": seconds, "most_votes": most_votes, **MODES[mode],
    }  # fmt: skip
    watched = [server.process.pid] + ([] if database is None else [database])
    before = [cpu_and_memory(pid)[0] for pid in watched]
    done = subprocess.run(
        [sys.executable, str(VOTERS)], input=json.dumps(plan), stdout=subprocess.PIPE, text=True, check=True
    )
    after = [cpu_and_memory(pid) for pid in watched]
    seen = json.loads(done.stdout)
    votes = max(1, len(seen["times"]["vote"]))
    used = [1e3 * (now[0] - then) / votes for now, then in zip(after, before, strict=True)]
    return Load(
        mode=mode,
        votes_per_second=len(seen["times"]["vote"]) / seen["seconds"],
        next=times(seen["times"]["next"]),
        vote=times(seen["times"]["vote"]),
        idle=seen["idle"],
        problems=seen["problems"],
        cpu_workers=used[0],
        cpu_database=used[1] if database is not None else None,
        cpu_voters=1e3 * seen["cpu"] / votes,
        memory=after[0][1],
    )


def bare_rates(where: str, *, workers: int, seconds: float, body: str) -> dict[str, Any]:
    """Bare inserts on one connection, and on as many as the workers may use."""
    rates = {}
    for name, processes, threads in (("one", 1, 1), ("all", workers, CONNECTIONS)):
        taken = bare(where, processes=processes, threads=threads, seconds=seconds, body=body)
        rates[name] = {"per_second": len(taken) / seconds, "times": asdict(times(taken))}
    return rates


def typical_body(url: str) -> str:
    """The body of a vote event, of the usual length; before any vote, of an open event truncated to that length."""
    store = Store(url)
    with store.read() as connection:
        query = select(events.c.body).where(events.c.kind == "vote").order_by(events.c.id.desc()).limit(1)
        body = connection.execute(query).scalar_one_or_none()
    store.close()
    return body if body is not None else "x" * 250


def times(taken: list[float]) -> Times:
    if not taken:
        return Times(0, float("nan"), float("nan"), float("nan"))
    p50, p95, p99 = (1e3 * float(value) for value in np.percentile(taken, [50, 95, 99]))
    return Times(len(taken), p50, p95, p99)


def _num_events(url: str) -> int:
    store = Store(url)
    with store.read() as connection:
        number = connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
    store.close()
    return int(number)
