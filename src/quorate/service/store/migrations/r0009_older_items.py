"""Existing projects go on learning from their window alone: until now "quorate" used no older items."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

PROJECTS = sa.table("projects", sa.column("id"), sa.column("settings"))


def upgrade() -> None:
    """Add `older=0` to the settings of each project whose method is "quorate"."""
    connection = op.get_bind()
    for project_id, text in connection.execute(sa.select(PROJECTS.c.id, PROJECTS.c.settings)).all():
        try:
            settings = json.loads(text)
        except ValueError:  # not written by quorate
            continue
        stored = json.dumps(settings | {"method": _with_older(settings)})
        if stored != text:
            connection.execute(sa.update(PROJECTS).where(PROJECTS.c.id == project_id).values(settings=stored))


def _with_older(settings: dict[str, Any]) -> str:
    method: str = settings.get("method", "quorate")
    name, _, knobs = method.partition(":")
    if name.strip() != "quorate" or "older" in knobs:
        return method
    return f"{name.strip()}:{','.join(['older=0', *filter(None, [knobs])])}"
