"""Which addresses webhooks may be sent to and images may come from: by default not this machine or its network.

Owners choose these addresses, and must not reach through them what only this machine can reach (server-side request
forgery). `checked_url` checks an address when it is chosen, `allowed_addresses` the resolved IP addresses when sending.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from quorate.validate import invalid

LONGEST = 2000
TRANSLATED = tuple(ip_network(each) for each in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"))


class NotAllowedAddress(Exception):
    """The host name resolves to an address that webhooks may not be sent to."""


def checked_url(url: str, *, allow_private: bool) -> str:
    """The URL, if a webhook may be sent to it.

    >>> checked_url("https://example.org/hook", allow_private=False)
    'https://example.org/hook'
    """
    host = None if "#" in url else host_of(url)
    if host is None:
        rule = "an http or https address without user, password or fragment"
        raise invalid("url", url[:80], rule, "pass e.g. 'https://example.org/hook'.")
    refuse_private(url, host, where="url", allow_private=allow_private)
    return url


def refuse_private(url: str, host: str, *, where: str, allow_private: bool) -> None:
    """Raise for an address of this machine or its network, unless these are allowed. For webhooks and for images."""
    if not allow_private and not may_be_public(host):
        fix = "pass a public one, or restart the service with QUORATE_PRIVATE_ADDRESSES=1 to allow these."
        raise invalid(where, url[:80], "an address outside this machine and its network", fix)


def host_of(url: str) -> str | None:
    """The host of an http or https URL, as browsers read it; None if the URL is not valid.

    >>> host_of("https://example.org/a"), host_of("https://127。0。0。1/"), host_of("https://me@example.org")
    ('example.org', '127.0.0.1', None)
    """
    if len(url) > LONGEST or any(char.isspace() or not char.isprintable() or char == "\\" for char in url):
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        host = host.encode("idna").decode()  # browsers read full-width digits and dots as ASCII
    except ValueError:  # invalid port, brackets or name
        return None
    is_plain = parts.scheme in ("http", "https") and parts.username is None and "%" not in host
    return host if host and is_plain else None


def may_be_public(host: str) -> bool:
    """Whether a host is a public IP address, or a name, whose addresses are checked when sending.

    >>> [may_be_public(host) for host in ("8.8.8.8", "a.org", "localhost", "127.1", "0x7f.1", "10.0.0.1.")]
    [True, True, False, False, False, False]
    """
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return False
    try:
        return is_public(ip_address(name if ":" in name else _number_of(name)))
    except ValueError:
        return True


def _number_of(name: str) -> int:
    """An IPv4 address in any form that browsers accept: 127.0.0.1, 127.1, 0x7f.1, 2130706433; ValueError for a name."""
    *firsts, last = (
        int(part.removeprefix("0x") or "0", 16) if part.startswith("0x") else int(part, 8 if part[:1] == "0" else 10)
        for part in name.split(".")
    )
    return last + sum(number << 8 * (3 - index) for index, number in enumerate(firsts[:4]))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an IP address is reachable on the public internet.

    >>> [is_public(ip_address(each)) for each in ("93.184.215.14", "10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254")]
    [True, False, False, False]
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in TRANSLATED):  # embeds an IPv4 address, which could be private
            return False
        if address.is_site_local:
            return False
    # reserved: unassigned ranges, and forms that embed an IPv4 address (::7f00:1, ::ffff:0:7f00:1)
    return address.is_global and not (address.is_multicast or address.is_reserved)


def allowed_addresses(addresses: Iterable[str], *, allow_private: bool) -> list[str]:
    """The addresses of a host name; NotAllowedAddress if one of them is private: then the name may be an attack."""
    parsed = [ip_address(text.partition("%")[0]) for text in addresses]
    if not allow_private:
        for address in parsed:
            if not is_public(address):
                raise NotAllowedAddress(f"the host resolves to {address}, an address of this machine or its network")
    return [str(address) for address in parsed]


def with_address(parts: SplitResult, address: str) -> str:
    """The URL with an IP address instead of the host name, so that the checked address is the one connected to."""
    host = f"[{address}]" if ":" in address else address
    port = "" if parts.port is None else f":{parts.port}"
    return parts._replace(netloc=host + port).geturl()
