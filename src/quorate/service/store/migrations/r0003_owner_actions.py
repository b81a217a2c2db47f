"""What owners do is kept with who and when; items can be withdrawn. Existing projects begin their history of prices.

Run by `upgrade`.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

ONLY_APPENDED = "owner_actions are only ever appended to: they are neither changed nor deleted"

SQLITE_TRIGGERS = tuple(
    f"CREATE TRIGGER owner_actions_no_{act.lower()} BEFORE {act} ON owner_actions "
    f"BEGIN SELECT RAISE(ABORT, '{ONLY_APPENDED}'); END"
    for act in ("UPDATE", "DELETE")
)
POSTGRESQL_TRIGGERS = (
    f"""CREATE FUNCTION owner_actions_only_appended() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{ONLY_APPENDED}' USING ERRCODE = 'restrict_violation'; END $$""",
    """CREATE TRIGGER owner_actions_only_appended BEFORE UPDATE OR DELETE OR TRUNCATE ON owner_actions
    FOR EACH STATEMENT EXECUTE FUNCTION owner_actions_only_appended()""",
)


def upgrade() -> None:
    """Add the table and the column; take the price of each project as the one in force since it was made."""
    op.add_column("items", sa.Column("withdrawn", sa.Double()))
    op.create_table(
        "owner_actions",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("item_id", ID),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("who", sa.String(length=60), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name="fk_owner_actions_item_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_owner_actions_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_owner_actions"),
    )
    op.create_index("ix_owner_actions_project", "owner_actions", ["project_id", "id"])
    op.create_index("ix_owner_actions_item", "owner_actions", ["item_id"])
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in SQLITE_TRIGGERS if is_sqlite else POSTGRESQL_TRIGGERS:
        op.execute(statement)
    _begin_the_history()


def _begin_the_history() -> None:
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
    except (ValueError, TypeError, AttributeError):  # what cannot be read has no price either
        return 0.0
