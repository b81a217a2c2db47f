"""Items over HTTP: batches, lists, unusual ids, content, closing, trails."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from quorate_service.domain import items as deciding_items
from tests.quorate_service.api.conftest import rows_of

ODD = ["a/b/../c", "item/trail", "ä ö?#&=%2F", "..", ".", "🙂", "x" * 200, "trailing/", "//", "=1+1"]


def add(world, items, status=200, **rest):
    return world.client("owner").api("POST", f"/projects/{world.here}/items", status, json={"items": items}, **rest)


def test_a_batch_is_added_with_every_form_of_prediction_and_may_come_again(world):
    batch = [
        {"id": "a", "prediction": {"cat": 0.8}},
        {"id": "b", "prediction": [0.2, 0.3, 0.5], "priority": 5, "pool_size": 3},
        {"id": "c", "prediction": "dog", "text": "What is it?"},
        {"id": "d"},
        {"id": "e", "predictions": {"classifier": {"bird": 1.0}}, "link": "https://example.org/e"},
        {"id": "f", "predictions": [[0.1, 0.1, 0.8]], "image": "https://example.org/f.png"},
    ]
    told = add(world, batch).json()
    assert told["added"] == 6 and [each["id"] for each in told["items"]] == list("abcdef")
    assert add(world, batch).json()["added"] == 0
    shown = world.client("reader").api("GET", f"/projects/{world.here}/item", 200, params={"id": "b"}).json()
    assert shown["predictions"] == {"classifier": {"cat": 0.2, "dog": 0.3, "bird": 0.5}}
    assert (shown["priority"], shown["pool_size"], shown["label"]) == (5, 3, "bird")
    link = world.client("reader").api("GET", f"/projects/{world.here}/item", 200, params={"id": "e"}).json()["show"]
    assert link == {"text": None, "image": None, "link": "https://example.org/e"}


INVALID = [
    {"id": ""},
    {"id": " a"},
    {"id": "a\nb"},
    {"id": "a", "prediction": {"giraffe": 1.0}},
    {"id": "a", "prediction": [0.5, 0.5]},
    {"id": "a", "prediction": [0.5, 0.5, 0.5]},
    {"id": "a", "prediction": 1.5},
    {"id": "a", "prediction": True},
    {"id": "a", "prediction": "cat", "predictions": ["cat"]},
    {"id": "a", "image": "javascript:alert(1)"},
    {"id": "a", "image": "data:image/png;base64,AAAA"},
    {"id": "a", "image": "http://example.org/a.png"},
    {"id": "a", "image": "https://user:word@example.org/a.png"},
    {"id": "a", "image": "http://127.0.0.1/a.png"},
    {"id": "a", "image": "https://10.0.0.1/a.png"},
    {"id": "a", "image": "https://127.1/a.png"},
    {"id": "a", "image": "https://sub.localhost/a.png"},
    {"id": "a", "image": "https://%31%32%37.0.0.1/a.png"},
    {"id": "a", "image": "https://１２７。0。0。1/a.png"},
    {"id": "a", "image": "//example.org/a.png"},
    {"id": "a", "image": "upload:u_nothing"},
    {"id": "a", "link": "file:///etc/passwd"},
    {"id": "a", "link": "upload:u_1"},
    {"id": "a", "link": "https://exa mple.org"},
    {"id": "a", "pool_size": 0},
    {"id": "a", "priority": 10**12},
    {"id": "a", "colour": "red"},
]


def test_one_invalid_item_refuses_the_batch(world):
    for item in INVALID:
        answer = add(world, [{"id": "good"}, item], 422)
        assert answer.headers["content-type"] == "application/problem+json", item
    assert world.client("owner").api("GET", f"/projects/{world.here}/items", 200).json()["items"] == []


def test_the_first_items_name_the_classifiers_of_a_project(world):
    here, owner = f"/projects/{world.here}", world.client("owner")
    assert owner.api("GET", here, 200).json()["models"] == []
    add(world, [{"id": "a", "predictions": {"big": {"cat": 0.7}, "small": "dog"}}], 200)
    assert owner.api("GET", here, 200).json()["models"] == ["big", "small"]
    assert add(world, [{"id": "b", "predictions": {"other": "cat"}}], 422).json()["value"] == "other"
    add(world, [{"id": "c", "predictions": {"small": "cat"}}], 200)
    shown = owner.api("GET", f"{here}/item", 200, params={"id": "a"}).json()["predictions"]
    assert shown["big"]["cat"] == 0.7 and list(shown) == ["big", "small"]


def test_private_image_addresses_are_accepted_if_allowed(world):
    local = [{"id": "a", "image": "http://127.0.0.1:9/a.png"}, {"id": "b", "image": "https://10.0.0.1/b.png"}]
    problem = add(world, local, 422).json()
    assert (problem["field"], problem["value"]) == ("items[0].image", "http://127.0.0.1:9/a.png")
    assert problem["rule"] and "QUORATE_PRIVATE_ADDRESSES" in problem["fix"]
    world.app.state.config = replace(world.config, allow_private_addresses=True)
    add(world, local, 200)
    add(world, [{"id": "c", "image": "http://example.org/c.png"}], 422)


def test_links_may_lead_to_an_intranet(world):
    add(world, [{"id": "a", "link": "https://10.0.0.1/viewer#page"}], 200)


def test_ids_of_any_printable_characters_work_everywhere(world):
    add(world, [{"id": name} for name in ODD])
    owner = world.client("owner")
    assert [each["id"] for each in owner.api("GET", f"/projects/{world.here}/items", 200).json()["items"]] == ODD
    for name in ODD:
        params = {"id": name}
        assert owner.api("GET", f"/projects/{world.here}/item", 200, params=params).json()["id"] == name
        assert owner.api("GET", f"/projects/{world.here}/item/trail", 200, params=params).json()["item"] == name
        vote = {"item": name, "label": "cat", "voter": "v"}
        assert owner.api("POST", f"/projects/{world.here}/votes", 200, json=vote).json()["recorded"]["item"] == name
        owner.api("POST", f"/projects/{world.here}/item/close", 200, json={"id": name})


def test_lists_are_paged_and_filtered(world):
    world.items("a1", "a2", "B1", "b_2", "b%3")
    owner = world.client("owner")
    owner.api("POST", f"/projects/{world.here}/item/close", 200, json={"id": "a2"})

    def names(**params):
        seen, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = owner.api("GET", f"/projects/{world.here}/items", 200, params=params | more).json()
            seen += [each["id"] for each in page["items"]]
            if (cursor := page["next"]) is None:
                return seen

    assert names(limit=2) == ["a1", "a2", "B1", "b_2", "b%3"]
    assert names(status="open", limit=1) == ["a1", "B1", "b_2", "b%3"]
    assert names(status="closed") == ["a2"] and names(status="audit") == []
    assert names(search="b") == ["B1", "b_2", "b%3"]
    assert names(search="_") == ["b_2"] and names(search="%") == ["b%3"]
    label = owner.api("GET", f"/projects/{world.here}/item", 200, params={"id": "a1"}).json()["label"]
    assert "a1" in names(label=label) and names(label="giraffe") == []


def test_closing_by_hand_is_done_once_per_key(world):
    world.items("x")
    owner = world.client("owner")
    path, head = f"/projects/{world.here}/item/close", {"Idempotency-Key": "c"}
    first = owner.api("POST", path, 200, json={"id": "x"}, headers=head).json()
    assert first["reason"] == "closed" and not first["ask"]
    assert owner.api("POST", path, 200, json={"id": "x"}, headers=head).json() == first
    owner.api("POST", path, 422, json={"id": "x"})


def test_the_trail_is_enough_to_decide_again(world):
    world.items("x", prediction={"cat": 0.6})
    owner = world.client("owner")
    for voter, label in zip("abc", ["cat", "dog", "cat"], strict=True):
        vote = {"item": "x", "label": label, "voter": voter}
        owner.api("POST", f"/projects/{world.here}/votes", 200, json=vote)
    told = owner.api("GET", f"/projects/{world.here}/item/trail", 200, params={"id": "x"}).json()
    decided = [event for event in told["events"] if "recomputed" in event]
    assert len(decided) >= 2
    for event in decided:
        assert event["recomputed"]["confidence"] == pytest.approx(event["decision"]["confidence"], abs=1e-12)
        assert event["recomputed"]["label"] == event["decision"]["label"]


def test_a_batch_of_too_many_is_refused(world):
    assert "5000" in add(world, [{"id": str(n)} for n in range(5001)], 422).text


def test_votes_are_stored_while_a_batch_is_decided(world, monkeypatch):
    """On SQLite, too, where there is one writer at a time."""
    world.items("x")
    begun, go_on, plain = threading.Event(), threading.Event(), deciding_items.item_session

    def slowly(*given, **more):
        begun.set()
        assert go_on.wait(30.0)
        return plain(*given, **more)

    monkeypatch.setattr(deciding_items, "item_session", slowly)
    batch = [{"id": f"n{number}"} for number in range(20)]
    with ThreadPoolExecutor(2) as pool:
        adding = pool.submit(add, world, batch, headers={"Idempotency-Key": "batch"})
        try:
            assert begun.wait(30.0)
            asking = pool.submit(world.client("voter").api, "POST", f"/projects/{world.here}/next", 200)
            assert asking.result(timeout=10.0).json()["items"][0]["item"] == "x"
            assert not adding.done()
        finally:
            go_on.set()
        assert adding.result(timeout=30.0).json()["added"] == 20


def test_gold_items_are_added_changed_and_exported_separately(world):
    owner, here = world.client("owner"), f"/projects/{world.here}"
    batch = {"items": [{"id": "x"}, {"id": "g", "gold": "dog"}]}
    added = owner.api("POST", f"{here}/items", 200, json=batch).json()["items"]
    assert [each["status"] for each in added] == ["open", "gold"]
    assert owner.api("POST", f"{here}/items", 422, json={"items": [{"id": "h", "gold": "zebra"}]}).json()["field"]
    for voter, label in (("ada", "dog"), ("ben", "cat")):
        for item in ("x", "g"):
            owner.api("POST", f"{here}/votes", 200, json={"item": item, "label": label, "voter": voter})
    one = owner.api("GET", f"{here}/item", 200, params={"id": "g"}).json()
    assert (one["status"], one["gold"], one["num_votes"]) == ("gold", "dog", 0)
    assert [
        each["id"] for each in owner.api("GET", f"{here}/items", 200, params={"status": "gold"}).json()["items"]
    ] == ["g"]
    votes = rows_of(owner.api("GET", f"{here}/export", 200, params={"what": "votes"}))
    assert {row["item"] for row in votes} == {"x"}
    gold = rows_of(owner.api("GET", f"{here}/export", 200, params={"what": "gold"}))
    assert [(row["voter_name"], row["label"], row["gold"], row["right"]) for row in gold] == [
        ("ada", "dog", "dog", True), ("ben", "cat", "dog", False),
    ]  # fmt: skip
    owner.api("POST", f"{here}/item/gold", 200, json={"id": "g", "gold": "cat"})
    gold = rows_of(owner.api("GET", f"{here}/export", 200, params={"what": "gold"}))
    assert [row["right"] for row in gold] == [False, True]
    owner.api("POST", f"{here}/item/gold", 422, json={"id": "x", "gold": "cat"})
    journal = owner.api("GET", f"{here}/export", 200, params={"what": "journal"}).text
    assert '"x"' in journal and '"g"' not in journal
