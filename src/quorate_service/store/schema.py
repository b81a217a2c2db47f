"""The tables. `events` is append-only and the source of truth; other tables are derived from it, or say who may act.

`access_log` is append-only, too: who got access, from whom, and what was exported.

Times are seconds since 1970 as floats. JSON is stored as text, so that every database returns the same bytes. Every
change needs a new REVISION: a database of another one is refused (`prepare`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    func,
    text,
)

REVISION = "1"
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _partial(name: str, *columns: ColumnElement[Any], where: ColumnElement[bool], unique: bool = False) -> Index:
    """An index of the rows that meet a condition."""
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _append_only(table: Table) -> None:
    """Make the database refuse to change or delete a row of the table."""
    name, words = table.name, f"{table.name} is only ever appended to: its rows are neither changed nor deleted"
    refuse = f"BEGIN SELECT RAISE(ABORT, '{words}'); END"
    on_sqlite = [
        f"CREATE TRIGGER {name}_no_update BEFORE UPDATE ON {name} {refuse}",
        f"CREATE TRIGGER {name}_no_delete BEFORE DELETE ON {name} {refuse}",
    ]
    on_postgresql = [
        f"CREATE FUNCTION {name}_only_appended() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{words}' USING ERRCODE = 'restrict_violation'; END $$",
        f"CREATE TRIGGER {name}_only_appended BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {name}_only_appended()",
    ]
    for dialect, statements in (("sqlite", on_sqlite), ("postgresql", on_postgresql)):
        for statement in statements:
            event.listen(table, "after_create", DDL(statement).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


Id = BigInteger().with_variant(Integer, "sqlite")
revisions = Table("quorate_revision", metadata, Column("version_num", String(32), primary_key=True))

# -- what is decided -------------------------------------------------------------------------------------------------

projects = Table(
    "projects",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", Text, nullable=False),
    Column("settings", Text, nullable=False),  # JSON: domain/settings.py
    Column("version", Integer, nullable=False, server_default="1"),  # of the settings; workers cache by it
    Column("state", String(10), nullable=False, server_default="active"),  # active, paused, archived
    Column("created", Double, nullable=False),
    Column(
        "coin_key", String(40), nullable=False, server_default=""
    ),  # secret, so that nobody can predict which items are audited
    Column("next_number", Integer, nullable=False, server_default="0"),
    Column("learn_event", BigInteger, nullable=False, server_default="0"),  # the "learn" event in force
    Column("tune_event", BigInteger, nullable=False, server_default="0"),  # the "tune" event in force
    Column("goal_event", BigInteger, nullable=False, server_default="0"),  # the "tune" event that set the goal in force
    Column("seed", Integer, nullable=False, server_default="0"),  # of ties and audit draws
    Column("models", Text, nullable=False, server_default="[]"),  # JSON: names of the classifiers; none before items
)

items = Table(
    "items",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("name", String(200), nullable=False),  # the id the owner gave
    Column("number", Integer, nullable=False),
    Column("is_predicted", Boolean, nullable=False, server_default=text("false")),  # a classifier says something
    Column("show", Text, nullable=False),  # JSON: text, image, link
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("pool_size", Integer, nullable=False),
    Column("is_open", Boolean, nullable=False),
    Column("is_wanted", Boolean, nullable=False),  # asks for votes (domain/item_projection.py: is_wanted)
    Column("slots", Integer, nullable=False),  # places left in the queue: 1 if wanted, minus its leases
    Column("to_close", Integer, nullable=False),  # votes after which it could close; served in this order
    Column("votes", Text, nullable=False),  # JSON: counts by class, late ones included
    Column("num_votes", Integer, nullable=False, server_default="0"),
    Column("num_ballots", Integer, nullable=False, server_default="0"),  # voters who acted, skips included
    Column("num_abstained", Integer, nullable=False, server_default="0"),
    Column("num_late", Integer, nullable=False, server_default="0"),
    Column("label", Text),  # null: closed without an answer (`reasons.is_answered`)
    Column("confidence", Double, nullable=False),
    Column("reason", String(20), nullable=False),
    Column("seq", Integer, nullable=False),  # that of its last event
    Column("created", Double, nullable=False),
    Column("closed", Double),
    Column("first_vote_event", BigInteger),  # order of entry into the learning window
    Column("closed_event", BigInteger),
    Column("decided_votes", Integer),  # votes on which the answer is based
    Column("audit_rate", Double),  # probability of being drawn for the audit; null: no draw was made
    Column("audit", String(10)),  # null, "drawn", "done"
    Column("audit_loss", Double),
    Column("is_settled", Boolean, nullable=False, server_default=text("false")),
    Column("is_accounted", Boolean, nullable=False, server_default=text("false")),  # the controller has seen it closed
    Column("withdrawn", Double),  # when an owner withdrew the item; null: it counts
    Column("again", String(10)),  # null, "asked", "done": an owner asked the rest of the pool about the closed item
    Column("panel", Text),  # what the whole pool said after the item had closed; null: not known, or a tie
    Column("set_aside", Double),  # when it was set aside for a broken image, until an owner clears it
    Column("gold", Text),  # the known answer of a gold item; null: an ordinary item
    Column("verdict", Text),  # a senior's verdict; null: none
    Column("verdict_by", String(60)),
    Column("verdict_time", Double),
    Column("judge", String(60)),  # the senior to whom the item is shown for a verdict
    Column("judge_until", Double),
    UniqueConstraint("project_id", "name"),
    UniqueConstraint("project_id", "number"),
)
answer = func.coalesce(items.c.verdict, items.c.panel, items.c.label)  # the final one, of a closed item
not_withdrawn = items.c.withdrawn.is_(None)
is_gold = items.c.gold.is_not(None)
counted = not_withdrawn & ~is_gold
has_answer = items.c.label.is_not(None)
counts_in_audit = counted | items.c.audit_rate.is_not(None)  # owners must not remove drawn items from the sample
wanted = (items.c.is_wanted) & (items.c.slots > 0)
_partial("ix_items_queue", items.c.project_id, items.c.priority.desc(), items.c.to_close, items.c.number, where=wanted)
fresh = wanted & (items.c.num_ballots == 0)
_partial("ix_items_fresh", items.c.project_id, items.c.priority.desc(), items.c.number, where=fresh)
busy = (items.c.is_wanted) & (items.c.slots <= 0)
_partial("ix_items_busy", items.c.project_id, items.c.priority.desc(), items.c.number, where=busy)
_partial("ix_items_gold", items.c.project_id, items.c.num_ballots, items.c.number, where=is_gold)
Index("ix_items_window", items.c.project_id, items.c.first_vote_event.desc())
Index("ix_items_state", items.c.project_id, items.c.is_open, items.c.number)
unaccounted = ~items.c.is_open & ~items.c.is_accounted
_partial("ix_items_unaccounted", items.c.project_id, items.c.closed_event, where=unaccounted)
Index("ix_items_closed", items.c.project_id, items.c.closed_event)

events = Table(
    "events",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("item_id", Id, ForeignKey("items.id")),  # null: of the project ("learn", "tune")
    Column("seq", Integer),  # 1, 2, 3 ... within the item
    Column("kind", String(10), nullable=False),  # open, vote, abstain, retract, close, skip, gold, verdict, learn, tune
    Column("voter", String(60)),
    Column("request", String(200)),  # the idempotency key it came with
    Column("time", Double, nullable=False),
    Column("body", Text, nullable=False),  # JSON: the session's event
    Column("signed_in_by", String(120)),  # how the author signed in (access/log.py); null: not by a sign-in
    UniqueConstraint("item_id", "seq"),
    sqlite_autoincrement=True,
)
_partial(
    "uq_events_request",
    events.c.project_id,
    events.c.voter,
    events.c.request,
    unique=True,
    where=events.c.request.is_not(None),
)
Index("ix_events_project", events.c.project_id, events.c.id)
_append_only(events)

ballots = Table(
    "ballots",
    metadata,
    Column("item_id", Id, ForeignKey("items.id"), primary_key=True),
    Column("voter", String(60), primary_key=True),
    Column("project_id", String(40), nullable=False),
    Column("kind", String(10), nullable=False),  # vote, abstain, skip
    Column("label", Text),  # of a vote
    Column("time", Double, nullable=False),
)
Index("ix_ballots_voter", ballots.c.project_id, ballots.c.voter, ballots.c.time.desc())

leases = Table(
    "leases",
    metadata,
    Column("item_id", Id, ForeignKey("items.id"), primary_key=True),
    Column("voter", String(60), primary_key=True),
    Column("project_id", String(40), nullable=False),
    Column("granted", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("is_out", Boolean, nullable=False),  # False: expired; its slot is free again, a vote is still accepted
)
Index("ix_leases_voter", leases.c.project_id, leases.c.voter)
Index(
    "ix_leases_expires",
    leases.c.project_id,
    leases.c.expires,
    sqlite_where=leases.c.is_out == 1,  # as in SQLite's queries; with another form the index is not used
    postgresql_where=leases.c.is_out,
)

owner_actions = Table(  # actions of owners that are not events; append-only
    "owner_actions",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("item_id", Id, ForeignKey("items.id")),  # null: of the project
    Column("kind", String(20), nullable=False),  # create, change, pool, close-open, withdraw, restore, clear, gold
    Column("who", String(60), nullable=False),  # the account; empty: unknown
    Column("time", Double, nullable=False),
    Column("body", Text, nullable=False),  # JSON
)
Index("ix_owner_actions_project", owner_actions.c.project_id, owner_actions.c.id)
Index("ix_owner_actions_item", owner_actions.c.item_id)
_append_only(owner_actions)

image_reports = Table(  # who could not see an item's image, and when; append-only
    "image_reports",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("item_id", Id, ForeignKey("items.id"), nullable=False),
    Column("voter", String(60), nullable=False),
    Column("time", Double, nullable=False),
)
Index("ix_image_reports_item_id", image_reports.c.item_id)
Index("ix_image_reports_project_id_voter", image_reports.c.project_id, image_reports.c.voter)

tasks = Table(  # background work, done by one worker at a time
    "tasks",
    metadata,
    Column("project_id", String(40), ForeignKey("projects.id"), primary_key=True),
    Column("task", String(20), primary_key=True),  # learn, control, stats, people, demo
    Column("holder", String(40), nullable=False, server_default=""),
    Column("until", Double, nullable=False, server_default="0"),
    Column("state", Text, nullable=False, server_default="{}"),  # JSON
)

# -- projects whose front end is another tool --------------------------------------------------------------------------

connections = Table(  # at most one for each project: the project in the other tool
    "connections",
    metadata,
    Column("project_id", String(40), ForeignKey("projects.id"), primary_key=True),
    Column("kind", String(20), nullable=False),  # label-studio
    Column("url", Text, nullable=False),
    Column("remote_id", BigInteger, nullable=False),  # the project's id there
    Column("options", Text, nullable=False),  # JSON: how to read it (connect/label_studio/settings.py); no secrets
    Column("original", Text, nullable=False),  # JSON: the project's original settings, needed to disconnect
    Column("people", Text, nullable=False, server_default="{}"),  # JSON: user id there -> the voter's name here, fixed
    Column("webhook_id", BigInteger),  # our webhook's id there
    Column("secret", String(64)),  # digest of the secret that the webhook must send
    Column("created", Double, nullable=False),
    Column("ended", Double),  # when disconnecting began
    Column("read", Double),  # when all tasks were last read
    Column("reread", Boolean, nullable=False, server_default=text("false")),  # all tasks should be read soon
    Column("problem", Text),  # why syncing stopped, or what could not be used
)

remote_tasks = Table(  # tasks that we may have changed
    "remote_tasks",
    metadata,
    Column("project_id", String(40), ForeignKey("projects.id"), primary_key=True),
    Column("task_id", BigInteger, primary_key=True, autoincrement=False),
    Column("original", Text, nullable=False),  # JSON: its state before we changed it
    Column("changed", Double),  # when a webhook reported a change that is not read yet
)
_partial("ix_remote_tasks_changed", remote_tasks.c.project_id, where=remote_tasks.c.changed.is_not(None))

requests = Table(  # idempotency keys of writes that are not votes
    "requests",
    metadata,
    Column("principal", String(60), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("content", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("created", Double, nullable=False),
)

uploads = Table(
    "uploads",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("media_type", String(40), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created", Double, nullable=False),
    UniqueConstraint("project_id", "digest"),
)

# -- who may act -----------------------------------------------------------------------------------------------------

accounts = Table(
    "accounts",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", Text, nullable=False),
    Column("may_create", Boolean, nullable=False, server_default=text("false")),  # projects
    Column("created", Double, nullable=False),
    Column("disabled", Double),
)

memberships = Table(
    "memberships",
    metadata,
    Column("project_id", String(40), ForeignKey("projects.id"), primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id"), primary_key=True),
    Column("role", String(10), nullable=False),  # owner, senior, voter, reader
    Column("created", Double, nullable=False),
    Column("removed", Double),
)
Index("ix_memberships_account", memberships.c.account_id)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id"), nullable=False),
    Column("project_id", String(40), ForeignKey("projects.id")),  # null: every project of the account
    Column("name", Text, nullable=False),
    Column("start", String(12), nullable=False),  # first characters, to recognise it
    Column("digest", String(64), nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("used", Double),
    Column("revoked", Double),
)

links = Table(  # they work once: for the first owner, or another device
    "links",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id")),  # null: it creates the first owner
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("used", Double),
    Column("made_by", String(40)),  # the account that made it; null: the operator
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("role", String(10), nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("most_uses", Integer),
    Column("uses", Integer, nullable=False, server_default="0"),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("revoked", Double),
)

sign_ins = Table(  # one for each signed cookie
    "sign_ins",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id"), nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("revoked", Double),
    Column("signed_in_by", String(120), nullable=False),  # access/log.py
)

browsers = Table(  # the accounts that signed in with a browser, so that a returning person keeps the account
    "browsers",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id"), primary_key=True),
    Column("signed_in_by", String(120), nullable=False),  # how it first signed in (access/log.py)
    Column("seen", Double, nullable=False),
    Column("ended", Double),  # signed out everywhere, or disabled: it no longer signs anybody in
)
Index("ix_browsers_account_id", browsers.c.account_id)

access_log = Table(  # append-only, like `events`; no foreign keys, so that a line locks no row of another table
    "access_log",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("time", Double, nullable=False),
    Column("kind", String(30), nullable=False),  # access/log.py: Kind
    Column("project_id", String(40)),  # null: it concerns all projects of the account
    Column("account_id", String(40)),  # the account it is about
    Column("made_by", String(40)),  # the account that did it; null: the operator
    Column("body", Text, nullable=False),  # JSON: details
    sqlite_autoincrement=True,
)
Index("ix_access_log_project", access_log.c.project_id, access_log.c.id)
Index("ix_access_log_account", access_log.c.account_id, access_log.c.id)
_append_only(access_log)

secrets = Table(
    "secrets",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    Column("created", Double, nullable=False),
)

attempts = Table(  # rate limits, shared by the workers: a bucket of tokens per key
    "attempts",
    metadata,
    Column("key", String(120), primary_key=True),
    Column("tokens", Double, nullable=False),
    Column("time", Double, nullable=False),
)

# -- webhooks --------------------------------------------------------------------------------------------------------

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("project_id", String(40), ForeignKey("projects.id"), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("kinds", Text, nullable=False),  # JSON: list of event kinds
    Column("created", Double, nullable=False),
    Column("removed", Double),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("webhook_id", String(40), ForeignKey("webhooks.id"), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("body", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("due", Double, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("delivered", Double),
    Column("failed", Double),  # given up
    Column("problem", Text),
)
pending = deliveries.c.delivered.is_(None) & deliveries.c.failed.is_(None)
_partial("ix_deliveries_due", deliveries.c.due, where=pending)
