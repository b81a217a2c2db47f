"""Writes with a key are performed once, also with concurrent copies and crashes."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import func, select

from quorate_service.store.schema import projects, requests
from tests.quorate_service.conftest import BOTH

BODY = {"name": "one", "settings": {"classes": ["a", "b"], "pool_size": 3}}


@BOTH
def test_concurrent_copies_of_a_request_are_performed_once(world):
    owner = world.client("owner")

    def send(_):
        return owner.api("POST", "/projects", json=BODY, headers={"Idempotency-Key": "k"})

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(12)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    with world.store.read() as connection:
        made = select(func.count()).select_from(projects).where(projects.c.name == "one")
        assert connection.execute(made).scalar_one() == 1


def test_a_crash_before_the_response_is_stored_undoes_the_write(world, monkeypatch):
    owner = world.client("owner")
    with monkeypatch.context() as crash:
        crash.setattr("quorate_service.api.projects.add_member", lambda *_, **__: 1 / 0)
        owner.api("POST", "/projects", 500, json=BODY, headers={"Idempotency-Key": "k"})
    with world.store.read() as connection:
        assert connection.execute(select(func.count()).select_from(requests)).scalar_one() == 0
        assert connection.execute(select(projects).where(projects.c.name == "one")).all() == []
    owner.api("POST", "/projects", 201, json=BODY, headers={"Idempotency-Key": "k"})


def test_a_rolled_back_change_is_not_cached(world, monkeypatch):
    owner, path = world.client("owner"), f"/projects/{world.here}"
    with monkeypatch.context() as crash:
        crash.setattr("quorate_service.domain.projects.announce", lambda *_, **__: 1 / 0)
        owner.api("PATCH", path, 500, json={"settings": {"price": 7.0, "min_votes": 2}})
    owner.api("PATCH", path, 200, json={"settings": {"price": 9.0}})
    assert owner.api("GET", path, 200).json()["settings"]["price"] == 9.0
    assert owner.api("GET", path, 200).json()["settings"]["min_votes"] == 0


def test_keys_of_different_people_are_different_keys(world):
    for name in ("owner", "voter"):
        answer = world.client(name).api("POST", "/keys", 201, json={"name": name}, headers={"Idempotency-Key": "k"})
        assert answer.json()["secret"]


def test_a_repeated_batch_is_not_decided_again(world, monkeypatch):
    owner, path = world.client("owner"), f"/projects/{world.here}/items"
    head = {"Idempotency-Key": "batch"}
    first = owner.api("POST", path, 200, json={"items": [{"id": "x"}]}, headers=head)
    owner.api("POST", path, 409, json={"items": [{"id": "y"}]}, headers=head)
    monkeypatch.setattr("quorate_service.api.items.decide_items", lambda *_, **__: 1 / 0)
    again = owner.api("POST", path, 200, json={"items": [{"id": "x"}]}, headers=head)
    assert again.json() == first.json() and again.headers["Idempotency-Replayed"] == "true"


def test_keys_with_invalid_characters_are_refused(world):
    for key in ("", "a b", "x" * 201, "\x7f"):
        head = {"Idempotency-Key": key}
        world.client("owner").api("PATCH", f"/projects/{world.here}", 422, json={"name": "n"}, headers=head)
