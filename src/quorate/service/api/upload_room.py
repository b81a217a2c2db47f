"""How many bytes of images a project may hold: asked before an image is kept. Called by `uploads`.

What a project holds is added up in the database now and then, not for every image: reading the size of each of many
thousand images takes longer than storing one. So several workers together may go over by what they take in a minute.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from quorate.service.api.body_limit import MEGABYTE
from quorate.service.problems import Problem
from quorate.service.store.schema import uploads

COUNTED_AGAIN = 60.0  # seconds after which others' uploads are seen


@dataclass(frozen=True, slots=True)
class _Held:
    size: int
    counted: float


class UploadRoom:
    """What each project holds, and how much it may."""

    def __init__(self, most_megabytes: int) -> None:
        self.most = MEGABYTE * most_megabytes
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def take(self, connection: Connection, project_id: str, size: int, *, now: float) -> None:
        """Take room for one more image; a problem where there is none."""
        with self._lock:
            held = self._held.get(project_id)
            if held is None or not 0 <= now - held.counted < COUNTED_AGAIN or held.size + size > self.most:
                held = _Held(_counted(connection, project_id), now)
            if held.size + size > self.most:
                raise _full(held.size, size, self.most)
            self._held[project_id] = _Held(held.size + size, held.counted)


def _counted(connection: Connection, project_id: str) -> int:
    size = func.octet_length if connection.dialect.name == "postgresql" else func.length  # neither reads the content
    query = select(func.coalesce(func.sum(size(uploads.c.content)), 0)).where(uploads.c.project_id == project_id)
    return int(connection.execute(query).scalar_one())


def _full(held: int, size: int, most: int) -> Problem:
    return Problem(
        413,
        "No room for more images",
        f"the project's images have {held / MEGABYTE:.1f} MB, this one {size / MEGABYTE:.1f} MB more; "
        f"at most {most / MEGABYTE:g} MB fit.",
        field="file",
        value=size,
        rule=f"the images of a project have at most {most} bytes together",
        fix="Send smaller images, name images by https address, or let the operator raise QUORATE_UPLOAD_MEGABYTES.",
    )
