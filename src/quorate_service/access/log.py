"""The access log: sign-ins, links, roles, keys, exports, changes of settings. Append-only.

`note` writes a line in the transaction of the change it records, so neither exists without the other. The database
refuses to change or delete lines. Called by everything that grants or uses access; owners read it by `lines_of`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, insert, or_, select

from quorate_service.store.bulk import in_batches
from quorate_service.store.schema import access_log, accounts, memberships, owner_actions

Kind = Literal[
    "account disabled", "account enabled", "export", "invitation made", "invitation revoked", "key made", "key revoked",
    "link made", "member removed", "project made", "role", "settings", "sign-in", "webhook made", "webhook removed",
]  # fmt: skip

OWN_LINK = "own link"
OPERATORS_LINK = "link by the operator"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line. `made_by`: the account that did it; None: the operator, on the command line."""

    id: int
    time: float
    kind: str
    account_id: str | None
    account_name: str | None
    made_by: str | None
    made_by_name: str | None
    details: dict[str, Any]


def note(
    connection: Connection,
    kind: Kind,
    *,
    project_id: str | None = None,
    account_id: str | None = None,
    by: str | None,
    now: float,
    **details: object,
) -> None:
    """Write a line, within the transaction of the change it records. `project_id` None: it concerns all projects."""
    row = {"time": now, "kind": kind, "project_id": project_id, "account_id": account_id, "made_by": by}
    connection.execute(insert(access_log).values(row | {"body": json.dumps(details)}))


def lines_of(connection: Connection, project_id: str, *, before: int | None = None, limit: int = 100) -> list[LogEntry]:
    """The lines that an owner of a project may see, the newest first: those of the project, and those of whole accounts
    while they are members. `before`: the id of the last line of the page before."""
    query = _lines(project_id).order_by(access_log.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(access_log.c.id < before)
    return _entries(connection, connection.execute(query).all())


def all_lines(connection: Connection, project_id: str) -> Iterator[LogEntry]:
    """All lines of `lines_of`, the oldest first, in bounded memory."""
    for rows in in_batches(connection, _lines(project_id), access_log.c.id):
        yield from _entries(connection, rows)


def _lines(project_id: str) -> Select[Any]:
    whom, doer = accounts.alias(), accounts.alias()
    here = and_(memberships.c.project_id == project_id, memberships.c.account_id == access_log.c.account_id)
    of_member = and_(access_log.c.project_id.is_(None), _is_member_then())
    joined = (
        access_log.outerjoin(memberships, here)
        .outerjoin(whom, whom.c.id == access_log.c.account_id)
        .outerjoin(doer, doer.c.id == access_log.c.made_by)
    )
    names = (whom.c.name.label("account_name"), doer.c.name.label("made_by_name"))
    return select(access_log, *names).select_from(joined).where(or_(access_log.c.project_id == project_id, of_member))


def _is_member_then() -> ColumnElement[bool]:
    """Whether the account was a member of the project when the line was written; owners see no other lines."""
    left = or_(memberships.c.removed.is_(None), memberships.c.removed >= access_log.c.time)
    return and_(memberships.c.created <= access_log.c.time, left)


def _entries(connection: Connection, rows: Sequence[Row[Any]]) -> list[LogEntry]:
    """The lines; those that refer to an owner's action get its new settings (older lines contain them)."""
    details = {row.id: json.loads(row.body) for row in rows}
    actions = {detail["action"] for detail in details.values() if "action" in detail}
    query = select(owner_actions.c.id, owner_actions.c.body).where(owner_actions.c.id.in_(actions))
    changes = {row.id: json.loads(row.body) for row in connection.execute(query)} if actions else {}
    return [
        LogEntry(
            id=row.id, time=row.time, kind=row.kind, account_id=row.account_id, account_name=row.account_name,
            made_by=row.made_by, made_by_name=row.made_by_name,
            details={"changed": changes[entry["action"]]} if "action" in (entry := details[row.id]) else entry,
        )
        for row in rows
    ]  # fmt: skip
