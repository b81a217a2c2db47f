"""Actions of owners, with author and time; withdrawn items. The history of prices of existing projects starts here.

Run by `upgrade`.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from quorate.service.store.migrations import ID, append_only

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table and the column; each project's price is taken as the one in force since its creation."""
    op.add_column("items", sa.Column("withdrawn", sa.Double()))
    op.create_table(
        "owner_actions",
        sa.Column("id", ID, autoincrement=True, primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("item_id", ID),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("who", sa.String(60), nullable=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"]),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
    )
    op.create_index("ix_owner_actions_project", "owner_actions", ["project_id", "id"])
    op.create_index("ix_owner_actions_item", "owner_actions", ["item_id"])
    append_only("owner_actions", "owner_actions are only ever appended to: they are neither changed nor deleted")
    _start_price_history()


def _start_price_history() -> None:
    bind = op.get_bind()
    insert = sa.text(
        "INSERT INTO owner_actions (project_id, kind, who, time, body) VALUES (:project, 'create', '', :time, :body)"
    )
    for row in bind.execute(sa.text("SELECT id, created, settings FROM projects")).all():
        body = json.dumps({"price": _price(row.settings)})
        bind.execute(insert, {"project": row.id, "time": row.created, "body": body})


def _price(settings: str) -> float:
    try:
        return float(json.loads(settings).get("price", 0.0))
    except (ValueError, TypeError, AttributeError):  # unreadable settings have no price
        return 0.0
