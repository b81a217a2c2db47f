"""Runs of the paper's estimators and of the released rule on the shift stream: computed with `--as-published`, stored.

as_published.json holds costs and errors of each run, the seeds, and the versions that made them; other runs show it as
stored. FinExp as published with its 1,000 importance samples takes hundreds of times as long as with the closed
likelihood that they estimate, so it runs at 2 votes per item on one classifier; elsewhere the likelihood is closed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.types import VoteDataset
from quorate.version import __version__
from quorate_paper.datasets import checksum
from quorate_paper.jobs import Job, JobOutcome, Parameters, Variant, settings
from quorate_paper.settings import BUDGETS
from quorate_paper.shift.near import Run, near_budgets, value_of
from quorate_paper.store import libraries, revision
from quorate_paper.sweep import PUBLISHED

FILE = "as_published.json"
STORED = Path(__file__).parents[1] / FILE
THRESHOLDS = (0.5, 0.7, 0.85, 0.93, 0.97, 0.99)
SAMPLED_MODEL, SAMPLED_BUDGETS, SAMPLED_THRESHOLDS = "densenet", (2.0,), (0.8, 0.9, 0.95)
RELEASED = ("finexp", "fixed-finexp")  # InfExp has the same rule and prior in both
SAMPLED = "sampled"


@dataclass(frozen=True, slots=True)
class Stored:
    """The runs by (variant, method): "as-published" or "as-released"; likelihood "sampled" is a variant of its own."""

    origin: dict[str, Any]
    outcomes: dict[tuple[str, str], tuple[JobOutcome, ...]]


def run_published(run: Run, dataset: VoteDataset, *, data: str, pool_size: int, seeds: Sequence[int]) -> Stored:
    """Run every published and released variant, with parameters near the budgets."""
    models = dataset.models

    def jobs(variant: Variant, method: str, models: Sequence[str], parameters: tuple[Parameters, ...]) -> list[Job]:
        return [
            Job(data, pool_size, model, seed, method, parameters, variant=variant) for model in models for seed in seeds
        ]

    closed = settings("threshold", THRESHOLDS)
    sampled = tuple((("likelihood", SAMPLED), *pair) for pair in settings("threshold", SAMPLED_THRESHOLDS))
    one = [SAMPLED_MODEL] if SAMPLED_MODEL in models else list(models[:1])
    wanted: dict[tuple[str, str], tuple[list[Job], Sequence[float]]] = {}
    wanted |= {("as-published", name): (jobs("as-published", name, models, closed), BUDGETS) for name in PUBLISHED}
    wanted |= {("as-released", name): (jobs("as-released", name, models, closed), BUDGETS) for name in RELEASED}
    wanted[SAMPLED, "finexp"] = jobs("as-published", "finexp", one, sampled), SAMPLED_BUDGETS
    outcomes = {key: tuple(near_budgets(run, *each).values()) for key, each in wanted.items()}
    origin: dict[str, Any] = {"version": __version__, "revision": revision(), "libraries": libraries()}
    origin |= {"data": checksum(dataset), "seeds": list(seeds)}
    return Stored(origin, outcomes)


def as_json(stored: Stored) -> str:
    """The content of as_published.json; costs and errors are rounded to the fifth digit."""
    runs = [
        {
            "variant": variant, "method": method, "model": each.job.model, "seed": each.job.seed,
            "runs": [
                [value_of(parameters)[1], *each.costs[row].round(5).tolist(), *each.errors[row].round(5).tolist()]
                for row, parameters in enumerate(each.job.parameters)
            ],
        }
        for (variant, method), outcomes in stored.outcomes.items()
        for each in outcomes
    ]  # fmt: skip
    heads = {"columns": ["threshold", "cost_pre", "cost_post", "error_pre", "error_post"]}
    lines = ",\n".join(json.dumps(each) for each in runs)
    return json.dumps(stored.origin | heads, indent=1)[:-2] + f',\n "streams": [\n{lines}\n]}}\n'


def load(*, data: str, pool_size: int, sizes: Sequence[int]) -> Stored:
    """The stored runs, as outcomes on a stream with phases of these sizes."""
    content = json.loads(STORED.read_text("utf-8"))
    outcomes: dict[tuple[str, str], tuple[JobOutcome, ...]] = {}
    for each in content.pop("streams"):
        key = (each["variant"], each["method"])
        rows = np.array(each["runs"])
        job = Job(data, pool_size, each["model"], each["seed"], each["method"], settings("threshold", list(rows[:, 0])))
        none = np.zeros((len(rows), 0))
        outcome = JobOutcome(
            job=job, sizes=np.array(sizes), costs=rows[:, 1:3], errors=rows[:, 3:5], drawn_errors=none,
            confidence=none, params=none, item_costs=none, item_errors=none,
        )  # fmt: skip
        outcomes[key] = (*outcomes.get(key, ()), outcome)
    return Stored(content, outcomes)
