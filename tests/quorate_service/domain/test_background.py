"""Learning, budget control and numbers, in the background and by one worker at a time."""

import contextlib
import json
import math
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sqlalchemy import func, insert, select

from quorate import Session, method
from quorate.errors import DuplicateVote
from quorate.model.learning.learner import refit
from quorate_service.background import HOLD_SECONDS, BackgroundJobs
from quorate_service.domain import learning
from quorate_service.domain.audits import audit_report
from quorate_service.domain.ballots import act
from quorate_service.domain.item_actions import change_item
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.learning import learn, steer, stored_control
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings, goal_control
from quorate_service.domain.stats import LIVE_SECONDS, latest_stats, stats
from quorate_service.domain.trail import disagreements
from quorate_service.domain.votes import Request
from quorate_service.store import StoreBusy, schema
from quorate_service.store.schema import deliveries, events, projects, tasks, webhooks
from tests.processes import wait_until
from tests.quorate_service.conftest import POSTGRESQL
from tests.refusals import refused

CLASSES = ["cat", "dog", "bird"]
FITS = select(func.count()).select_from(events).where(events.c.kind == "learn")


def stream(num_items, seed=0, sharp=0.75, pool_size=5):
    """Items with a prediction that is right most of the time, and the votes of a whole pool each."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(3, size=num_items)
    for number, truth in enumerate(truths):
        said = truth if rng.random() < 0.8 else rng.integers(3)
        prediction = np.full(3, (1 - sharp) / 2)
        prediction[said] = sharp
        votes = [CLASSES[truth if rng.random() < 0.85 else rng.integers(3)] for _ in range(pool_size)]
        yield f"i{number}", prediction.tolist(), votes


def vote_until_closed(desk, project, name, votes, now=1001.0):
    for number, label in enumerate(votes):
        request = Request(project.id, name, f"v{number}", "vote", label, served=False)
        if not act(desk.projects, request, now=now).decision.ask:
            break


def play(desk, project, items, each=lambda: None):
    items = list(items)
    add_items(desk.projects, project.id, [NewItem(name, prediction) for name, prediction, _ in items], now=1000.0)
    for name, _, votes in items:
        vote_until_closed(desk, project, name, votes)
        each()


def test_what_is_learned_is_what_a_session_would_learn(desk):
    project = desk.project()
    session = Session(method("value", refit_every=None), classes=CLASSES, pool_size=5)
    items = list(stream(30))
    play(desk, project, items)
    for name, prediction, votes in items:
        decision = session.open(name, prediction)
        for number, label in enumerate(votes):
            if not decision.ask:
                break
            decision = session.vote(name, label, voter=f"v{number}")
    session.learn()
    assert learn(desk.projects, project.id, now=1002.0) is not None
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        learned = desk.projects.params(connection, latest, latest.learn_event)
    assert learned.theta == pytest.approx(session.params.theta)
    np.testing.assert_allclose(learned.tau, session.params.tau)


def test_learning_waits_until_enough_items_closed(desk):
    project = desk.project(method="finexp")
    play(desk, project, stream(15))
    assert learn(desk.projects, project.id, now=1002.0) is None
    assert learn(desk.projects, project.id, now=1002.0, at_once=True) is not None


def test_a_fit_that_is_not_due_is_not_made_later_because_no_vote_had_come(desk):
    project = desk.project(method="finexp:threshold=0.45")
    sure = [(f"s{n}", [0.998, 0.001, 0.001], []) for n in range(20)]  # closed at once, without votes
    play(desk, project, sure)
    assert learn(desk.projects, project.id, now=1002.0) is None
    fits = []
    play(desk, project, stream(45, sharp=0.34), each=lambda: fits.append(learn(desk.projects, project.id, now=1002.0)))
    assert [number for number, fit in enumerate(fits, start=21) if fit is not None] == [40, 60]


def test_decisions_made_before_and_after_learning_can_both_be_recomputed(desk):
    project = desk.project()
    play(desk, project, stream(25), each=lambda: learn(desk.projects, project.id, now=1002.0))
    assert learn(desk.projects, project.id, now=1003.0) is None, "there are no new votes"
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        assert connection.execute(FITS).scalar_one() >= 3
        assert list(disagreements(desk.projects, connection, latest)) == []


def test_a_budget_is_held(desk):
    project = desk.project(budget=2.0)
    play(desk, project, stream(120), each=lambda: steer(desk.projects, project.id, now=1002.0))
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        control, told = stored_control(connection, latest), stats(connection, latest, now=1003.0)
        assert list(disagreements(desk.projects, connection, latest)) == []
    assert control.num_items == told.num_closed > 100
    assert told.votes_per_closed == pytest.approx(2.0, abs=0.35)
    assert told.goal["asked_for"] == 2.0


def test_a_target_error_needs_audits_and_uses_their_outcome(desk):
    with refused("audit_rate"):
        ProjectSettings(classes=CLASSES, pool_size=5, target_error=0.02, audit_rate=0.0).check()
    project = desk.project(target_error=0.1, audit_rate=0.5, pool_size=11)
    items = list(stream(60, sharp=0.9, pool_size=11))
    play(desk, project, items)
    complete_panels(desk, project, items)
    steer(desk.projects, project.id, now=1002.0)
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        control, report = stored_control(connection, latest), audit_report(connection, latest)
    assert control.num_audited == report.num_complete > 5
    assert control.num_items == 60


def test_an_estimated_error_is_shown_only_if_the_audit_supports_it(desk):
    for num_items, is_supported in ((3, False), (60, True)):
        project = desk.project(target_error=0.1, audit_rate=0.5, pool_size=11)
        given = list(stream(num_items, sharp=0.9, pool_size=11))
        play(desk, project, given)
        complete_panels(desk, project, given)
        steer(desk.projects, project.id, now=1002.0)
        with desk.store.read() as connection:
            latest = desk.projects.get_in(connection, project.id)
            control, told = stored_control(connection, latest), stats(connection, latest, now=1003.0)
        assert told.audit.is_enough == told.goal["estimate_supported"] == is_supported
        assert not math.isnan(control.reached) and not math.isnan(control.upper)
        shown = (control.reached, control.upper) if is_supported else (None, None)
        assert (told.goal["reached"], told.goal["upper"]) == shown


def drawn_items(desk):
    """Those drawn for the audit, in the order of closing."""
    query = select(schema.items.c.name).where(schema.items.c.audit == "drawn").order_by(schema.items.c.closed_event)
    with desk.store.read() as connection:
        return list(connection.scalars(query))


def test_audits_that_are_complete_before_an_older_one_do_not_count_yet(desk):
    """The easy items are complete first: alone they would bias the estimate, and the project would ask too little."""
    project = desk.project(target_error=0.1, audit_rate=1.0, pool_size=11)
    given = list(stream(30, sharp=0.9, pool_size=11))
    play(desk, project, given)
    names = drawn_items(desk)

    def audited():
        steer(desk.projects, project.id, now=1002.0)
        with desk.store.read() as connection:
            return stored_control(connection, desk.projects.get_in(connection, project.id)).num_audited

    complete_panels(desk, project, [each for each in given if each[0] in names[1:]])
    assert len(names) > 3 and audited() == 0
    complete_panels(desk, project, [each for each in given if each[0] == names[0]])
    assert audited() == len(names)


def test_withdrawn_drawn_items_count_as_wrong_and_do_not_block_others(desk):
    project = desk.project(target_error=0.1, audit_rate=1.0, pool_size=11)
    given = list(stream(10, sharp=0.9, pool_size=11))
    play(desk, project, given)
    first, *rest = drawn_items(desk)
    change_item(desk.projects, project.id, "withdraw", first, by="ada", now=1001.0)
    complete_panels(desk, project, [each for each in given if each[0] in rest])
    with desk.store.read() as connection:
        wrong = connection.scalar(select(func.sum(schema.items.c.audit_loss)).where(schema.items.c.name.in_(rest)))
    steer(desk.projects, project.id, now=1002.0)
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        control, told = stored_control(connection, latest), audit_report(connection, latest)
    assert control.num_items == told.num_closed == 10
    assert control.num_audited == told.num_drawn == 1 + len(rest)
    assert control.seen_errors == pytest.approx(1.0 + wrong)


def complete_panels(desk, project, items):
    """Everybody who has not voted on an item votes."""
    for name, _, votes in items:
        for number, label in enumerate(votes):
            with contextlib.suppress(DuplicateVote):
                act(desk.projects, Request(project.id, name, f"v{number}", "vote", label, served=False), now=1001.0)


def test_a_project_starts_as_a_run_would_and_keeps_its_audit_rate(desk):
    settings = ProjectSettings(classes=CLASSES, pool_size=50, target_error=0.001, audit_rate=0.1)
    assert goal_control(settings).parameters["error_cost"] == pytest.approx(50 / 0.001)
    project = desk.project(target_error=0.05, audit_rate=0.1)
    steer(desk.projects, project.id, now=1001.0)
    desk.projects.change(project.id, audit_rate=0.3, now=1002.0)
    with desk.store.read() as connection:
        assert stored_control(connection, desk.projects.get_in(connection, project.id)).audit_rate == 0.3


def test_votes_of_audits_count_in_the_budget(desk):
    project = desk.project(budget=1.5, audit_rate=1.0, method="finexp", pool_size=7)
    items = list(stream(20, pool_size=7))
    play(desk, project, items)
    steer(desk.projects, project.id, now=1002.0)
    complete_panels(desk, project, items)
    steer(desk.projects, project.id, now=1003.0)
    with desk.store.read() as connection:
        told = stats(connection, project, now=1003.0)
        control = stored_control(connection, desk.projects.get_in(connection, project.id))
    assert control.spent == told.votes_on_closed == 7 * 20


@POSTGRESQL
def test_budget_control_does_not_delay_votes(desk):
    """Votes are stored while a worker controls the budget: only its other writers wait for the row."""
    project = desk.project(["x"], budget=2.0)
    with desk.store.write() as connection:
        lock = select(projects).where(projects.c.id == project.id).with_for_update(key_share=True)
        connection.execute(lock)
        voter = threading.Thread(target=vote_until_closed, args=(desk, project, "x", ["cat"]))
        voter.start()
        voter.join(10.0)
        assert not voter.is_alive()


def test_no_vote_waits_for_a_fit(desk, monkeypatch):
    project = desk.project()
    play(desk, project, stream(20))
    add_items(desk.projects, project.id, [NewItem("x")], now=1000.0)
    begun, voted = threading.Event(), threading.Event()

    def slow(*given):
        begun.set()
        assert voted.wait(30.0), "a vote waited for a fit"
        return refit(*given)

    monkeypatch.setattr("quorate_service.domain.learning.refit", slow)
    fit = threading.Thread(target=lambda: learn(desk.projects, project.id, now=1002.0))
    fit.start()
    assert begun.wait(30.0)
    vote_until_closed(desk, project, "x", ["cat"] * 5)
    voted.set()
    fit.join(30.0)
    assert desk.projects.get(project.id).learn_event > 0


@pytest.mark.parametrize("problem", [ZeroDivisionError(), StoreBusy("somebody holds the project")])
def test_a_failing_project_does_not_block_others(desk, monkeypatch, problem):
    broken, sound = desk.project(), desk.project()
    play(desk, sound, stream(20))
    told = learning.learn

    def learn_or_fail(projects_, project_id, **more):
        if project_id == broken.id:
            raise problem
        return told(projects_, project_id, **more)

    monkeypatch.setattr("quorate_service.background.learn", learn_or_fail)
    BackgroundJobs(desk.projects).round()
    assert desk.projects.get(sound.id).learn_event > 0


def test_the_numbers_add_up(desk):
    project = desk.project(price=0.5)
    play(desk, project, stream(20))
    with desk.store.read() as connection:
        told = stats(connection, project, now=1010.0)
    assert told.num_items == told.num_open + told.num_closed == 20
    assert told.votes_saved == 5 * told.num_closed - told.votes_on_closed > 0
    assert told.money_spent == pytest.approx(0.5 * told.num_votes)
    assert sum(told.reasons.values()) == sum(told.labels.values()) == told.num_closed
    assert sum(voter["votes"] for voter in told.voters) == told.num_votes == sum(hour["votes"] for hour in told.hours)
    assert 0.5 < told.voters[0]["agreement"] <= 1.0


def test_one_worker_at_a_time_holds_a_task_and_a_dead_one_loses_it(desk):
    project = desk.project()
    clock = [1000.0]
    first, second = (BackgroundJobs(Projects(desk.store), clock=lambda: clock[0]) for _ in range(2))
    assert first.hold(project.id, "learn") and not second.hold(project.id, "learn") and first.hold(project.id, "learn")
    clock[0] += 5.0
    first.renew()
    clock[0] += 5.0
    assert not second.hold(project.id, "learn"), "a living worker keeps its task, however long it takes"
    clock[0] += 2.0
    assert second.hold(project.id, "learn") and not first.hold(project.id, "learn")
    clock[0] -= 5000.0
    assert first.hold(project.id, "learn")


WORKER = """
import sys, time
from quorate_service.domain.item_actions import change_item
from quorate_service.domain.projects import Projects
from quorate_service.background import BackgroundJobs
from quorate_service.store import Store
BackgroundJobs(Projects(Store(sys.argv[1])), hold_seconds=1.0).start()
time.sleep(60)
"""


def test_numbers_of_a_killed_worker_are_taken_over_within_ten_seconds_and_never_go_back(desk, database_url):
    project = desk.project(["x", "y"], method="ask-all")
    worker = subprocess.Popen([sys.executable, "-c", WORKER, database_url])
    try:
        wait_until(lambda: holder(desk, project) is not None, "the worker has the task")
        dead, jobs = holder(desk, project), BackgroundJobs(Projects(desk.store), hold_seconds=1.0)
        worker.kill()
        worker.wait()
        jobs.start()
        killed, seen = time.monotonic(), []
        vote_until_closed(desk, project, "x", ["cat"], now=time.time())

        def is_up_to_date():
            with desk.store.read() as connection:
                told = latest_stats(connection, project, now=time.time())
            seen.append((told.time, told.num_votes))
            return told.num_votes == 1 and told.age <= LIVE_SECONDS

        wait_until(is_up_to_date, "the numbers are up to date")
        took = time.monotonic() - killed
        jobs.stop()
    finally:
        worker.kill()
        worker.wait()
    assert took <= 10.0 and seen == sorted(seen)
    assert HOLD_SECONDS + 2 * jobs.rhythm <= 10.0, "so long it takes by default, where a hold lasts longer"
    assert holder(desk, project) == jobs.name != dead
    assert BackgroundJobs(Projects(desk.store)).hold(project.id, "stats"), (
        "a worker that stops in order frees its tasks"
    )


def holder(desk, project):
    """The worker that holds the project's numbers, once it has computed some."""
    query = select(tasks.c.holder).where(tasks.c.project_id == project.id, tasks.c.task == "stats")
    with desk.store.read() as connection:
        return connection.execute(query.where(tasks.c.state != "{}")).scalar_one_or_none()


