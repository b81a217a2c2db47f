"""Sends due webhook deliveries from a thread: signed, without following redirects, at most TOTAL seconds each.

Any response other than 2xx is a failed attempt. Delivery is at least once: if a worker dies before it marks a delivery
as sent, another sends it again, and receivers recognise the repetition by its id. A slow receiver delays only its own
deliveries: each webhook has its own task, limited to PATIENCE seconds at a time. Started by `app`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from random import Random
from urllib.parse import SplitResult, urlsplit

import httpx
from standardwebhooks import Webhook

from quorate.version import __version__
from quorate_service.addresses import NotAllowedAddress, allowed_addresses, with_address
from quorate_service.domain.webhooks import Due, claim, delivered, postponed, refused
from quorate_service.store import Store, StoreUnavailable

log = logging.getLogger("quorate_service.webhooks")

TIMEOUT = 5.0  # seconds to connect, and between bytes
TOTAL = 10.0  # seconds for a whole attempt, however slowly the response arrives
PATIENCE = 5.0  # seconds of one webhook's turn; then its other deliveries wait as long as the turn took
MOST_AT_ONCE = 256  # webhooks sent to concurrently
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
        self._busy: set[str] = set()  # webhooks being sent to
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="quorate-webhooks", daemon=True)
        self._thread.start()

    def stop(self, *, timeout: float = TOTAL + 5) -> None:
        """Finish the deliveries in progress, then stop."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def round(self) -> int:
        """Send what is due and wait for it; returns the number of deliveries attempted."""
        return asyncio.run(self._round())

    async def _round(self) -> int:
        async with _client() as client:
            return sum(await asyncio.gather(*self._begin(client)))

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        """Start due deliveries every `rhythm` seconds, without waiting for slow ones."""
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
        """A task for each webhook with due deliveries, except those that are still being sent to."""
        due = sorted(claim(self.store, now=self.clock(), but=self._busy), key=attrgetter("webhook_id"))
        by_hook = {hook: list(part) for hook, part in groupby(due, attrgetter("webhook_id"))}
        self._busy |= set(by_hook)
        return {asyncio.create_task(self._send_hook(client, part)) for part in by_hook.values()}

    async def _send_hook(self, client: httpx.AsyncClient, due: Sequence[Due]) -> int:
        """Send one webhook's deliveries in order; returns how many were attempted. If one fails, the rest wait."""
        begin = time.monotonic()
        try:
            for number, delivery in enumerate(due):
                spent = time.monotonic() - begin
                if number and (spent > PATIENCE or self._stop.is_set()):
                    postponed(self.store, due[number:], until=self.clock() + spent)
                    return number
                problem = await self._attempt(client, delivery)
                if problem is not None:
                    log.info("delivery %s was not accepted: %s", delivery.id, problem)
                    refused(self.store, delivery, due[number + 1 :], problem, now=self.clock(), chance=self._chance)
                    return number + 1
                delivered(self.store, delivery, now=self.clock())
            return len(due)
        finally:
            self._busy.discard(due[0].webhook_id)

    async def _attempt(self, client: httpx.AsyncClient, due: Due) -> str | None:
        """Send once; returns None if it was accepted, otherwise what went wrong."""
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
        host = parts.netloc.rpartition("@")[2]
        headers = _signed(due, now=int(self.clock())) | {
            "Host": host.encode("idna").decode() if not host.isascii() else host,
            "Content-Type": "application/json",
            "User-Agent": f"quorate/{__version__}",
        }
        request = client.build_request(
            "POST", with_address(parts, address), content=due.body, headers=headers,
            extensions={"sni_hostname": parts.hostname},
        )  # fmt: skip
        answer = await client.send(request, stream=True)  # the body is not read
        await answer.aclose()
        return answer.status_code

    async def _address(self, parts: SplitResult) -> str:
        """The IP address to connect to, resolved and checked here: a second look-up could give another one."""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        loop = asyncio.get_running_loop()
        resolved = await loop.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        return allowed_addresses([str(address[4][0]) for address in resolved], allow_private=self.allow_private)[0]


def _signed(due: Due, *, now: int) -> dict[str, str]:
    """The headers of the Standard Webhooks specification."""
    signature = Webhook(due.secret).sign(due.id, datetime.fromtimestamp(now, UTC), due.body)
    return {"webhook-id": due.id, "webhook-timestamp": str(now), "webhook-signature": signature}


def _client() -> httpx.AsyncClient:
    """A client that never reuses connections: two names at one address must not share one."""
    limits = httpx.Limits(max_connections=MOST_AT_ONCE, max_keepalive_connections=0)
    return httpx.AsyncClient(timeout=TIMEOUT, limits=limits, follow_redirects=False, trust_env=False)


@contextmanager
def _logged() -> Iterator[None]:
    """Log errors instead of raising them: the work is tried again later."""
    try:
        yield
    except StoreUnavailable as problem:
        log.warning("webhooks wait: %s", problem)
    except Exception:
        log.exception("sending webhooks failed; it is tried again soon")
