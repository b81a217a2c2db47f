"""Do the intervals that `quorate plan` promises hold? Choose on one half of a real data set, measure on the other.

`python benchmarks/plan_coverage.py` prints the table of docs/plan.md, in minutes; QUORATE_DATA names the folder.
`--quick` takes fewer splits of fewer sets. Each split: the pilot's half gives a setting and 90 % intervals for the
votes per item and the error of the other half; that setting is then run once on the other half, in one new order.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from quorate import method, simulate
from quorate.datasets import load_npz, vote_dataset
from quorate.rng import stream
from quorate.types import frozen_array
from quorate.workflows.plan_advice import Goal, advise
from quorate.workflows.plan_curves import inflation, measure, plan_grid, resampled

# data set, pool size, classifier, items taken (None: all)
SETS = (
    ("kelly_nih", None, 0, None),
    ("kelly_chaoyang", None, 0, None),
    ("chaosnli_snli", 20, 0, None),
    ("imagenet16h_shift", 6, 1, None),
    ("imagenet16h", 5, 0, 1600),
    ("cifar10h", 10, 1, 1000),
)
ABOVE_FLOOR = (0.005, 0.01, 0.02, 0.04)  # targets: the floor of the whole set and this
BUDGETS = (0.3, 0.5, 0.7)  # of the votes until settled
LEVEL = 0.9
ORDERINGS, DRAWS = 4, 400


@dataclass(frozen=True)
class Outcome:
    kind: str
    limit: float
    votes_covered: bool
    error_covered: bool
    votes_width: float
    error_width: float
    chance: float
    met: bool
    status: str


def load(folder, name, model, items):
    with np.load(folder / f"{name}.npz") as file:
        if file["probs"].ndim == 2:  # the successor's sets: one classifier, written flat
            probs = file["probs"]
            data = vote_dataset(file["votes"], probs / probs.sum(axis=1, keepdims=True), name=name,
                                classes=[str(k) for k in range(probs.shape[1])])  # fmt: skip
        else:
            data = load_npz(folder / f"{name}.npz")
    rows = np.arange(data.num_items)
    if items is not None:
        rows = stream(0, "plan-coverage", name).permutation(data.num_items)[:items]
    return part(data, rows, model)


def part(data, rows, model=None):
    predictions = data.predictions if model is None else data.predictions[[model]]
    return replace(
        data,
        votes=frozen_array(data.votes[rows], np.int16),
        predictions=frozen_array(predictions[:, rows]),
        models=data.models if model is None else (data.models[model],),
        blocks=frozen_array(np.zeros(len(rows)), np.int64),
    )


def goals(data, pool_size):
    settled = simulate(data, "until-settled", seed=0, pool_size=pool_size, model="all")
    yield from (Goal("target-error", settled.error_rate + above) for above in ABOVE_FLOOR)
    yield from (Goal("budget", settled.mean_cost * share) for share in BUDGETS)


def split(data, pool_size, number, *, name="quorate", share=0.5, orderings=ORDERINGS, wanted=None):
    """One split: every goal chosen on the pilot, measured on the rest."""
    rows = stream(number, "plan-split").permutation(data.num_items)
    cut = round(share * data.num_items)
    pilot, rest = part(data, rows[:cut]), part(data, rows[cut:])
    batch = rest.num_items
    largest = pool_size or data.votes.shape[1]
    family = [method(name, **knobs) for knobs in plan_grid(name, pool_size=largest, num_classes=data.num_classes)]
    (curve,) = measure(pilot, [family], pool_size=pool_size, orderings=orderings, batch_size=batch, seed=100)
    (drawn,) = resampled([curve], draws=DRAWS, seed=number, orderings=False)
    ratio = inflation(pilot, curve, pool_size=pool_size, seed=number)
    for goal in wanted or goals(data, pool_size):
        advice = advise(curve, drawn, ratio, goal, batch_size=batch)
        run = simulate(rest, advice.setting.method, pool_size=pool_size, model="all", seed=5000 + number)
        votes, errors = advice.votes.interval(LEVEL), advice.errors.interval(LEVEL)
        got = run.error_rate if goal.kind == "target-error" else run.mean_cost
        yield Outcome(
            goal.kind, goal.limit, votes[0] <= run.mean_cost <= votes[1],
            errors[0] - 1e-9 <= run.error_rate <= errors[1] + 1e-9, votes[1] - votes[0], errors[1] - errors[0],
            advice.chance, got <= goal.limit + 1e-9, advice.status,
        )  # fmt: skip


def row(label, found):
    share = lambda values: 100 * np.mean(list(values))  # noqa: E731
    cells = [
        f"{share(o.votes_covered for o in found):.0f}", f"{share(o.error_covered for o in found):.0f}",
        f"{np.mean([o.votes_width for o in found]):.2f}", f"{share(o.error_width for o in found):.1f}",
        f"{share(o.chance for o in found):.0f}", f"{share(o.met for o in found):.0f}",
    ]  # fmt: skip
    print(f"| {label} | {len(found)} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="six splits of the four cheapest sets")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--method", default="quorate")
    parser.add_argument("--pilot-share", type=float, default=0.5)
    parser.add_argument("--only", default="", help="a data set")
    chosen = parser.parse_args()
    if "QUORATE_DATA" not in os.environ:
        sys.exit("QUORATE_DATA is not set: it must name the folder of the real data sets")
    folder, began = Path(os.environ["QUORATE_DATA"]), time.monotonic()
    sets = [each for each in SETS[: 4 if chosen.quick else None] if chosen.only in ("", each[0])]
    splits = 6 if chosen.quick else chosen.splits
    print(f"{chosen.method}, {splits} splits, a pilot of {100 * chosen.pilot_share:g} % of the items, 90 % promised\n")
    print("| data set | trials | votes covered % | error covered % | mean width, votes | mean width, points of error "
          "| mean chance promised % | goal met % |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    every = []
    for name, pool_size, model, items in sets:
        data = load(folder, name, model, items)
        found = [
            o for number in range(splits)
            for o in split(data, pool_size, number, name=chosen.method, share=chosen.pilot_share)
        ]  # fmt: skip
        row(f"{name} (pilots of {round(chosen.pilot_share * data.num_items)})", found)
        every += found
    for kind in ("target-error", "budget"):
        row(f"**all, {kind}**", [o for o in every if o.kind == kind])
    row("**all**", every)
    for status in ("sure", "likely", "unreachable"):
        some = [o for o in every if o.status == status]
        if some:
            row(f"of these, {status}", some)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
