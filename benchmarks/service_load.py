"""One cell of the service's benchmark: a database, a number of workers, a number of items -> rates, times, CPU, memory.

Bare inserts before and after the voters, so that both meet the same noise. Called by `service.py` and by the soak test.
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
from quorate.service.store.schema import events
from quorate.service.store.store import POOL, Store
from service_bare import bare
from service_place import CLASSES, Place, Server, cpu_and_memory

VOTERS = Path(__file__).with_name("service_voters.py")
CONNECTIONS = 2 * POOL  # a worker may hold so many


@dataclass(frozen=True)
class Times:
    """Milliseconds of a kind of request."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Load:
    """What 50 voters saw. CPU is milliseconds of user and system time a vote, all processes of each kind together."""

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
    "apart": {"held": 1, "together": False, "think": 0.0},  # next, vote, next, vote: as fast as they can
    "page": {"held": 2, "together": True, "think": 0.0},  # as the voter's page: a vote's answer holds the next items
    "people": {"held": 1, "together": False, "think": 1.0},  # each thinks for a second: times nobody waits in line for
}


def load(
    place: Place, server: Server, mode: str, *, seconds: float, most_votes: int | None = None, database: int | None
) -> Load:
    """Let the place's voters loose on the server. `database`: PostgreSQL's process id, where it is ours."""
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
    told = json.loads(done.stdout)
    votes = max(1, len(told["times"]["vote"]))
    used = [1e3 * (now[0] - then) / votes for now, then in zip(after, before, strict=True)]
    return Load(
        mode=mode,
        votes_per_second=len(told["times"]["vote"]) / told["seconds"],
        next=times(told["times"]["next"]),
        vote=times(told["times"]["vote"]),
        idle=told["idle"],
        problems=told["problems"],
        cpu_workers=used[0],
        cpu_database=used[1] if database is not None else None,
        cpu_voters=1e3 * told["cpu"] / votes,
        memory=after[0][1],
    )


def bare_rates(where: str, *, workers: int, seconds: float, body: str) -> dict[str, Any]:
    """Bare inserts on one connection, and on as many as the workers may hold."""
    told = {}
    for name, processes, threads in (("one", 1, 1), ("all", workers, CONNECTIONS)):
        taken = bare(where, processes=processes, threads=threads, seconds=seconds, body=body)
        told[name] = {"per_second": len(taken) / seconds, "times": asdict(times(taken))}
    return told


def typical_body(url: str) -> str:
    """The body of a vote's event, of the usual length; before any vote, of an open event cut to that length."""
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
