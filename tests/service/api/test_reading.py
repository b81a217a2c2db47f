"""Bodies: which are refused and which only look invalid; large ones are read in a thread."""

import json
import threading
import tracemalloc

import pytest
from fastapi import HTTPException

from quorate.service.api import bodies as reading
from quorate.service.api.bodies import SMALL


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"[" * 13 + b"]" * 13, "nested"),
        (b'{"a":' * 13 + b"1" + b"}" * 13, "nested"),
        (b"[" * 100_000, "nested"),
        (b"[9223372036854775808]", "63 bits"),
        (b"[-99999999999999999999]", "63 bits"),
        (b"9" * 5000, "63 bits"),
        (b'{"a": {"b": [1e309]}}', "too large"),
        (b"[" + b"9" * 400 + b".0]", "too large"),
        (b'{"\\u0000": 1}', "U\\+0000"),
        (b'["\\ud800"]', "surrogate"),
        (b'["\xed\xa0\x80"]', "UTF-8"),
        (b"[NaN]", "NaN"),
        (b"[-Infinity]", "Infinity"),
    ],
)
def test_values_that_cannot_be_stored_are_refused(raw, words):
    with pytest.raises(HTTPException) as refused:
        reading.parsed(raw)
    assert refused.value.status_code == 422
    with pytest.raises(HTTPException, match=words):
        raise HTTPException(422, refused.value.detail)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"[" * 12 + b"]" * 12, None),
        (b"[9223372036854775807, -9223372036854775807]", [2**63 - 1, 1 - 2**63]),
        (b'["99999999999999999999", "e999", "[[[[[[[[[[[[[["]', ["9" * 20, "e999", "[" * 14]),
        (b'["\\ud83d\\ude00", "\\\\u0000"]', ["\U0001f600", "\\u0000"]),
        (b"[1e-999, 1e300]", [0.0, 1e300]),
        (b"null", None),
    ],
)
def test_values_that_only_look_invalid_are_accepted(raw, value):
    found = reading.parsed(raw)
    assert value is None or found == value


def test_a_large_body_is_parsed_in_a_thread_and_a_small_one_at_once(small, monkeypatch):
    """The event loop serves everybody: it must not be blocked by one owner's batch."""
    threads, parse = [], reading.parsed

    def noted(raw):
        threads.append((len(raw) > SMALL, threading.current_thread().name))
        return parse(raw)

    monkeypatch.setattr(reading, "parsed", noted)
    owner, path = small.client("owner"), f"/projects/{small.here}/items"
    owner.api("POST", path, 200, json={"items": [{"id": "x"}]})
    owner.api("POST", path, 200, json={"items": [{"id": f"i{n}", "text": "x" * 1000} for n in range(300)]})
    (is_large, loop), (is_large_too, other) = threads
    assert (is_large, is_large_too) == (False, True)
    assert "AnyIO worker" in other and "AnyIO worker" not in loop


@pytest.mark.parametrize(
    "raw",
    [
        b'{"items": [' + b"{}," * 300_000 + b"{}]}",
        b'{"items": [{"id": "a", "prediction": [' + b"0," * 2_100_000 + b"0]}]}",
    ],
    ids=["items", "numbers"],
)
def test_bodies_with_too_many_values_are_refused_before_parsing(raw):
    tracemalloc.start()
    try:
        with pytest.raises(reading.Unreadable) as refused:
            reading.parsed(raw)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(raw)
    finally:
        tracemalloc.stop()
    assert refused.value.status_code == 422
    assert str(reading.MOST_PARTS) in refused.value.rule
    assert refused.value.fix


def test_brackets_and_commas_within_texts_are_not_counted():
    text = ",[{" * 800_000 + '\\"'
    assert reading.parsed(json.dumps({"text": text}).encode()) == {"text": text}


def test_a_large_body_is_checked_in_a_thread_for_batches(world, monkeypatch):
    seen = []
    checked = reading._checked
    monkeypatch.setattr(reading, "_checked", lambda *given: seen.append(threading.current_thread()) or checked(*given))
    items = [{"id": f"i{number}", "text": "x" * 1000} for number in range(300)]
    answer = world.client("owner").api("POST", f"/projects/{world.here}/items", 200, json={"items": items})
    assert answer.json()["added"] == 300
    assert len(seen) == 1
    assert seen[0] is not threading.main_thread()
    items[7] |= {"priority": "high"}
    wrong = world.client("owner").api("POST", f"/projects/{world.here}/items", 422, json={"items": items}).json()
    assert "priority" in str(wrong)
