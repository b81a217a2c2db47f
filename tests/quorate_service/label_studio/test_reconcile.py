"""Reconciling, with a Label Studio in memory that ends the process at any call: what a real one is too slow for.

The double follows the rules of the real one (`tests/quorate_service/studio` runs that): who is served, and when
saving an answer makes a task done.
"""

import contextlib
import copy
import itertools
import random

import pytest
from sqlalchemy import select

from quorate.errors import InvalidInput
from quorate_service.domain.projects import Projects
from quorate_service.label_studio.client import Gone, Refused, Unreachable
from quorate_service.label_studio.connections import connection_of, known_tasks, list_connections
from quorate_service.label_studio.connector import attach
from quorate_service.label_studio.reconcile import Reconciler
from quorate_service.label_studio.settings import ConnectSettings
from quorate_service.label_studio.tasks import as_project
from quorate_service.store.schema import ballots, items

CLASSES = ("cat", "dog", "bird")
CONFIG = '<View><Text name="t" value="$text"/><Choices name="pet" toName="t">{}</Choices></View>'.format(
    "".join(f'<Choice value="{name}"/>' for name in CLASSES)
)


class Killed(BaseException):
    """The process ends here."""


class Double:
    """A project of Label Studio in memory. `ends_at`: the call at which the process ends."""

    url = "http://127.0.0.1:8080"

    def __init__(self, num_tasks: int, *, maximum: int = 3) -> None:
        self.maximum, self.hooks, self.calls, self.writes = maximum, {}, 0, 0
        self.ends_at, self.is_done_then, self.numbers = None, False, itertools.count(1)
        self.found = {}
        for _ in range(num_tasks):
            self.import_task()

    def _call(self, does=lambda: None):
        self.calls += 1
        if self.ends_at == self.calls:
            if self.is_done_then:
                does()
            raise Killed
        return does()

    def import_task(self) -> int:
        number = next(self.numbers)
        guess = {"id": number, "score": 0.8, "model_version": "", "result": answer("cat")}
        self.found[number] = {
            "id": number, "overlap": self.maximum, "is_labeled": False, "data": {"text": f"task {number}"},
            "annotations": [], "predictions": [guess],
        }  # fmt: skip
        return number

    def annotate(self, task: int, user: int, label: str | None) -> None:
        told = {"id": next(self.numbers), "completed_by": user, "was_cancelled": label is None, "ground_truth": False}
        self.found[task]["annotations"].append(told | {"updated_at": f"{told['id']:09}", "result": answer(label)})
        self.saved(task)

    def saved(self, task: int) -> None:
        held = self.found[task]
        people = {each["completed_by"] for each in held["annotations"] if not each["was_cancelled"]}
        held["is_labeled"] = len(people) >= held["overlap"]

    def reset(self, maximum: int) -> None:
        self.maximum = maximum
        for number, held in self.found.items():
            held["overlap"] = maximum
            self.saved(number)

    def close(self):
        pass

    def me(self):
        return "owner@example.org"

    def project(self, _number):
        told = {"id": 1, "title": "Pets", "label_config": CONFIG, "maximum_annotations": self.maximum}
        return self._call(lambda: as_project(told | {"skip_queue": "REQUEUE_FOR_OTHERS", "model_version": ""}))

    def task(self, number):
        if number not in self.found:
            raise Gone
        return self._call(lambda: self._with_addresses(copy.deepcopy(self.found[number])))

    def _with_addresses(self, task):
        """A single task names its annotators; a page of tasks has only their ids."""
        for each in task["annotations"]:
            each["completed_by"] = {"id": each["completed_by"], "email": email_of(each["completed_by"])}
        return task

    def tasks(self, _project):
        yield self._call(lambda: copy.deepcopy(list(self.found.values())))

    def change_task(self, number, values):
        self.writes += 1
        self._call(lambda: self.found[number].update(copy.deepcopy(values)))

    def webhooks(self, _project):
        return self._call(lambda: list(self.hooks.values()))

    def add_webhook(self, _project, url, headers):
        number = next(self.numbers)
        self._call(lambda: self.hooks.update({number: {"id": number, "url": url, "headers": dict(headers)}}))
        return number

    def remove_webhook(self, number):
        self._call(lambda: self.hooks.pop(number, None))


def email_of(user):
    return f"person{user}@example.org"


