"""The voter's page, and how many votes its reader has given since a time. The rest goes through the API's JSON.

Nothing here, nor in what the page fetches, says what the classifier thinks, what others voted, or what was decided.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response
from sqlalchemy import func, select

from quorate.service.access.csrf import csrf_token
from quorate.service.access.headers import allow_images
from quorate.service.access.surroundings import store_of
from quorate.service.api.here import ProjectId, Voter, projects_of
from quorate.service.pages.rendering import render
from quorate.service.store.schema import ballots

router = APIRouter(include_in_schema=False)
DIGITS = "1234567890"
TAKEN = "usx"  # undo, skip, cannot tell


@router.get("/p/{project_id}/vote")
def vote_page(request: Request, project_id: ProjectId, caller: Voter) -> Response:
    """One item, big; buttons and keys; the next item is loaded already."""
    project = projects_of(request).get(project_id)
    allow_images(request, "https:", "http:")
    start = {
        "project": project.id,
        "account": caller.principal.account_id,
        "csrf": csrf_token(request),
        "undoSeconds": project.settings.undo_seconds,
        "leaseSeconds": project.settings.lease_seconds,
    }
    classes = project.settings.classes
    keys = keys_of(classes)
    shown = {
        "me": caller.principal, "role": caller.role, "project": project, "start": start, "shape": _shape(classes),
        "classes": classes, "keys": keys, "keys_told": keys_told(keys),
        "names_are_keys": keys == [name.lower() for name in classes],
    }  # fmt: skip
    return render(request, "vote.html", **shown)


def keys_of(classes: Sequence[str]) -> list[str]:
    """The key of each class: its own name where all are single characters, else 1 to 9 and 0; none for the rest.

    >>> keys_of(["cat", "dog"]), keys_of(["0", "1", "2"]), keys_of(["a", "u"])
    (['1', '2'], ['0', '1', '2'], ['1', '2'])
    """
    own = [name.lower() for name in classes]
    if len(set(own)) == len(own) and all(len(name) == 1 and name.isalnum() and name not in TAKEN for name in own):
        return own
    return list(DIGITS[: len(classes)]) + [""] * (len(classes) - len(DIGITS))


def keys_told(keys: Sequence[str]) -> str:
    """The keys there are, in words, where they are digits.

    >>> keys_told(["1", "2", "3"]), keys_told([*DIGITS, ""])
    ('1 to 3', '1 to 9 and 0')
    """
    last = len([key for key in keys if key])
    return "1 to 9 and 0" if last == len(DIGITS) else f"1 to {last}"


def _shape(classes: Sequence[str]) -> str:
    """How the buttons stand: short names five in a row, few long ones one below another, many in a box that scrolls."""
    longest = max(map(len, classes))
    found = ["many"] if len(classes) > 8 else []
    if len(classes) > 4 and longest <= 4:
        found.append("short")
    if len(classes) < 5 and longest > 18:
        found.append("one")
    return " ".join(found)


@router.get("/p/{project_id}/vote/mine")
def votes_of_mine(request: Request, project_id: ProjectId, caller: Voter, since: float) -> dict[str, int]:
    """How many votes the reader has given since a time: their own midnight."""
    mine = (ballots.c.project_id == project_id, ballots.c.voter == caller.principal.account_id)
    query = select(func.count()).where(*mine, ballots.c.kind == "vote", ballots.c.time >= since)
    with store_of(request).read() as connection:
        return {"votes": int(connection.execute(query).scalar_one())}
