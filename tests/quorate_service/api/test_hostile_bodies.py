"""Bodies that nobody means well with: refused as problems, quickly, before anything is stored."""

import json
import time

import pytest

ITEMS, VOTES, PROJECTS = "/projects/{here}/items", "/projects/{here}/votes", "/projects"
HUGE = "9" * 400


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        *[(path, raw) for path in (ITEMS, VOTES, PROJECTS) for raw in ("", "{", "null", "[]", "7", '"x"')],
        *[(path, b'{"item": "\xff\xfe"}') for path in (ITEMS, VOTES, PROJECTS)],
        *[(path, "[" * 100_000) for path in (ITEMS, VOTES, PROJECTS)],
        *[(VOTES, '{"item": ' + "[" * depth + "]" * depth + "}") for depth in (20, 900, 90_000)],
        *[(ITEMS, f'{{"items": [{{"id": "a", "prediction": [{number}, 0.5]}}]}}') for number in ("NaN", "1e999", HUGE)],
        *[(ITEMS, f'{{"items": [{{"id": "a", "pool_size": {number}}}]}}') for number in (2**63, -(2**63), HUGE)],
        *[(ITEMS, f'{{"items": [{{"id": "{name}"}}]}}') for name in (r"a\u0000", r"a\ud800", r"a\n", " a", "")],
        *[(ITEMS, f'{{"items": [{{"id": "a", "text": "{text}"}}]}}') for text in (r"\u0000", r"\udfff")],
        *[(VOTES, f'{{"item": "a", "label": "{text}"}}') for text in (r"cat\u0000", r"\ud800", r"x" * 101)],
        (ITEMS, '{"items": [{"id": "a", "prediction": {"\\ud800": 1.0}}]}'),
        (VOTES, '{"item": "a", "label": "cat", "__proto__": {}}'),
        (VOTES, f'{{"item": "a", "label": "cat", "next": {HUGE * 20}}}'),
        (VOTES, '{"item": "a", "label": "cat", "next": true}'),
        (VOTES, '{"item": "a", "label": "cat", "skip": true}'),
    ],
)
def test_a_hostile_body_is_a_problem(shared, path, raw):
    headers = {"Content-Type": "application/json"}
    answer = shared.client("owner").api("POST", path.format(here=shared.here), content=raw, headers=headers)
    assert answer.status_code in (400, 422), answer.text
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json" and len(answer.content) < 20_000
    assert body["field"] and body["rule"] and body["fix"]


MANY = 1_000_000


@pytest.mark.parametrize(
    "raw",
    [
        '{"items": [' + "{}," * MANY + "{}]}",
        '{"items": [{"id": "a", "prediction": [' + '"x",' * MANY + '"x"]}]}',
        '{"items": [{"id": "a", "prediction": {' + ",".join(f'"{n}":[]' for n in range(MANY // 2)) + "}}]}",
        '{"items": [{' + ",".join(f'"{n}":1' for n in range(MANY // 2)) + "}]}",
    ],
    ids=["items", "numbers", "classes", "names"],
)
def test_a_body_of_a_million_wrong_values_is_refused_at_the_first(shared, raw):
    begin = time.process_time()
    headers = {"Content-Type": "application/json"}
    answer = shared.client("owner").api("POST", f"/projects/{shared.here}/items", 422, content=raw, headers=headers)
    assert len(answer.content) < 20_000
    assert time.process_time() - begin < 10  # every one of them reported would take a minute


def test_a_body_must_say_that_it_is_json(shared):
    raw, path = json.dumps({"item": "a", "label": "cat"}), f"/projects/{shared.here}/votes"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = shared.client("owner").api("POST", path, 422, content=raw, headers={"Content-Type": kind})
        assert (answer.json()["field"], answer.json()["fix"]) == ("body", "Send Content-Type: application/json.")
