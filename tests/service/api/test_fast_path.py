"""Valid requests get the same response as from the app; all others are left to the app."""

import asyncio
import json

import pytest

from quorate.service.access import cookies
from quorate.service.access import cookies as signing
from quorate.service.api import fast_path as quick
from quorate.service.api import votes
from quorate.service.store import StoreUnavailable

LONG = "application/json; charset=utf-8"  # the quick way takes plain JSON only
BODIES = [
    {"item": "a", "label": "cat"},
    {"item": "a", "label": "cat", "next": 2},
    {"item": "a", "abstain": True, "next": 1},
    {"item": "a", "skip": True},
    {"item": "nowhere", "label": "cat"},
    {"item": "a", "label": "elephant"},
    {"item": "a"},
    {"item": "a", "label": "cat", "skip": True},
    {"item": 7, "label": "cat"},
    {"item": "a", "label": "cat", "next": 99},
    {"item": "a", "label": "cat", "surprise": 1},
    {"item": "a", "label": "cat", "voter": "friend"},
    [],
    None,
]


def sent(world, body, kind, name="voter", **headers):
    """The response on a new project with one item that the voter holds, without random parts."""
    project = world.project("p", owner="owner", voter="voter", reader="reader")
    world.items("a", "b", "c", project=project)
    client = world.client(name)
    world.client("voter").api("POST", f"/projects/{project}/next")
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.api("POST", f"/projects/{project}/votes", content=raw, headers={"Content-Type": kind} | headers)
    return answer.status_code, answer.text.replace(project, "p"), answer.headers["content-type"]


@pytest.fixture
def ways(monkeypatch):
    """Which requests took the fast path."""
    admitted, counted = quick._admitted, []

    async def noted(*arguments):
        found = await admitted(*arguments)
        counted.append(found is not None)
        return found

    monkeypatch.setattr(quick, "_admitted", noted)
    return counted


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_both_paths_give_the_same_response(small, body, ways):
    quickly, slowly = sent(small, body, "application/json"), sent(small, body, LONG)
    assert quickly == slowly
    assert ways[1::2] == [quickly[0] != 422 or "elephant" in quickly[1], False]  # each after one `next`


@pytest.mark.parametrize("raw", [b"", b"{", b'{"item": "\xff"}', b'{"item": NaN}', b"[" * 40, b'{"item": "\\u0000"}'])
def test_unreadable_requests_are_refused_the_same_way(small, raw):
    assert sent(small, raw, "application/json") == sent(small, raw, LONG)


@pytest.mark.parametrize("name", [None, "reader", "stranger", "other", "owner"])
def test_both_paths_accept_the_same_callers(small, name):
    body = {"item": "a", "label": "cat"}
    quickly, slowly = (sent(small, body, kind, name) for kind in ("application/json", LONG))
    assert quickly == slowly and quickly[0] >= 400


@pytest.mark.parametrize("key", ["x" * 201, "two words", "ok"])
def test_both_paths_accept_the_same_idempotency_keys(small, key):
    body, header = {"item": "a", "label": "cat"}, {"Idempotency-Key": key}
    quickly, slowly = (sent(small, body, kind, **header) for kind in ("application/json", LONG))
    assert quickly == slowly and (quickly[0] == 200) is (key == "ok")


def test_a_body_in_parts_is_left_to_the_app(small, ways):
    small.items("a")
    small.client("voter").api("POST", f"/projects/{small.here}/next", 200, json={"count": 1})
    parts = [b'{"item": "a", ', b'"label": "cat"}']
    messages = [{"type": "http.request", "body": part, "more_body": part is parts[0]} for part in parts]
    headers = {"authorization": f"Bearer {small.keys['voter']}", "content-type": "application/json"}
    scope = {
        "type": "http", "method": "POST", "path": f"/api/v1/projects/{small.here}/votes", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    told = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        told.append(message)

    asyncio.run(small.app(scope, receive, send))
    assert told[0]["status"] == 200 and b'"label":"cat"' in told[1]["body"]
    assert ways == [True, False]


def test_other_paths_are_left_to_the_app(small, ways):
    small.client("voter").api("POST", f"/projects/{small.here}/leave", 200)
    assert ways == []


def test_fast_responses_have_the_same_headers_and_are_counted(small, ways):
    small.items("a", "b")
    client = small.client("voter")
    answers = [client.api("POST", f"/projects/{small.here}/next", 200, json={"count": 1}) for _ in range(2)]
    answers.append(client.api("POST", f"/projects/{small.here}/next", 200, content=b"", headers={"Content-Type": LONG}))
    assert ways == [True, True, False]
    named = [{name: value for name, value in answer.headers.items() if name != "content-length"} for answer in answers]
    assert named[0] == named[1] == named[2]
    counted = 'quorate_requests_total{method="POST",route="/api/v1/projects/{project_id}/next",status="200"} 3.0'
    assert counted in small.app.state.metrics.text().decode().splitlines()


def test_a_cookie_needs_its_token_on_the_fast_path(small, ways):
    small.items("a")
    client = small.client()
    with small.store.write() as connection:
        session = cookies.open_sign_in(connection, small.ids["voter"], how="test", now=small.clock())
    key = signing.signing_key(small.store, now=small.clock())
    client.cookies.set(cookies.NAME, signing.sign(key, session))
    path, body = f"/projects/{small.here}/next", {"count": 1}
    assert client.api("POST", path, json=body).status_code == 403
    token = signing.token_for(key, session)
    assert client.api("POST", path, json=body, headers={cookies.HEADER: token}).status_code == 200
    assert ways == [False, True]


def test_a_refused_vote_is_tried_once_and_costs_one_token(small, ways):
    small.items("a")
    client = small.client("voter")
    client.api("POST", f"/projects/{small.here}/next", 200, json={"count": 1})
    client.api("POST", f"/projects/{small.here}/votes", 200, json={"item": "a", "label": "cat"})
    again = [client.api("POST", f"/projects/{small.here}/votes", json={"item": "a", "label": "cat"}) for _ in range(41)]
    statuses = [answer.status_code for answer in again]
    assert statuses == [409] * 39 + [429] * 2  # a burst of 40 votes, the first among them
    assert all(answer.headers["content-type"] == "application/problem+json" for answer in again)
    assert all(ways)


def test_an_error_after_a_vote_is_stored_does_not_store_it_again(small, monkeypatch):
    small.items("a")
    calls = []

    def failing(*_):
        calls.append(1)
        raise StoreUnavailable("gone")

    monkeypatch.setattr(votes, "decided", failing)
    body = {"item": "a", "label": "cat", "voter": "friend"}
    answer = small.client("owner").api("POST", f"/projects/{small.here}/votes", json=body)
    assert answer.status_code == 503 and calls == [1]
