"""The voter's page, and how many votes its reader has given since a time. The rest goes through the API's JSON.

Nothing here, nor in what the page fetches, says what the classifier thinks, what others voted, or what was decided.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response
from sqlalchemy import func, select

from quorate.service.access.csrf import csrf_token
from quorate.service.access.headers import allow_images
from quorate.service.access.request_context import store_of
from quorate.service.api.dependencies import ProjectId, Voter, projects_of
from quorate.service.domain.listing import acts_of
from quorate.service.pages.rendering import render
from quorate.service.store.schema import ballots

router = APIRouter(include_in_schema=False)
DIGITS = "1234567890"
TAKEN = "usxz"  # undo, skip, cannot tell, enlarge
WORDS = (10, 13, 16, 20)  # letters of the longest word that a column of buttons is made for


@router.get("/p/{project_id}/vote")
def vote_page(request: Request, project_id: ProjectId, caller: Voter) -> Response:
    """One item, big; buttons and keys; the next item is loaded already."""
    project = projects_of(request).get(project_id)
    allow_images(request, "https:", "http:")
    with store_of(request).read() as connection:
        is_new = acts_of(connection, project_id, caller.principal.account_id) == 0
    start = {
        "isNew": is_new,
        "project": project.id,
        "account": caller.principal.account_id,
        "csrf": csrf_token(request),
        "undoSeconds": project.settings.undo_seconds,
        "leaseSeconds": project.settings.lease_seconds,
        "state": project.state,
    }
    classes = project.settings.shown_classes
    keys = keys_of(project.settings.classes)  # a new name must not move a key that voters know
    shown = {
        "me": caller.principal, "role": caller.role, "project": project, "start": start, "shape": _shape(classes),
        "classes": list(zip(project.settings.classes, classes, strict=True)), "keys": keys,
        "keys_told": keys_told(keys), "names_are_keys": keys == [name.lower() for name in classes],
        "own_keys": keys == [name.lower() for name in project.settings.classes],
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
    """How the buttons stand: short names five in a row, few long ones one below another, many in a box that scrolls.

    Columns are at least as wide as the longest word: no name is broken within one.

    >>> _shape(["cat", "dog", "fox"]), _shape(["no finding", "cardiomegaly"])
    ('word-10 few three', 'word-13 few')
    """
    longest = max(map(len, classes))
    word = max(len(word) for name in classes for word in [*name.split(), ""])
    found = [f"word-{next((size for size in WORDS if word <= size), 'more')}"]
    if len(classes) > 8:
        found.append("many")
    if len(classes) < 5:
        found += ["few", "three"] if len(classes) == 3 else ["few"]
    if len(classes) > 4 and longest <= 4:
        found.append("short")
    if len(classes) < 5 and longest > 18:
        found.append("one")
    return " ".join(found)


@router.get("/p/{project_id}/vote/mine")
def votes_of_mine(request: Request, project_id: ProjectId, caller: Voter, since: float) -> dict[str, int | str]:
    """How many votes the reader has given since a time, their own midnight; and whether the project goes on."""
    mine = (ballots.c.project_id == project_id, ballots.c.voter == caller.principal.account_id)
    query = select(func.count()).where(*mine, ballots.c.kind == "vote", ballots.c.time >= since)
    with store_of(request).read() as connection:
        project = projects_of(request).get_in(connection, project_id)
        return {"votes": int(connection.execute(query).scalar_one()), "state": project.state}
