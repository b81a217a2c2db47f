"""Security headers on every answer, as pure ASGI middleware: `app.add_middleware(SecurityHeaders)`.

Nothing may be loaded from elsewhere, framed, sniffed or cached, unless the endpoint says otherwise: a header it sets
itself is kept, and `allow_images(request, "https:")` lets a page show images by URL. The server never fetches them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate.service.access.request_context import is_secure

STATIC = "/static/"  # files that are the same for everybody: they may be cached
IMAGE_SOURCES = ("https:", "http:", "data:", "blob:")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'{images}; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"  # for uploads
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers then send "Origin: null" with our own forms, and nothing is left to tell them by on
    # plain http, where Sec-Fetch-Site is not sent. Other sites get no referrer under this one either.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), midi=(), serial=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HSTS = "max-age=31536000"


class SecurityHeaders:
    """ASGI middleware that adds the headers to whatever the app answers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete the headers of its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = completed(message.get("headers", ()), scope)
            await send(message)

        await self.app(scope, receive, complete)


def completed(headers: Iterable[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    """An answer's headers, and those of ours that it does not set itself."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    return given + [each for each in _encoded(*_kind(scope)) if each[0] not in names]


def security_headers(scope: Scope) -> dict[str, str]:
    """What an answer to this request carries unless it says otherwise."""
    return _headers(*_kind(scope))


def _kind(scope: Scope) -> tuple[tuple[str, ...], bool, bool]:
    """What the headers depend on; few kinds in all, so that each is made once."""
    images = tuple(scope.get("state", {}).get("image_sources", ()))
    return images, scope["path"].startswith(STATIC), is_secure(scope)


@cache
def _headers(images: tuple[str, ...], is_static: bool, is_secure: bool) -> dict[str, str]:
    headers = FIXED | {"Content-Security-Policy": POLICY.format(images="".join(f" {source}" for source in images))}
    if not is_static:
        headers["Cache-Control"] = "no-store"
    if is_secure:
        headers["Strict-Transport-Security"] = HSTS
    return headers


@cache
def _encoded(images: tuple[str, ...], is_static: bool, is_secure: bool) -> list[tuple[bytes, bytes]]:
    headers = _headers(images, is_static, is_secure)
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def allow_images(request: Request, *sources: str) -> None:
    """Let this page show images from elsewhere: of `sources` out of IMAGE_SOURCES, e.g. "https:"."""
    unknown = set(sources) - set(IMAGE_SOURCES)
    if unknown:
        raise ValueError(f"sources={unknown}; expected some of {IMAGE_SOURCES}.")
    request.state.image_sources = tuple(source for source in IMAGE_SOURCES if source in sources)
