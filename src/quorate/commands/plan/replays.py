"""A pilot replayed under many settings, in several random orders, each of which learns from scratch.

The orders are those of `quorate run --order shuffled` with consecutive seeds. `plan.forecast` says what the replays
promise for the next batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.commands.plan.settings import Candidate
from quorate.methods import Target
from quorate.model import ErrorCosts
from quorate.streams import Pools, StreamOptions, build_pools, by_truth, in_threads, simulate_stream
from quorate.tables import Joined
from quorate.types import FloatArray, IntArray, Progress

ORDERS = 4  # with 2 or 3, the intervals of the votes cover 80 to 87 % instead of 90


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A setting on the pilot. Arrays (R, n): R orders, items in the order of the pilot's rows.

    `votes`, and what they cost: `paid`   `errors` the chance that the answer is wrong, ties shared, or what it costs by
    the table of error costs; NaN where that is not known
    """

    candidate: Candidate
    votes: FloatArray
    paid: FloatArray
    errors: FloatArray
    answers: IntArray


@dataclass(frozen=True, eq=False)
class Pilot:
    """The votes that a plan rests on.

    `true_classes` (n,) for target "truth", -1 where unknown   `error_costs` by truth and answer; None: an error
    counts 1   `voter_costs` of each person; None: 1
    """

    joined: Joined
    pool_size: int | None
    target: Target
    true_classes: IntArray | None
    error_costs: ErrorCosts | None
    voter_costs: tuple[float, ...] | None
    seed: int

    @cached_property
    def orders(self) -> tuple[Pools, ...]:
        """The pilot in R random orders."""
        return tuple(self._order(self.seed + number) for number in range(ORDERS))

    @cached_property
    def places(self) -> IntArray:
        """(R, n) the place of each of the pilot's rows in each order."""
        return np.stack([np.argsort(order.stream.items) for order in self.orders])

    @cached_property
    def truth(self) -> FloatArray:
        """(R, n, K) what answers are compared with: shares of the classes, all 0 where that is not known."""
        return np.stack([order.truth[place] for order, place in zip(self.orders, self.places, strict=True)])

    @cached_property
    def is_scored(self) -> np.ndarray:
        """(n,) items whose answers can be right or wrong: the same in every order."""
        return np.asarray(self.orders[0].is_scored[self.places[0]])

    @property
    def sizes(self) -> IntArray:
        """(n,) votes that can be asked."""
        return self.orders[0].stream.pool_sizes

    @property
    def names_people(self) -> bool:
        """Whether every vote names its voter."""
        return bool(self.joined.workers) and bool((self.joined.worker >= 0).all())

    def _order(self, seed: int) -> Pools:
        pools = build_pools(
            self.joined, pool_size=self.pool_size, order="shuffled", seed=seed,
            draws_quotas=True, keeps_voters=bool(self.joined.workers), true_classes=self.true_classes,
        )  # fmt: skip
        return by_truth(pools) if self.target == "truth" else pools

    def replayed(self, candidates: Sequence[Candidate], progress: Progress | None, what: str) -> list[Setting]:
        """Every candidate in every order."""
        jobs = [(candidate, number) for candidate in candidates for number in range(ORDERS)]
        runs = []
        for done in in_threads(lambda job: self._run(*job), jobs):
            runs.append(done)
            if progress is not None:
                progress(len(runs), len(jobs), what)
        return [
            Setting(candidate, *map(np.stack, zip(*runs[first : first + ORDERS], strict=True)))
            for candidate, first in zip(candidates, range(0, len(runs), ORDERS), strict=True)
        ]

    def _run(self, candidate: Candidate, number: int) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Votes, what they cost, errors and answers (n,) in one order, by the pilot's rows."""
        order, place = self.orders[number], self.places[number]
        done = simulate_stream(
            order.stream, candidate.method, StreamOptions(voter_costs=self.voter_costs), seed=self.seed + number,
            target="plurality",
        )  # fmt: skip
        answers = done.predictions
        if self.error_costs is None:
            errors = 1.0 - order.truth[np.arange(len(answers)), answers]
        else:
            errors = (order.truth * self.error_costs.votes[:, answers].T).sum(axis=1)
        errors = np.where(order.is_scored, errors, np.nan)
        return done.costs[place].astype(float), done.paid[place], errors[place], answers[place]


def some_items(joined: Joined, rows: IntArray) -> Joined:
    """The table with only these items, whose numbers rise."""
    is_kept = np.isin(joined.item, rows)
    number = np.zeros(joined.num_items, dtype=np.int32)
    number[rows] = np.arange(len(rows))
    return replace(
        joined,
        items=tuple(joined.items[row] for row in rows),
        starts=np.concatenate([[0], np.cumsum(np.diff(joined.starts)[rows])]),
        item=number[joined.item[is_kept]],
        label=joined.label[is_kept],
        worker=joined.worker[is_kept],
        order=joined.order[is_kept],
        time=None if joined.time is None else joined.time[is_kept],
        predictions=joined.predictions[:, rows],
    )
