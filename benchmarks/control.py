"""Budgets and target errors held online on the real data sets. Prints the tables of docs/control.md.

`QUORATE_DATA=folder python benchmarks/control.py [budgets|targets|shift] [--models 2] [--set NAME]`; every table takes
minutes. Items are the first 2000 of the stream of seed 3 (or all), classifiers one at a time.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import cache, cached_property

import numpy as np

from quorate import method
from quorate.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from quorate.posterior.settled import plurality_shares
from quorate.simulation import prepare
from quorate.workflows.control import BudgetControl, TargetErrorControl, rule_knob
from quorate.workflows.recorded import from_stream
from quorate.workflows.replay import replay

ITEMS, SEED = 2000, 3
SHARES = (0.2, 0.4, 0.6, 0.8)
TARGETS = ((0.01, 0.02, 0.05), (0.05, 0.06, 0.08))  # the second where ties alone are 4 % of the items
SETS = {
    "cifar10h N=10": (cifar10h.load, 10),
    "cifar10h N=50": (cifar10h.load, 50),
    "imagenet16h": (lambda folder: imagenet16h.covered(imagenet16h.load(folder)), None),
    "imagenet16h_shift": (imagenet16h_shift.load, None),
    "chaosnli": (chaosnli.load, None),
}


@cache
def data_set(name):
    return SETS[name][0](os.environ["QUORATE_DATA"])


def spread(names, count):
    """`count` classifiers, from the first to the last."""
    return [names[int(at)] for at in np.unique(np.linspace(0, len(names) - 1, min(count, len(names))).round())]


class Case:
    """One classifier on one set: items, pool sizes, and what every answer would cost in errors (T, K)."""

    def __init__(self, name, model, chosen="quorate", items=ITEMS):
        self.chosen = chosen
        self.rule = rule_knob(method(chosen))
        dataset = data_set(name)
        stream = prepare(dataset, SETS[name][1], model, SEED)
        self.items = from_stream(stream, dataset.classes).head(items)
        self.sizes = stream.pool_sizes[: self.items.num_items]
        self.losses = 1.0 - plurality_shares(stream.counts[: len(self.sizes)])
        self.settled = self.run("until-settled")

    def run(self, chosen=None, **options):
        return replay(self.items, chosen or self.chosen, pool_sizes=self.sizes, seed=SEED, **options)

    def error(self, run):
        return float(self.losses[np.arange(len(run.labels)), run.labels].mean())

    @property
    def pool_size(self):
        return int(self.sizes.max())

    @cached_property
    def fixed(self):
        """(votes per item, error) of fixed knobs, by cost."""
        deepest = -12.0 if self.pool_size <= 10 else -30.0
        gains = np.exp(np.linspace(-0.7, deepest, 16))
        knobs = gains if self.rule == "min_gain" else 1.0 - gains
        runs = [self.run(method(self.chosen, **{self.rule: float(knob)})) for knob in knobs]
        return np.array(sorted((run.mean_cost, self.error(run)) for run in runs)).T

    def error_at(self, cost):
        return float(np.interp(cost, *self.fixed))


def budgets(args):
    print("| set | classifier | budget % | votes asked for | reached | gap % | overshoot % | error % | fixed knob % |")
    print("|---|---|---|---|---|---|---|---|---|")
    gaps = []
    for name in args.set or SETS:
        for model in spread(data_set(name).models, args.models):
            case = Case(name, model, args.method)
            for share in args.shares or SHARES:
                budget = share * case.settled.mean_cost
                options = {"pool_size": case.pool_size, "speed": args.speed, "rule": case.rule}
                run = case.run(control=BudgetControl(budget, **options))
                report = run.control
                gaps.append(abs(report.final_gap))
                fixed = "" if args.quick else f"{100 * case.error_at(run.mean_cost):.2f}"
                print(
                    f"| {name} | {model} | {100 * share:.0f} | {budget:.2f} | {run.mean_cost:.2f} | "
                    f"{100 * report.final_gap:+.1f} | {100 * report.overshoot:.1f} | "
                    f"{100 * case.error(run):.2f} | {fixed} |",
                    flush=True,
                )
    print(f"\n{len(gaps)} budgets, {sum(gap <= 0.05 for gap in gaps)} within 5 %, largest gap {100 * max(gaps):.1f} %")


def targets(args):
    print("| set | classifier | ties % | target % | reached % | estimate % | votes | of them audits | overshoot % |")
    print("|---|---|---|---|---|---|---|---|---|")
    misses = []
    for name in args.set or SETS:
        for model in spread(data_set(name).models, args.models):
            case = Case(name, model, args.method)
            for target in args.targets or TARGETS[name.startswith("imagenet")]:
                options = {"audit_rate": args.audit_rate, "focus": args.focus, "rule": case.rule, "weight": args.weight}
                run = case.run(control=TargetErrorControl(target, **options))
                reached, report = case.error(run), run.control
                misses.append(reached / target - 1)
                print(
                    f"| {name} | {model} | {100 * case.error(case.settled):.2f} | {100 * target:g} | "
                    f"{100 * reached:.2f} | {100 * report.reached:.2f} | {run.mean_cost:.2f} | "
                    f"{run.audit_votes.mean():.2f} | {100 * report.overshoot:.0f} |",
                    flush=True,
                )
    print(f"\nroot mean square gap {100 * np.sqrt(np.mean(np.square(misses))):.0f} % of the target")


def shift(args):
    """What holding a budget through a shift costs in errors, at each speed: all 2400 items."""
    print("| classifier | budget % | speed | gap % | error % | fixed knob at that cost % |")
    print("|---|---|---|---|---|---|")
    name = "imagenet16h_shift"
    for model in spread(data_set(name).models, args.models):
        case = Case(name, model, items=2400)
        for share in (0.4, 0.6):
            for speed in ("normal", "slow"):
                options = {"pool_size": case.pool_size, "speed": speed}
                run = case.run(control=BudgetControl(share * case.settled.mean_cost, **options))
                print(
                    f"| {model} | {100 * share:.0f} | {speed} | {100 * run.control.final_gap:+.1f} | "
                    f"{100 * case.error(run):.2f} | {100 * case.error_at(run.mean_cost):.2f} |",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["budgets", "targets", "shift"])
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--set", action="append", choices=list(SETS))
    parser.add_argument("--shares", type=float, nargs="*")
    parser.add_argument("--targets", type=float, nargs="*")
    parser.add_argument("--audit-rate", type=float, default=0.05)
    parser.add_argument("--focus", type=float, default=0.5)
    parser.add_argument("--weight", type=float, default=5.0)
    parser.add_argument("--speed", default="normal")
    parser.add_argument("--method", default="quorate")
    parser.add_argument("--quick", action="store_true", help="without the fixed knobs to compare with")
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    globals()["SEED"] = args.seed
    for table in args.tables:
        start = time.time()
        {"budgets": budgets, "targets": targets, "shift": shift}[table](args)
        print(f"({table}: {time.time() - start:.0f} s)\n")


if __name__ == "__main__":
    main()
