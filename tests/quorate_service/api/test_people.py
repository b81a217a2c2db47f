"""Members, invitations, keys, sign-out over HTTP."""

from quorate_service.access import credentials, invitations


def test_members_are_listed_added_and_removed(world):
    owner = world.client("owner")
    path = f"/projects/{world.here}/members"
    assert len(owner.api("GET", path, 200).json()["items"]) == 5
    page = owner.api("GET", path, 200, params={"limit": 3}).json()
    rest = owner.api("GET", path, 200, params={"limit": 3, "cursor": page["next"]}).json()
    assert len(page["items"]) == 3 and len(rest["items"]) == 2 and rest["next"] is None
    owner.api("PUT", path, 200, json={"account_id": world.ids["stranger"], "role": "reader"})
    assert world.client("stranger").api("GET", f"/projects/{world.here}/stats", 200)
    owner.api("DELETE", f"{path}/{world.ids['stranger']}", 204)
    world.client("stranger").api("GET", f"/projects/{world.here}/stats", 404)
    assert "only owner" in owner.api("DELETE", f"{path}/{world.ids['owner']}", 403).json()["detail"]
    owner.api("PUT", path, 404, json={"account_id": "nobody", "role": "reader"})


def test_an_invitation_s_link_is_shown_once_and_can_be_revoked(world):
    owner = world.client("owner")
    path, head = f"/projects/{world.here}/invitations", {"Idempotency-Key": "i"}
    made = owner.api("POST", path, 201, json={"name": "night shift", "most_uses": 3}, headers=head).json()
    assert made["link"].startswith("http://testserver/join/")
    token = made["link"].rpartition("/")[2]
    assert invitations.look(world.store, token, now=world.clock.now).invitation.id == made["id"]
    again = owner.api("POST", path, 201, json={"name": "night shift", "most_uses": 3}, headers=head).json()
    assert again == made | {"link": None}
    assert token not in owner.api("GET", path, 200).text
    owner.api("DELETE", f"{path}/{made['id']}", 204)
    assert owner.api("GET", path, 200).json()["items"][0]["revoked"] == world.clock.now
    owner.api("DELETE", f"{path}/nothing", 404)


def test_a_key_is_shown_once_never_kept_and_can_be_revoked(world):
    voter = world.client("voter")
    head = {"Idempotency-Key": "k"}
    made = voter.api("POST", "/keys", 201, json={"name": "script"}, headers=head).json()
    again = voter.api("POST", "/keys", 201, json={"name": "script"}, headers=head).json()
    assert made["secret"].startswith("qk_") and again == made | {"secret": None}
    with world.store.read() as connection:
        kept = connection.exec_driver_sql("SELECT body FROM requests").scalars().all()
        rows = connection.exec_driver_sql("SELECT * FROM api_keys").all()
    assert kept and made["secret"] not in str([*kept, *rows])
    auth = {"Authorization": f"Bearer {made['secret']}"}
    assert voter.api("GET", "/me", 200, headers=auth).json()["account_id"] == world.ids["voter"]
    assert made["secret"] not in voter.api("GET", "/keys", 200).text
    voter.api("DELETE", f"/keys/{made['id']}", 204)
    voter.api("GET", "/me", 401, headers=auth)
    mine = credentials.list_keys(world.store, world.ids["owner"])[0]
    voter.api("DELETE", f"/keys/{mine.id}", 404)


def test_keys_are_only_made_for_the_callers_projects(world):
    world.client("voter").api("POST", "/keys", 404, json={"name": "x", "project_id": world.there})


def test_signing_out_with_a_key_changes_nothing(world):
    voter = world.client("voter")
    voter.api("POST", "/sign-out", 204)
    voter.api("GET", "/me", 200)
