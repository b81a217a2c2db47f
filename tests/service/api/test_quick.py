"""A request that is in order is answered as by FastAPI's long way; whatever is not takes that way."""

import json

import pytest

from quorate.service.api import quick

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
    """The answer on a fresh project with one item that the voter holds, without what differs by chance."""
    project = world.project("p", owner="owner", voter="voter", reader="reader")
    world.items("a", "b", "c", project=project)
    client = world.client(name)
    world.client("voter").api("POST", f"/projects/{project}/next")
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.api("POST", f"/projects/{project}/votes", content=raw, headers={"Content-Type": kind} | headers)
    return answer.status_code, answer.text.replace(project, "p"), answer.headers["content-type"]


@pytest.fixture
def ways(monkeypatch):
    """How many requests were read the quick way."""
    read, counted = quick._read, []

    async def noted(*arguments):
        found = await read(*arguments)
        counted.append(found is not None)
        return found

    monkeypatch.setattr(quick, "_read", noted)
    return counted


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_both_ways_answer_the_same(small, body, ways):
    assert sent(small, body, "application/json") == sent(small, body, LONG)
    votes = ways[1::2]  # each after one `next`
    assert votes[1] is False and votes[0] is (isinstance(body, dict) and _in_order(body))


def _in_order(body):
    acts = sum(name in body for name in ("label", "abstain", "skip"))
    known = set(body) <= {"item", "label", "abstain", "skip", "voter", "next"}
    return acts == 1 and known and isinstance(body["item"], str) and body.get("next", 0) <= 20


@pytest.mark.parametrize("raw", [b"", b"{", b'{"item": "\xff"}', b'{"item": NaN}', b"[" * 40, b'{"item": "\\u0000"}'])
def test_what_cannot_be_read_is_refused_the_same_way(small, raw):
    assert sent(small, raw, "application/json") == sent(small, raw, LONG)


@pytest.mark.parametrize("name", [None, "reader", "stranger", "other", "owner"])
def test_both_ways_let_the_same_people_in(small, name):
    body = {"item": "a", "label": "cat"}
    quickly, slowly = (sent(small, body, kind, name) for kind in ("application/json", LONG))
    assert quickly == slowly and quickly[0] >= 400


@pytest.mark.parametrize("key", ["x" * 201, "two words", "ok"])
def test_both_ways_take_the_same_idempotency_keys(small, key):
    body, header = {"item": "a", "label": "cat"}, {"Idempotency-Key": key}
    quickly, slowly = (sent(small, body, kind, **header) for kind in ("application/json", LONG))
    assert quickly == slowly and (quickly[0] == 200) is (key == "ok")
