"""The migrations, one file for each; `upgrade` runs those that a database is missing.

A change of `schema.py` needs a new file here: `revision` is the next number, `down_revision` the one before. Released
migrations never change. Constraints are named by the convention of `schema.metadata`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def append_only(table: str, words: str) -> None:
    """Make the database refuse, with this message, to change or delete a row of the table."""
    if op.get_bind().dialect.name == "sqlite":
        for act in ("UPDATE", "DELETE"):
            head = f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table}"
            op.execute(f"{head} BEGIN SELECT RAISE(ABORT, '{words}'); END")
        return
    op.execute(
        f"""CREATE FUNCTION {table}_only_appended() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{words}' USING ERRCODE = 'restrict_violation'; END $$"""
    )
    op.execute(
        f"""CREATE TRIGGER {table}_only_appended BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION {table}_only_appended()"""
    )
