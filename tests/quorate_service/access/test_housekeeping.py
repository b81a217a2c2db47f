"""Rows that ended long ago are deleted; others stay."""

from sqlalchemy import func, select

from quorate_service.access import cookies, credentials
from quorate_service.background import delete_access
from quorate_service.store import schema
from tests.quorate_service.access.conftest import NOW

DAY = 86400.0


def test_links_and_sign_ins_are_deleted_a_month_after_their_end(world):
    credentials.sign_in_link(world.store, world.voter, "http://x", now=NOW)
    with world.store.write() as connection:
        kept = cookies.open_sign_in(connection, world.voter, how="test", now=NOW)
        ended = cookies.open_sign_in(connection, world.voter, how="test", now=NOW)
    cookies.sign_out(world.store, ended, now=NOW)
    assert delete_access(world.store, now=NOW + 29 * DAY) == 0
    assert delete_access(world.store, now=NOW + 31 * DAY) == 2
    with world.store.read() as connection:
        assert connection.scalar(select(func.count()).select_from(schema.sign_ins)) == 1
    assert delete_access(world.store, now=NOW + cookies.IDLE + 31 * DAY) == 1
    assert kept
