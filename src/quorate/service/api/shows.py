"""What an item shows, checked when it comes in and with addresses a browser can use when it goes out.

An image is an upload of the project (`upload:<id>`) or an address that the voter's browser loads; the server fetches
neither images nor links. Called by the routers of items and votes, and by the pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from quorate.validate import broken

UPLOAD = re.compile(r"upload:([a-z0-9_]{1,40})")
LONGEST_ADDRESS = 2000
LOCAL = ("localhost", "127.0.0.1", "[::1]", "::1")


def checked_image(image: str, *, where: str) -> str:
    """An image's address: `upload:<id>`, https, or http of this very machine.

    >>> checked_image("https://example.org/cat.png", where="image")
    'https://example.org/cat.png'
    """
    return image if UPLOAD.fullmatch(image) else checked_address(image, where=where)


def checked_address(address: str, *, where: str) -> str:
    """An address a browser may be sent to: https, or http of this very machine; never a script."""
    if not _may_be_opened(address):
        fix = "pass e.g. 'https://example.org/cat.png'."
        raise broken(where, address[:80], "an https address (or upload:<id> for an image)", fix)
    return address


def _may_be_opened(address: str) -> bool:
    if len(address) > LONGEST_ADDRESS or any(char.isspace() or not char.isprintable() for char in address):
        return False
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    is_allowed = parts.scheme == "https" or (parts.scheme == "http" and host in LOCAL)
    return is_allowed and bool(host) and "\\" not in address and parts.username is None


def upload_of(show: Mapping[str, str]) -> str | None:
    """The id of the upload that is shown, if one is."""
    found = UPLOAD.fullmatch(show.get("image", ""))
    return found[1] if found else None


def for_browser(project_id: str, show: Mapping[str, str]) -> dict[str, str]:
    """What is shown, with the address of an upload instead of its id.

    >>> for_browser("p_1", {"text": "Which?", "image": "upload:u_7"})
    {'text': 'Which?', 'image': '/media/p_1/u_7'}
    """
    upload = upload_of(show)
    return {**show, **({} if upload is None else {"image": f"/media/{project_id}/{upload}"})}
