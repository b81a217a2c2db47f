"""Budgets and target errors held online on the real data sets. Prints the tables of docs/control.md.

`QUORATE_DATA=folder python benchmarks/control.py [budgets|targets|sureness|shift] [--models 2]
[--seeds 3 4 5] [--set NAME]`; every table takes minutes.
Items are the first 2000 of each seed's stream (or all), classifiers one at a time.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from quorate import method
from quorate.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift, vote_dataset
from quorate.posterior.settled import plurality_shares
from quorate.streams import Stream, prepare, simulate
from quorate.streams.control import BudgetControl, rule_parameter
from quorate.streams.replay import replay
from quorate.streams.target_error import TargetErrorControl
from quorate.workflows.run.replay import proved_error

ITEMS = 2000
SHARES = (0.2, 0.4, 0.6, 0.8)
TARGETS = (0.01, 0.02, 0.05)
HIGHER = (0.05, 0.06, 0.08)  # for sets with ties on 4 % of the items


def identified(name):
    """Sets with a column per expert: Kelly, Boyd, Showalter, Steyvers and Smyth, ICML 2025."""

    def load(folder):
        arrays = np.load(Path(folder) / f"{name}.npz", allow_pickle=False)
        classes = [str(number) for number in range(arrays["probs"].shape[1])]
        return vote_dataset(arrays["votes"], arrays["probs"], classes=classes, name=name)

    return load


SETS = {
    "cifar10h N=3": (cifar10h.load, 3),
    "cifar10h N=10": (cifar10h.load, 10),
    "cifar10h N=50": (cifar10h.load, 50),
    "imagenet16h": (lambda folder: imagenet16h.covered(imagenet16h.load(folder)), None),
    "imagenet16h_shift": (imagenet16h_shift.load, None),
    "chaosnli": (chaosnli.load, None),
    "kelly_nih": (identified("kelly_nih"), None),
    "kelly_chaoyang": (identified("kelly_chaoyang"), None),
}


@cache
def data_set(name):
    return SETS[name][0](os.environ["QUORATE_DATA"])


def spread(names, count):
    """`count` classifiers, from the first to the last."""
    return [names[int(at)] for at in np.unique(np.linspace(0, len(names) - 1, min(count, len(names))).round())]


class Case:
    """One classifier on one set: items, pool sizes, and the error of every possible answer (T, K)."""

    def __init__(self, name, model, seed, chosen="quorate", items=ITEMS):
        self.name, self.model, self.seed, self.chosen = name, model, seed, chosen
        self.rule = rule_parameter(method(chosen))
        dataset = data_set(name)
        whole = prepare(dataset, SETS[name][1], model, seed)
        self.stream = Stream(**{each: np.ascontiguousarray(getattr(whole, each)[:items]) for each in Stream.__slots__})
        self.sizes = self.stream.pool_sizes
        self.losses = 1.0 - plurality_shares(self.stream.counts)
        self.settled_cost, self.ties = self.fixed_run("until-settled")

    def run(self, control):
        return replay(self.stream, self.chosen, seed=self.seed, control=control)

    def fixed_run(self, chosen):
        """Votes per item and error of a method without a controller."""
        options = {"pool_size": SETS[self.name][1], "model": self.model, "seed": self.seed}
        run = simulate(data_set(self.name), chosen, **options)
        return run.costs[: len(self.sizes)].mean(), run.expected_errors[: len(self.sizes)].mean()

    def error(self, run):
        return float(self.losses[np.arange(len(run.labels)), run.labels].mean())

    @property
    def pool_size(self):
        return int(self.sizes.max())

    @cached_property
    def fixed(self):
        """(votes per item, error) of fixed parameters, by cost."""
        deepest = -12.0 if self.pool_size <= 10 else -30.0
        gains = np.exp(np.linspace(-0.7, deepest, 16))
        parameters = gains if self.rule == "min_gain" else 1.0 - gains
        return np.array(
            sorted(self.fixed_run(method(self.chosen, **{self.rule: float(parameter)})) for parameter in parameters)
        ).T

    def error_at(self, cost):
        return float(np.interp(cost, *self.fixed))


def cases(args, items=ITEMS):
    """A list of cases for every set: the classifiers and the seeds asked for."""
    for name in args.set or SETS:
        models = spread(data_set(name).models, args.models)
        yield name, [Case(name, model, seed, args.method, items) for model in models for seed in args.seeds]


def budgets(args):
    print("| set | streams | budget % | votes | mean gap % | largest % | overshoot % | error % | fixed parameter % |")
    print("|---|---|---|---|---|---|---|---|---|")
    every = []
    for name, many in cases(args):
        for share in args.shares or SHARES:
            rows = [_budget(case, share, args) for case in many]
            every += [(abs(row[1]), name, share, case.model, case.seed) for row, case in zip(rows, many, strict=True)]
            votes, gap, _, error, fixed = np.mean(rows, axis=0)
            largest = max((row[1] for row in rows), key=abs)
            fixed = "" if args.quick else f"{100 * fixed:.2f}"
            print(
                f"| {name} | {len(many)} | {100 * share:.0f} | {votes:.2f} | {100 * gap:+.1f} | {100 * largest:+.1f} | "
                f"{100 * max(row[2] for row in rows):.1f} | {100 * error:.2f} | {fixed} |",
                flush=True,
            )
    within = sum(gap <= 0.05 for gap, *_ in every)
    print(f"\n{len(every)} budgets, {within} within 5 %, largest gap {100 * max(every)[0]:.1f} %")
    for gap, *where in sorted(every, reverse=True):
        if gap > 0.05:
            print(f"  {100 * gap:.1f} %: {where}")


def _budget(case, share, args):
    """Votes planned, gap, overshoot, error, error of a fixed parameter at that cost."""
    budget = share * case.settled_cost
    run = case.run(BudgetControl(budget, pool_size=case.pool_size, speed=args.speed, rule=case.rule))
    report = run.control
    fixed = np.nan if args.quick else case.error_at(run.mean_cost)
    return budget, report.final_gap, report.overshoot, case.error(run), fixed


def targets(args):
    heads = ("ties %", "target %", "reached %", "least", "most", "gap %", "chance %", "estimate %", "votes", "audits")
    print("| set | streams | " + " | ".join(heads) + " |\n" + "|---" * 12 + "|")
    every = []
    for name, many in cases(args):
        for target in args.targets or (HIGHER if name.startswith("imagenet") else TARGETS):
            rows = np.array([_target(case, target, args) for case in many])
            reached, estimate, votes, audits, chance = rows.T
            gap = np.sqrt(np.mean((reached / target - 1) ** 2))
            every.append((gap, np.mean(chance)))
            print(
                f"| {name} | {len(many)} | {100 * np.mean([case.ties for case in many]):.2f} | {100 * target:g} | "
                f"{100 * reached.mean():.2f} | {100 * reached.min():.2f} | {100 * reached.max():.2f} | "
                f"{100 * gap:.0f} | {100 * np.mean(chance):.0f} | {100 * estimate.mean():.2f} | {votes.mean():.2f} | "
                f"{audits.mean():.2f} |",
                flush=True,
            )
    gaps, chances = (100 * np.sqrt(np.mean(np.square(each))) for each in zip(*every, strict=True))
    print(f"\nroot mean square gap {gaps:.0f} % of the target, {chances:.0f} % by chance alone")


def _target(case, target, args):
    """Error reached, its estimate by the control, votes, audit votes, and the gap expected by chance."""
    options = {"audit_rate": args.audit_rate, "focus": args.focus, "rule": case.rule, "pool_size": case.pool_size}
    given = {name: value for name, value in options.items() if value is not None}
    run = case.run(TargetErrorControl(target, sureness=0.5, **given))
    chance = np.sqrt(target * (1 - target) / len(case.sizes)) / target
    return case.error(run), run.control.reached, run.mean_cost, run.audit_votes.mean(), chance


def sureness(args):
    """The number of streams that exceeded a target, by `sureness`."""
    heads = ("sureness", "streams", "exceeded", "error / target", "most", "above what was said", "proved %", "votes")
    print("| set | " + " | ".join(heads) + " |\n" + "|---" * 9 + "|")
    args.set = args.set or ["imagenet16h_shift", "cifar10h N=10", "chaosnli"]
    every = {}
    for name, many in cases(args):
        wanted = args.targets or ((0.05, 0.06) if name.startswith("imagenet") else (0.02, 0.05))
        for level in args.sureness:
            rows = [_sure(case, target, level, args) for target in wanted for case in many]
            every.setdefault(level, []).extend(rows)
            _print_sure(name, level, rows)
    for level, rows in every.items():
        _print_sure("all", level, rows)


def _sure(case, target, level, args):
    """Error relative to the target, the control's upper bound, the proved bound (nan: none), votes."""
    options = {"audit_rate": args.audit_rate, "focus": args.focus, "rule": case.rule, "pool_size": case.pool_size}
    given = {name: value for name, value in options.items() if value is not None}
    run = case.run(TargetErrorControl(target, sureness=level, **given))
    final = run.control.final
    proved = proved_error(run, final)
    return case.error(run) / target, final.upper / target, np.nan if proved is None else proved, run.mean_cost


