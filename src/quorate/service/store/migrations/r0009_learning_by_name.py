"""Names how existing projects learn: until now "quorate" had the hyperprior "default", fitted at regular intervals."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

PROJECTS = sa.table("projects", sa.column("id"), sa.column("settings"))


def upgrade() -> None:
    """Add hyperprior and fits to the settings of each project with method `quorate`."""
    connection = op.get_bind()
    for project_id, text in connection.execute(sa.select(PROJECTS.c.id, PROJECTS.c.settings)).all():
        try:
            settings = json.loads(text)
        except ValueError:  # not written by quorate
            continue
        name, _, parameters = settings.get("method", "quorate").partition(":")
        if name.strip() == "quorate":
            missing = [each for each in ("hyperprior=default", "fits=regular") if each.split("=")[0] not in parameters]
            named = "quorate:" + ",".join([*missing, *filter(None, [parameters])])
            stored = json.dumps(settings | {"method": named})
            connection.execute(sa.update(PROJECTS).where(PROJECTS.c.id == project_id).values(settings=stored))
