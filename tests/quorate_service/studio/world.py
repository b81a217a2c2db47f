"""A Label Studio project, annotators who work in it at the same time, and quorate connected to it, all for real."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import select

from quorate_service.store import Store
from quorate_service.store.schema import ballots, connections, items
from tests.forked import Forked
from tests.processes import free_port, wait_until
from tests.quorate_service.studio.studio import PEOPLE, Studio, owner_token, tokens

NAME = "Which pet?"
CLASSES = ("cat", "dog", "bird")
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="pet" toName="text" choice="single">'
    + "".join(f'<Choice value="{name}"/>' for name in CLASSES)
    + "</Choices></View>"
)
ANSWERED_WITHIN = 60.0
NOTHING_LEFT = 4.0  # seconds without a task after which an annotator asks whether all is done


def chosen(label: str) -> list[dict]:
    return [{"from_name": "pet", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]


@dataclass
class Served:
    """A task that was given to somebody, and when they asked."""

    task: int
    person: str
    asked: float


class Quorate:
    """`quorate connect label-studio`, to be killed and started again."""

    def __init__(self, database: str, studio: Studio, project: int, *options: str) -> None:
        self.database, self.port = database, free_port()
        self.command = [
            "connect", "label-studio", "--url", studio.url, "--project", str(project), "--database", database,
            "--port", str(self.port), *options,
        ]  # fmt: skip
        self.environment = {**os.environ, "LABEL_STUDIO_API_KEY": owner_token()}
        self._log = Path(f"{database}.log")
        self._log.touch()
        self.process: Forked | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = Forked(self.command, log=str(self._log), environment=self.environment)
        wait_until(self._is_ready, "quorate is ready", 90.0)

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.printed
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.address}/readyz", timeout=2.0).status_code == 200
        return False

    @property
    def printed(self) -> str:
        return self._log.read_text(errors="replace")

    def run(self, *arguments: object) -> subprocess.CompletedProcess:
        """Another command, in the same environment."""
        command = [sys.executable, "-m", "quorate", *map(str, arguments)]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300, check=False)

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, how)
            self.process.wait(30)
        self.process = None


class Service(Quorate):
    """`quorate serve`, which knows no token; projects are connected to it while it runs."""

    def __init__(self, database: str, studio: Studio, project: int) -> None:
        super().__init__(database, studio, project)
        self.connect = self.command
        self.command = ["serve", "--database", database, "--port", str(self.port)]
        self.environment = {key: value for key, value in os.environ.items() if key != "LABEL_STUDIO_API_KEY"}

    def attach(self, *options: str) -> subprocess.CompletedProcess:
        """`quorate connect label-studio --attach-only`, beside it."""
        return self.run(*self.connect, "--attach-only", *options)


@dataclass
class World:
    """Tasks with the answers that each person would give."""

    studio: Studio
    project: int
    answers: dict[int, dict[str, str]]  # task -> person -> class
    database: str
    served: list[Served] = field(default_factory=list)
    made: list[tuple[int, str]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def owner(self) -> httpx.Client:
        return self.studio.client(owner_token())

    def tasks(self) -> list[dict]:
        found, page = [], 1
        with self.owner() as client:
            while True:
                asked = {"project": self.project, "fields": "all", "page": page, "page_size": 100}
                told = client.get("/api/tasks", params=asked).json()
                found += told["tasks"]
                if len(found) >= told["total"]:
                    return found
                page += 1

    def annotate(self, task: int, person: str, label: str | None = None) -> httpx.Response:
        """One answer of a person, as the page sends it; None: a skip."""
        body = {"result": chosen(label) if label else [], "was_cancelled": label is None, "lead_time": 1.0}
        with self.studio.client(tokens()[person]) as client:
            return client.post(f"/api/tasks/{task}/annotations/", json=body)

    def next_task(self, client: httpx.Client, person: str) -> int | None:
        """The task that Label Studio gives this person; None if it has none."""
        asked = time.time()
        answer = client.get(f"/api/projects/{self.project}/next")
        if answer.status_code == 404:
            return None
        answer.raise_for_status()
        task = int(answer.json()["id"])
        self.served.append(Served(task, person, asked))
        return task

    def work(self, person: str) -> None:
        """Answer tasks until all are done; never give up while a server is away."""
        with self.studio.client(tokens()[person]) as client:
            self._work(client, person)

    def _work(self, client: httpx.Client, person: str) -> None:
        while not self.done.is_set():
            try:
                task = self.next_task(client, person)
                if task is None:
                    self.done.wait(0.5)
                    continue
                self.annotate(task, person, self.answers[task][person]).raise_for_status()
                self.made.append((task, person))
            except httpx.HTTPError:
                self.done.wait(0.3)

    def everybody(self) -> list[threading.Thread]:
        threads = [threading.Thread(target=self.work, args=(person,), daemon=True) for person in PEOPLE]
        for thread in threads:
            thread.start()
        return threads

    # -- what the database of quorate holds -----------------------------------------------------------------------

    def rows(self) -> dict[int, object]:
        store = Store(self.database)
        with store.read() as connection:
            found = {int(row.name): row for row in connection.execute(select(items))}
        store.close()
        return found

    def ballots(self) -> dict[tuple[int, str], str | None]:
        store = Store(self.database)
        with store.read() as connection:
            query = select(items.c.name, ballots.c.voter, ballots.c.label).join(items, items.c.id == ballots.c.item_id)
            found = {(int(name), voter.removeprefix("ext:")): label for name, voter, label in connection.execute(query)}
        store.close()
        return found

    def annotations(self) -> dict[tuple[int, str], str | None]:
        """What Label Studio holds: the last answer of each person, None for a skip."""
        found = {}
        for task in self.tasks():
            for each in sorted(task["annotations"], key=lambda one: one["id"]):
                label = None if each["was_cancelled"] else each["result"][0]["value"]["choices"][0]
                found[task["id"], email_of(each)] = label
        return found

    def is_read(self) -> bool:
        """Whether quorate has been through all tasks once: before that, their overlap is still the project's."""
        store = Store(self.database)
        with store.read() as connection:
            found = connection.execute(select(connections.c.read)).scalar_one_or_none()
        store.close()
        return found is not None

    def is_all_closed(self) -> bool:
        rows = self.rows()
        return len(rows) == len(self.answers) and not any(row.is_wanted for row in rows.values())

    def is_in_line(self) -> bool:
        """Whether both sides say the same of the tasks there are."""
        rows, tasks = self.rows(), {task["id"] for task in self.tasks()}
        ours = {key: label for key, label in self.ballots().items() if key[0] in tasks}
        if ours != self.annotations() or not tasks <= rows.keys():
            return False
        told = {number: None if row.is_wanted else row.label for number, row in rows.items()}
        return all(
            task["is_labeled"] == (told[task["id"]] is not None)
            and task["data"].get("quorate_consensus") == told[task["id"]]
            for task in self.tasks()
        )


