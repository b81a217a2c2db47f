"""Micro-batches concurrent calls: one call of a function in a thread for all that wait.

Who comes to an empty line is answered at once; whoever comes while that is under way makes up the next batch. So the
more there is to do, the larger the batches. Used for votes (`api/votes.py`) and for callers (`access/principal.py`).
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
    """Instead of an answer: the question is asked again, in the next batch."""


LATER: Final = Later()
MOST = 64  # questions in a batch: nobody waits for longer than these take
PAUSE = 0.6  # of the time a batch took, in which those who were answered may come back before the next one goes
AnswerAll = Callable[[Sequence[Question]], Sequence[Answer | Exception | Later]]


class Together(Generic[Question, Answer]):
    """`answer_all` gives, for each question, its answer, an exception, or LATER.

    Lines do not wait for each other; within one, batches follow each other. Each event loop has lines of its own.
    """

    def __init__(self, answer_all: AnswerAll[Question, Answer]) -> None:
        self._answer_all = answer_all
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Line[Question, Answer]]]
        self._lines = WeakKeyDictionary()

    async def ask(self, question: Question, *, line: str = "") -> Answer:
        """The answer to one question. If the caller goes away, it is still answered."""
        loop = asyncio.get_running_loop()
        lines = self._lines.setdefault(loop, {})
        if line not in lines:
            lines[line] = _Line(self._answer_all, at_end=lambda: lines.pop(line, None))
        return await lines[line].join(question, loop.create_future())


class _Line(Generic[Question, Answer]):
    """Those who wait for one thing. It ends, `at_end`, when nobody does."""

    def __init__(self, answer_all: AnswerAll[Question, Answer], at_end: Callable[[], object]) -> None:
        self._answer_all, self._at_end = answer_all, at_end
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._work: asyncio.Task[None] | None = None
        self._wanted = 0
        self._enough: asyncio.Future[None] | None = None

    def join(self, question: Question, future: asyncio.Future[Answer]) -> asyncio.Future[Answer]:
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
        """Who was just answered often has more to ask: wait a little for as many as there were, and all go together."""
        if count == 1 or len(self._waiting) >= count:
            return
        self._wanted, self._enough = count, asyncio.get_running_loop().create_future()
        await asyncio.wait([self._enough], timeout=seconds)
        self._enough = None

    async def _answer(
        self, batch: list[tuple[Question, asyncio.Future[Answer]]]
    ) -> list[tuple[Question, asyncio.Future[Answer]]]:
        """Answer a batch; those who must ask again."""
        answers: Sequence[Answer | Exception | Later]
        try:
            answers = await run_in_threadpool(self._answer_all, [question for question, _ in batch])
            if len(answers) != len(batch):
                raise RuntimeError(f"{len(answers)} answers to {len(batch)} questions")
        except Exception as problem:  # everybody's answer
            answers = [problem] * len(batch)
        for (_, future), answer in zip(batch, answers, strict=True):
            _tell(future, answer)
        return [each for each, answer in zip(batch, answers, strict=True) if isinstance(answer, Later)]


def _tell(future: asyncio.Future[Answer], answer: Answer | Exception | Later) -> None:
    if future.done() or isinstance(answer, Later):  # done: its caller has gone away
        return
    if isinstance(answer, StopIteration):  # no future takes one
        future.set_exception(RuntimeError("a function ended as if it were an iterator"))
    elif isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
