"""`quorate serve --demo`: a project of handwritten digits, and simulated colleagues who vote in it.

The images, a real classifier's predictions and how often people choose each digit are in `demo_digits.npz`, which
`benchmarks/demo_digits.py` makes. The colleagues run in a background thread and call the same `next_items` and `act` as
people do. The project starts with a few digits, so that the first start is quick; the colleagues add the others
between their votes. With several workers, one runs the colleagues.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from quorate.errors import InvalidInput
from quorate.rng import stream
from quorate.types import FloatArray
from quorate_service.access.accounts import add_member, create_account
from quorate_service.access.credentials import sign_in_link
from quorate_service.api.uploads import UploadQuota, checked, stored
from quorate_service.background import BackgroundJobs
from quorate_service.domain.ballots import act
from quorate_service.domain.items import ItemContent, NewItem, add_items, names_there
from quorate_service.domain.projects import Projects
from quorate_service.domain.queue import next_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.votes import Request
from quorate_service.store import Store, StoreUnavailable
from quorate_service.store.schema import accounts, counted, items, memberships, projects

PROJECT = "Demo: which digit is it?"
MODELS = ("logistic regression",)
NAME = "digit-{:04d}"  # item ids
OWNER = "Demo owner"
NO_LIMIT = UploadQuota(1000)
COLLEAGUE = "Colleague {} (simulated)"
NUM_COLLEAGUES = 12
FIRST_BATCH, MORE = 20, 5  # digits at the start, and added at a time
SETTINGS = ProjectSettings(
    classes=tuple(str(digit) for digit in range(10)),
    pool_size=NUM_COLLEAGUES,
    price=0.08,
    currency="EUR",
    audit_rate=0.1,
    instructions="Which digit was written here? If nobody could say, choose “Cannot tell”.",
)
VOTES_PER_SECOND = 4.0
CANNOT_TELL = 0.01
FEW, MANY = 40, 200  # digits are added while fewer than FEW are open, or fewer than MANY exist


@dataclass(frozen=True, slots=True)
class Digits:
    """`files` (T) PNG images, `predictions` (T, 10) of the classifier, `votes` (T, 10): how colleagues vote."""

    files: tuple[bytes, ...]
    predictions: FloatArray
    votes: FloatArray

    def __len__(self) -> int:
        return len(self.files)


@cache
def digits() -> Digits:
    """All digits, read once."""
    with np.load(Path(__file__).with_name("demo_digits.npz"), allow_pickle=False) as file:
        predictions, votes = (file[name].astype(np.float64) for name in ("predictions", "votes"))
        images = np.split(file["png"], file["ends"][:-1])
    shares = (rows / rows.sum(axis=1, keepdims=True) for rows in (predictions, votes))
    return Digits(tuple(image.tobytes() for image in images), *shares)


def seed(store: Store, base_url: str, *, now: float) -> str:
    """Create the demo's project and people if missing; returns a link that signs its owner in once."""
    with store.read() as connection:
        owner = connection.execute(select(accounts.c.id).where(accounts.c.name == OWNER)).scalar_one_or_none()
        project_id = connection.execute(select(projects.c.id).where(projects.c.name == PROJECT)).scalar_one_or_none()
    if owner is None:
        owner = create_account(store, OWNER, may_create=True, now=now).id
    if project_id is None:
        project_id = Projects(store).create(PROJECT, SETTINGS, now=now).id
    _add_people(store, project_id, owner, now)
    add_digits(store, project_id, FIRST_BATCH, now=now)
    return sign_in_link(store, owner, base_url, now=now)


def is_over(store: Store) -> bool:
    """Whether all digits have been added and none needs more votes, not even for an audit."""
    num_items = select(func.count()).select_from(items).join(projects).where(projects.c.name == PROJECT)
    with store.read() as connection:
        num_wanted = connection.execute(num_items.where(items.c.is_wanted)).scalar_one()
        return num_wanted == 0 and connection.execute(num_items).scalar_one() >= len(digits())


def _add_people(store: Store, project_id: str, owner: str, now: float) -> None:
    """Make the owner and the colleagues members, if they are not yet."""
    with store.read() as connection:
        query = select(accounts.c.name).join(memberships, memberships.c.account_id == accounts.c.id)
        members = set(connection.execute(query.where(memberships.c.project_id == project_id)).scalars())
    if OWNER not in members:
        add_member(store, project_id, owner, role="owner", now=now)
    for number in range(1, NUM_COLLEAGUES + 1):
        name = COLLEAGUE.format(number)
        if name not in members:
            add_member(store, project_id, create_account(store, name, now=now).id, role="voter", now=now)


