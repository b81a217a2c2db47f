"""Every route, as nobody, as another project's owner, as a voter, as a reader, as the owner: who gets in.

The routes are taken from the app, so a new one fails here until the table says who may use it.
"""

import pytest
from fastapi.routing import APIRoute

from tests.quorate_service.api.conftest import World
from tests.quorate_service.api.test_uploads import picture

PUBLIC = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/api/v1/openapi.json")}
ROLES = ("nobody", "stranger", "voter", "reader", "owner", "senior")
OWNER = (401, 404, 403, 403, "ok", 403)
VIEWER = (401, 404, 403, "ok", "ok", 403)
VOTING = (401, 404, "ok", 403, "ok", "ok")
SENIOR = (401, 404, 403, 403, "ok", "ok")
ANYONE = (401, 404, "ok", "ok", "ok", "ok")
SIGNED_IN = (401, "ok", "ok", "ok", "ok", "ok")
CREATOR = (401, 403, 403, 403, "ok", 403)
P = "/api/v1/projects/{project_id}"
TABLE = {
    ("POST", "/api/v1/projects"): CREATOR,
    ("GET", "/api/v1/projects"): SIGNED_IN,
    ("GET", P): ANYONE,
    ("PATCH", P): OWNER,
    ("POST", f"{P}/items"): OWNER,
    ("GET", f"{P}/items"): VIEWER,
    ("GET", f"{P}/item"): VIEWER,
    ("GET", f"{P}/item/trail"): VIEWER,
    ("POST", f"{P}/item/close"): OWNER,
    ("POST", f"{P}/item/clear"): OWNER,
    ("POST", f"{P}/item/withdraw"): OWNER,
    ("POST", f"{P}/item/restore"): OWNER,
    ("POST", f"{P}/item/ask-again"): OWNER,
    ("POST", f"{P}/item/gold"): OWNER,
    ("POST", f"{P}/pool"): OWNER,
    ("POST", f"{P}/close-open"): OWNER,
    ("GET", f"{P}/owner-actions"): VIEWER,
    ("POST", f"{P}/report-image"): VOTING,
    ("POST", f"{P}/next"): VOTING,
    ("POST", f"{P}/votes"): VOTING,
    ("POST", f"{P}/undo"): VOTING,
    ("POST", f"{P}/leave"): VOTING,
    ("GET", f"{P}/adjudication"): SENIOR,
    ("POST", f"{P}/verdicts"): SENIOR,
    ("GET", f"{P}/decisions"): VIEWER,
    ("GET", f"{P}/export"): VIEWER,
    ("GET", f"{P}/audit"): VIEWER,
    ("GET", f"{P}/stats"): VIEWER,
    ("GET", f"{P}/learning"): VIEWER,
    ("GET", f"{P}/access-log"): OWNER,
    ("GET", f"{P}/access-log/export"): OWNER,
    ("GET", f"{P}/people"): OWNER,
    ("GET", f"{P}/members"): OWNER,
    ("PUT", f"{P}/members"): OWNER,
    ("DELETE", f"{P}/members/{{account_id}}"): OWNER,
    ("GET", f"{P}/invitations"): OWNER,
    ("POST", f"{P}/invitations"): OWNER,
    ("DELETE", f"{P}/invitations/{{invitation_id}}"): OWNER,
    ("POST", f"{P}/uploads"): OWNER,
    ("GET", "/media/{project_id}/{upload_id}"): ANYONE,
    ("POST", f"{P}/webhooks"): OWNER,
    ("GET", f"{P}/webhooks"): OWNER,
    ("DELETE", f"{P}/webhooks/{{webhook_id}}"): OWNER,
    ("POST", f"{P}/webhooks/{{webhook_id}}/ping"): OWNER,
    ("GET", f"{P}/webhooks/{{webhook_id}}/deliveries"): OWNER,
    ("GET", "/api/v1/me"): SIGNED_IN,
    ("GET", "/api/v1/keys"): SIGNED_IN,
    ("POST", "/api/v1/keys"): SIGNED_IN,
    ("DELETE", "/api/v1/keys/{key_id}"): (401, 404, 404, 404, "ok", 404),
    ("POST", "/api/v1/sign-out"): SIGNED_IN,
    ("GET", "/metrics"): (403,) * 6,
}


