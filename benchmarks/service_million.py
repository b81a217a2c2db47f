"""Does a worker's memory grow with the votes it has taken? Run by `python benchmarks/service.py --million`.

The votes go through `next_items` and `act` in this process, where requests would bring them: a million HTTP requests
would take hours and hold nothing more, as the server keeps nothing of a request. The steward runs as in a worker.
"""

from __future__ import annotations

import time
from typing import Any

from common import resident, say
from quorate.service.deciding.acts import Request
from quorate.service.deciding.ballots import act
from quorate.service.deciding.projects import Projects
from quorate.service.deciding.queue import next_items
from quorate.service.deciding.steward import Steward
from quorate.service.store.store import Store
from quorate.service.store.upgrade import prepare
from service_place import CLASSES, add_batches, new_project

VOTERS = [f"voter-{n}" for n in range(50)]
AHEAD = 5000  # items that come in when there is nothing left to do


def million(url: str, *, votes: int, every: int) -> list[dict[str, Any]]:
    """Resident memory after every `every` votes, and the rate in between."""
    store = Store(url)
    prepare(store)
    projects = Projects(store)
    project_id = new_project(projects)
    steward = Steward(projects)
    steward.start()
    rows, done, made, turn, begin = [], 0, 0, 0, time.perf_counter()
    while done < votes:
        turn += 1
        voter = VOTERS[turn % len(VOTERS)]
        leased = next_items(projects, project_id, voter, count=20, now=time.time())
        if not leased:
            add_batches(projects, project_id, start=made, count=AHEAD)
            made += AHEAD
        for each in leased:
            request = Request(project_id, each.item, voter, "vote", _label(each.item, turn), f"r{done}")
            act(projects, request, now=time.time())
            done += 1
            if done % every == 0:
                rate = every / (time.perf_counter() - begin)
                rows.append({"votes": done, "items": made, "megabytes": resident()[0] / 1e6, "per_second": rate})
                say(f"{done:>9} votes   {rows[-1]['megabytes']:7.1f} MB   {rate:6.0f} votes/s")
                begin = time.perf_counter()
    steward.stop()
    store.close()
    return rows


def growth(rows: list[dict[str, Any]]) -> float:
    """Memory at the end as a multiple of that after the first tenth, when caches are full."""
    return float(rows[-1]["megabytes"] / rows[max(0, len(rows) // 10 - 1)]["megabytes"])


def _label(item: str, turn: int) -> str:
    """Four of five voters agree."""
    number = int(item.rpartition("-")[2])
    return CLASSES[(number if turn % 5 else turn) % len(CLASSES)]