def add_digits(store: Store, project_id: str, up_to: int, *, first: int = 0, now: float) -> None:
    """Add the digits from `first` to `up_to` as items of the project; existing items stay unchanged."""
    demo = digits()
    batch = []
    for number in range(first, min(up_to, len(demo))):
        content = demo.files[number]
        image = stored(store, project_id, content, checked(content), room=NO_LIMIT, now=now)
        prediction = [float(value) for value in demo.predictions[number]]
        batch.append(NewItem(NAME.format(number), prediction, ItemContent(image=f"upload:{image}")))
    add_items(Projects(store), project_id, batch, models=MODELS, now=now)


log = logging.getLogger("quorate_service.demo")


class DemoVoters:
    """Simulated voters in a background thread of the app."""

    def __init__(self, projects_: Projects, *, votes_per_second: float = VOTES_PER_SECOND, seed: int = 0) -> None:
        self.projects, self.pause, self.seed = projects_, 1.0 / votes_per_second, seed
        self._chances: dict[str, np.random.Generator] = {}
        self._hold = BackgroundJobs(projects_)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start voting."""
        self._thread = threading.Thread(target=self._run, name="quorate-demo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop voting."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10.0)

    def _run(self) -> None:
        while not self._stop.wait(self.pause):
            try:
                if not self.one_vote(now=time.time()):
                    self._stop.wait(2.0)
            except (StoreUnavailable, InvalidInput) as problem:  # e.g. the owner just closed the item
                log.info("a simulated colleague could not vote: %s", problem)
            except Exception:
                log.exception("the simulated colleagues failed")
                self._stop.wait(5.0)

    def one_vote(self, *, now: float) -> bool:
        """One colleague votes on one item, then items are added if few are open; False if there was nothing to do."""
        project_id, voters = self._project_and_voters()
        if project_id is None or not self._hold.hold(project_id, "demo"):
            return False
        return self._cast_vote(project_id, voters, now) | self._add_more(project_id, now)

    def _cast_vote(self, project_id: str, voters: list[str], now: float) -> bool:
        """In random order, the first colleague who is offered an item votes on it."""
        order = stream(self.seed, "turn", int(now * 10)).permutation(len(voters))
        for index in order:
            for leased in next_items(self.projects, project_id, voters[index], now=now):
                self._vote(project_id, voters[index], leased.item, now)
                return True
        return False

    def _vote(self, project_id: str, voter: str, item: str, now: float) -> None:
        chance = self._chances.setdefault(voter, stream(self.seed, "colleague", voter))
        number = int(item.rpartition("-")[2]) if item.startswith("digit-") else 0
        if chance.random() < CANNOT_TELL:
            act(self.projects, Request(project_id, item, voter, "abstain", signed_in_by="demo"), now=now)
            return
        label = str(int(chance.choice(10, p=digits().votes[number])))
        act(self.projects, Request(project_id, item, voter, "vote", label, signed_in_by="demo"), now=now)

    def _project_and_voters(self) -> tuple[str | None, list[str]]:
        """The demo's project, None if it is not active, and its simulated voters."""
        with self.projects.store.read() as connection:
            active = select(projects.c.id).where(projects.c.name == PROJECT, projects.c.state == "active")
            project_id = connection.execute(active).scalar_one_or_none()
            query = select(accounts.c.id).join(memberships, memberships.c.account_id == accounts.c.id)
            query = query.where(memberships.c.project_id == project_id, memberships.c.removed.is_(None))
            query = query.where(accounts.c.name.like(COLLEAGUE.format("%"))).order_by(accounts.c.name)
            return project_id, list(connection.execute(query).scalars())

    def _add_more(self, project_id: str, now: float) -> bool:
        """Add digits if few are open; returns whether any were added."""
        names = [NAME.format(number) for number in range(len(digits()))]
        with self.projects.store.read() as connection:
            count = select(func.count()).select_from(items).where(items.c.project_id == project_id)
            num_items = connection.execute(count).scalar_one()
            num_open = connection.execute(count.where(items.c.is_open, counted)).scalar_one()
            present = names_there(connection, project_id, names)
        if (num_items >= MANY and num_open >= FEW) or len(present) == len(names):
            return False
        first = next(number for number, name in enumerate(names) if name not in present)
        add_digits(self.projects.store, project_id, first + MORE, first=first, now=now)
        return True
