"""Which accounts a browser has signed in to; items set aside because their image is broken, and who reported them.

Run by `upgrade`. Nothing that is stored changes: no browser is remembered yet, and no item is set aside.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make two tables and a column."""
    op.add_column("items", sa.Column("set_aside", sa.Double()))
    op.create_table(
        "image_reports",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("voter", sa.String(length=60), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_image_reports_project_id"),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name="fk_image_reports_item_id"),
        sa.PrimaryKeyConstraint("id", name="pk_image_reports"),
    )
    op.create_index("ix_image_reports_item_id", "image_reports", ["item_id"])
    op.create_index("ix_image_reports_project_id_voter", "image_reports", ["project_id", "voter"])
    op.create_table(
        "browsers",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40)),
        sa.Column("signed_in_by", sa.String(length=120), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_browsers_account_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_browsers_project_id"),
        sa.PrimaryKeyConstraint("digest", "account_id", name="pk_browsers"),
    )
    op.create_index("ix_browsers_account_id", "browsers", ["account_id"])