def test_numbers_that_were_begun_before_newer_ones_are_dropped(desk, monkeypatch):
    """A worker that was paused must not overwrite its successor's numbers with old ones."""
    project = desk.project(["x"], method="ask-all")
    slow, quick = BackgroundJobs(Projects(desk.store)), BackgroundJobs(Projects(desk.store))
    real = stats

    def overtaken(connection, project, *, now):
        told = real(connection, project, now=now)
        connection.rollback()
        monkeypatch.setattr("quorate_service.background.stats", real)
        vote_until_closed(desk, project, "x", ["cat"])
        quick._compute_stats(project.id)
        return told

    assert slow.hold(project.id, "stats")
    monkeypatch.setattr("quorate_service.background.stats", overtaken)
    slow._compute_stats(project.id)
    with desk.store.read() as connection:
        assert latest_stats(connection, project, now=1.0).num_votes == 1


def test_the_first_import_shows_at_once(desk):
    project = desk.project([])
    BackgroundJobs(desk.projects, clock=lambda: 2000.0).round()
    add_items(desk.projects, project.id, [NewItem("x")], now=2001.0)
    with desk.store.read() as connection:
        assert latest_stats(connection, project, now=2001.0).num_items == 1


def test_numbers_have_an_age_and_paused_projects_get_new_ones(desk):
    project = desk.project(["x"])
    clock = [2000.0]
    jobs = BackgroundJobs(desk.projects, clock=lambda: clock[0])
    jobs.round()
    clock[0] += 50.0
    with desk.store.read() as connection:
        before = latest_stats(connection, project, now=clock[0])
    assert before.age == 50.0
    desk.projects.change(project.id, state="paused", now=clock[0])
    jobs._due.clear()
    clock[0] -= 500.0
    jobs.round()
    with desk.store.read() as connection:
        after = latest_stats(connection, project, now=clock[0])
    assert after.age == 0.0
    assert after.version > before.version and after.time < before.time, "the clock was set back"


