"""The accounts that signed in with a browser; items set aside because their image is broken, and who reported them.

Run by `upgrade`. Stored rows do not change.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from quorate.service.store.migrations import ID

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add two tables and a column."""
    op.add_column("items", sa.Column("set_aside", sa.Double()))
    op.create_table(
        "image_reports",
        sa.Column("id", ID, autoincrement=True, primary_key=True),
        sa.Column("project_id", sa.String(40), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("item_id", ID, sa.ForeignKey("items.id"), nullable=False),
        sa.Column("voter", sa.String(60), nullable=False),
        sa.Column("time", sa.Double, nullable=False),
    )
    op.create_index("ix_image_reports_item_id", "image_reports", ["item_id"])
    op.create_index("ix_image_reports_project_id_voter", "image_reports", ["project_id", "voter"])
    op.create_table(
        "browsers",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account_id", sa.String(40), sa.ForeignKey("accounts.id"), primary_key=True),
        sa.Column("project_id", sa.String(40), sa.ForeignKey("projects.id")),
        sa.Column("signed_in_by", sa.String(120), nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        sa.Column("ended", sa.Double),
    )
    op.create_index("ix_browsers_account_id", "browsers", ["account_id"])
