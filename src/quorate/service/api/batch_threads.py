"""Threads for what owners send in bulk: reading it, deciding upon it, storing it. Voters never wait behind them.

Called by the routers of items and of the import page, and by `reading` for large bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from anyio import CapacityLimiter, to_thread
from fastapi import Request

AT_ONCE = 2  # batches that one worker works on; others wait for their turn
Result = TypeVar("Result")


async def in_batch_thread(request: Request, work: Callable[[], Result]) -> Result:
    """What `work` returns, from a thread that is for batches alone."""
    state = request.app.state
    if not hasattr(state, "batch_threads"):
        state.batch_threads = CapacityLimiter(AT_ONCE)
    return await to_thread.run_sync(work, limiter=cast(CapacityLimiter, state.batch_threads))
