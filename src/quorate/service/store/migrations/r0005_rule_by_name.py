"""Names the stopping rule of existing projects: until now "quorate" used the optimistic value."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

PROJECTS = sa.table("projects", sa.column("id"), sa.column("settings"))


def upgrade() -> None:
    """Add the rule to the settings of each project that stops by the value of a vote."""
    connection = op.get_bind()
    for project_id, text in connection.execute(sa.select(PROJECTS.c.id, PROJECTS.c.settings)).all():
        try:
            settings = json.loads(text)
        except ValueError:  # not written by quorate
            continue
        stored = json.dumps(settings | {"method": _with_rule(settings)})
        if stored != text:
            connection.execute(sa.update(PROJECTS).where(PROJECTS.c.id == project_id).values(settings=stored))


def _with_rule(settings: dict[str, Any]) -> str:
    method: str = settings.get("method", "quorate")
    name, _, parameters = method.partition(":")
    by_threshold = settings.get("threshold") is not None or "threshold" in parameters
    if name.strip() != "quorate" or by_threshold or "rule" in parameters:
        return method
    return f"{name.strip()}:{','.join(['rule=optimistic', *filter(None, [parameters])])}"
