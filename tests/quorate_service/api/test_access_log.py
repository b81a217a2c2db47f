"""Each event stores how its author signed in; the access log shows owners who got access, and from whom."""

import csv
import io
import json

from sqlalchemy import select

from quorate_service.access import accounts, credentials, invitations
from quorate_service.access.credentials import sign_in_link
from quorate_service.store.schema import events
from tests.quorate_service.api.conftest import rows_of


def log(world, who="owner", **params):
    return world.client(who).api("GET", f"/projects/{world.here}/access-log", 200, params=params).json()


def kinds(world):
    """The actions of each person in the log, the oldest first."""
    names = {account: name for name, account in world.ids.items()}
    return [(line["kind"], names.get(line["made_by"])) for line in reversed(log(world)["items"])]


def vote(world, client, item):
    client.api("POST", f"/projects/{world.here}/next", 200, json={"count": 5})
    client.api("POST", f"/projects/{world.here}/votes", 200, json={"item": item, "label": "cat"})


def stored(world):
    query = select(events.c.voter, events.c.signed_in_by, events.c.body).where(events.c.kind == "vote")
    with world.store.read() as connection:
        return connection.execute(query.order_by(events.c.id)).all()


def test_other_ways_to_sign_in_are_told_apart(world):
    world.items("a", "b", "c")
    _, invitation = invitations.create_invitation(
        world.store, world.here, "", role="voter", name="i", by=world.ids["owner"], now=world.clock.now
    )
    made = invitations.list_invitations(world.store, world.here)[0].id
    page = world.client()
    page.headers["Sec-Fetch-Site"] = "same-origin"
    page.post(invitation, data={"name": "Ada"})
    vote(world, page, "a")
    vote(world, world.client("voter"), "a")
    world.client("owner").api(
        "POST", f"/projects/{world.here}/votes", 200, json={"item": "b", "label": "cat", "voter": "outside"}
    )
    key_of = {name: credentials.list_keys(world.store, account)[0].id for name, account in world.ids.items()}
    assert [row.signed_in_by for row in stored(world)] == [
        f"invitation {made}", f"key {key_of['voter']}", f"sent by {world.ids['owner']}, key {key_of['owner']}",
    ]  # fmt: skip


def test_every_access_and_export_is_logged(world):
    owner, here, other = world.client("owner"), f"/projects/{world.here}", world.ids["other"]
    before = len(log(world)["items"])
    opened_by(world, "voter")
    owner.api("PUT", f"{here}/members", 200, json={"account_id": other, "role": "reader"})
    owner.api("DELETE", f"{here}/members/{other}", 204)
    invited = owner.api("POST", f"{here}/invitations", 201, json={"name": "i"}).json()["id"]
    owner.api("DELETE", f"{here}/invitations/{invited}", 204)
    key = owner.api("POST", "/keys", 201, json={"name": "k", "project_id": world.here}).json()["id"]
    owner.api("DELETE", f"/keys/{key}", 204)
    owner.api("PATCH", here, 200, json={"settings": {"lease_seconds": 77}})
    hook = {"url": "https://example.org/", "kinds": ["item.completed"]}
    made = owner.api("POST", f"{here}/webhooks", 201, json=hook).json()["id"]
    owner.api("DELETE", f"{here}/webhooks/{made}", 204)
    world.client("reader").api("GET", f"{here}/export", 200, params={"what": "votes"})
    lines = kinds(world)[before:]
    assert lines == [
        ("link made", None), ("sign-in", "voter"), ("role", "owner"), ("member removed", "owner"),
        ("invitation made", "owner"), ("invitation revoked", "owner"), ("key made", "owner"), ("key revoked", "owner"),
        ("settings", "owner"), ("webhook made", "owner"), ("webhook removed", "owner"), ("export", "reader"),
    ]  # fmt: skip
    details = {line["kind"]: line["details"] for line in log(world)["items"][: len(lines)]}
    assert details["sign-in"] == {"how": "link by the operator"}
    assert details["role"] == {"role": "reader", "before": "voter"}
    assert details["settings"] == {"changed": {"lease_seconds": 77}}
    assert details["export"] == {"what": "votes", "format": "jsonl"}


def test_the_log_is_read_in_pages_and_as_a_file(world):
    whole = log(world)["items"]
    first = log(world, limit=2)
    assert first["items"] == whole[:2]
    assert log(world, limit=500, cursor=first["next"])["items"] == whole[2:]
    path = f"/projects/{world.here}/access-log/export"
    rows = rows_of(world.client("owner").api("GET", path, 200))
    assert [row["line"] for row in rows[:-1]] == [line["id"] for line in reversed(whole)]
    assert (rows[-1]["kind"], json.loads(rows[-1]["details"])["what"]) == ("export", "access-log")
    text = world.client("owner").api("GET", path, 200, params={"format": "csv"}).text
    assert [row["line"] for row in csv.DictReader(io.StringIO(text))][: len(rows)] == [str(row["line"]) for row in rows]


def test_an_owner_reads_of_a_whole_account_only_while_it_is_a_member(world):
    """A member's key for all projects is logged; nothing from before they joined, after they left, or of others."""
    account, now = world.ids["stranger"], world.clock.now

    def seen():
        return [line["time"] for line in log(world)["items"] if line["account_id"] == account]

    credentials.create_key(world.store, account, name="secret plan", by=account, now=now + 1)
    accounts.add_member(world.store, world.here, account, role="voter", now=now + 2)
    credentials.create_key(world.store, account, name="secret plan", by=account, now=now + 3)
    credentials.create_key(world.store, account, name="secret plan", project_id=world.there, by=account, now=now + 4)
    accounts.remove_member(world.store, world.here, account, now=now + 5)
    credentials.create_key(world.store, account, name="secret plan", by=account, now=now + 6)
    assert seen() == [now + 5, now + 3, now + 2]
    assert "secret plan" not in json.dumps(log(world))


def opened_by(world, person):
    """A browser in which somebody used a link."""
    page = world.client()
    page.headers["Sec-Fetch-Site"] = "same-origin"
    link = sign_in_link(world.store, world.ids[person], "", now=world.clock.now)
    assert page.post(link).status_code == 200
    return page
