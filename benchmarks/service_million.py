"""Measures whether a worker's memory grows with the votes it has handled: `python benchmarks/service.py --million`.

The votes of 50 concurrent voters are passed to `ballots.answer_all` in this process, as requests would do: a million
HTTP requests would take longer without using more memory, because the server keeps nothing of a request. The steward
runs as in a worker.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert

from common import resident, say
from quorate.compile_kernels import session_calls
from quorate.service.domain.ballots import Call, CallAnswer, answer_all
from quorate.service.domain.projects import Projects
from quorate.service.domain.votes import Request
from quorate.service.microbatch import Later
from quorate.service.steward import Steward
from quorate.service.store import Store
from quorate.service.store.prepare import prepare
from quorate.service.store.schema import items
from service_place import CLASSES, add_batches, new_project

VOTERS = [f"voter-{n}" for n in range(50)]
COMPILE = "from quorate.compile_kernels import session_calls; [call() for call in session_calls()]"
AHEAD = 5000  # items added when no open items are left


def million(url: str, *, votes: int, every: int) -> list[dict[str, Any]]:
    """Resident memory after every `every` votes, and the rate in between."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)  # so that the compiler's memory is not measured
    store = Store(url)
    prepare(store)
    projects = Projects(store)
    project_id = new_project(projects)
    steward = Steward(projects)
    steward.start()
    rows, done, made, begin = [], 0, 0, time.perf_counter()
    held: dict[str, str | None] = dict.fromkeys(VOTERS)
    while done < votes:
        if all(item is None for item in held.values()):
            add_batches(projects, project_id, start=made, count=AHEAD)
            made += AHEAD
        calls = [_call(project_id, voter, item, done) for voter, item in held.items()]
        answers = answer_all(projects, calls)
        held = {call.voter: _next(call, answer) for call, answer in zip(calls, answers, strict=True)}
        before, done = done, done + sum(isinstance(each, CallAnswer) and each.recorded is not None for each in answers)
        if done // every > before // every:
            rate = every / (time.perf_counter() - begin)
            rows.append({"votes": done, "items": made, "megabytes": resident()[0] / 1e6, "per_second": rate})
            say(f"{done:>9} votes   {rows[-1]['megabytes']:7.1f} MB   {rate:6.0f} votes/s")
            begin = time.perf_counter()
    steward.stop()
    store.close()
    return rows


def _call(project_id: str, voter: str, item: str | None, done: int) -> Call:
    """The vote on the voter's item, if any, and a request for the next item."""
    label = "" if item is None else _label(item, done + int(voter[6:]))
    act = None if item is None else Request(project_id, item, voter, "vote", label, f"r{done}")
    return Call(project_id, voter, act, 1, time.time())


def _next(call: Call, answer: CallAnswer | Exception | Later) -> str | None:
    """The voter's item now; unchanged if the call waits for another transaction."""
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, Later):
        return None if call.act is None else call.act.item
    return answer.items[0].item if answer.items else None


def growth(rows: list[dict[str, Any]]) -> float:
    """Memory at the end as a multiple of that after the first tenth, when caches are full."""
    return float(rows[-1]["megabytes"] / rows[max(0, len(rows) // 10 - 1)]["megabytes"])


def _label(item: str, turn: int) -> str:
    """Four of five voters agree."""
    number = int(item.rpartition("-")[2])
    return CLASSES[(number if turn % 5 else turn) % len(CLASSES)]


def beside_closed(url: str, *, steps: Sequence[int]) -> list[dict[str, Any]]:
    """Peak memory of a worker with a project of these numbers of closed items, as a million votes would leave."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)
    for call in session_calls():
        call()
    store = Store(url)
    prepare(store)
    projects = Projects(store)
    project_id, steward, rows, made = new_project(projects), Steward(projects), [], 0
    for total in steps:
        _fill(store, project_id, made, total)
        made, peak = total, 0.0
        for _ in range(3):
            steward._due.clear()
            steward.round()
            peak = max(peak, resident()[1] / 1e6)
        rows.append({"closed": total, "megabytes": peak})
        say(f"{total:>9} closed items   {peak:7.1f} MB")
    store.close()
    return rows


def _fill(store: Store, project_id: str, start: int, end: int) -> None:
    """Write closed items, one in twenty audited, directly into the table."""
    row = {
        "project_id": project_id, "show": "{}", "pool_size": 6, "is_open": False, "is_wanted": False, "slots": 0,
        "to_close": 0, "votes": "[3, 0]", "num_votes": 3, "label": CLASSES[0], "confidence": 0.97, "reason": "rule",
        "seq": 4, "created": 1.0, "closed": 2.0, "decided_votes": 3, "audit_rate": 0.05,
    }  # fmt: skip
    for first in range(start, end, AHEAD):
        numbers = range(first, min(first + AHEAD, end))
        seen = [
            {"audit": "done", "audit_loss": 0.0} if n % 20 == 0 else {"audit": None, "audit_loss": None}
            for n in numbers
        ]
        rows = [{"name": f"c{n}", "number": n, "closed_event": n} | each for n, each in zip(numbers, seen, strict=True)]
        with store.write() as connection:
            connection.execute(insert(items), [row | each for each in rows])
