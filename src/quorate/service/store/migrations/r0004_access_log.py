"""How whoever acts was signed in, beside each event; and a log of what decides who may act, which only grows.

Sign-ins and links that are there already: those for one project were made by an owner, the rest say nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

ONLY_APPENDED = "the access log is only ever appended to: its lines are neither changed nor deleted"

SQLITE_TRIGGERS = tuple(
    f"CREATE TRIGGER access_log_no_{act.lower()} BEFORE {act} ON access_log "
    f"BEGIN SELECT RAISE(ABORT, '{ONLY_APPENDED}'); END"
    for act in ("UPDATE", "DELETE")
)
POSTGRESQL_TRIGGERS = (
    f"""CREATE FUNCTION access_log_only_appended() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{ONLY_APPENDED}' USING ERRCODE = 'restrict_violation'; END $$""",
    """CREATE TRIGGER access_log_only_appended BEFORE UPDATE OR DELETE OR TRUNCATE ON access_log
    FOR EACH STATEMENT EXECUTE FUNCTION access_log_only_appended()""",
)


def upgrade() -> None:
    """Add the columns, the table and its triggers."""
    op.add_column("events", sa.Column("signed_in_by", sa.String(length=120)))
    op.add_column("sign_ins", sa.Column("signed_in_by", sa.String(length=120)))
    op.add_column("links", sa.Column("made_by", sa.String(length=40)))
    op.execute("UPDATE sign_ins SET signed_in_by = 'link by an owner' WHERE project_id IS NOT NULL")
    op.create_table(
        "access_log",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=30), nullable=False),
        sa.Column("project_id", sa.String(length=40)),
        sa.Column("account_id", sa.String(length=40)),
        sa.Column("made_by", sa.String(length=40)),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_access_log"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_access_log_project", "access_log", ["project_id", "id"])
    op.create_index("ix_access_log_account", "access_log", ["account_id", "id"])
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in SQLITE_TRIGGERS if is_sqlite else POSTGRESQL_TRIGGERS:
        op.execute(statement)
