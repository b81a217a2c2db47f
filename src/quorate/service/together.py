"""Questions that come at the same time are answered together: one call of a function in a thread for all that wait.

Nobody waits for company: who comes first is answered at once, and whoever comes while that is under way makes up the
next batch. The more there is to do, the larger the batches. Used for votes (`api/votes.py`) and callers (`access`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool

Question = TypeVar("Question")
Answer = TypeVar("Answer")

MOST = 64  # questions in a batch: nobody waits for longer than these take


class Together(Generic[Question, Answer]):
    """`answer_all` gives, for each question, its answer or an exception. Batches of one event loop, one at a time."""

    def __init__(self, answer_all: Callable[[Sequence[Question]], Sequence[Answer | Exception]]) -> None:
        self._answer_all = answer_all
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line[Question, Answer]] = WeakKeyDictionary()

    async def ask(self, question: Question) -> Answer:
        """The answer to one question. If the caller goes away, it is still answered."""
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = _Line(self._answer_all)
        return await line.join(question, loop.create_future())


class _Line(Generic[Question, Answer]):
    def __init__(self, answer_all: Callable[[Sequence[Question]], Sequence[Answer | Exception]]) -> None:
        self._answer_all = answer_all
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._work: asyncio.Task[None] | None = None

    def join(self, question: Question, future: asyncio.Future[Answer]) -> asyncio.Future[Answer]:
        self._waiting.append((question, future))
        if self._work is None:
            self._work = asyncio.create_task(self._serve())
        return future

    async def _serve(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._answer(batch)
        finally:
            self._work = None

    async def _answer(self, batch: Sequence[tuple[Question, asyncio.Future[Answer]]]) -> None:
        answers: Sequence[Answer | Exception]
        try:
            answers = await run_in_threadpool(self._answer_all, [question for question, _ in batch])
        except Exception as problem:  # everybody's answer
            answers = [problem] * len(batch)
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():  # its caller has gone away
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
