"""Simulated colleagues who vote in the demo's project, at a pace one can watch. A thread beside the requests.

They go through the same `next_items` and `act` as people do. When little is left, more digits come in, until all are
there; once these are closed, after about a quarter of an hour, nobody votes any more. Started by the app when the
service runs as a demo; of several workers, one has the colleagues.
"""

from __future__ import annotations

import logging
import threading
import time

import numpy as np
from sqlalchemy import func, select

from quorate.errors import InvalidInput
from quorate.rng import stream
from quorate.service.demo.digits import digits
from quorate.service.demo.seed import COLLEAGUE, PROJECT, add_digits
from quorate.service.domain.ballots import act
from quorate.service.domain.projects import Projects
from quorate.service.domain.queue import next_items
from quorate.service.domain.vote_types import Request
from quorate.service.steward import Steward
from quorate.service.store.failures import StoreUnavailable
from quorate.service.store.schema import accounts, items, memberships, not_withdrawn, projects

log = logging.getLogger("quorate.service.demo")

VOTES_PER_SECOND = 4.0
CANNOT_TELL = 0.01
FEW = 40  # open items below which more come in
MORE = 50


class Colleagues:
    """`start` and `stop` as the app's other work beside requests."""

    def __init__(self, projects_: Projects, *, votes_per_second: float = VOTES_PER_SECOND, seed: int = 0) -> None:
        self.projects, self.pause, self.seed = projects_, 1.0 / votes_per_second, seed
        self._chances: dict[str, np.random.Generator] = {}
        self._hold = Steward(projects_)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to vote."""
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
            except (StoreUnavailable, InvalidInput) as problem:  # e.g. the owner closed the item meanwhile
                log.info("a simulated colleague could not vote: %s", problem)
            except Exception:
                log.exception("the simulated colleagues stumbled")
                self._stop.wait(5.0)

    def one_vote(self, *, now: float) -> bool:
        """One colleague votes on one item; False if there was nothing to do."""
        project_id, voters = self._who()
        if project_id is None or not self._hold.hold(project_id, "demo"):
            return False
        self._more_if_few(project_id, now)
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

    def _who(self) -> tuple[str | None, list[str]]:
        """The demo's project, if it is active, and its simulated voters."""
        with self.projects.store.read() as connection:
            found = select(projects.c.id).where(projects.c.name == PROJECT, projects.c.state == "active")
            project_id = connection.execute(found).scalar_one_or_none()
            query = select(accounts.c.id).join(memberships, memberships.c.account_id == accounts.c.id)
            query = query.where(memberships.c.project_id == project_id, memberships.c.removed.is_(None))
            query = query.where(accounts.c.name.like(COLLEAGUE.format("%"))).order_by(accounts.c.name)
            return project_id, list(connection.execute(query).scalars())

    def _more_if_few(self, project_id: str, now: float) -> None:
        with self.projects.store.read() as connection:
            mine = select(func.count()).select_from(items).where(items.c.project_id == project_id)
            there = connection.execute(mine).scalar_one()
            left = connection.execute(mine.where(items.c.is_open, not_withdrawn)).scalar_one()
        if left < FEW and there < len(digits()):
            add_digits(self.projects.store, project_id, there + MORE, now=now)
