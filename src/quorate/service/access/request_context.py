"""A request -> what the service knows about how it came: over TLS or not, from which address, at which time.

Headers a proxy sets are believed only where the configuration says that there is a proxy. Called by everything in
`access` that speaks HTTP.
"""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address
from typing import Any, Protocol, cast

from fastapi import Request
from starlette.types import Scope

from quorate.service.store.store import Store


class AccessConfig(Protocol):
    """What `access` reads of the service's configuration, at `app.state.config`."""

    @property
    def secure(self) -> bool | None:
        """Whether it is served over https; None: as each request says."""

    @property
    def trust_proxy(self) -> bool:
        """Whether X-Forwarded-For and X-Forwarded-Proto are set by a proxy of ours."""

    @property
    def base_url(self) -> str | None:
        """Where it is reached from outside, e.g. https://labels.example.org; None: as each request says."""

    @property
    def votes_per_second(self) -> int:
        """How many votes of one account are taken in a second."""


def config_of(scope: Scope) -> AccessConfig:
    """The configuration of the app this request came to."""
    return cast(AccessConfig, scope["app"].state.config)


def store_of(request: Request) -> Store:
    """The store of the app this request came to."""
    return cast(Store, request.app.state.store)


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
    """Whom to count attempts by: an IPv4 address, or the /64 of an IPv6 address, which is one household or office."""
    peer = request.client.host if request.client else "local"
    forwarded = last_value(request.scope, b"x-forwarded-for") if config_of(request.scope).trust_proxy else None
    return network(forwarded or peer)


def network(address: str) -> str:
    """An address as it is counted.

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
    """The last value of a header that proxies append to: the one our own proxy wrote."""
    values: list[Any] = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1").split(",")[-1].strip() or None if values else None
