"""Rows of `access` that no longer mean anything are deleted: called now and then, off the request path."""

from __future__ import annotations

from sqlalchemy import delete

from quorate.service.access.cookies import LONGEST
from quorate.service.store.schema import attempts, browsers, links, sign_ins
from quorate.service.store.store import Store

DAY = 86400.0


def sweep(store: Store, *, now: float) -> int:
    """Delete full buckets, links and sign-ins that ended a month ago, forgotten browsers; how many rows went."""
    month_ago = now - 30 * DAY
    old = (
        delete(attempts).where(attempts.c.time < now - DAY),
        delete(browsers).where(browsers.c.seen < now - LONGEST),
        delete(links).where(links.c.expires < month_ago),
        delete(sign_ins).where((sign_ins.c.expires < month_ago) | (sign_ins.c.revoked < month_ago)),
    )
    with store.write() as connection:
        return sum(connection.execute(statement).rowcount for statement in old)
