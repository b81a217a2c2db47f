"""Gold items, whose known answer tests voters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column, and the index by which such items are served."""
    op.add_column("items", sa.Column("gold", sa.Text()))
    is_gold = sa.text("gold IS NOT NULL")
    op.create_index(
        "ix_items_gold", "items", ["project_id", "num_ballots", "number"],
        sqlite_where=is_gold, postgresql_where=is_gold,
    )  # fmt: skip
