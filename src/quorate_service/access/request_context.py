"""What a request's context says (TLS or not, client address, time), and the security headers of its response.

Headers set by a proxy are believed only if the configuration says that there is a proxy. `SecurityHeaders` is ASGI
middleware: nothing may be loaded from other hosts, framed, sniffed or cached, unless the endpoint sets the header
itself. `allow_images(request, "https:")` lets a page show images by URL; the server never fetches them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from ipaddress import IPv6Address, ip_address
from typing import Any, TypeVar, cast

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate_service.config import ServiceConfig
from quorate_service.store import Store

STATIC = "/static/"  # files that are the same for everybody: browsers keep them, and ask whether they have changed
IMAGE_SOURCES = ("https:", "http:", "data:", "blob:")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'{images}; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"  # for uploads
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers would send "Origin: null" with our own forms, and on plain http, without
    # Sec-Fetch-Site, those could not be recognised. Other sites get no referrer with same-origin either.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), midi=(), serial=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HSTS = "max-age=31536000"


def config_of(scope: Scope) -> ServiceConfig:
    """The configuration of the app this request came to."""
    return cast(ServiceConfig, scope["app"].state.config)


def store_of(request: Request) -> Store:
    """The store of the app this request came to."""
    return cast(Store, request.app.state.store)


def kept(request: Request, name: str, make: Callable[[], Value]) -> Value:
    """The object that this worker's app keeps under a name, made at the first call."""
    state = request.app.state
    if not hasattr(state, name):
        setattr(state, name, make())
    return cast(Value, getattr(state, name))


def now_of(request: Request) -> float:
    """The time of this request, taken once: `app.state.clock()` where tests set one, `time.time()` otherwise."""
    if not hasattr(request.state, "now"):
        request.state.now = getattr(request.app.state, "clock", time.time)()
    return float(request.state.now)


def is_secure(scope: Scope) -> bool:
    """Whether the browser speaks https to us, or to the proxy in front of us."""
    config = config_of(scope)
    if config.secure is not None:
        return config.secure
    forwarded = last_value(scope, b"x-forwarded-proto") if config.trust_proxy else None
    return (forwarded or scope.get("scheme", "http")) == "https"


def client_address(request: Request) -> str:
    """The address by which attempts are counted: an IPv4 address, or the /64 of an IPv6 address (one household)."""
    peer = request.client.host if request.client else "local"
    forwarded = last_value(request.scope, b"x-forwarded-for") if config_of(request.scope).trust_proxy else None
    return network(forwarded or peer)


def network(address: str) -> str:
    """The address by which attempts are counted.

    >>> network("192.0.2.7"), network("2001:db8:1:2:3:4:5:6"), network("::ffff:192.0.2.7"), network("testclient")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7', 'testclient')
    """
    try:
        parsed = ip_address(address.split("%", maxsplit=1)[0])
    except ValueError:
        return address[:60]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"


def last_value(scope: Scope, name: bytes) -> str | None:
    """The last value of a header that proxies append to, which our own proxy wrote."""
    values: list[Any] = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1").split(",")[-1].strip() or None if values else None


Value = TypeVar("Value")


class SecurityHeaders:
    """ASGI middleware that adds the headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete the headers of its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = completed(message.get("headers", ()), scope)
            await send(message)

        await self.app(scope, receive, complete)


def completed(headers: Iterable[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    """A response's headers, plus the security headers that it does not set itself."""
    sent = list(headers)
    names = {name.lower() for name, _ in sent}
    return sent + [header for header in _encoded(*_kind(scope)) if header[0] not in names]


def security_headers(scope: Scope) -> dict[str, str]:
    """The default security headers of a response to this request."""
    return _headers(*_kind(scope))


def _kind(scope: Scope) -> tuple[tuple[str, ...], bool, bool]:
    """What the headers depend on; there are few combinations, each computed once."""
    images = tuple(scope.get("state", {}).get("image_sources", ()))
    return images, scope["path"].startswith(STATIC), is_secure(scope)


@cache
def _headers(images: tuple[str, ...], is_static: bool, is_secure: bool) -> dict[str, str]:
    headers = FIXED | {"Content-Security-Policy": POLICY.format(images="".join(f" {source}" for source in images))}
    headers["Cache-Control"] = "no-cache" if is_static else "no-store"
    if is_secure:
        headers["Strict-Transport-Security"] = HSTS
    return headers


@cache
def _encoded(images: tuple[str, ...], is_static: bool, is_secure: bool) -> list[tuple[bytes, bytes]]:
    headers = _headers(images, is_static, is_secure)
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def allow_images(request: Request, *sources: str) -> None:
    """Let this page show images from other hosts; `sources` are some of IMAGE_SOURCES, e.g. "https:"."""
    unknown = set(sources) - set(IMAGE_SOURCES)
    if unknown:
        raise ValueError(f"sources={unknown}; expected some of {IMAGE_SOURCES}.")
    request.state.image_sources = tuple(source for source in IMAGE_SOURCES if source in sources)
