"""Members, invitations, keys, sign-out over HTTP."""

from quorate.service.access import accounts, cookies, credentials, invitations
from quorate.service.access import cookies as signing


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


def test_a_member_who_lost_their_browser_returns_by_a_link_that_is_shown_once(world):
    owner, head = world.client("owner"), {"Idempotency-Key": "again"}
    path = f"/projects/{world.here}/members/{world.ids['voter']}/link"
    made = owner.api("POST", path, 201, headers=head).json()
    assert made["expires"] == world.clock.now + credentials.MEMBER_LASTS
    assert owner.api("POST", path, 201, headers=head).json() == made | {"link": None}
    token = made["link"].removeprefix("http://testserver/link/")
    assert credentials.use_link(world.store, token, now=world.clock.now).account_id == world.ids["voter"]
    owner.api("POST", f"/projects/{world.here}/members/{world.ids['owner']}/link", 403)
    owner.api("POST", f"/projects/{world.here}/members/{world.ids['stranger']}/link", 404)


def test_a_key_for_one_project_makes_such_links_there(world):
    _, secret = credentials.create_key(
        world.store, world.ids["owner"], name="k", project_id=world.here, now=world.clock.now
    )
    path = f"/projects/{world.here}/members/{world.ids['voter']}/link"
    world.client().api("POST", path, 201, headers={"Authorization": f"Bearer {secret}"})


def opened_by(world, link):
    """A client that is signed in by a link."""
    session_id = credentials.use_link(world.store, link.rpartition("/")[2], now=world.clock.now).session_id
    client = world.client()
    client.cookies.set(cookies.NAME, signing.sign(signing.signing_key(world.store, now=world.clock.now), session_id))
    client.headers["X-CSRF-Token"] = client.get("/sign-in/token").json()["token"]
    return client


def test_an_owner_who_opens_a_voter_s_link_does_not_follow_them_into_other_projects(world):
    path = f"/projects/{world.here}/members/{world.ids['voter']}/link"
    kept = opened_by(world, world.client("owner").api("POST", path, 201).json()["link"])
    for project in (None, world.here):
        kept.api("POST", "/keys", 403, json={"name": "for ever", "project_id": project})
    kept.api("GET", "/keys", 403)
    kept.api("DELETE", f"/keys/{credentials.list_keys(world.store, world.ids['voter'])[0].id}", 403)
    accounts.add_member(world.store, world.there, world.ids["voter"], role="reader", now=world.clock.now)
    world.client("voter").api("GET", f"/projects/{world.there}/stats", 200)
    for end in ("", "/stats", "/items", "/decisions"):
        kept.api("GET", f"/projects/{world.there}{end}", 404)
    assert [each["id"] for each in kept.api("GET", "/projects", 200).json()["items"]] == [world.here]
    me = kept.api("GET", "/me", 200).json()
    assert (me["account_id"], me["via"], me["key_project"]) == (world.ids["voter"], "cookie", world.here)


def test_a_returning_member_votes_as_the_same_person(world):
    world.items("a")
    path = f"/projects/{world.here}/members/{world.ids['voter']}/link"
    kept = opened_by(world, world.client("owner").api("POST", path, 201).json()["link"])
    vote = {"item": "a", "label": "cat"}
    kept.api("POST", f"/projects/{world.here}/next", 200, json={"count": 1})
    kept.api("POST", f"/projects/{world.here}/votes", 200, json=vote)
    assert kept.api("GET", f"/projects/{world.here}", 200).json()["acted"] == 1
    assert world.client("voter").api("GET", f"/projects/{world.here}", 200).json()["acted"] == 1
    accounts.add_member(world.store, world.here, world.ids["voter"], role="owner", now=world.clock.now)
    kept.api("POST", f"/projects/{world.here}/votes", 403, json=vote)
    kept.api("GET", f"/projects/{world.here}/members", 403)
    kept.api("PUT", f"/projects/{world.here}/members", 403, json={"account_id": world.ids["other"], "role": "owner"})


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
    assert kept and all(made["secret"] not in body for body in kept)
    auth = {"Authorization": f"Bearer {made['secret']}"}
    assert voter.api("GET", "/me", 200, headers=auth).json()["account_id"] == world.ids["voter"]
    assert made["secret"] not in voter.api("GET", "/keys", 200).text
    voter.api("DELETE", f"/keys/{made['id']}", 204)
    voter.api("GET", "/me", 401, headers=auth)
    mine = credentials.list_keys(world.store, world.ids["owner"])[0]
    voter.api("DELETE", f"/keys/{mine.id}", 404)


def test_keys_are_only_made_for_the_callers_projects(world):
    world.client("voter").api("POST", "/keys", 404, json={"name": "x", "project_id": world.there})


def test_signing_out_with_a_key_changes_nothing(small):
    voter = small.client("voter")
    voter.api("POST", "/sign-out", 204)
    voter.api("GET", "/me", 200)


def test_owners_see_figures_of_everybody_and_voters_only_their_own_accuracy(small):
    here, owner, voter = f"/projects/{small.here}", small.client("owner"), small.client("voter")
    assert owner.api("GET", f"{here}/people", 200).json()["people"] == []
    owner.api("POST", f"{here}/items", 200, json={"items": [{"id": f"g{n}", "gold": "cat"} for n in range(4)]})
    for number, person in enumerate(("secret-anna", "secret-bert")):
        for item in range(4):
            vote = {"item": f"g{item}", "label": "cat" if item >= number else "dog", "voter": person}
            owner.api("POST", f"{here}/votes", 200, json=vote)
    small.app.state.steward.hold(small.here, "people")
    small.app.state.steward.compute_people(small.here)
    told = owner.api("GET", f"{here}/people", 200).json()
    assert [(each["name"], each["gold_right"], each["gold_answers"]) for each in told["people"]] == [
        ("secret-anna", 4, 4),
        ("secret-bert", 3, 4),
    ]
    assert voter.api("GET", f"{here}/people").status_code == 403
    assert "gold" not in voter.api("GET", here, 200).text
