"""Asks one judge about one item: passes the answer to the session, or records a failure after all retries.

Called by the loops and by panels; `ask_one` for plain functions, `ask_one_async` for asyncio.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from inspect import isawaitable, iscoroutine

from quorate.errors import InvalidInput
from quorate.live.judges import Judge
from quorate.live.work_list import ItemRun, WorkList
from quorate.validate import broken


def ask_one(work: WorkList, run: ItemRun, judge: Judge) -> None:
    """Ask a plain function; one answer, or one failure after all retries."""
    error: Exception
    for failed_calls in range(work.care.retries + 1):
        try:
            answer = run.checked(_plain(judge.ask(run.question)), judge)
        except _Asynchronous:
            raise
        except Exception as problem:  # any exception of an expert's function is a failure of that expert
            error = problem
        else:
            return run.hear(judge, answer, failed_calls)
    return work.failed(run, judge, error, work.care.retries + 1)


async def ask_one_async(work: WorkList, run: ItemRun, judge: Judge, timeout: float | None) -> None:
    """The same for asyncio; waits at most `timeout` seconds per call."""
    error: Exception
    for failed_calls in range(work.care.retries + 1):
        try:
            async with nullcontext() if timeout is None else asyncio.timeout(timeout):
                given = judge.ask(run.question)
                answer = run.checked(await given if isawaitable(given) else given, judge)
        except Exception as problem:  # whatever an expert's function raises is that expert's failure
            error = problem
        else:
            return run.hear(judge, answer, failed_calls)
    return work.failed(run, judge, error, work.care.retries + 1)


class _Asynchronous(InvalidInput):
    """The function needs the asyncio loop: not an expert's failure."""


def _plain(answer: object) -> object:
    """The answer; an error if it must be awaited."""
    if not isawaitable(answer):
        return answer
    if iscoroutine(answer):
        answer.close()
    rule = "a function that returns the answer, not an awaitable"
    fix = "use `await adecide_all(items, ask, ...)`, or `await panel.adecide(...)`."
    raise broken("ask", answer, rule, fix, error=_Asynchronous)
