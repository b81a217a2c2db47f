"""A connection of uvicorn's that closes when a request's headers do not arrive: for `uvicorn --http`, set by `serve`.

uvicorn itself bounds only the time between two requests, and only while nothing at all is sent. Bodies are bounded by
`api.bodies`, which can answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 30.0  # from the first byte of a request, or the connection, to the end of its headers


class TimedConnection(HttpToolsProtocol):
    """Closes itself where HEADER_SECONDS pass while bytes come, or none did yet, and no request is being answered."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request's headers are due."""
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Headers are due until they are whole: then there is a request that is not answered yet."""
        super().data_received(data)
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete:  # part of a header; or of a body that was refused
            self._begin()
        else:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is due any more."""
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        """Start the clock, unless it runs."""
        if self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _end(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
