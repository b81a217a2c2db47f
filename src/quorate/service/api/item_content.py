"""What an item shows, checked when it comes in and with addresses a browser can use when it goes out.

An image is an upload of the project (`upload:<id>`) or an address that the voter's browser loads; the server fetches
neither images nor links. Called by the routers of items and votes, and by the pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from quorate.service.webhooks.addresses import host_of, may_be_public, refuse_private
from quorate.validate import broken

UPLOAD = re.compile(r"upload:([a-z0-9_]{1,40})")


def checked_image(image: str, *, where: str, allow_private: bool = False) -> str:
    """An image's address: `upload:<id>`, or https outside this machine and its network.

    Browsers load it without asking, so it must not lead a voter's browser to what only that browser can reach.
    `allow_private`: it may, also by http; the setting that webhooks have.

    >>> checked_image("https://example.org/cat.png", where="image")
    'https://example.org/cat.png'
    """
    if UPLOAD.fullmatch(image):
        return image
    address = checked_address(image, where=where)
    refuse_private(address, host_of(address) or "", where=where, allow_private=allow_private)
    return address


def checked_address(address: str, *, where: str) -> str:
    """An address a browser may be sent to: https, or http of this machine or its network; never a script."""
    if not _may_be_opened(address):
        fix = "pass e.g. 'https://example.org/cat.png'."
        raise broken(where, address[:80], "an https address (or upload:<id> for an image)", fix)
    return address


def _may_be_opened(address: str) -> bool:
    host = host_of(address)
    return host is not None and (address.lower().startswith("https:") or not may_be_public(host))


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