def test_two_workers_at_once_learn_once(desk):
    project = desk.project()
    play(desk, project, stream(20))
    workers = [BackgroundJobs(Projects(desk.store)) for _ in range(2)]
    threads = [threading.Thread(target=jobs.round) for jobs in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with desk.store.read() as connection:
        assert connection.execute(FITS).scalar_one() == 1
        assert latest_stats(connection, project, now=1.0).num_items == 20


def add_hook(desk, project, *kinds):
    hook = {"id": project.id, "project_id": project.id, "url": "https://example.org", "secret": "s", "created": 1.0}
    with desk.store.write() as connection:
        connection.execute(insert(webhooks).values(hook | {"kinds": json.dumps(kinds)}))


def test_webhooks_report_closed_items_changes_and_completion(desk):
    project = desk.project(["x"], method="quorum:votes=1")
    kinds = ["item.completed", "project.changed", "project.completed"]
    add_hook(desk, project, *kinds)
    jobs = BackgroundJobs(desk.projects)
    jobs.round()
    desk.projects.change(project.id, price=0.5, now=1001.0)
    vote_until_closed(desk, project, "x", ["cat"])
    jobs._due.clear()
    jobs.round()
    with desk.store.read() as connection:
        told = [json.loads(body) for body in connection.execute(select(deliveries.c.body)).scalars()]
    data = {each["type"]: each["data"] for each in told}
    assert sorted(each["type"] for each in told) == kinds
    assert data["project.changed"] == {"price": 0.5}
    assert data["item.completed"]["label"] == "cat" and data["project.completed"] == {"num_items": 1, "num_votes": 1}


@pytest.fixture
def ends(desk):
    """`ends(project)`: how often a project's completion was reported, after one more round of its jobs."""
    workers = {}

    def count(project):
        if project.id not in workers:
            add_hook(desk, project, "project.completed")
            workers[project.id] = BackgroundJobs(desk.projects)
        workers[project.id]._due.clear()
        workers[project.id].round()
        with desk.store.read() as connection:
            told = select(func.count()).select_from(deliveries).where(deliveries.c.webhook_id == project.id)
            return connection.execute(told).scalar_one()

    return count


def test_completion_is_reported_once_even_if_no_round_saw_an_open_item(desk, ends):
    project = desk.project(method="quorum:votes=1")
    assert (ends(project), ends(project)) == (0, 0)  # no item, no end
    for number, name in enumerate(["x", "y"], start=1):
        add_items(desk.projects, project.id, [NewItem(name)], now=1001.0)
        vote_until_closed(desk, project, name, ["cat"])
        assert (ends(project), ends(project)) == (number, number)


def test_completion_is_reported_again_after_an_item_was_reopened(desk, ends):
    project = desk.project(["x"], method="quorum:votes=1")
    vote_until_closed(desk, project, "x", ["cat"])
    assert ends(project) == 1
    act(desk.projects, Request(project.id, "x", "v0", "retract", served=False), now=1002.0)
    assert ends(project) == 1
    vote_until_closed(desk, project, "x", ["dog"], now=1003.0)
    assert (ends(project), ends(project)) == (2, 2)
