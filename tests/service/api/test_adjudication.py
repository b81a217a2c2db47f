"""The API for seniors: waiting items and verdicts."""


def test_a_senior_sees_what_waits_without_names_and_gives_a_verdict(world):
    here, owner, senior = f"/projects/{world.here}", world.client("owner"), world.client("senior")
    owner.api("PATCH", here, 200, json={"settings": {"adjudicate_below": 1.0}})
    world.items("x", "y", prediction={"cat": 0.123456})
    for item in ("x", "y"):
        owner.api("POST", f"{here}/votes", 200, json={"item": item, "label": "dog", "voter": "secret-anna"})
        owner.api("POST", f"{here}/item/close", 200, json={"id": item})
    first = senior.api("GET", f"{here}/adjudication", 200, params={"limit": 1}).json()
    rest = senior.api("GET", f"{here}/adjudication", 200, params={"limit": 1, "cursor": first["next"]}).json()
    assert [each["item"] for each in first["items"] + rest["items"]] == ["x", "y"] and rest["next"] is None
    assert first["items"][0]["votes"] == {"cat": 0, "dog": 1, "bird": 0}
    assert not any(word in str(first) for word in ("secret", "0.123", "confidence"))
    verdict = {"item": "x", "label": "bird", "note": "It has wings."}
    head = {"Idempotency-Key": "v1"}
    made = senior.api("POST", f"{here}/verdicts", 200, json=verdict, headers=head).json()
    assert senior.api("POST", f"{here}/verdicts", 200, json=verdict, headers=head).json() == made
    rows = {row["item"]: row for row in owner.api("GET", f"{here}/export", 200, params={"what": "decisions"}).json()}
    assert (rows["x"]["consensus_label"], rows["x"]["verdict"], rows["x"]["verdict_by"]) == (
        "dog",
        "bird",
        world.ids["senior"],
    )
    assert rows["y"]["verdict"] is None
    (said,) = owner.api("GET", f"{here}/item/trail", 200, params={"id": "x"}).json()["beside"]
    assert (said["label"], said["note"]) == ("bird", "It has wings.")
