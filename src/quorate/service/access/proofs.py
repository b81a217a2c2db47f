"""Proofs of who is calling (a key, a cookie) -> the accounts they stand for: a statement a kind, however many come.

Read anew for every request, so that what is revoked ends at once, on every worker. Called by `principal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, Select, Table, select

from quorate.service.access.accounts import Role
from quorate.service.store.lists import among
from quorate.service.store.schema import accounts, api_keys, memberships, sign_ins
from quorate.service.store.store import Store


@dataclass(frozen=True, slots=True)
class Proof:
    """What a request shows. `project_id`: where its role is asked for. `key_id`: the key a cookie was made with."""

    kind: Literal["key", "cookie"]
    digest: str
    project_id: str
    key_id: str = ""


def _statement(table: Table, *columns: Any) -> Select[Any]:  # noqa: ANN401
    here = (memberships.c.account_id == accounts.c.id) & among(memberships.c.project_id, "projects")
    joined = table.join(accounts).outerjoin(memberships, here & memberships.c.removed.is_(None))
    who = (accounts.c.id, accounts.c.name, accounts.c.may_create, memberships.c.role)
    proof = (among(table.c.digest, "digests"), table.c.revoked.is_(None), accounts.c.disabled.is_(None))
    where = memberships.c.project_id.label("member_of")
    return select(table.c.digest, where, *who, *columns).select_from(joined).where(*proof)


STATEMENTS = {
    "key": _statement(api_keys, api_keys.c.id.label("key_id"), api_keys.c.project_id, api_keys.c.used),
    "cookie": _statement(
        sign_ins, sign_ins.c.project_id, sign_ins.c.created, sign_ins.c.expires, sign_ins.c.signed_in_by
    ),
}
REVOKED = select(api_keys.c.id).where(among(api_keys.c.id, "ids"))
REVOKED = REVOKED.where(api_keys.c.revoked.is_not(None))


class Known(NamedTuple):
    """An account that a proof stands for, as it was read, and its role in the proof's project: None if none there, or
    if the proof (`row.project_id`) opens another project only."""

    row: Row[Any]
    role: Role | None


def look_up(store: Store, proofs: Sequence[Proof]) -> list[Known | None]:
    """For each proof whom it stands for; None if it proves nothing."""
    found: dict[tuple[str, str], list[Row[Any]]] = {}
    with store.look() as connection:
        for kind, statement in STATEMENTS.items():
            asked = [proof for proof in proofs if proof.kind == kind]
            if asked:
                digests = sorted({proof.digest for proof in asked})
                values = {"digests": digests, "projects": sorted({proof.project_id for proof in asked})}
                for row in connection.execute(statement, values).all():
                    found.setdefault((kind, row.digest), []).append(row)
        revoked = _revoked(connection, proofs)
    return [
        None if proof.key_id in revoked else _known(proof, found.get((proof.kind, proof.digest), []))
        for proof in proofs
    ]


def _revoked(connection: Connection, proofs: Sequence[Proof]) -> set[str]:
    """Which of the keys that cookies were made with are revoked."""
    ids = sorted({proof.key_id for proof in proofs if proof.key_id})
    return set(connection.execute(REVOKED, {"ids": ids}).scalars()) if ids else set()


def _known(proof: Proof, rows: Sequence[Row[Any]]) -> Known | None:
    """One row for each project asked about that the account is a member of; one without a role if of none."""
    if not rows:
        return None
    here = [row for row in rows if row.member_of == proof.project_id and row.project_id in (None, row.member_of)]
    return Known(here[0], here[0].role) if here else Known(rows[0], None)
