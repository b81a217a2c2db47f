"""Measures the coverage of the intervals of `quorate plan`: choose on one half of a real data set, test on the other.

`python benchmarks/plan_coverage.py` prints the table of docs/plan.md, in an hour; QUORATE_DATA is the data folder.
`--quick` uses fewer splits of fewer sets. In each split the pilot half gives a setting and 90 % intervals for the votes
per item and the error of the other half; that setting is then run once on the other half, in a new order. `--thinned`
first removes votes from the pilot half, as a rule that stops early would.
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
from quorate.streams.prepare import prepare
from quorate.types import frozen_array
from quorate.workflows.plan.advice import Goal, advised, study
from quorate.workflows.plan.pools import pilot_of

# data set, pool size, classifier, items taken (None: all)
SETS = (
    ("kelly_nih", None, 0, None),
    ("kelly_chaoyang", None, 0, None),
    ("chaosnli_snli", 20, 0, None),
    ("imagenet16h_shift", 6, 1, None),
    ("imagenet16h", 5, 0, 1600),
    ("cifar10h", 10, 1, 1000),
)
ABOVE_FLOOR = (0.005, 0.01, 0.02, 0.04)  # targets: the pilot's floor plus this
BUDGETS = (0.3, 0.5, 0.7)  # of the votes until settled
LEVEL = 0.9
ORDERINGS, DRAWS = 4, 400
STOPPED_AT = 50  # error cost of the rule that thins a pilot, with at least one vote on every item


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
    left: float
    off: float


def load(folder, name, model, items):
    with np.load(folder / f"{name}.npz") as file:
        if file["probs"].ndim == 2:  # sets of Kelly et al.: one classifier, without its axis
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
    models = data.models if model is None else (data.models[model],)
    chosen = replace(data, predictions=frozen_array(predictions), models=models)
    return replace(chosen.rows(rows), blocks=frozen_array(np.zeros(len(rows)), np.int64))


def thinned(data, pool_size, seed):
    """The votes that a rule that stops early would have asked, in one order."""
    rule = method("value", error_cost=STOPPED_AT)
    run = simulate(data, rule, pool_size=pool_size, model="all", seed=seed, order="given", min_votes=1)
    votes = np.array(prepare(data, pool_size, "all", seed, "given").votes)
    votes[np.arange(votes.shape[1]) >= run.costs[:, None]] = -1
    return replace(data, votes=frozen_array(votes, np.int16), voters=None)


def goals(data, pool_size):
    settled = simulate(data, "until-settled", seed=0, pool_size=pool_size, model="all")
    yield from (Goal("target-error", settled.error_rate + above) for above in ABOVE_FLOOR)
    yield from (Goal("budget", settled.mean_cost * share) for share in BUDGETS)


def split(data, pool_size, number, *, name="value", share=0.5, orderings=ORDERINGS, wanted=None, partly=None):
    """One split: every goal, or those with the indices `wanted`, chosen on the pilot, measured on the rest.

    Goals also come from the pilot only. `partly`: thin the pilot first, and how to treat it then.
    """
    rows = stream(number, "plan-split").permutation(data.num_items)
    cut = round(share * data.num_items)
    seen, rest = part(data, rows[:cut]), part(data, rows[cut:])
    pilot = pilot_of(seen, pool_size=pool_size)
    if partly is not None:
        whole = pool_size or data.votes.shape[1]
        pilot = pilot_of(thinned(seen, pool_size, number), pool_size=whole, partly_voted=partly)
    found = study(pilot, [name], orderings=orderings, batch_size=rest.num_items, seed=100 + number)
    for place, goal in enumerate(goals(seen, pool_size)):
        if wanted is not None and place not in wanted:
            continue
        found, advice = advised(found, goal, draws=DRAWS)  # settings added for one goal are reused for the next
        run = simulate(rest, advice.setting.method, pool_size=pool_size, model="all", seed=5000 + number)
        votes, errors = advice.votes.interval(LEVEL), advice.errors.interval(LEVEL)
        got = run.error_rate if goal.kind == "target-error" else run.mean_cost
        yield Outcome(
            goal.kind, goal.limit, votes[0] <= run.mean_cost <= votes[1],
            errors[0] - 1e-9 <= run.error_rate <= errors[1] + 1e-9, votes[1] - votes[0], errors[1] - errors[0],
            advice.chance, got <= goal.limit + 1e-9, advice.status,
            1 - advice.votes.centre / goal.limit, advice.errors.centre - run.error_rate,
        )  # fmt: skip


def row(label, found):
    share = lambda values: 100 * np.mean(list(values))  # noqa: E731
    budgets = [o for o in found if o.kind == "budget"]
    cells = [
        f"{share(o.votes_covered for o in found):.0f}", f"{share(o.error_covered for o in found):.0f}",
        f"{np.mean([o.votes_width for o in found]):.2f}", f"{share(o.error_width for o in found):.1f}",
        f"{share(o.chance for o in found):.0f}", f"{share(o.met for o in found):.0f}",
        f"{share(o.off for o in found):+.2f}", f"{share(o.left for o in budgets):.0f}" if budgets else "",
    ]  # fmt: skip
    print(f"| {label} | {len(found)} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="six splits of the four cheapest sets")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--method", default="value")
    parser.add_argument("--pilot-share", type=float, default=0.5)
    parser.add_argument("--only", default="", help="a data set")
    parser.add_argument("--thinned", choices=("complete", "own-pool", "drop"), help="thin the pilot; how it is treated")
    chosen = parser.parse_args()
    if "QUORATE_DATA" not in os.environ:
        sys.exit("set QUORATE_DATA to the folder of the real data sets")
    folder, began = Path(os.environ["QUORATE_DATA"]), time.monotonic()
    sets = [each for each in SETS[: 4 if chosen.quick else None] if chosen.only in ("", each[0])]
    splits = 6 if chosen.quick else chosen.splits
    print(f"{chosen.method}, {splits} splits, a pilot of {100 * chosen.pilot_share:g} % of the items, 90 % promised\n")
    print("| data set | trials | votes covered % | error covered % | mean width, votes | mean width, points of error "
          "| mean chance promised % | goal met % | error expected - found, points | budget left % |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    every = []
    for name, pool_size, model, items in sets:
        data = load(folder, name, model, items)
        found = [
            o for number in range(splits)
            for o in split(data, pool_size, number, name=chosen.method, share=chosen.pilot_share, partly=chosen.thinned)
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
