"""Large bodies: refused by their headers unless the caller is an owner, and counted while they arrive."""

import asyncio
import time

import pytest

from quorate_service.access.cookies import NAME, open_sign_in, sign, signing_key
from quorate_service.api import bodies

PIECE = b" " * 100_000
NUMBERS = b'{"items": [' + b"1," * 5_000_000 + b"1]}"


class Drip:
    """A body that arrives in pieces, without Content-Length; `read` counts the pieces read."""

    def __init__(self, pieces=200):
        self.left, self.read = pieces, 0

    async def __call__(self):
        self.left -= 1
        self.read += len(PIECE)
        return {"type": "http.request", "body": PIECE, "more_body": self.left > 0}


def paths(world):
    here = f"/api/v1/projects/{world.here}"
    return [f"{here}/items", f"{here}/uploads", "/api/v1/projects/no/items"]


def test_large_bodies_without_a_sign_in_are_refused_before_they_are_read(world):
    for path in paths(world):
        begin = time.process_time()
        answer = world.client().post(path, content=NUMBERS[:5_000_000], headers={"Content-Type": "application/json"})
        assert answer.status_code == 401, (path, answer.text)
        assert answer.headers["connection"] == "close" and "www-authenticate" in answer.headers
        assert time.process_time() - begin < 2


def test_a_body_of_unknown_length_is_read_no_further_than_a_small_one(world):
    for name, status in ((None, 401), ("stranger", 404), ("voter", 403), ("reader", 403)):
        for path in paths(world)[:2]:
            drip, key = Drip(), [(b"authorization", f"Bearer {world.keys[name]}".encode())] if name else []
            assert answer_to(world, path, drip, *key)["status"] == status, (name, path)
            assert drip.read <= bodies.SMALL + len(PIECE)


def answer_to(world, path, receive, *headers):
    """Call the app itself: a test client would read the whole body before it sends any."""
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"testserver"), (b"content-type", b"application/json"), *headers], "scheme": "http",
        "server": ("testserver", 80), "client": ("testclient", 1), "root_path": "", "http_version": "1.1", "state": {},
    }  # fmt: skip
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(asyncio.wait_for(world.app(scope, receive, send), 10))
    return sent[0]


def test_owners_may_send_large_bodies_by_key_and_by_cookie(world):
    items = {"items": [{"id": f"i{n}", "text": "x" * 1000} for n in range(400)]}
    assert world.client("owner").api("POST", f"/projects/{world.here}/items", 200, json=items).json()["added"] == 400
    with world.store.write() as connection:
        session_id = open_sign_in(connection, world.ids["owner"], how="test", now=world.clock.now)
    cookie = sign(signing_key(world.store, now=world.clock.now), session_id)
    client = world.client()
    client.cookies.set(NAME, cookie)
    client.api("POST", f"/projects/{world.here}/items", 403, json=items)  # known, but the request names no page
    client.api("POST", f"/projects/{world.here}/items", 200, json=items, headers={"Sec-Fetch-Site": "same-origin"})


def test_forms_and_everything_else_are_small(world):
    owner = world.client("owner")
    for path in ("/api/v1/projects", f"/api/v1/projects/{world.here}/votes"):
        answer = owner.post(path, content=b"x" * (bodies.SMALL + 1))
        assert answer.status_code == 413, (path, answer.text)
        assert "256000" in answer.text or "256,000" in answer.text


def test_the_largest_project_fits_the_limit_of_small_bodies(world):
    name, text = "\u4e00" * 96, "\u4e00" * 10_000
    settings = {"classes": [f"{name}{n}" for n in range(200)], "pool_size": 5, "instructions": text}
    world.client("owner").api("POST", "/projects", 201, json={"name": "n", "settings": settings})


@pytest.mark.parametrize("path", ["/api/v1/projects", "/api/v1/projects/p_1/votes"])
def test_a_body_that_stops_arriving_ends_the_request(world, monkeypatch, path):
    monkeypatch.setattr(bodies, "SMALL_SECONDS", 0.05)

    async def receive():
        await asyncio.sleep(60)

    answer = answer_to(world, path, receive, (b"content-length", b"100"))
    assert answer["status"] == 408 and (b"connection", b"close") in answer["headers"]
