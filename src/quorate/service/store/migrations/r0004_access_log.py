"""How the author of each event signed in; and the access log, which is append-only.

Existing sign-ins and links to one project were made by an owner; for the others this is unknown.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from quorate.service.store.migrations import ID, append_only

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns, the table and its triggers."""
    op.add_column("events", sa.Column("signed_in_by", sa.String(length=120)))
    op.add_column("sign_ins", sa.Column("signed_in_by", sa.String(length=120)))
    op.add_column("links", sa.Column("made_by", sa.String(length=40)))
    op.execute("UPDATE sign_ins SET signed_in_by = 'link by an owner' WHERE project_id IS NOT NULL")
    op.create_table(
        "access_log",
        sa.Column("id", ID, autoincrement=True, primary_key=True),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("kind", sa.String(30), nullable=False),
        sa.Column("project_id", sa.String(40)),
        sa.Column("account_id", sa.String(40)),
        sa.Column("made_by", sa.String(40)),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_access_log_project", "access_log", ["project_id", "id"])
    op.create_index("ix_access_log_account", "access_log", ["account_id", "id"])
    append_only("access_log", "the access log is only ever appended to: its lines are neither changed nor deleted")
