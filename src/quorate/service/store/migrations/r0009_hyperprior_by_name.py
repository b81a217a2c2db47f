"""Names the hyperprior of existing projects: until now "quorate" learned under the one called "default"."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

PROJECTS = sa.table("projects", sa.column("id"), sa.column("settings"))


def upgrade() -> None:
    """Add the hyperprior to the settings of each project with method `quorate`."""
    connection = op.get_bind()
    for project_id, text in connection.execute(sa.select(PROJECTS.c.id, PROJECTS.c.settings)).all():
        try:
            settings = json.loads(text)
        except ValueError:  # not written by quorate
            continue
        name, _, knobs = settings.get("method", "quorate").partition(":")
        if name.strip() == "quorate" and "hyperprior" not in knobs:
            named = ",".join(["quorate:hyperprior=default", *filter(None, [knobs])])
            stored = json.dumps(settings | {"method": named})
            connection.execute(sa.update(PROJECTS).where(PROJECTS.c.id == project_id).values(settings=stored))