def answer(label):
    return [{"from_name": "pet", "to_name": "t", "type": "choices", "value": {"choices": [label] if label else []}}]


def connected(store, double, **settings):
    how = ConnectSettings(callback="http://127.0.0.1:8000")
    chosen = {"audit_rate": 0.0, "method": "until-settled", **settings}
    return attach(store, double, 1, how, chosen, now=1.0).project_id


def reconciler(store, double, project_id):
    with store.read() as connection:
        link = connection_of(connection, project_id)
    return Reconciler(Projects(store), link, double, clock=lambda: 2.0)


def held(store):
    with store.read() as connection:
        query = select(items.c.name, ballots.c.voter, ballots.c.label).join(items, items.c.id == ballots.c.item_id)
        return {(int(name), voter): label for name, voter, label in connection.execute(query)}


def said(double):
    """The last answer of each person."""
    return {
        (number, f"ext:{email_of(each['completed_by'])}"): (each["result"][0]["value"]["choices"] or [None])[0]
        for number, task in double.found.items()
        for each in task["annotations"]
    }


def something_happens(double, chance):
    """What people do between two readings."""
    for _ in range(chance.randint(0, 6)):
        task = chance.choice(list(double.found))
        there = double.found[task]["annotations"]
        free = {1, 2, 3} - {each["completed_by"] for each in there}
        does = chance.random()
        if does < 0.6 and free:
            double.annotate(task, chance.choice(sorted(free)), chance.choice([*CLASSES, None]))
        elif does < 0.75 and there:
            there.pop(chance.randrange(len(there)))
            double.saved(task)
        elif does < 0.9 and there:
            changed = chance.choice(there)
            changed.update(result=answer(chance.choice(CLASSES)), was_cancelled=False)
        elif does < 0.95:
            double.import_task()
        else:
            double.reset(chance.choice([2, 3, 4]))


@pytest.mark.parametrize("seed", range(6))
def test_ended_at_any_call_it_goes_on_and_counts_every_annotation_once(store, seed):
    chance, double = random.Random(seed), Double(3)
    project_id = connected(store, double)
    for _ in range(6):
        something_happens(double, chance)
        double.calls, double.ends_at, double.is_done_then = 0, chance.randint(1, 12), chance.random() < 0.5
        with contextlib.suppress(Killed):
            reconciler(store, double, project_id).read_all()
        double.ends_at = None
    reconciler(store, double, project_id).read_all()
    assert held(store) == said(double)
    double.writes = 0
    reconciler(store, double, project_id).read_all()
    assert double.writes == 0
    assert len(double.hooks) == 1
    with store.read() as connection:
        rows = {int(row.name): row for row in connection.execute(select(items))}
    for number, task in double.found.items():
        assert task["is_labeled"] == (not rows[number].is_wanted)
        assert ("quorate_consensus" in task["data"]) == task["is_labeled"]


@pytest.mark.parametrize("ends_at", [None, 1, 2, 3, 5, 8])
def test_disconnecting_may_be_ended_and_begun_again(store, ends_at):
    double = Double(4)
    before = copy.deepcopy(double.found)
    project_id = connected(store, double)
    reconciler(store, double, project_id).read_all()
    assert double.found != before
    double.calls, double.ends_at, double.is_done_then = 0, ends_at, True
    try:
        reconciler(store, double, project_id).undo()
    except Killed:
        double.ends_at = None
        reconciler(store, double, project_id).undo()
    assert double.found == before
    assert double.hooks == {}
    with store.read() as connection:
        assert known_tasks(connection, project_id) == {}


@pytest.fixture
def unconfirmed(store):
    """A server that created our webhook, but its response was lost."""
    double = Double(1)
    project_id = connected(store, double)
    add = double.add_webhook

    def loses_the_response(*given):
        add(*given)
        double.add_webhook = add
        raise Unreachable

    double.add_webhook = loses_the_response
    with pytest.raises(Unreachable):
        reconciler(store, double, project_id).read_all()
    assert len(double.hooks) == 1
    return double, project_id


def test_a_webhook_whose_creation_was_not_confirmed_is_replaced(store, unconfirmed):
    double, project_id = unconfirmed
    (lost,) = double.hooks
    reconciler(store, double, project_id).read_all()
    assert len(double.hooks) == 1 and lost not in double.hooks


