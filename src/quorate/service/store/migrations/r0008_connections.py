"""Projects whose front end is another tool: its address, and the original state of its tasks.

Run by `upgrade`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the two tables."""
    op.create_table(
        "connections",
        sa.Column("project_id", sa.String(40), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("remote_id", sa.BigInteger, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("original", sa.Text, nullable=False),
        sa.Column("people", sa.Text, nullable=False, server_default="{}"),
        sa.Column("webhook_id", sa.BigInteger),
        sa.Column("secret", sa.String(64)),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("ended", sa.Double),
        sa.Column("read", sa.Double),
        sa.Column("reread", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("problem", sa.Text),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
    )
    op.create_table(
        "remote_tasks",
        sa.Column("project_id", sa.String(40), primary_key=True),
        sa.Column("task_id", sa.BigInteger, autoincrement=False, primary_key=True),
        sa.Column("original", sa.Text, nullable=False),
        sa.Column("changed", sa.Double),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
    )
    changed = sa.text("changed IS NOT NULL")
    op.create_index(
        "ix_remote_tasks_changed", "remote_tasks", ["project_id"], sqlite_where=changed, postgresql_where=changed
    )