def _print_sure(name, level, rows):
    errors, said, proved, votes = np.array(rows).T
    print(
        f"| {name} | {level:g} | {len(rows)} | {(errors > 1).sum()} | {errors.mean():.2f} | {errors.max():.2f} | "
        f"{(errors > said + 1e-9).sum()} | {100 * np.nanmean(proved):.1f} | {votes.mean():.2f} |",
        flush=True,
    )


def shift(args):
    """The error of holding a budget through a shift, at each speed: all 2400 items."""
    print("| budget % | speed | streams | mean gap % | largest % | error % | fixed parameter at that cost % |")
    print("|---|---|---|---|---|---|---|")
    args.set = ["imagenet16h_shift"]
    (_, many), *_ = cases(args, items=2400)
    for share in (0.4, 0.6):
        for args.speed in ("normal", "slow"):
            rows = [_budget(case, share, args) for case in many]
            _, gap, _, error, fixed = np.mean(rows, axis=0)
            largest = max((row[1] for row in rows), key=abs)
            print(
                f"| {100 * share:.0f} | {args.speed} | {len(many)} | {100 * gap:+.1f} | {100 * largest:+.1f} | "
                f"{100 * error:.2f} | {100 * fixed:.2f} |",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["budgets", "targets", "sureness", "shift"])
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="*", default=[3, 4, 5])
    parser.add_argument("--set", action="append", choices=list(SETS))
    parser.add_argument("--shares", type=float, nargs="*")
    parser.add_argument("--targets", type=float, nargs="*")
    parser.add_argument("--sureness", type=float, nargs="*", default=[0.5, 0.8, 0.9, 0.95])
    parser.add_argument("--audit-rate", type=float, help="default: that of the control")
    parser.add_argument("--focus", type=float, help="default: that of the control")
    parser.add_argument("--speed", default="normal")
    parser.add_argument("--method", default="quorate")
    parser.add_argument("--quick", action="store_true", help="without the fixed parameters to compare with")
    args = parser.parse_args()
    for table in args.tables:
        start = time.time()
        {"budgets": budgets, "targets": targets, "sureness": sureness, "shift": shift}[table](args)
        print(f"({table}: {time.time() - start:.0f} s)\n")


if __name__ == "__main__":
    main()