PEOPLE_BY_ID: dict[int, str] = {}


def email_of(annotation: dict) -> str:
    who = annotation["completed_by"]
    return who["email"] if isinstance(who, dict) else PEOPLE_BY_ID[who]


def furnish(studio: Studio, database: str, num_tasks: int, *, seed: int = 1, maximum: int = 3) -> World:
    """A project whose classifier is right four times of five, and people nine times of ten."""
    chance = random.Random(seed)
    with studio.client(owner_token()) as client:
        PEOPLE_BY_ID.update({user["id"]: user["email"] for user in client.get("/api/users/").json()})
        made = client.post("/api/projects", json={
            "title": NAME, "label_config": CONFIG, "maximum_annotations": maximum,
        })  # fmt: skip
        made.raise_for_status()
        project = made.json()["id"]
        truth = [chance.choice(CLASSES) for _ in range(num_tasks)]
        batch = [
            {
                "data": {"text": f"A picture of a {name}, number {number}", "number": number},
                "predictions": [{
                    "model_version": "v1", "score": round(chance.uniform(0.5, 0.99), 3),
                    "result": chosen(name if chance.random() < 0.8 else chance.choice(CLASSES)),
                }],
            }
            for number, name in enumerate(truth)
        ]  # fmt: skip
        client.post(f"/api/projects/{project}/import", json=batch).raise_for_status()
    world = World(studio, project, {}, database)
    for task in world.tasks():
        name = truth[task["data"]["number"]]
        says = {person: name if chance.random() < 0.9 else chance.choice(CLASSES) for person in PEOPLE}
        world.answers[task["id"]] = says
    return world
