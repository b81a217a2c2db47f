"""Compares quorate with cleanlab, crowd-kit and the counting rules, on the same real streams with the same votes.

`QUORATE_DATA=folder python benchmarks/peers.py [--set NAME] [--models 1] [--seeds 3] [--json FILE]`; needs
`pip install 'quorate[peers]'`. Prints the tables of docs/peers.md; `--quick` runs a small synthetic stream instead.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

from common import machine, say
from peers_loop import barred, best_mixes, lifted, nearest, own_curve, own_seconds
from peers_streams import QUICK, SOURCES, Case
from peers_table import SHARES, losses, markdown, row
from quorate import method
from quorate.streams.grid import parameter_grid

try:
    from peers_models import CrowdKit, CrowdLab
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the peers are an extra: pip install 'quorate[peers]'")

ERROR_COSTS = (1.5, 2, 3, 4, 5.5, 8, 11, 17, 25, 33, 50, 70, 100, 140, 250, 500, 2000, 1e6)
BETAS = (0.0, 0.6, 0.7, 0.76, 0.8, 0.85, 0.88, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0)
ROUNDS = 24  # of a peer's loop, a point every second round; with its bars as many parameter values as ours
MOST_PEOPLE = 500  # beyond, a round of CROWDLAB (which compares all pairs of annotators) or one-coin takes 30 seconds


def own_methods(case):
    """quorate and the vote-counting rules, each over its whole range."""
    sizes = {"pool_size": case.pool_size, "num_classes": case.num_classes}
    counting = {
        name: [method(name, **parameters) for parameters in parameter_grid(name, **sizes)]
        for name in ("quorum", "unanimous-then-cap")
    }
    return {
        "value": [method("value", error_cost=cost) for cost in ERROR_COSTS],
        **counting,
        "beta": [method("beta", threshold=threshold) for threshold in BETAS],
    }


def peers_of(case):
    """The packages; also by person if the data name the annotators."""
    people = 0 if case.voters is None else len(set(case.voters[case.voters >= 0].tolist()))
    few = 0 < people <= MOST_PEOPLE
    yield CrowdLab(case)
    if few:
        yield CrowdLab(case, by_person=True)
    for one_coin in (False, True):
        for by_person in (False, True) if few or (people and not one_coin) else (False,):
            for with_model in (False, True):
                yield CrowdKit(case, by_person=by_person, with_model=with_model, one_coin=one_coin)


def measure(case, num_rounds, only):
    """name -> (curve, items per second at 30 % of the until-settled cost)."""
    budget, found = SHARES[1] * case.settled.mean_cost, {}
    for name, methods in own_methods(case).items():
        curve = own_curve(case, methods)
        found[name] = (curve, case.num_items / own_seconds(case, nearest(curve, budget).method))
    for peer in (each for each in peers_of(case) if only in each.name):
        say(f"  {peer.name}")
        points, seconds = lifted(case, peer, num_rounds=num_rounds, timed_at=budget)
        found[peer.name] = (best_mixes(points + barred(case, peer, peer.bars)), case.num_items / seconds)
    return found


def one_set(source, models, seeds, num_rounds, only):
    """The streams of one set and the rows of its table."""
    cases = [Case(source, model, seed) for model in source.models[:models] for seed in seeds]
    runs = []
    for case in cases:
        say(f"{source.title}: {case.dataset.models[case.model]}, seed {case.seed}, {case.num_items} items")
        runs.append(measure(case, num_rounds, only))
    ours = [run["value"][0] for run in runs]
    rows = {name: row(cases, [run[name][0] for run in runs], ours) for name in runs[0]}
    for name, each in rows.items():
        each["speed"] = len(runs) / sum(1 / run[name][1] for run in runs)
        each["points"] = [[(p.votes_per_item, p.error_rate) for p in run[name][0].points] for run in runs]
    return cases, rows


def describe(cases):
    """The streams of a set in one line."""
    settled = sum(case.settled.mean_cost for case in cases) / len(cases)
    floor = sum(case.settled.error_rate for case in cases) / len(cases)
    names = ", ".join(dict.fromkeys(case.dataset.models[case.model] for case in cases))
    seeds = ", ".join(dict.fromkeys(str(case.seed) for case in cases))
    return (
        f"{cases[0].num_items} items, {cases[0].num_classes} classes; classifier: {names}; seed: {seeds}. Asking "
        f"until settled costs {settled:.2f} votes per item; ties cause an error of at least {100 * floor:.2f} %."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="append", choices=list(SOURCES))
    parser.add_argument("--models", type=int, default=1, help="classifiers of each set, at most 2")
    parser.add_argument("--seeds", type=int, nargs="*", default=[3])
    parser.add_argument("--only", default="", help="packages whose name contains this, besides our own methods")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="a small synthetic stream: the figures mean nothing")
    args = parser.parse_args()
    if not args.quick and "QUORATE_DATA" not in os.environ:
        sys.exit("set QUORATE_DATA to the folder with the real data sets, or try --quick")
    packages = {name: version(name) for name in ("quorate", "cleanlab", "crowd-kit", "numpy", "pandas")}
    print(", ".join(f"{name} {number}" for name, number in packages.items()) + "\n")
    sources = {"synthetic": QUICK} if args.quick else {name: SOURCES[name] for name in args.set or SOURCES}
    content = {"machine": machine(), "packages": packages, "sets": {}}
    for name, source in sources.items():
        cases, rows = one_set(source, args.models, args.seeds, 8 if args.quick else ROUNDS, args.only)
        print(markdown(source.title, rows) + f"\n\n{describe(cases)}\n\n" + "\n".join(losses(rows)) + "\n", flush=True)
        content["sets"][name] = rows
        if args.json is not None:
            args.json.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