def test_disconnecting_removes_a_webhook_whose_creation_was_not_confirmed(store, unconfirmed):
    double, project_id = unconfirmed
    double.hooks[900] = {"id": 900, "url": "http://example.org/somebody-elses"}
    reconciler(store, double, project_id).undo()
    assert list(double.hooks) == [900]


def test_disconnecting_restores_tasks_for_a_user_who_may_not_see_webhooks(store):
    double = Double(2)
    before = copy.deepcopy(double.found)
    project_id = connected(store, double)

    def refuses(_project):
        raise Refused

    double.webhooks = refuses
    reconciler(store, double, project_id).read_all()
    assert double.found != before
    reconciler(store, double, project_id).undo()
    assert double.found == before


def test_a_task_that_is_gone_is_withdrawn_and_its_votes_stay(store):
    double = Double(2)
    project_id = connected(store, double)
    double.annotate(1, 1, "cat")
    reconciler(store, double, project_id).read_all()
    del double.found[1]
    reconciler(store, double, project_id).read_all()
    with store.read() as connection:
        gone = connection.execute(select(items).where(items.c.name == "1")).one()
    assert gone.withdrawn is not None
    assert held(store) == {(1, "ext:person1@example.org"): "cat"}


def test_an_audited_task_stays_open_until_everybody_has_answered(store):
    double = Double(1, maximum=4)
    project_id = connected(store, double, audit_rate=1.0, method="quorum:votes=2", pool_size=5)
    for user in (1, 2):
        double.annotate(1, user, "cat")
        reconciler(store, double, project_id).read_all()
    assert not double.found[1]["is_labeled"]
    assert "quorate_consensus" not in double.found[1]["data"]
    double.annotate(1, 3, "cat")
    reconciler(store, double, project_id).read_all()
    assert double.found[1]["is_labeled"]
    assert double.found[1]["data"]["quorate_votes"] == 2


def test_connecting_again_goes_on_with_the_same_project(store):
    double = Double(2)
    project_id = connected(store, double)
    assert connected(store, double) == project_id


def test_a_table_of_predictions_that_cannot_be_read_is_refused_before_anything_is_kept(store, tmp_path):
    (tmp_path / "probs.csv").write_text("id,cat,dog,bird\n1,90,5,5\n2,80,10,10\n")
    how = ConnectSettings(predictions=str(tmp_path / "probs.csv"))
    with pytest.raises(InvalidInput):
        attach(store, Double(1), 1, how, {"pool_size": 3}, now=1.0)
    with store.read() as connection:
        assert list(list_connections(connection)) == []


def test_answers_marked_as_ground_truth_are_no_votes(store):
    double = Double(1)
    project_id = connected(store, double)
    double.annotate(1, 1, "cat")
    double.annotate(1, 2, "dog")
    double.found[1]["annotations"][1]["ground_truth"] = True
    reconciler(store, double, project_id).read_all()
    assert held(store) == {(1, "ext:person1@example.org"): "cat"}
    double.found[1]["annotations"][0]["ground_truth"] = True
    reconciler(store, double, project_id).read_all()
    assert held(store) == {}


@pytest.mark.parametrize("number", ["x", None, [], {}])
def test_a_task_whose_id_is_no_number_is_noted_and_the_others_are_read(store, number):
    double = Double(2)
    project_id = connected(store, double)
    double.annotate(1, 1, "cat")
    double.found[2]["id"] = number
    assert reconciler(store, double, project_id).read_all() == 1
    assert held(store) == {(1, "ext:person1@example.org"): "cat"}
    with store.read() as connection:
        assert connection_of(connection, project_id).problem is not None


def test_a_task_beyond_the_pages_that_cannot_be_read_is_noted_and_the_others_are_read(store):
    double = Double(3)
    project_id = connected(store, double)
    reconciler(store, double, project_id).read_all()
    double.annotate(2, 1, "cat")
    double.annotate(3, 1, "dog")
    bad = double.found[1] | {"overlap": "x"}
    double.tasks = lambda _project: iter([[double.found[3]]])
    task = double.task
    double.task = lambda number: bad if number == 1 else task(number)
    reconciler(store, double, project_id).read_all()
    assert held(store) == {(2, "ext:person1@example.org"): "cat", (3, "ext:person1@example.org"): "dog"}
    with store.read() as connection:
        assert connection_of(connection, project_id).problem is not None
