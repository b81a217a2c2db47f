"""The first schema: every table, its indexes, and the triggers that keep `events` append-only.

Written out in full, so that later changes to `schema.py` do not change this revision. Run by `upgrade`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from quorate.service.store.migrations import ID, append_only

revision = "0001"
down_revision = None

PRIORITY: sa.ColumnClause[str] = sa.literal_column("priority DESC")
Columns = list[str | sa.ColumnClause[str]]


def upgrade() -> None:
    """Create all tables."""
    _what_is_decided()
    _who_may_act()
    _who_is_told()
    append_only("events", "events are only ever appended to: they are neither changed nor deleted")


def _partial(
    name: str, table: str, columns: Columns, where: str, *, sqlite: str | None = None, unique: bool = False
) -> None:
    """An index of the rows that meet a condition; `sqlite`: the condition as SQLite's queries write truth values."""
    on_sqlite = sa.text(sqlite or where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=on_sqlite, postgresql_where=sa.text(where))


def _what_is_decided() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, server_default="1", nullable=False),
        sa.Column("state", sa.String(10), server_default="active", nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("coin_key", sa.String(40), server_default="", nullable=False),
        sa.Column("next_number", sa.Integer, server_default="0", nullable=False),
        sa.Column("learn_event", sa.BigInteger, server_default="0", nullable=False),
        sa.Column("tune_event", sa.BigInteger, server_default="0", nullable=False),
    )
    op.create_table(
        "items",
        sa.Column("id", ID, autoincrement=True, primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("show", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, server_default="0", nullable=False),
        sa.Column("pool_size", sa.Integer, nullable=False),
        sa.Column("is_open", sa.Boolean, nullable=False),
        sa.Column("is_wanted", sa.Boolean, nullable=False),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("to_close", sa.Integer, nullable=False),
        sa.Column("votes", sa.Text, nullable=False),
        sa.Column("num_votes", sa.Integer, server_default="0", nullable=False),
        sa.Column("num_ballots", sa.Integer, server_default="0", nullable=False),
        sa.Column("num_abstained", sa.Integer, server_default="0", nullable=False),
        sa.Column("num_late", sa.Integer, server_default="0", nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("closed", sa.Double),
        sa.Column("first_vote_event", sa.BigInteger),
        sa.Column("closed_event", sa.BigInteger),
        sa.Column("decided_votes", sa.Integer),
        sa.Column("audit_rate", sa.Double),
        sa.Column("audit", sa.String(10)),
        sa.Column("audit_loss", sa.Double),
        sa.Column("is_settled", sa.Boolean, server_default=sa.text("false"), nullable=False),
        sa.Column("is_accounted", sa.Boolean, server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.UniqueConstraint("project_id", "name"),
        sa.UniqueConstraint("project_id", "number"),
    )
    _partial(
        "ix_items_busy",
        "items",
        ["project_id", PRIORITY, "number"],
        "is_wanted AND slots <= 0",
        sqlite="is_wanted = 1 AND slots <= 0",
    )
    op.create_index("ix_items_closed", "items", ["project_id", "closed_event"])
    _partial(
        "ix_items_fresh",
        "items",
        ["project_id", PRIORITY, "number"],
        "is_wanted AND slots > 0 AND num_ballots = 0",
        sqlite="is_wanted = 1 AND slots > 0 AND num_ballots = 0",
    )
    _partial(
        "ix_items_queue",
        "items",
        ["project_id", PRIORITY, "to_close", "number"],
        "is_wanted AND slots > 0",
        sqlite="is_wanted = 1 AND slots > 0",
    )
    op.create_index("ix_items_state", "items", ["project_id", "is_open", "number"])
    _partial(
        "ix_items_unaccounted",
        "items",
        ["project_id", "closed_event"],
        "NOT is_open AND NOT is_accounted",
        sqlite="is_open = 0 AND is_accounted = 0",
    )
    op.create_index("ix_items_window", "items", ["project_id", sa.literal_column("first_vote_event DESC")])
    op.create_table(
        "events",
        sa.Column("id", ID, autoincrement=True, primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("item_id", ID),
        sa.Column("seq", sa.Integer),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("voter", sa.String(60)),
        sa.Column("request", sa.String(200)),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"]),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.UniqueConstraint("item_id", "seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_project", "events", ["project_id", "id"])
    _partial("uq_events_request", "events", ["project_id", "voter", "request"], "request IS NOT NULL", unique=True)
    op.create_table(
        "ballots",
        sa.Column("item_id", ID, sa.ForeignKey("items.id"), primary_key=True),
        sa.Column("voter", sa.String(60), primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("time", sa.Double, nullable=False),
    )
    op.create_index("ix_ballots_voter", "ballots", ["project_id", "voter", sa.literal_column("time DESC")])
    op.create_table(
        "leases",
        sa.Column("item_id", ID, sa.ForeignKey("items.id"), primary_key=True),
        sa.Column("voter", sa.String(60), primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("granted", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("is_out", sa.Boolean, nullable=False),
    )
    _partial("ix_leases_expires", "leases", ["project_id", "expires"], "is_out", sqlite="is_out = 1")
    op.create_index("ix_leases_voter", "leases", ["project_id", "voter"])
    op.create_table(
        "stewards",
        sa.Column("project_id", sa.String(40), sa.ForeignKey("projects.id"), primary_key=True),
        sa.Column("task", sa.String(20), primary_key=True),
        sa.Column("holder", sa.String(40), server_default="", nullable=False),
        sa.Column("until", sa.Double, server_default="0", nullable=False),
        sa.Column("state", sa.Text, server_default="{}", nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column("principal", sa.String(60), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("media_type", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.UniqueConstraint("project_id", "digest"),
    )


def _who_may_act() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("may_create", sa.Boolean, server_default=sa.text("false"), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("disabled", sa.Double),
    )
    op.create_table(
        "memberships",
        sa.Column("project_id", sa.String(40), primary_key=True),
        sa.Column("account_id", sa.String(40), primary_key=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("removed", sa.Double),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
    )
    op.create_index("ix_memberships_account", "memberships", ["account_id"])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("account_id", sa.String(40), nullable=False),
        sa.Column("project_id", sa.String(40)),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("start", sa.String(12), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("used", sa.Double),
        sa.Column("revoked", sa.Double),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "links",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account_id", sa.String(40), sa.ForeignKey("accounts.id")),
        sa.Column("project_id", sa.String(40), sa.ForeignKey("projects.id")),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("used", sa.Double),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("most_uses", sa.Integer),
        sa.Column("uses", sa.Integer, server_default="0", nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("revoked", sa.Double),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account_id", sa.String(40), sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("project_id", sa.String(40), sa.ForeignKey("projects.id")),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("revoked", sa.Double),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
    )
    op.create_table(
        "attempts",
        sa.Column("key", sa.String(120), primary_key=True),
        sa.Column("tokens", sa.Double, nullable=False),
        sa.Column("time", sa.Double, nullable=False),
    )


def _who_is_told() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("project_id", sa.String(40), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("removed", sa.Double),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("webhook_id", sa.String(40), sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("due", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, server_default="0", nullable=False),
        sa.Column("delivered", sa.Double),
        sa.Column("failed", sa.Double),
        sa.Column("problem", sa.Text),
    )
    _partial("ix_deliveries_due", "deliveries", ["due"], "delivered IS NULL AND failed IS NULL")
