"""A senior's verdict on an item, beside the answer of its pool."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns; the verdicts themselves are events."""
    op.add_column("items", sa.Column("verdict", sa.Text()))
    op.add_column("items", sa.Column("verdict_by", sa.String(length=60)))
    op.add_column("items", sa.Column("verdict_time", sa.Double()))
