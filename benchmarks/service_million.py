"""Does a worker's memory grow with the votes it has taken? Run by `python benchmarks/service.py --million`.

The votes of 50 voters at once go through the desk (`answer_all`) in this process, where requests would bring them: a
million HTTP requests would take longer and hold nothing more, as the server keeps nothing of a request. The steward
runs as in a worker.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from common import resident, say
from quorate.service.deciding.acts import Request
from quorate.service.deciding.desk import Answer, Call, answer_all
from quorate.service.deciding.projects import Projects
from quorate.service.deciding.steward import Steward
from quorate.service.store.store import Store
from quorate.service.store.upgrade import prepare
from quorate.service.together import Later
from service_place import CLASSES, add_batches, new_project

VOTERS = [f"voter-{n}" for n in range(50)]
WARM_UP = "from quorate.service.deciding.warm import warm_up; warm_up()"
AHEAD = 5000  # items that come in when there is nothing left to do


def million(url: str, *, votes: int, every: int) -> list[dict[str, Any]]:
    """Resident memory after every `every` votes, and the rate in between."""
    subprocess.run([sys.executable, "-c", WARM_UP], check=True)  # a compiler's memory is not the worker's
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
        before, done = done, done + sum(isinstance(each, Answer) and each.recorded is not None for each in answers)
        if done // every > before // every:
            rate = every / (time.perf_counter() - begin)
            rows.append({"votes": done, "items": made, "megabytes": resident()[0] / 1e6, "per_second": rate})
            say(f"{done:>9} votes   {rows[-1]['megabytes']:7.1f} MB   {rate:6.0f} votes/s")
            begin = time.perf_counter()
    steward.stop()
    store.close()
    return rows


def _call(project_id: str, voter: str, item: str | None, done: int) -> Call:
    """The vote on what the voter holds, if anything, and a wish for the next item."""
    label = "" if item is None else _label(item, done + int(voter[6:]))
    act = None if item is None else Request(project_id, item, voter, "vote", label, f"r{done}")
    return Call(project_id, voter, act, 1, time.time())


def _next(call: Call, answer: Answer | Exception | Later) -> str | None:
    """What the voter holds now; as before, if the call waits for another transaction."""
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
