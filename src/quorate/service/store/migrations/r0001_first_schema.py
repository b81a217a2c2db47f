"""The first schema: every table, its indexes, and the triggers that keep `events` append-only.

Written out in full, so that later changes to `schema.py` do not change what this revision makes. Run by `upgrade`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

ONLY_APPENDED = "events are only ever appended to: they are neither changed nor deleted"

SQLITE_TRIGGERS = tuple(
    f"CREATE TRIGGER events_no_{act.lower()} BEFORE {act} ON events BEGIN SELECT RAISE(ABORT, '{ONLY_APPENDED}'); END"
    for act in ("UPDATE", "DELETE")
)
POSTGRESQL_TRIGGERS = (
    f"""CREATE FUNCTION events_only_appended() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{ONLY_APPENDED}' USING ERRCODE = 'restrict_violation'; END $$""",
    """CREATE TRIGGER events_only_appended BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_only_appended()""",
)


def upgrade() -> None:
    """Make everything."""
    _what_is_decided()
    _who_may_act()
    _who_is_told()
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in SQLITE_TRIGGERS if is_sqlite else POSTGRESQL_TRIGGERS:
        op.execute(statement)


def _what_is_decided() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("state", sa.String(length=10), server_default="active", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("coin_key", sa.String(length=40), server_default="", nullable=False),
        sa.Column("next_number", sa.Integer(), server_default="0", nullable=False),
        sa.Column("learn_event", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("tune_event", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
    )
    op.create_table(
        "items",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("show", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("pool_size", sa.Integer(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("is_wanted", sa.Boolean(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("to_close", sa.Integer(), nullable=False),
        sa.Column("votes", sa.Text(), nullable=False),
        sa.Column("num_votes", sa.Integer(), server_default="0", nullable=False),
        sa.Column("num_ballots", sa.Integer(), server_default="0", nullable=False),
        sa.Column("num_abstained", sa.Integer(), server_default="0", nullable=False),
        sa.Column("num_late", sa.Integer(), server_default="0", nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("closed", sa.Double()),
        sa.Column("first_vote_event", sa.BigInteger()),
        sa.Column("closed_event", sa.BigInteger()),
        sa.Column("decided_votes", sa.Integer()),
        sa.Column("audit_rate", sa.Double()),
        sa.Column("audit", sa.String(length=10)),
        sa.Column("audit_loss", sa.Double()),
        sa.Column("is_settled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("is_accounted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_items_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_items"),
        sa.UniqueConstraint("project_id", "name", name="uq_items_project_id_name"),
        sa.UniqueConstraint("project_id", "number", name="uq_items_project_id_number"),
    )
    op.create_index(
        "ix_items_busy",
        "items",
        ["project_id", sa.literal_column("priority DESC"), "number"],
        sqlite_where=sa.text("is_wanted = 1 AND slots <= 0"),
        postgresql_where=sa.text("is_wanted AND slots <= 0"),
    )
    op.create_index("ix_items_closed", "items", ["project_id", "closed_event"])
    op.create_index(
        "ix_items_fresh",
        "items",
        ["project_id", sa.literal_column("priority DESC"), "number"],
        sqlite_where=sa.text("is_wanted = 1 AND slots > 0 AND num_ballots = 0"),
        postgresql_where=sa.text("is_wanted AND slots > 0 AND num_ballots = 0"),
    )
    op.create_index(
        "ix_items_queue",
        "items",
        ["project_id", sa.literal_column("priority DESC"), "to_close", "number"],
        sqlite_where=sa.text("is_wanted = 1 AND slots > 0"),
        postgresql_where=sa.text("is_wanted AND slots > 0"),
    )
    op.create_index("ix_items_state", "items", ["project_id", "is_open", "number"])
    op.create_index(
        "ix_items_unaccounted",
        "items",
        ["project_id", "closed_event"],
        sqlite_where=sa.text("is_open = 0 AND is_accounted = 0"),
        postgresql_where=sa.text("NOT is_open AND NOT is_accounted"),
    )
    op.create_index("ix_items_window", "items", ["project_id", sa.literal_column("first_vote_event DESC")])
    op.create_table(
        "events",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("item_id", ID),
        sa.Column("seq", sa.Integer()),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("voter", sa.String(length=60)),
        sa.Column("request", sa.String(length=200)),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name="fk_events_item_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_events_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("item_id", "seq", name="uq_events_item_id_seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_project", "events", ["project_id", "id"])
    op.create_index(
        "uq_events_request",
        "events",
        ["project_id", "voter", "request"],
        unique=True,
        sqlite_where=sa.text("request IS NOT NULL"),
        postgresql_where=sa.text("request IS NOT NULL"),
    )
    op.create_table(
        "ballots",
        sa.Column("item_id", ID, nullable=False),
        sa.Column("voter", sa.String(length=60), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("label", sa.Text()),
        sa.Column("time", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name="fk_ballots_item_id"),
        sa.PrimaryKeyConstraint("item_id", "voter", name="pk_ballots"),
    )
    op.create_index("ix_ballots_voter", "ballots", ["project_id", "voter", sa.literal_column("time DESC")])
    op.create_table(
        "leases",
        sa.Column("item_id", ID, nullable=False),
        sa.Column("voter", sa.String(length=60), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("granted", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("is_out", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name="fk_leases_item_id"),
        sa.PrimaryKeyConstraint("item_id", "voter", name="pk_leases"),
    )
    op.create_index(
        "ix_leases_expires",
        "leases",
        ["project_id", "expires"],
        sqlite_where=sa.text("is_out = 1"),
        postgresql_where=sa.text("is_out"),
    )
    op.create_index("ix_leases_voter", "leases", ["project_id", "voter"])
    op.create_table(
        "stewards",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("task", sa.String(length=20), nullable=False),
        sa.Column("holder", sa.String(length=40), server_default="", nullable=False),
        sa.Column("until", sa.Double(), server_default="0", nullable=False),
        sa.Column("state", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_stewards_project_id"),
        sa.PrimaryKeyConstraint("project_id", "task", name="pk_stewards"),
    )
    op.create_table(
        "requests",
        sa.Column("principal", sa.String(length=60), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("content", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("principal", "key", name="pk_requests"),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("media_type", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_uploads_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
        sa.UniqueConstraint("project_id", "digest", name="uq_uploads_project_id_digest"),
    )


def _who_may_act() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("may_create", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("disabled", sa.Double()),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
    )
    op.create_table(
        "memberships",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("removed", sa.Double()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_memberships_account_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_memberships_project_id"),
        sa.PrimaryKeyConstraint("project_id", "account_id", name="pk_memberships"),
    )
    op.create_index("ix_memberships_account", "memberships", ["account_id"])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40)),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("start", sa.String(length=12), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("used", sa.Double()),
        sa.Column("revoked", sa.Double()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_api_keys_account_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_api_keys_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("digest", name="uq_api_keys_digest"),
    )
    op.create_table(
        "links",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=40)),
        sa.Column("project_id", sa.String(length=40)),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("used", sa.Double()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_links_account_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_links_project_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_links"),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("most_uses", sa.Integer()),
        sa.Column("uses", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("revoked", sa.Double()),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_invitations_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_invitations"),
        sa.UniqueConstraint("digest", name="uq_invitations_digest"),
    )
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40)),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("revoked", sa.Double()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_sign_ins_account_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_sign_ins_project_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_ins"),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_secrets"),
    )
    op.create_table(
        "attempts",
        sa.Column("key", sa.String(length=120), nullable=False),
        sa.Column("tokens", sa.Double(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_attempts"),
    )


def _who_is_told() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("removed", sa.Double()),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_webhooks_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("webhook_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("due", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("delivered", sa.Double()),
        sa.Column("failed", sa.Double()),
        sa.Column("problem", sa.Text()),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name="fk_deliveries_webhook_id"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index(
        "ix_deliveries_due",
        "deliveries",
        ["due"],
        sqlite_where=sa.text("delivered IS NULL AND failed IS NULL"),
        postgresql_where=sa.text("delivered IS NULL AND failed IS NULL"),
    )
