"""What the votes say of each person: as counted by hand, kept by background jobs, shown to owners only."""

import json
import random

import numpy as np
import pytest
from sqlalchemy import select

from quorate import method
from quorate.numerics import share_interval
from quorate.session import Session
from quorate_service.access.accounts import add_member, create_account, remove_member
from quorate_service.background import BackgroundJobs
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.people import latest_people, people
from quorate_service.domain.stats import stats
from quorate_service.domain.votes import Request
from quorate_service.store.schema import tasks

CLASSES = ("cat", "dog", "bird")
SKILLS = {"ext:ada": 0.95, "ext:ben": 0.8, "ext:cem": 0.8, "ext:habit": None}


def cast(desk, project, item, voter, label, now):
    act(desk.projects, Request(project.id, item, voter, "vote", label, served=False), now=now)


@pytest.fixture
def voted(desk):
    """40 items and 12 gold items, all voted on by three careful people and one who always says dog."""
    chance = random.Random(4)
    project = desk.project(method="quorum:votes=2", pool_size=4)
    truth = {f"x{n}": chance.choice(CLASSES) for n in range(40)} | {f"g{n}": chance.choice(CLASSES) for n in range(12)}
    batch = [NewItem(name, {label: 0.6}, gold=label if name[0] == "g" else None) for name, label in truth.items()]
    add_items(desk.projects, project.id, batch, now=1000.0)
    votes = {}
    for step, (name, label) in enumerate(truth.items()):
        for voter, skill in SKILLS.items():
            said = "dog" if skill is None else label if chance.random() < skill else chance.choice(CLASSES)
            votes[name, voter] = said
            cast(desk, project, name, voter, said, now=1001.0 + 10 * step)
    return project, truth, votes


def test_figures_are_those_counted_by_hand(desk, voted):
    project, truth, votes = voted
    with desk.store.read() as connection:
        found = people(desk.projects, connection, desk.projects.get_in(connection, project.id), now=2000.0)
    told = {each.voter: each for each in found.people}
    assert (found.num_votes, found.is_partial, list(told)) == (208, False, sorted(SKILLS))
    agreements = {}
    for voter, each in told.items():
        gold = [votes[name, voter] == label for name, label in truth.items() if name[0] == "g"]
        assert (each.num_votes, each.gold_answers, each.gold_right) == (40, 12, sum(gold))
        assert (each.gold_low, each.gold_high) == pytest.approx(share_interval(sum(gold) / 12, 12))
        agreements[voter] = sum(_shared(votes, name, voter) for name in truth)
        assert each.agreement == pytest.approx(agreements[voter] / 52)
        assert each.accuracy_low <= each.accuracy <= each.accuracy_high
        assert each.seconds == 10.0
    assert told["ext:ada"].accuracy > told["ext:ben"].accuracy > told["ext:habit"].accuracy
    assert {voter: each.kind for voter, each in told.items()} == dict.fromkeys(SKILLS, "careful") | {
        "ext:habit": "habit"
    }
    assert "'dog' in 52 of 52" in told["ext:habit"].evidence


def _shared(votes, name, voter):
    """1 if the vote is the plurality of the others, 1/t in a tie of t, 0 if not."""
    others = [votes[name, other] for other in SKILLS if other != voter]
    counts = {label: others.count(label) for label in CLASSES}
    leading = [label for label in CLASSES if counts[label] == max(counts.values())]
    return (votes[name, voter] in leading) / len(leading)


def test_confidence_is_compared_with_known_answers_as_a_session_would_decide(desk, voted):
    project, truth, votes = voted
    with desk.store.read() as connection:
        found = people(desk.projects, connection, desk.projects.get_in(connection, project.id), now=2000.0).calibration
    session = Session(classes=CLASSES, pool_size=4, method=method("quorum", votes=2))
    decided = []
    for name, label in truth.items():
        if name[0] == "g":
            decision = session.open(name, {label: 0.6})
            for voter in SKILLS:
                decision = session.vote(name, votes[name, voter], voter) if decision.ask else decision
            decided.append((decision.confidence, decision.label == label))
    assert (found.num_items, found.right) == (12, np.mean([right for _, right in decided]))
    assert found.mean_confidence == pytest.approx(np.mean([sure for sure, _ in decided]))


def test_background_jobs_keep_them_and_compute_only_when_something_happened(desk, voted):
    project, *_ = voted
    jobs = BackgroundJobs(desk.projects, clock=lambda: 3000.0)
    jobs.round()
    with desk.store.read() as connection:
        first = latest_people(connection, project.id)
    assert first["time"] == 3000.0 and len(first["people"]) == 4
    jobs.clock = lambda: 4000.0
    jobs.compute_people(project.id)
    with desk.store.read() as connection:
        assert latest_people(connection, project.id) == first
    add_items(desk.projects, project.id, [NewItem("new")], now=4000.0)
    jobs.compute_people(project.id)
    with desk.store.read() as connection:
        assert latest_people(connection, project.id)["time"] == 4000.0
        size = len(connection.execute(select(tasks.c.state).where(tasks.c.task == "people")).scalar_one())
    assert size == len(json.dumps(first)) or size < 10_000


def test_gold_items_without_answers_of_a_whole_pool_say_nothing_of_the_confidence(desk):
    project = desk.project(method="quorum:votes=2", pool_size=4)
    add_items(desk.projects, project.id, [NewItem(name, gold="cat") for name in ("g0", "g1")], now=0.0)
    for item, voters in (("g0", "abcd"), ("g1", "abc")):
        for voter in voters:
            cast(desk, project, item, f"ext:{voter}", "cat", now=1.0)
    with desk.store.read() as connection:
        found = people(desk.projects, connection, desk.projects.get_in(connection, project.id), now=2.0).calibration
    assert (found.num_items, found.right) == (1, 1.0)


def joined(desk, project, name, role):
    """A new member; their id."""
    person = create_account(desk.store, name, now=1.0).id
    add_member(desk.store, project.id, person, role=role, now=1.0)
    return person


def short(desk, project):
    """How many people can vote, and how many items ask for more."""
    with desk.store.read() as connection:
        told = stats(connection, desk.projects.get(project.id), now=1003.0)
    return told.num_people, told.num_short


def test_an_owner_counts_among_those_who_can_vote_once_they_have_voted(desk):
    """Three voters and a pool of 4 wait forever: that must not look as if the owner would vote."""
    project = desk.project(["x", "y"], method="ask-all", pool_size=4)
    owner, *voters = [
        joined(desk, project, f"p{n}", role) for n, role in enumerate(("owner", "voter", "voter", "senior"))
    ]
    joined(desk, project, "reader", "reader")
    for voter in voters:
        cast(desk, project, "x", voter, "cat", 1001.0)
    assert short(desk, project) == (3, 2)
    cast(desk, project, "y", owner, "cat", 1002.0)
    assert short(desk, project) == (4, 0)
    cast(desk, project, "y", "ext:ben", "cat", 1002.0)
    assert short(desk, project) == (5, 0)


def test_a_removed_voter_is_not_missing_on_items_with_their_vote(desk):
    project = desk.project(["x", "y"], method="ask-all", pool_size=3)
    ada, *_ = [joined(desk, project, f"p{n}", "voter") for n in range(3)]
    joined(desk, project, "owner", "owner")
    cast(desk, project, "x", ada, "cat", 1001.0)
    remove_member(desk.store, project.id, ada, by=ada, now=1002.0)
    assert short(desk, project) == (2, 1)
