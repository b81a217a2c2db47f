"""Bursts and rates, then 429: in the database for all workers, in memory for votes."""

import pytest
from fastapi import Depends, Request
from fastapi.testclient import TestClient
from sqlalchemy import event

from quorate_service.access import credentials, limits
from quorate_service.access.limits import Buckets, Limit
from quorate_service.background import delete_access
from tests.quorate_service.access.conftest import BOTH, NOW, Config, at_once, bearer, tiny_app

LIMIT = Limit("test", rate=2.0, burst=3.0)


def take_shared(store):
    return lambda who, now: limits.take(store, LIMIT, who, now=now)


def take_here(_store):
    buckets = Buckets(LIMIT)
    return lambda who, now: buckets.take(who, now=now)


@pytest.mark.parametrize("kind", [take_shared, take_here])
def test_a_bucket_gives_its_burst_then_its_rate(empty, kind):
    take = kind(empty)
    assert [take("a", NOW) for _ in range(4)] == [0, 0, 0, 0.5]
    assert take("b", NOW) == 0
    assert take("a", NOW + 0.25) == 0.25
    assert take("a", NOW + 0.5) == 0
    assert take("a", NOW + 0.5) == 0.5
    assert [take("a", NOW + 1000) for _ in range(4)] == [0, 0, 0, 0.5]  # never more than the burst


@pytest.mark.parametrize("kind", [take_shared, take_here])
def test_a_clock_set_back_does_not_lock_anybody_out(empty, kind):
    take = kind(empty)
    for _ in range(4):
        take("a", NOW)
    assert take("a", NOW - 3600) <= 0.5
    assert take("a", NOW - 3599) == 0


@BOTH
def test_threads_share_one_bucket(empty):
    waits = at_once(lambda _: limits.take(empty, LIMIT, "a", now=NOW), range(8))
    assert sorted(waits) == [0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_buckets_in_memory_do_not_grow_for_ever(monkeypatch):
    monkeypatch.setattr(limits, "MOST_BUCKETS", 100)
    buckets = Buckets(LIMIT)
    for number in range(1000):
        buckets.take(f"k{number}", now=NOW + number)
    assert len(buckets._held) <= 101
    for number in range(1000):
        buckets.take(f"k{number}", now=NOW)
    assert len(buckets._held) <= 101


def test_too_many_attempts_from_one_address_get_a_time_to_wait(world, app, clock):
    client = TestClient(app)
    found = [client.post("/enter").status_code for _ in range(int(limits.ENTRY.burst))]
    assert set(found) == {200}
    refused = client.post("/enter")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert refused.headers["content-type"] == "application/problem+json"
    assert TestClient(app, client=("192.0.2.9", 1)).post("/enter").status_code == 200
    assert TestClient(tiny_app(world.store, clock=clock)).post("/enter").status_code == 429  # another worker
    clock.now += 2
    assert client.post("/enter").status_code == 200


def test_successful_attempts_are_not_counted_even_for_long_addresses(world):
    app = tiny_app(world.store, Config(trust_proxy=True))

    @app.post("/let-in", dependencies=[Depends(limits.limit_entry)])
    def let_in(request: Request):
        limits.entered(request)

    client = TestClient(app)
    for address in ("192.0.2.7", "x" * 300):
        told = {client.post("/let-in", headers={"X-Forwarded-For": address}).status_code for _ in range(35)}
        assert told == {200}
        assert client.post("/enter", headers={"X-Forwarded-For": address}).status_code == 200


def test_forwarded_addresses_count_only_behind_a_proxy_of_ours(world):
    def last(config, address):
        client = TestClient(tiny_app(world.store, config))
        headers = [{"X-Forwarded-For": address.format(n=n)} for n in range(int(limits.ENTRY.burst) + 1)]
        return [client.post("/enter", headers=header).status_code for header in headers][-1]

    assert last(Config(), "198.51.100.{n}") == 429  # anybody can write that header
    assert last(Config(trust_proxy=True), "198.51.100.{n}") == 200
    assert last(Config(trust_proxy=True), "198.51.100.{n}, 203.0.113.5") == 429  # our proxy wrote the last one
    assert last(Config(trust_proxy=True), "2001:db8::{n}") == 429  # one network


def test_votes_are_limited_by_account_without_another_statement(world, client, clock):
    secrets = [credentials.create_key(world.store, who, name="k", now=NOW)[1] for who in (world.voter, world.owner)]
    client.post("/vote", headers=bearer(secrets[0]))
    seen = []
    event.listen(world.store.engine, "before_cursor_execute", lambda *call: seen.append(call[2]))
    found = [client.post("/vote", headers=bearer(secrets[0])).status_code for _ in range(40)]
    assert found == [200] * 39 + [429]
    assert not any("INSERT" in words or "UPDATE" in words for words in seen)
    assert client.post("/vote", headers=bearer(secrets[1])).status_code == 200
    clock.now += 0.1
    assert client.post("/vote", headers=bearer(secrets[0])).status_code == 200


def test_old_buckets_are_deleted(empty):
    limits.take(empty, LIMIT, "a", now=NOW)
    assert delete_access(empty, now=NOW + 60) == 0
    assert delete_access(empty, now=NOW + 2 * 86400) == 1
