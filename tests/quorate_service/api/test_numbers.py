"""Audit, dashboard numbers and learning over HTTP."""

from dataclasses import fields

from quorate.types import PriorParams
from quorate_service.background import BackgroundJobs
from quorate_service.domain import stats
from quorate_service.domain.audits import ProjectAudit
from quorate_service.domain.stats import LatestStats


def test_the_numbers_of_a_project(world):
    world.items("x", "y")
    owner = world.client("owner")
    for voter in "abcd":
        owner.api("POST", f"/projects/{world.here}/votes", 200, json={"item": "x", "label": "cat", "voter": voter})
    reader = world.client("reader")
    stats = reader.api("GET", f"/projects/{world.here}/stats", 200).json()
    assert (stats["num_items"], stats["num_open"], stats["num_votes"]) == (2, 1, 4)
    audit = reader.api("GET", f"/projects/{world.here}/audit", 200).json()
    assert audit["num_closed"] == 1 and audit["sentence"]
    told = [each.name for each in fields(ProjectAudit)]
    assert (list(stats), list(stats["audit"])) == ([each.name for each in fields(LatestStats)], told)
    assert list(audit) == [*told, "time"]


def test_the_audit_is_the_one_that_background_jobs_computed(world, monkeypatch):
    world.items("x")
    world.client("owner").api("POST", f"/projects/{world.here}/item/close", 200, json={"id": "x"})
    BackgroundJobs(world.projects, clock=world.clock).round()
    monkeypatch.setattr(stats, "audit_report", lambda *_: 1 / 0)
    world.clock.now += 60
    audit = world.client("reader").api("GET", f"/projects/{world.here}/audit", 200).json()
    assert audit["time"] == world.clock.now - 60


def test_what_was_learned_is_listed_by_model_and_class_in_pages(world):
    world.items("x")
    with world.store.write() as connection:
        for theta in (1.0, 2.0, 3.0):
            learned = PriorParams(theta, 0.5, [1.0, 2.0, 3.0], None)
            world.projects.learn_in(connection, world.here, learned, 10, now=world.clock.now)
    reader, path = world.client("reader"), f"/projects/{world.here}/learning"
    first = reader.api("GET", path, 200, params={"limit": 2}).json()
    assert [each["theta"] for each in first["items"]] == [1.0, 2.0]
    assert first["items"][0]["tau"] == {"classifier": {"cat": 1.0, "dog": 2.0, "bird": 3.0}}
    last = reader.api("GET", path, 200, params={"limit": 2, "cursor": first["next"]}).json()
    assert [each["theta"] for each in last["items"]] == [3.0] and last["next"] is None
