"""Does `quorate plan` keep its promise? Plans from one part of a data set, then runs the setting once on another part.

`python benchmarks/plan_coverage.py` prints the table of docs/plan.md in about 20 minutes: 8 splits of 8 data sets,
five goals each. Real sets come from the folder QUORATE_DATA; synthetic ones stand in for those that are not there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import quorate
from quorate.commands.plan import Plan
from quorate.datasets import load_npz, synthetic, vote_dataset
from quorate.rng import stream
from quorate.types import VoteDataset, frozen_array

# name, pool size, classifier
SETS = (
    ("kelly_nih", None, 0), ("kelly_chaoyang", None, 0), ("kelly_imagenet", None, 0), ("chaosnli_snli", 20, 0),
    ("imagenet16h_shift", 6, 1), ("imagenet16h", 5, 0), ("cifar10h", 10, 1), ("synthetic", 7, 0),
)  # fmt: skip
PILOTS, BATCH, SPLITS = (200, 300, 400, 600), 600, 8
ABOVE_FLOOR, SHARES = (0.01, 0.02, 0.04), (0.4, 0.7)  # target errors; budgets, of the votes until settled
HEADS = (
    "goals", "trials", "promised %", "met %", "votes covered %", "errors covered %", "votes per item",
    "width, votes", "width, points", "budget left %",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One goal of one split: what was promised, and what the batch did."""

    kind: str
    size: int
    made: Plan
    votes: float
    error: float
    limit: float

    @property
    def is_kept(self) -> bool:
        """Whether the batch kept the goal."""
        return (self.error if self.kind == "error" else self.votes) <= self.limit + 1e-9


def load(name: str, place: int) -> VoteDataset:
    """The data set, or a synthetic one in its place."""
    file = Path(os.environ.get("QUORATE_DATA", "")) / f"{name}.npz"
    if not file.is_file():
        shape = {"num_classes": 2 + place, "accuracy": 0.6 + 0.04 * place, "agreement": 0.9 - 0.05 * (place % 4)}
        return synthetic(num_items=2000, pool_size=3 + place, seed=place, **shape)
    with np.load(file) as content:
        if content["probs"].ndim == 3:
            return load_npz(file)
        probs = content["probs"] / content["probs"].sum(axis=1, keepdims=True)  # Kelly et al.: one classifier
        return vote_dataset(content["votes"], probs, classes=[str(k) for k in range(probs.shape[1])], name=name)


def part(data: VoteDataset, rows: np.ndarray, model: int) -> VoteDataset:
    """Some items of the set with one classifier, without the names of people."""
    some = data.rows(np.sort(rows))
    one = frozen_array(some.predictions[[model]])
    return replace(some, predictions=one, models=(data.models[model],), blocks=some.blocks * 0, voters=None)


def trials(data: VoteDataset, pool_size: int | None, model: int, number: int) -> Iterator[Trial]:
    """Five goals, known from the pilot only."""
    rows = stream(number, "plan-split", data.name).permutation(data.num_items)
    size = min(PILOTS[number % len(PILOTS)], data.num_items // 2)
    pilot, rest = part(data, rows[:size], model), part(data, rows[size : size + BATCH], model)
    settled = quorate.simulate(pilot, "until-settled", seed=0, pool_size=pool_size)
    goals = [("error", settled.error_rate + above) for above in ABOVE_FLOOR]
    goals += [("budget", settled.mean_cost * share) for share in SHARES]
    for kind, limit in goals:
        goal = {"target_error" if kind == "error" else "budget": limit}
        made = quorate.plan(pilot, pool_size=pool_size, batch_size=rest.num_items, seed=10 * number, **goal)
        run = quorate.simulate(rest, made.method, seed=5000 + number, pool_size=pool_size)
        yield Trial(kind, size, made, run.mean_cost, run.error_rate, limit)


def row(label: str, found: list[Trial]) -> None:
    """One line of the table."""
    votes, errors = [t.made.votes for t in found], [t.made.error for t in found]
    left = [1 - t.made.votes.expected / t.limit for t in found if t.kind == "budget"]
    means = (
        100 * np.mean([t.made.chance for t in found]),
        100 * np.mean([t.is_kept for t in found]),
        100 * np.mean([r.low - 1e-9 <= t.votes <= r.high + 1e-9 for t, r in zip(found, votes, strict=True)]),
        100 * np.mean([r.low - 1e-9 <= t.error <= r.high + 1e-9 for t, r in zip(found, errors, strict=True)]),
        np.mean([t.votes for t in found]),
        np.mean([r.high - r.low for r in votes]),
        100 * np.mean([r.high - r.low for r in errors]),
        100 * np.mean(left) if left else np.nan,
    )
    print(
        f"| {label} | {len(found)} | " + " | ".join("–" if np.isnan(mean) else f"{mean:.1f}" for mean in means) + " |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    began, every = time.monotonic(), []
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for place, (name, pool_size, model) in enumerate(SETS):
        data = load(name, place)
        found = [each for number in range(SPLITS) for each in trials(data, pool_size, model, number)]
        row(data.name, found)
        every += found
    for kind in ("error", "budget"):
        row(f"**all, {kind}**", [each for each in every if each.kind == kind])
    row("**all, pilots of 200**", [each for each in every if each.size == 200])
    row("**all**", every)
    print(f"\n{SPLITS * len(SETS)} splits, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