def routes(app):
    """Every method and path of the API; pages, which have other tests, are outside /api, /media and health."""
    found = set()
    for route in _flat(app.routes):
        if isinstance(route, APIRoute) and route.path.startswith(
            ("/api/", "/media/", "/healthz", "/readyz", "/metrics")
        ):
            found |= {(method, route.path) for method in route.methods - {"HEAD", "OPTIONS"}}
    return found


def _flat(routes_):
    for route in routes_:
        inner = getattr(route, "original_router", None) or getattr(route, "app", None)
        if isinstance(route, APIRoute) or not hasattr(inner, "routes"):
            yield route
        else:
            yield from _flat(inner.routes)


def with_everything(folder):
    """A world whose project has something of everything; `parts` are their ids, as paths name them."""
    world = World(f"sqlite:///{folder / 'service.db'}")
    world.items("x", "y", "z/1", prediction={"cat": 0.123456})
    owner, here = world.client("owner"), f"/projects/{world.here}"
    made = {
        "upload_id": owner.api("POST", f"{here}/uploads", 201, content=picture("PNG")).json()["url"].rpartition("/")[2],
        "invitation_id": owner.api("POST", f"{here}/invitations", 201, json={"name": "i"}).json()["id"],
        "webhook_id": owner.api("POST", f"{here}/webhooks", 201, json={"url": "https://example.org"}).json()["id"],
    }
    world.parts = {"project_id": world.here, "account_id": world.ids["other"], **made}
    return world


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    world = with_everything(tmp_path_factory.mktemp("access"))
    world.parts["key_id"] = world.client("owner").api("POST", "/keys", 201, json={"name": "k"}).json()["id"]
    yield world
    world.store.close()


BODIES = {
    ("POST", "/api/v1/projects"): {"name": "n", "settings": {"classes": ["a", "b"], "pool_size": 3}},
    ("PATCH", P): {"name": "n"},
    ("POST", f"{P}/items"): {"items": [{"id": "new"}]},
    ("POST", f"{P}/item/close"): {"id": "y"},
    ("POST", f"{P}/item/clear"): {"id": "y"},
    ("POST", f"{P}/item/withdraw"): {"id": "y"},
    ("POST", f"{P}/item/restore"): {"id": "y"},
    ("POST", f"{P}/item/ask-again"): {"id": "y"},
    ("POST", f"{P}/item/gold"): {"id": "y", "gold": "cat"},
    ("POST", f"{P}/pool"): {"pool_size": 3},
    ("POST", f"{P}/report-image"): {"item": "x"},
    ("POST", f"{P}/votes"): {"item": "x", "label": "cat"},
    ("POST", f"{P}/undo"): {"item": "x"},
    ("POST", f"{P}/verdicts"): {"item": "x", "label": "cat"},
    ("PUT", f"{P}/members"): {"account_id": "nobody", "role": "voter"},
    ("POST", f"{P}/invitations"): {"name": "n"},
    ("POST", f"{P}/webhooks"): {"url": "https://example.org"},
    ("POST", "/api/v1/keys"): {"name": "n"},
}


def send(world, role, method, path):
    client = world.client(None if role == "nobody" else role)
    options = {"json": BODIES[method, path]} if (method, path) in BODIES else {}
    if path.endswith("/uploads"):
        options = {"content": picture("GIF")}
    return client.request(method, path.format(**world.parts), params={"id": "x"}, **options)


def test_the_table_names_every_route(world):
    assert routes(world.app) == PUBLIC - {("GET", "/api/v1/openapi.json")} | set(TABLE)


