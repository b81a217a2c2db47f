"""Micro-batches concurrent votes: all that wait in a queue are answered by one function call in a thread.

A call to an idle queue runs at once; calls that arrive while it runs form the next batch, so batches grow with the
load. One transaction for many votes stores four to six times as many. Used by `api/votes.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

Question = TypeVar("Question")
Answer = TypeVar("Answer")
MOST = 64  # questions in a batch; bounds how long a call waits


class Later:
    """Instead of an answer: the question goes into the next batch."""


LATER: Final = Later()
AnswerAll = Callable[[Sequence[Question]], Sequence[Answer | Exception | Later]]
Waiting = list[tuple[Question, asyncio.Future[Answer]]]
Place = tuple[asyncio.AbstractEventLoop, str]


class MicroBatcher(Generic[Question, Answer]):
    """`answer_all` returns, for each question, its answer, an exception, or LATER.

    Queues do not wait for each other; within one, batches run one after another.
    """

    def __init__(self, answer_all: AnswerAll[Question, Answer]) -> None:
        self._answer_all = answer_all
        self._queues: dict[Place, Waiting[Question, Answer]] = {}
        self._running: set[asyncio.Task[None]] = set()  # the event loop keeps no reference to its tasks

    async def submit(self, question: Question, *, queue: str = "") -> Answer:
        """The answer to one question. It is still computed if the caller disconnects."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        key = (loop, queue)
        if key in self._queues:
            self._queues[key].append((question, future))
        else:
            self._queues[key] = [(question, future)]
            task = loop.create_task(self._serve(key))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await future

    async def _serve(self, place: Place) -> None:
        waiting = self._queues[place]
        while waiting:
            batch, waiting[:] = waiting[:MOST], waiting[MOST:]
            answers = await self._answers([question for question, _ in batch])
            waiting[:0] = [call for call, answer in zip(batch, answers, strict=True) if isinstance(answer, Later)]
            for (_, future), answer in zip(batch, answers, strict=True):
                _resolve(future, answer)
        del self._queues[place]

    async def _answers(self, questions: Sequence[Question]) -> Sequence[Answer | Exception | Later]:
        try:
            answers = await run_in_threadpool(self._answer_all, questions)
            if len(answers) != len(questions):
                raise RuntimeError(f"{len(answers)} answers to {len(questions)} questions")
        except Exception as problem:  # every question of the batch gets it
            return [problem] * len(questions)
        return answers


def _resolve(future: asyncio.Future[Answer], answer: Answer | Exception | Later) -> None:
    if future.done() or isinstance(answer, Later):  # done: the caller disconnected
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
