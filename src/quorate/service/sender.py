"""Sends webhook deliveries that are due, in a thread: signed, without following redirects, at most TOTAL seconds each.

Anything but an answer of 2xx is an attempt that failed. What is sent and not yet marked when a worker dies is sent
again by another: receivers see everything at least once, and tell a repeated one by its id. A slow receiver delays its
own deliveries alone: each webhook has a task and a limited turn. Started by `app`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from random import Random
from urllib.parse import SplitResult, urlsplit

import httpx

from quorate.service.addresses import NotAllowedAddress, allowed_addresses, with_address
from quorate.service.domain.webhooks import Due, claim, delivered, postponed, refused
from quorate.service.signature import signed
from quorate.service.store.store import Store, StoreUnavailable
from quorate.version import __version__

log = logging.getLogger("quorate.service.webhooks")

TIMEOUT = 5.0  # seconds to connect, and between bytes
TOTAL = 10.0  # seconds for a whole attempt, however slowly the answer drips
PATIENCE = 5.0  # seconds of one webhook's turn, after which it waits as long as it took
MOST_AT_ONCE = 256  # webhooks that are sent to
FAILURES = (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, NotAllowedAddress, UnicodeError)


class Sender:
    """Looks for due deliveries every `rhythm` seconds; `round` sends what is due once."""

    def __init__(
        self,
        store: Store,
        *,
        allow_private: bool = False,
        rhythm: float = 1.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.allow_private, self.rhythm, self.clock = store, allow_private, rhythm, clock
        self._chance = Random()
        self._busy: set[str] = set()  # webhooks that are being sent to
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="quorate-webhooks", daemon=True)
        self._thread.start()

    def stop(self, *, timeout: float = TOTAL + 5) -> None:
        """End after what is being sent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def round(self) -> int:
        """Send what is due and wait until it is sent; how many deliveries were tried."""
        return asyncio.run(self._round())

    async def _round(self) -> int:
        async with _client() as client:
            return sum(await asyncio.gather(*self._begin(client)))

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        """Begin what is due, again and again; what is slow goes on meanwhile."""
        tasks: set[asyncio.Task[int]] = set()
        async with _client() as client:
            while not self._stop.is_set():
                with _logged():
                    tasks |= self._begin(client) if len(tasks) < MOST_AT_ONCE else set()
                if not tasks:
                    self._stop.wait(self.rhythm)  # nothing else runs here
                    continue
                done, tasks = await asyncio.wait(tasks, timeout=self.rhythm, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    with _logged():
                        task.result()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, client: httpx.AsyncClient) -> set[asyncio.Task[int]]:
        """A task for each webhook that has something due, except those that are still being sent to."""
        due = sorted(claim(self.store, now=self.clock(), but=self._busy), key=attrgetter("webhook_id"))
        by_hook = {hook: list(part) for hook, part in groupby(due, attrgetter("webhook_id"))}
        self._busy |= set(by_hook)
        return {asyncio.create_task(self._send_hook(client, part)) for part in by_hook.values()}

    async def _send_hook(self, client: httpx.AsyncClient, due: Sequence[Due]) -> int:
        """One webhook's deliveries, one after another; how many were tried. When one fails the rest wait."""
        begin = time.monotonic()
        try:
            for number, each in enumerate(due):
                spent = time.monotonic() - begin
                if number and (spent > PATIENCE or self._stop.is_set()):
                    postponed(self.store, due[number:], until=self.clock() + spent)
                    return number
                problem = await self._attempt(client, each)
                if problem is not None:
                    log.info("delivery %s was not taken: %s", each.id, problem)
                    refused(self.store, each, due[number + 1 :], problem, now=self.clock(), chance=self._chance)
                    return number + 1
                delivered(self.store, each, now=self.clock())
            return len(due)
        finally:
            self._busy.discard(due[0].webhook_id)

    async def _attempt(self, client: httpx.AsyncClient, due: Due) -> str | None:
        """Send once; None if it was taken, otherwise what went wrong."""
        try:
            async with asyncio.timeout(TOTAL):
                status = await self._post(client, due)
        except TimeoutError:
            return f"no answer within {TOTAL:g} seconds"
        except socket.gaierror as problem:
            host = urlsplit(due.url).hostname
            return f"{host} cannot be looked up now" if problem.errno == socket.EAI_AGAIN else f"no such host: {host}"
        except FAILURES as problem:
            return f"{type(problem).__name__}: {problem}"
        return None if 200 <= status < 300 else f"answered with status {status}"

    async def _post(self, client: httpx.AsyncClient, due: Due) -> int:
        parts = urlsplit(due.url)
        address = await self._address(parts)
        body = due.body.encode()
        host = parts.netloc.rpartition("@")[2]
        headers = signed(due.secret, due.id, body, now=self.clock()) | {
            "Host": host.encode("idna").decode() if not host.isascii() else host,
            "Content-Type": "application/json",
            "User-Agent": f"quorate/{__version__}",
        }
        request = client.build_request(
            "POST", with_address(parts, address), content=body, headers=headers,
            extensions={"sni_hostname": parts.hostname},
        )  # fmt: skip
        answer = await client.send(request, stream=True)  # its body is nobody's concern
        await answer.aclose()
        return answer.status_code

    async def _address(self, parts: SplitResult) -> str:
        """The address that is connected to: resolved and checked here, so that no second look-up can differ."""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        return allowed_addresses([str(each[4][0]) for each in found], allow_private=self.allow_private)[0]


def _client() -> httpx.AsyncClient:
    """No connection is used twice: one that was made for a name must not carry what is for another at its address."""
    limits = httpx.Limits(max_connections=MOST_AT_ONCE, max_keepalive_connections=0)
    return httpx.AsyncClient(timeout=TIMEOUT, limits=limits, follow_redirects=False, trust_env=False)


@contextmanager
def _logged() -> Iterator[None]:
    """What goes wrong here is tried again later."""
    try:
        yield
    except StoreUnavailable as problem:
        log.warning("webhooks wait: %s", problem)
    except Exception:
        log.exception("webhooks failed; they go on in a while")
