"""Votes of people outside: apart from members, and said to be."""


def test_an_outside_voter_is_apart_from_the_member_of_that_name(small):
    small.items("x")
    owner, voter, path = small.client("owner"), small.client("voter"), f"/projects/{small.here}/votes"
    owner.api("POST", path, 200, json={"item": "x", "label": "cat", "voter": "voter"})
    voter.api("POST", f"/projects/{small.here}/next", 200, json={})
    voter.api("POST", path, 200, json={"item": "x", "label": "cat"})
    votes = owner.api("GET", f"/projects/{small.here}/item", 200, params={"id": "x"}).json()["votes"]
    assert votes["cat"] == 2
    schemas = small.client().get("/api/v1/openapi.json").json()["components"]["schemas"]
    for model in ("VoteIn", "UndoIn"):
        assert "apart from every member" in schemas[model]["properties"]["voter"]["description"]


def test_two_voters_may_use_one_key_and_an_owner_undoes_for_others_at_any_time(small):
    small.items("x")
    owner, here = small.client("owner"), f"/projects/{small.here}"
    for voter in ("ada", "ben"):
        vote = {"item": "x", "label": "cat", "voter": voter}
        told = owner.api("POST", f"{here}/votes", 200, json=vote, headers={"Idempotency-Key": "same"}).json()
        assert not told["recorded"]["repeated"]
    small.clock.now += 3600
    owner.api("POST", f"{here}/undo", 200, json={"item": "x", "voter": "ada"})
    assert owner.api("GET", f"{here}/item", 200, params={"id": "x"}).json()["num_votes"] == 1
