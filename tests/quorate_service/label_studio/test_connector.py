"""The connector leaves a project that fails alone for a while, and goes on with the others."""

import itertools

import pytest

from quorate.errors import InvalidInput
from quorate.validate import invalid
from quorate_service.background import BackgroundJobs
from quorate_service.domain.projects import Projects
from quorate_service.label_studio import connector as connector_module
from quorate_service.label_studio.connections import connection_of, list_connections, mark_changed
from quorate_service.label_studio.connector import LONGEST_PAUSE, TASK, Connector, undo
from quorate_service.store.schema import connections
from tests.quorate_service.label_studio.test_reconcile import Double, connected, held


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(connector_module, "time", made)
    return made


def at(url: str) -> Double:
    double = Double(2)
    double.url = url
    return double


def working(store, client_of):
    projects = Projects(store)
    return Connector(projects, BackgroundJobs(projects), clock=lambda: 2.0, client_of=client_of)


def problem_of(store, project_id):
    with store.read() as connection:
        return connection_of(connection, project_id).problem


def test_a_project_that_cannot_be_opened_is_tried_after_growing_pauses(store, clock):
    double, tried = Double(1), []
    project_id = connected(store, double)

    def client_of(_link):
        tried.append(clock.now)
        raise invalid("token", None, "a token", "set one.")

    connector = working(store, client_of)
    while clock.now < 1400.0:
        connector.round()
        clock.now += 0.5
    pauses = [later - sooner for sooner, later in itertools.pairwise(tried)]
    assert pauses == sorted(pauses) and len(tried) < 400 / LONGEST_PAUSE + 10
    assert pauses[0] < pauses[1] and pauses[-1] == LONGEST_PAUSE
    assert problem_of(store, project_id) is not None


@pytest.mark.parametrize("wrong", [ValueError("odd"), TypeError("odd"), KeyError("odd")])
def test_one_bad_server_does_not_keep_the_others_from_being_read(store, clock, wrong):
    doubles = {url: at(url) for url in ("http://127.0.0.1:8081", "http://127.0.0.1:8082", "http://127.0.0.1:8083")}
    ids = {url: connected(store, double) for url, double in doubles.items()}
    with store.read() as connection:
        first = list_connections(connection)[0].url

    def fails(_project):
        raise wrong

    doubles[first].tasks = fails
    for double in doubles.values():
        double.annotate(1, 1, "cat")
    connector = working(store, lambda link: doubles[link.url])
    connector.round()
    told = {url: problem_of(store, project_id) for url, project_id in ids.items()}
    assert [url for url, problem in told.items() if problem is not None] == [first]
    asked = doubles[first].calls
    connector.round()
    assert doubles[first].calls == asked
    assert all(double.writes for url, double in doubles.items() if url != first)


def test_one_bad_task_that_a_webhook_names_does_not_stop_the_project(store, clock):
    double = Double(2)
    project_id = connected(store, double)
    connector = working(store, lambda _link: double)
    connector.round()
    bad, read = double.found[1] | {"overlap": "x"}, double.task
    double.task = lambda number: bad if number == 1 else read(number)
    double.annotate(2, 1, "cat")
    mark_changed(store, project_id, [1], now=2.0)
    mark_changed(store, project_id, [2], now=3.0)
    clock.now += 1.0  # too soon to read all tasks
    connector.round()
    assert held(store) == {(2, "ext:person1@example.org"): "cat"}


def test_disconnecting_does_nothing_there_while_another_worker_holds_the_project(store):
    double = Double(2)
    project_id = connected(store, double)
    with store.read() as connection:
        link = connection_of(connection, project_id)
    other = BackgroundJobs(Projects(store))
    assert other.hold(project_id, TASK)
    double.calls = 0
    with pytest.raises(InvalidInput) as caught:
        undo(Projects(store), link, double, now=3.0, wait=0.0)
    assert (caught.value.field, double.calls) == ("project", 0)
    other.release(project_id, TASK)
    undo(Projects(store), link, double, now=3.0, wait=0.0)


def test_a_project_that_never_opened_is_free_once_it_is_disconnected(store, clock):
    double = Double(1)
    project_id = connected(store, double)

    def client_of(_link):
        raise invalid("token", None, "a token", "set one.")

    connector = working(store, client_of)
    connector.round()
    with store.write() as connection:
        connection.execute(connections.update().values(ended=3.0))
    connector.round()
    assert BackgroundJobs(Projects(store)).hold(project_id, TASK)
