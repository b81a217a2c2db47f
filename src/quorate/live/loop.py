"""The callback form: pairs (item, prediction) and a function that asks one expert -> every item decided.

One question at a time, so every stop is the session's own. For users; `async_loop.py` is the same for asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isawaitable, iscoroutine
from typing import Any

from quorate.errors import InvalidInput
from quorate.live.docket import GIVE_UP_AFTER, AskFailed, Care, Docket, Entries, OnError, OnItem, entries, make_docket
from quorate.live.hearing import Hearing
from quorate.live.judges import Judge, Jury
from quorate.live.results import LiveResult
from quorate.session import Session


def decide_all(
    items: Entries,
    ask: Callable[[str], str | None] | Jury | Sequence[Judge],
    *,
    session: Session | None = None,
    on_error: OnError = "raise",
    retries: int = 0,
    give_up_after: int = GIVE_UP_AFTER,
    on_item: OnItem | None = None,
    **settings: Any,  # noqa: ANN401
) -> LiveResult:
    """Decide every item, asking one expert at a time for as long as the session's method wants a vote.

    `items` gives (item_id, prediction), or is a mapping of them. `ask(item_id)` returns a class name, or ABSTAIN, which
    is None; instead of one function, a `Jury` or a list of `Judge`s. The session is `session`, or made of `settings`:
    `method` ("quorate"), `classes`, `pool_size` (the number of judges), `seed`, `journal`, ... as `quorate.Session`.

    An exception in `ask`, or an answer that is no class, is tried again `retries` times; then `on_error="raise"` raises
    AskFailed with the item still open, and "abstain" counts it as an abstention, noted in the result. After
    `give_up_after` items in a row that failures left without a vote AskFailed is raised in any case. Items the session
    has open are gone on with, items it has closed are not asked again. `on_item(outcome)` is called as items close.

    >>> answers = {"x1": iter(["cat", "cat", "cat"]), "x2": iter(["dog", "cat", "dog"])}
    >>> predictions = {"x1": {"cat": 0.9}, "x2": {"cat": 0.6}}
    >>> result = decide_all(predictions, lambda item: next(answers[item]), classes=["cat", "dog"], pool_size=3)
    >>> result.labels, result.summary()["votes"]
    ({'x1': 'cat', 'x2': 'dog'}, 5)
    """
    care = Care(on_error, retries, give_up_after, on_item)
    docket = make_docket(ask, session, care=care, settings=settings)
    try:
        for entry in entries(items):
            _decide(docket, docket.open(entry))
    except AskFailed as failure:
        failure.result = docket.result()
        raise
    return docket.result()


def _decide(docket: Docket, hearing: Hearing) -> None:
    """Ask about one item until its session says stop."""
    while hearing.asks:
        for judge in hearing.next_judges():
            _question(docket, hearing, judge)
    docket.finish(hearing)


def _question(docket: Docket, hearing: Hearing, judge: Judge) -> None:
    """One answer, or one failure after all its retries."""
    error: Exception
    for failed_calls in range(docket.care.retries + 1):
        try:
            answer = hearing.checked(_plain(judge.ask(hearing.item_id)))
        except _Asynchronous:
            raise
        except Exception as problem:  # whatever an expert's function raises is that expert's failure
            error = problem
        else:
            return hearing.hear(judge, answer, failed_calls)
    return docket.failed(hearing, judge, error, docket.care.retries + 1)


class _Asynchronous(InvalidInput):
    """The wrong loop for this function: not an expert's failure."""


def _plain(answer: Any) -> Any:  # noqa: ANN401
    """The answer itself; one that has to be awaited needs the other loop."""
    if not isawaitable(answer):
        return answer
    if iscoroutine(answer):
        answer.close()
    raise _Asynchronous("ask returned something to await; use `await adecide_all(items, ask, ...)`.")
