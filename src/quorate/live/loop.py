"""Decides every item, given pairs (item, prediction) and a function that asks one expert.

`decide_all` asks one at a time; `adecide_all` does the same for asyncio, with several items at once. `ask_one` and
`ask_one_async` ask one judge about one item; panels use them too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from inspect import isawaitable, iscoroutine
from typing import Any

from quorate.errors import InvalidInput
from quorate.live.judges import Ask, Judge, Jury
from quorate.live.results import LiveResult
from quorate.live.work_list import (
    GIVE_UP_AFTER,
    AskFailed,
    Entries,
    ErrorCare,
    ItemRun,
    OnError,
    OnItem,
    WorkList,
    entries,
    make_work_list,
)
from quorate.session import Session
from quorate.validate import bounded, invalid, whole


def decide_all(
    items: Entries,
    ask: Callable[[str], str | None] | Jury | Sequence[Judge],
    *,
    session: Session | None = None,
    on_error: OnError = "raise",
    retries: int = 0,
    give_up_after: int = GIVE_UP_AFTER,
    audit_rate: float | None = None,
    on_item: OnItem | None = None,
    **settings: object,
) -> LiveResult:
    """Decide every item, asking one expert at a time while the session's method asks for votes.

    `items`: pairs (item_id, prediction), or a mapping. `ask(item_id)` returns a class name, or ABSTAIN (None); instead
    of a function you can pass a `Jury` or a list of `Judge`s. The session is `session`, or a new one from `settings`:
    `method` ("value"), `classes`, `pool_size` (the number of judges), `seed`, `journal`, ... as `quorate.Session`.

    An exception in `ask`, or an answer that is not a class, is retried `retries` times; then `on_error="raise"` raises
    AskFailed with the item still open, and "abstain" counts it as an abstention, noted in the result. After
    `give_up_after` consecutive items without a vote because of failures, AskFailed is raised in any case. Items that
    are open in the session are continued, closed ones are not asked again. `on_item(outcome)` is called when an item
    closes. `audit_rate`: as in `Panel`; None: 0.05 if the session knows the judges by name, else 0.

    >>> answers = {"x1": iter(["cat", "cat", "cat"]), "x2": iter(["dog", "cat", "dog"])}
    >>> predictions = {"x1": {"cat": 0.9}, "x2": {"cat": 0.6}}
    >>> result = decide_all(predictions, lambda item: next(answers[item]), classes=["cat", "dog"], pool_size=3)
    >>> result.labels, result.summary()["votes"]
    ({'x1': 'cat', 'x2': 'dog'}, 5)
    """
    care = ErrorCare(on_error, retries, give_up_after, on_item)
    work = make_work_list(ask, session, audit_rate=audit_rate, care=care, settings=settings)
    try:
        for entry in _plain_entries(items):
            _decide(work, work.open(entry))
    except AskFailed as failure:
        failure.result = work.result()
        raise
    return work.result()


def _decide(work: WorkList, run: ItemRun) -> None:
    """Ask about one item until the session stops asking."""
    while run.asks:
        for judge in run.next_judges():
            ask_one(work, run, judge)
    for judge in work.to_audit(run):
        ask_one(work, run, judge)
    work.finish(run)


def _plain_entries(items: Entries) -> Iterable[object]:
    pairs = entries(items)
    if isinstance(pairs, Iterable):
        return pairs
    raise invalid("items", items, "items that are not asynchronous", "use `await adecide_all(items, ask, ...)`.")


Job = Callable[[], Coroutine[Any, Any, None]]
_END = object()


async def adecide_all(
    items: Entries | AsyncIterable[tuple[str, Any]],
    ask: Ask | Jury | Sequence[Judge],
    *,
    concurrency: int = 8,
    ahead: int = 1,
    timeout: float | None = None,
    session: Session | None = None,
    on_error: OnError = "raise",
    retries: int = 0,
    give_up_after: int = GIVE_UP_AFTER,
    audit_rate: float | None = None,
    on_item: OnItem | None = None,
    **settings: object,
) -> LiveResult:
    """`decide_all` for an `async def ask(item_id)`, with up to `concurrency` items open at once.

    `items` may be an async iterable. A call that takes longer than `timeout` seconds is cancelled and counts as failed.
    The stopping rule is sequential, so each item has one pending question at a time. `ahead=j` asks up to j questions
    about an item at once, but only as many as the rule would ask whatever the answers are, by the parameters in force
    when they are asked: so no question is unnecessary. An answer that arrives after its item closed is a late vote.

    If asking fails with `on_error="raise"`, no further questions are asked, pending ones are awaited and recorded, then
    AskFailed is raised. Other arguments are those of `decide_all`. With `concurrency=1` the decisions are those of
    `decide_all`; with more, what is learned depends on the order in which answers arrive.

    >>> async def ask(item):
    ...     return "cat"
    >>> asyncio.run(adecide_all([("x1", {"cat": 0.9}), ("x2", None)], ask, classes=["cat", "dog"], pool_size=3)).labels
    {'x1': 'cat', 'x2': 'cat'}
    """
    care = ErrorCare(on_error, retries, give_up_after, on_item)
    work = make_work_list(ask, session, audit_rate=audit_rate, care=care, settings=settings)
    crew = _Crew(
        work,
        entries(items),
        ahead=whole(ahead, where="ahead"),
        timeout=None if timeout is None else bounded(timeout, where="timeout", least=0.0),
    )
    await crew.run(whole(concurrency, where="concurrency"))
    if isinstance(crew.error, AskFailed):
        crew.error.result = work.result()
    if crew.error is not None:
        raise crew.error
    return work.result()


class _Crew:
    """Workers that take items from the same source, until it ends or one of them has an error."""

    def __init__(
        self, work: WorkList, pairs: Iterable[object] | AsyncIterable[object], *, ahead: int, timeout: float | None
    ) -> None:
        self.work, self.ahead, self.timeout = work, ahead, timeout
        self.error: Exception | None = None
        self._source: Iterator[object] | AsyncIterator[object]
        self._source = aiter(pairs) if isinstance(pairs, AsyncIterable) else iter(pairs)
        self._turn = asyncio.Lock()  # an async generator does not support concurrent calls
        self._waiting: set[asyncio.Task[Any]] = set()

    async def run(self, size: int) -> None:
        await _all_of([self._work for _ in range(size)])

    async def _work(self) -> None:
        try:
            while self.error is None and (entry := await self._next()) is not _END:
                await self._decide(self.work.open(entry))
                await asyncio.sleep(0)  # items that need no expert must not block the event loop
        except Exception as problem:
            self._stop(problem)

    def _stop(self, problem: Exception) -> None:
        """Ask no more questions. Workers that wait for an item are cancelled; the others finish their question."""
        self.error = self.error or problem
        for task in self._waiting:
            task.cancel()

    async def _next(self) -> object:
        """The next entry; _END at the end of the source or after an error."""
        if not isinstance(self._source, AsyncIterator):
            return next(self._source, _END)
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            async with self._turn:
                return await anext(self._source, _END)
        except asyncio.CancelledError:
            if self.error is None or task.uncancel() > 0:
                raise
            return _END
        finally:
            self._waiting.discard(task)

    async def _decide(self, run: ItemRun) -> None:
        while self.error is None and run.asks:
            limit = 1 if self.ahead == 1 else self.work.session.askable_at_once(run.item_id, self.ahead)
            judges = run.next_judges(limit)
            if len(judges) == 1:
                await ask_one_async(self.work, run, judges[0], self.timeout)
            elif judges:
                await _all_of([partial(self._caught, run, judge) for judge in judges])
        if not run.asks:
            for judge in self.work.to_audit(run):
                await ask_one_async(self.work, run, judge, self.timeout)
            self.work.finish(run)

    async def _caught(self, run: ItemRun, judge: Judge) -> None:
        """One of several questions about an item: its error stops the work but not the other questions."""
        try:
            await ask_one_async(self.work, run, judge, self.timeout)
        except Exception as problem:
            self._stop(problem)


async def _all_of(jobs: Sequence[Job]) -> None:
    """Run the jobs concurrently until all end; if cancelled, cancel them and wait until they have ended."""
    tasks = [asyncio.create_task(job()) for job in jobs]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    for task in tasks:
        task.result()


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
                reply = judge.ask(run.question)
                answer = run.checked(await reply if isawaitable(reply) else reply, judge)
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
    raise invalid("ask", answer, rule, fix, error=_Asynchronous)
