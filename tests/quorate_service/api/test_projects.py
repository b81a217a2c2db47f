"""Projects over HTTP: created once per key, listed in pages, shown by role, changed."""

from sqlalchemy import func, select

from quorate_service.domain.webhooks import create_webhook
from quorate_service.store.schema import deliveries

SETTINGS = {"classes": ["cat", "dog"], "pool_size": 5}


def test_a_project_is_created_shown_and_changed(world):
    owner = world.client("owner")
    made = owner.api("POST", "/projects", 201, json={"name": "scans", "settings": SETTINGS | {"price": 0.9}}).json()
    assert made["role"] == "owner" and made["settings"]["price"] == 0.9 and made["counts"]["items"] == 0
    path = f"/projects/{made['id']}"
    assert owner.api("GET", path, 200).json() == made
    change = {"name": "X-rays", "state": "paused", "settings": {"price": 0.0, "budget": 2.5}}
    changed = owner.api("PATCH", path, 200, json=change).json()
    assert (changed["name"], changed["state"], changed["settings"]["budget"]) == ("X-rays", "paused", 2.5)
    assert changed["settings"]["price"] == 0.0
    refused = owner.api("PATCH", path, 422, json={"settings": {"method": "until-settled"}}).json()
    assert "cannot change" in refused["detail"]
    owner.api("PATCH", path, 422, json={"settings": {"classes": ["a", "b"]}})


def test_the_same_key_makes_one_project_and_other_content_is_refused(world):
    owner = world.client("owner")
    head = {"Idempotency-Key": "make"}
    first = owner.api("POST", "/projects", 201, json={"name": "a", "settings": SETTINGS}, headers=head)
    again = owner.api("POST", "/projects", 201, json={"name": "a", "settings": SETTINGS}, headers=head)
    assert first.json() == again.json() and again.headers["idempotency-replayed"] == "true"
    owner.api("POST", "/projects", 409, json={"name": "b", "settings": SETTINGS}, headers=head)
    names = [each["name"] for each in owner.api("GET", "/projects", 200).json()["items"]]
    assert sorted(names) == ["a", "pets"]


def test_a_key_whose_request_was_refused_can_be_used_for_the_corrected_one(world):
    owner = world.client("owner")
    head = {"Idempotency-Key": "k"}
    owner.api("PATCH", f"/projects/{world.here}", 422, json={"settings": {"method": "random"}}, headers=head)
    owner.api("PATCH", f"/projects/{world.here}", 200, json={"name": "fine"}, headers=head)


def test_the_list_comes_in_pages_and_a_key_for_one_project_lists_that(world):
    owner = world.client("owner")
    made = {world.here} | {world.project(f"p{n}", owner="owner") for n in range(4)}
    seen, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = owner.api("GET", "/projects", 200, params=params).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(seen) == 5 and set(seen) == made
    key = owner.api("POST", "/keys", 201, json={"name": "one", "project_id": sorted(made)[3]}).json()["secret"]
    told = owner.api("GET", "/projects", 200, params={"limit": 1}, headers={"Authorization": f"Bearer {key}"}).json()
    assert [each["id"] for each in told["items"]] == [sorted(made)[3]]


def test_voters_see_what_they_choose_from_and_no_settings(world):
    world.items("x")
    told = world.client("voter").api("GET", f"/projects/{world.here}", 200).json()
    assert told["classes"] == ["cat", "dog", "bird"] and told["settings"] is None and told["counts"] is None
    assert world.client("reader").api("GET", f"/projects/{world.here}", 200).json()["counts"]["open"] == 1


def test_cursors_that_are_not_ours_are_refused(world):
    owner = world.client("owner")
    for cursor in ("x", "%%%", "W10", "MTI", "", "InAAIg", "bnVsbA", "1e9999"):
        answer = owner.api("GET", f"/projects/{world.here}/members", params={"cursor": cursor})
        assert answer.status_code in (200, 422), cursor
    assert owner.api("GET", "/projects", 422, params={"cursor": "MTI"}).json()["field"] == "cursor"


def test_limits_that_make_no_sense_are_refused_with_the_fix(world):
    owner, path = world.client("owner"), f"/projects/{world.here}"
    assert owner.api("PATCH", path, 422, json={"settings": {"max_votes": 0}}).json()["field"] == "settings.max_votes"
    told = owner.api("PATCH", path, 422, json={"settings": {"min_votes": 3, "pool_size": 2}}).json()
    assert (told["field"], told["value"]) == ("min_votes", 3) and "pool_size" in told["fix"]


def test_an_empty_change_is_not_reported(world):
    with world.store.read() as connection:
        before = connection.execute(select(func.count()).select_from(deliveries)).scalar_one()
    create_webhook(world.store, world.here, "https://example.org/x", ["project.changed"], allow_private=False, now=1.0)
    owner = world.client("owner")
    owner.api("PATCH", f"/projects/{world.here}", 200, json={})
    owner.api("PATCH", f"/projects/{world.here}", 200, json={"settings": {}})
    with world.store.read() as connection:
        assert connection.execute(select(func.count()).select_from(deliveries)).scalar_one() == before
    owner.api("PATCH", f"/projects/{world.here}", 200, json={"name": "Other"})
    with world.store.read() as connection:
        assert connection.execute(select(func.count()).select_from(deliveries)).scalar_one() == before + 1


def test_a_limit_holds_for_items_added_from_then_on(world):
    world.items("before")
    owner, path = world.client("owner"), f"/projects/{world.here}"
    owner.api("PATCH", path, 200, json={"settings": {"max_votes": 1}})
    world.items("after")
    asked = {}
    for item in ("before", "after"):
        vote = {"item": item, "label": "cat", "voter": "ada"}
        asked[item] = owner.api("POST", f"{path}/votes", 200, json=vote).json()["decision"]["ask"]
    assert asked == {"before": True, "after": False}


def test_a_change_based_on_an_older_version_is_refused_with_both_values(world):
    owner, path = world.client("owner"), f"/projects/{world.here}"
    version = owner.api("GET", path, 200).json()["version"]
    size = owner.api("GET", path, 200).json()["settings"]["pool_size"]
    changed = owner.api("PATCH", path, 200, json={"version": version, "settings": {"pool_size": size + 2}}).json()
    assert changed["version"] == version + 1
    sent = {"version": version, "settings": {"price": 0.0, "pool_size": size + 1}}
    refused = owner.api("PATCH", path, 409, json=sent).json()
    assert (refused["field"], refused["value"]) == ("pool_size", size + 1) and str(size + 2) in refused["rule"]
    refused = owner.api("PATCH", path, 409, json={"version": version, "settings": {"price": 0.0}}).json()
    assert (refused["field"], refused["value"]) == ("version", version)
    now = owner.api("GET", path, 200).json()
    assert (now["version"], now["settings"]["pool_size"], now["name"]) == (version + 1, size + 2, changed["name"])
    assert (
        owner.api("PATCH", path, 200, json=sent | {"version": version + 1}).json()["settings"]["pool_size"] == size + 1
    )


def test_a_request_that_changes_nothing_makes_no_version(world):
    owner, path = world.client("owner"), f"/projects/{world.here}"
    before = owner.api("GET", path, 200).json()
    same = {"name": before["name"], "settings": {"pool_size": before["settings"]["pool_size"]}}
    assert owner.api("PATCH", path, 200, json=same).json()["version"] == before["version"]
