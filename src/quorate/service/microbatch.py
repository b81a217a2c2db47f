"""Micro-batches concurrent calls: all waiting questions are answered by one function call in a thread.

A call to an idle queue runs at once; calls that arrive while it runs form the next batch, so batches grow with the
load. Used for votes (`api/votes.py`) and for looking up callers (`access/principal.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Later:
    """Instead of an answer: the question goes into the next batch."""


LATER: Final = Later()
MOST = 64  # questions in a batch; bounds how long a call waits
PAUSE = 0.6  # the next batch waits at most this fraction of the last one's duration for returning callers
AnswerAll = Callable[[Sequence[Question]], Sequence[Answer | Exception | Later]]


class MicroBatcher(Generic[Question, Answer]):
    """`answer_all` returns, for each question, its answer, an exception, or LATER.

    Queues do not wait for each other; within one, batches run one after another. Each event loop has its own queues.
    """

    def __init__(self, answer_all: AnswerAll[Question, Answer]) -> None:
        self._answer_all = answer_all
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Queue[Question, Answer]]]
        self._queues = WeakKeyDictionary()

    async def submit(self, question: Question, *, queue: str = "") -> Answer:
        """The answer to one question. It is still computed if the caller disconnects."""
        loop = asyncio.get_running_loop()
        queues = self._queues.setdefault(loop, {})
        if queue not in queues:
            queues[queue] = _Queue(self._answer_all, at_end=lambda: queues.pop(queue, None))
        return await queues[queue].add(question, loop.create_future())


class _Queue(Generic[Question, Answer]):
    """Questions that share batches. `at_end` is called when none is left."""

    def __init__(self, answer_all: AnswerAll[Question, Answer], at_end: Callable[[], object]) -> None:
        self._answer_all, self._at_end = answer_all, at_end
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._work: asyncio.Task[None] | None = None
        self._wanted = 0
        self._enough: asyncio.Future[None] | None = None

    def add(self, question: Question, future: asyncio.Future[Answer]) -> asyncio.Future[Answer]:
        self._waiting.append((question, future))
        if self._enough is not None and len(self._waiting) >= self._wanted and not self._enough.done():
            self._enough.set_result(None)
        if self._work is None:
            self._work = asyncio.create_task(self._serve())
        return future

    async def _serve(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            begin = time.perf_counter()
            later = await self._answer(batch)
            self._waiting = later + self._waiting
            await self._pause(len(batch), PAUSE * (time.perf_counter() - begin))
        self._at_end()

    async def _pause(self, count: int, seconds: float) -> None:
        """Wait briefly for `count` questions: callers that were just answered often call again and share a batch."""
        if count == 1 or len(self._waiting) >= count:
            return
        self._wanted, self._enough = count, asyncio.get_running_loop().create_future()
        await asyncio.wait([self._enough], timeout=seconds)
        self._enough = None

    async def _answer(
        self, batch: list[tuple[Question, asyncio.Future[Answer]]]
    ) -> list[tuple[Question, asyncio.Future[Answer]]]:
        """Answer a batch; returns the questions for the next one."""
        answers: Sequence[Answer | Exception | Later]
        try:
            answers = await run_in_threadpool(self._answer_all, [question for question, _ in batch])
            if len(answers) != len(batch):
                raise RuntimeError(f"{len(answers)} answers to {len(batch)} questions")
        except Exception as problem:  # every question of the batch gets it
            answers = [problem] * len(batch)
        for (_, future), answer in zip(batch, answers, strict=True):
            _resolve(future, answer)
        return [each for each, answer in zip(batch, answers, strict=True) if isinstance(answer, Later)]


def _resolve(future: asyncio.Future[Answer], answer: Answer | Exception | Later) -> None:
    if future.done() or isinstance(answer, Later):  # done: the caller disconnected
        return
    if isinstance(answer, StopIteration):  # asyncio futures refuse it
        future.set_exception(RuntimeError("the function raised StopIteration"))
    elif isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
