"""Voting over HTTP: next, vote, cannot tell, skip, undo, leave, other people's votes; each stored once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from quorate_service.config import ServiceConfig
from quorate_service.domain.listing import find_item
from tests.quorate_service.api.conftest import World
from tests.quorate_service.conftest import BOTH


def row(world, item):
    with world.store.read() as connection:
        return find_item(connection, world.here, item)


def test_a_voter_asks_votes_and_gets_the_next_item_with_the_answer(world):
    world.items("x", "y")
    voter = world.client("voter")
    told = voter.api("POST", f"/projects/{world.here}/next", 200).json()
    assert told["classes"] == ["cat", "dog", "bird"]
    (first,) = told["items"]
    assert set(first) == {"item", "show", "expires"} and first["show"]["text"] == f"Look at {first['item']}"
    vote = {"item": first["item"], "label": "cat", "next": 1}
    answer = voter.api("POST", f"/projects/{world.here}/votes", 200, json=vote).json()
    assert answer["recorded"]["kind"] == "vote" and answer["recorded"]["label"] == "cat"
    assert [each["item"] for each in answer["next"]] == [{"x": "y", "y": "x"}[first["item"]]]
    assert answer["decision"] is None
    assert row(world, first["item"]).num_votes == 1


def test_the_same_key_stores_a_vote_once_and_another_act_with_it_is_refused(world):
    world.items("x")
    voter = world.client("voter")
    voter.api("POST", f"/projects/{world.here}/next", 200)
    path, head = f"/projects/{world.here}/votes", {"Idempotency-Key": "one"}
    first = voter.api("POST", path, 200, json={"item": "x", "label": "cat"}, headers=head).json()
    again = voter.api("POST", path, 200, json={"item": "x", "label": "cat"}, headers=head).json()
    assert (first["recorded"]["repeated"], again["recorded"]["repeated"]) == (False, True)
    assert first["recorded"]["time"] == again["recorded"]["time"]
    refused = voter.api("POST", path, 409, json={"item": "x", "label": "dog"}, headers=head)
    assert "new key" in refused.json()["detail"]
    assert row(world, "x").num_votes == 1


@BOTH
def test_one_key_for_two_items_at_the_same_time_is_no_internal_error(world):
    names = [f"i{n}" for n in range(8)]
    world.items(*names)
    owner = world.client("owner")

    def send(name):
        body = {"item": name, "label": "cat", "voter": "anna"}
        return owner.api(
            "POST", f"/projects/{world.here}/votes", json=body, headers={"Idempotency-Key": "same"}
        ).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, names)) == [200] + [409] * 7


def test_cannot_tell_and_skip_and_undo(world):
    world.items("x")
    voter = world.client("voter")
    for act, kind in (({"abstain": True}, "abstain"), ({"skip": True}, "skip")):
        voter.api("POST", f"/projects/{world.here}/next", 200)
        told = voter.api("POST", f"/projects/{world.here}/votes", 200, json={"item": "x", **act}).json()
        assert told["recorded"]["kind"] == kind
        back = voter.api("POST", f"/projects/{world.here}/undo", 200, json={"item": "x", "next": 1}).json()
        assert [each["item"] for each in back["next"]] == ["x"]
    world.clock.now += 3600
    voter.api("POST", f"/projects/{world.here}/next", 200)
    voter.api("POST", f"/projects/{world.here}/votes", 200, json={"item": "x", "label": "dog"})
    world.clock.now += 3600
    late = voter.api("POST", f"/projects/{world.here}/undo", 422, json={"item": "x"})
    assert "seconds" in late.json()["detail"]


def test_items_given_back_are_offered_to_others_at_once(world):
    world.items("x")
    voter = world.client("voter")
    voter.api("POST", f"/projects/{world.here}/next", 200)
    assert voter.api("POST", f"/projects/{world.here}/leave", 200).json() == {"given_back": 1}


def test_only_what_was_given_can_be_voted_on_and_only_once(world):
    world.items("x")
    voter = world.client("voter")
    path = f"/projects/{world.here}/votes"
    assert voter.api("POST", path, 404, json={"item": "x", "label": "cat"}).json()["title"] == "Not found"
    voter.api("POST", f"/projects/{world.here}/next", 200)
    voter.api("POST", path, 422, json={"item": "x", "label": "giraffe"})
    voter.api("POST", path, 200, json={"item": "x", "label": "cat"})
    voter.api("POST", path, 409, json={"item": "x", "label": "dog"})


def test_an_owner_sends_votes_of_others_and_sees_the_decision_and_a_voter_may_not(world):
    world.items("x", prediction={"cat": 0.6})
    owner = world.client("owner")
    body = {"item": "x", "label": "cat", "voter": "anna"}
    head = {"Idempotency-Key": "k"}
    first = owner.api("POST", f"/projects/{world.here}/votes", 200, json=body, headers=head).json()
    assert first["decision"]["label"] == "cat" and 0 < first["decision"]["confidence"] <= 1
    again = owner.api("POST", f"/projects/{world.here}/votes", 200, json=body, headers=head).json()
    assert again["decision"] == first["decision"] and again["recorded"]["repeated"]
    owner.api("POST", f"/projects/{world.here}/undo", 200, json={"item": "x", "voter": "anna"})
    refused = world.client("voter").api("POST", f"/projects/{world.here}/votes", 403, json=body)
    assert refused.json()["field"] == "voter"


@pytest.mark.parametrize("head", [{}, {"Idempotency-Key": "fresh"}, {"Idempotency-Key": "used"}])
@pytest.mark.parametrize("what", ["votes", "undo"])
def test_a_voter_cannot_find_out_which_items_there_are(world, head, what):
    world.items("first", "hidden")
    voter = world.client("voter")
    voter.api("POST", f"/projects/{world.here}/next", 200)
    act = {"item": "first", "label": "cat"}
    voter.api("POST", f"/projects/{world.here}/votes", 200, json=act, headers={"Idempotency-Key": "used"})
    body = {"label": "cat"} if what == "votes" else {}
    told = [
        voter.api("POST", f"/projects/{world.here}/{what}", json=body | {"item": name}, headers=head).text
        for name in ("hidden", "absent")
    ]
    assert told[0].replace("hidden", "absent") == told[1]


def test_only_owners_see_that_a_vote_was_late(world):
    world.items("x")
    owner, where = world.client("owner"), f"/projects/{world.here}/votes"
    body = {"item": "x", "label": "cat"}
    asking, late = [], []
    for number in range(7):  # a pool of 5: closed at the latest after that
        sent = owner.api("POST", where, 200, json=body | {"voter": f"v{number}"}, headers={"Idempotency-Key": "k"})
        again = owner.api("POST", where, 200, json=body | {"voter": f"v{number}"}, headers={"Idempotency-Key": "k"})
        assert sent.json()["decision"]["late"] == again.json()["decision"]["late"]
        asking.append(sent.json()["decision"]["ask"])
        late.append(sent.json()["decision"]["late"])
        assert "late" not in sent.json()["recorded"]
    closed = asking.index(False)
    assert late == [number > closed for number in range(7)]


def test_acts_without_or_with_two_kinds_are_refused(world):
    world.items("x")
    owner = world.client("owner")
    for act in ({}, {"label": "cat", "skip": True}, {"abstain": False}, {"label": 1}, {"item": " x"}, {"votes": 1}):
        answer = owner.api("POST", f"/projects/{world.here}/votes", 422, json={"item": "x", **act})
        assert answer.headers["content-type"] == "application/problem+json"


def test_reports_of_images_are_limited_as_votes_are(tmp_path):
    world = World(f"sqlite:///{tmp_path / 'service.db'}", ServiceConfig(votes_per_second=1))
    voter, path = world.client("voter"), f"/projects/{world.here}/report-image"
    told = [voter.api("POST", path, json={"item": "x"}).status_code for _ in range(3)]
    assert told == [404, 404, 429]
    world.store.close()


def test_an_outside_voter_is_not_the_member_of_the_same_name(world):
    world.items("x")
    owner, voter, path = world.client("owner"), world.client("voter"), f"/projects/{world.here}/votes"
    owner.api("POST", path, 200, json={"item": "x", "label": "cat", "voter": "voter"})
    voter.api("POST", f"/projects/{world.here}/next", 200, json={})
    voter.api("POST", path, 200, json={"item": "x", "label": "cat"})
    votes = owner.api("GET", f"/projects/{world.here}/item", 200, params={"id": "x"}).json()["votes"]
    assert votes["cat"] == 2
    schemas = world.client().get("/api/v1/openapi.json").json()["components"]["schemas"]
    for model in ("VoteIn", "UndoIn"):
        assert "never a member" in schemas[model]["properties"]["voter"]["description"]


def test_two_voters_may_use_one_key_and_an_owner_undoes_for_others_at_any_time(world):
    world.items("x")
    owner, here = world.client("owner"), f"/projects/{world.here}"
    for voter in ("ada", "ben"):
        vote = {"item": "x", "label": "cat", "voter": voter}
        told = owner.api("POST", f"{here}/votes", 200, json=vote, headers={"Idempotency-Key": "same"}).json()
        assert not told["recorded"]["repeated"]
    world.clock.now += 3600
    owner.api("POST", f"{here}/undo", 200, json={"item": "x", "voter": "ada"})
    assert owner.api("GET", f"{here}/item", 200, params={"id": "x"}).json()["num_votes"] == 1