@pytest.mark.parametrize("route", sorted(TABLE), ids=" ".join)
def test_each_route_lets_in_whom_it_should(full, route):
    for role, wanted in zip(ROLES, TABLE[route], strict=True):
        answer = send(full, role, *route)
        if wanted == "ok":
            assert answer.status_code not in (401, 403, 405) and answer.status_code < 500, (role, answer.text)
        else:
            assert answer.status_code == wanted, (role, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


def test_non_members_cannot_see_whether_a_project_exists(full):
    for method, path in sorted(TABLE):
        if "{project_id}" in path:
            real = send(full, "stranger", method, path).json()
            parts, full.parts = full.parts, full.parts | {"project_id": "p_gone"}
            gone = send(full, "stranger", method, path).json()
            full.parts = parts
            assert {name: str(said).replace(full.here, "p_gone") for name, said in real.items()} == gone | {
                "status": "404"
            }


def test_a_key_of_one_project_opens_no_other_and_no_account(full):
    theirs = full.client("stranger").api("POST", "/keys", 201, json={"name": "k", "project_id": full.there}).json()
    head = {"Authorization": f"Bearer {theirs['secret']}"}
    client, project = full.client(), BODIES["POST", "/api/v1/projects"]
    client.api("GET", f"/projects/{full.there}", 200, headers=head)
    client.api("GET", f"/projects/{full.here}", 404, headers=head)
    client.api("GET", "/keys", 403, headers=head)
    client.api("POST", "/keys", 403, json={"name": "x"}, headers=head)
    client.api("POST", "/projects", 403, json=project, headers=head)


def test_voters_never_read_predictions_confidence_or_others_votes(database_url):
    """Searches every response that a voter can get for what would influence them."""
    world = World(database_url, method="quorum:votes=3")
    world.items("x", "y", "z", prediction={"cat": 0.123456, "dog": 0.777777, "bird": 0.098767})
    owner, voter = world.client("owner"), world.client("voter")
    for outside in ("secret-anna", "secret-bert"):
        owner.api("POST", f"/projects/{world.here}/votes", 200, json={"item": "x", "label": "bird", "voter": outside})
    world.parts = dict.fromkeys(("account_id", "upload_id", "invitation_id", "key_id", "webhook_id"), "nothing")
    world.parts["project_id"] = world.here
    seen = []
    for _ in range(3):
        for item in voter.api("POST", f"/projects/{world.here}/next", 200, json={"count": 3}).json()["items"]:
            vote = {"item": item["item"], "label": "cat", "next": 3}
            seen.append(voter.api("POST", f"/projects/{world.here}/votes", 200, json=vote).text)
    seen.append(voter.api("POST", f"/projects/{world.here}/undo", 200, json={"item": "x", "next": 3}).text)
    for method, path in sorted(TABLE):
        for _ in range(2):
            seen.append(send(world, "voter", method, path).text)
    everything = "\n".join(seen)
    assert '"item":"x"' in everything
    for word in ("0.12345", "0.7777", "0.09876", "confidence", "secret-", "predict", "reason", "num_votes", "decided"):
        assert word not in everything, word
    assert '"decision":null' in everything and '"decision":{' not in everything
    with world.store.read() as connection:
        ids = [world.ids[name] for name in ("owner", "reader", "other", "senior")]
        assert connection is not None and not any(other in everything for other in ids)


def test_voters_never_read_the_figures_of_other_people(database_url):
    """Every route as a voter, once the figures of each person, gold answers and a verdict are there."""
    world = World(database_url, method="quorum:votes=2")
    here, owner = f"/projects/{world.here}", world.client("owner")
    owner.api("POST", f"{here}/items", 200, json={"items": [{"id": f"g{n}", "gold": "cat"} for n in range(8)]})
    world.items("x", "y")
    for number in range(8):
        for person in ("secret-anna", "secret-bert"):
            label = "dog" if person == "secret-bert" else "cat"
            owner.api("POST", f"{here}/votes", 200, json={"item": f"g{number}", "label": label, "voter": person})
    for person, label in (("secret-anna", "cat"), ("secret-bert", "dog")):
        owner.api("POST", f"{here}/votes", 200, json={"item": "x", "label": label, "voter": person})
    world.app.state.jobs.hold(world.here, "people")
    world.app.state.jobs.compute_people(world.here)
    shown = owner.api("GET", f"{here}/people", 200).text + owner.api("GET", here, 200).text
    world.parts = dict.fromkeys(("upload_id", "invitation_id", "key_id", "webhook_id"), "nothing")
    world.parts |= {"project_id": world.here, "account_id": world.ids["other"]}
    seen = "\n".join(send(world, "voter", *route).text for route in sorted(TABLE))
    for word in ("secret-", "accuracy", "evidence", "gold_right"):
        assert word in shown and word not in seen, word
