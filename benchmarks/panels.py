"""Panels of known members: votes at equal error, errors at equal votes, what the approximation loses, cost.

`QUORATE_DATA=folder python benchmarks/panels.py [--only cost large panels ids] [--streams 12]` prints the figures of
docs/peers.md, "Panels of known members", and at the end every required figure that was looked at beside what was
measured; it ends with 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

from common import machine, say
from quorate import compiled
from quorate.datasets import imagenet16h
from quorate.experts.panel import UNSEEN, new_panel
from quorate.experts.panel_learning import learn_item
from quorate.experts.panel_plan import advise_into
from quorate.experts.panel_stream import run_panel
from quorate.paper.experts import (
    AREAS,
    GAINS_BY,
    LEVELS,
    PANEL,
    QUICK_GAINS,
    RANDOM,
    REPORTED,
    STREAMS,
    VOTES_AT,
    StreamCurves,
    area_ratios,
    as_curves,
    curves,
    difference,
    panel_points,
    part_of,
    rows_of,
)
from quorate.paper.sources import PANELS, load_panel
from required import Required

PARTS = ("cost", "large", "panels", "ids")
SHOWN_VOTES = (0.5, 1.0, 1.25, 1.5, 1.58, 1.75, 2.0, 2.3, 2.55)


def cost_lines(required):
    """Microseconds of a decision and of learning from an item, N = 5, K = 2; the largest exact plan."""
    rng = np.random.default_rng(0)
    panel, skill = new_panel(5, 2), (0.95, 0.9, 0.8, 0.7, 0.6)
    log_f, everybody, costs, probs, gains = np.log([[0.7, 0.3]]), np.ones(5, bool), np.ones(5), np.empty(2), np.empty(5)
    nobody = np.full(5, UNSEEN)
    spent = np.zeros(2)
    for i in range(1200):
        truth = int(rng.random() > 0.7)
        votes = np.where(rng.random(5) < skill, truth, 1 - truth)
        began = time.process_time()
        advise_into(panel, log_f, nobody, everybody, costs, 0.01, 65_536, probs, gains)
        between = time.process_time()
        learn_item(panel, log_f, votes)
        if i >= 600:  # the window is full, and everything compiled
            spent += between - began, time.process_time() - between
    ask, learn = 1e6 * spent / 600
    required.most("panel, N = 5, K = 2: ms of CPU a decision", ask / 1000, 1.0, "{:.3f}")
    yield f"N = 5, K = 2: {ask:.0f} us of CPU a decision, {learn:.0f} us to learn from an item"
    large = new_panel(8, 3)
    began = time.process_time()
    for _ in range(5):
        advise_into(
            large, np.log([[0.5, 0.3, 0.2]]), np.full(8, UNSEEN), np.ones(8, bool), np.ones(8), 0.01, 65_536,
            np.empty(3), np.empty(8),
        )  # fmt: skip
    yield f"N = 8, K = 3, the largest exact plan (65,536 states): {200 * (time.process_time() - began):.1f} ms"


def large_lines(folder, num_streams):
    """The approximation beside the exact plan: on the same streams, and decision by decision."""
    for name in ("kelly_nih", "kelly_imagenet"):
        dataset = load_panel(name, folder)
        parts = [part_of(dataset, rows_of(dataset, number)) for number in range(num_streams)]
        exact, about = (
            as_curves([panel_points(part, QUICK_GAINS, most_states=states) for part in parts]) for states in (65_536, 0)
        )
        pairs = zip(exact.mean_errors, about.mean_errors, strict=True)
        gap = np.array([100 * (theirs - ours) for ours, theirs in pairs])
        off = _off(parts[0])
        yield (
            f"{PANELS[name]}: mean error over 0.5 to 2 votes {100 * exact.mean_errors.mean():.2f} % exact, "
            f"{100 * about.mean_errors.mean():.2f} % approximate ({gap.mean():+.2f}, standard error "
            f"{gap.std(ddof=1) / np.sqrt(len(gap)):.2f}); before any vote probabilities differ by {off:.4f} on average"
        )


def _off(part):
    """Mean largest difference of the two beliefs about the winner, before any vote, along one stream."""
    found = []
    state = run_panel(part.votes, part.predictions[0], min_gain=0.01).state
    N, K = part.votes.shape[1], part.num_classes
    exact, about, gains = np.empty(K), np.empty(K), np.empty(N)
    for row in part.predictions[0][:100]:
        for states, out in ((65_536, exact), (0, about)):
            advise_into(
                state, np.log(row)[None], np.full(N, UNSEEN), np.ones(N, bool), np.ones(N), 0.01, states, out, gains
            )
        found.append(np.abs(exact - about).max())
    return float(np.mean(found))


def panel_lines(folder, num_streams, required):
    """Votes at equal error, and mean error at equal votes; then the frontiers of the sets with a reported figure."""
    yield "| panel | asked | votes at 0.5 % | at 0.1 % | at 0 % | mean error, 0.5 to 2 votes, % | against random |"
    yield "|---|---|---|---|---|---|---|"
    frontiers = []
    for name in PANELS:
        found = curves(load_panel(name, folder), num_streams=num_streams)
        for way, each in found.items():
            points, error = difference(found, way)
            votes = " | ".join(f"{each.votes_at(level):.2f}" for level in LEVELS)
            against = "" if way == RANDOM else f"{points:+.2f} ({error:.2f})"
            yield f"| {PANELS[name]} | {way} | {votes} | {100 * each.mean_errors.mean():.2f} | {against} |"
            if name in REPORTED:
                frontiers.append(f"| {PANELS[name]} | {way} | {_spread(each)} | {_errors_at(each)} |")
        points, error = difference(found)
        what = f"{PANELS[name]}: mean error over 0.5 to 2 votes, points against random order"
        limit = -GAINS_BY[name] if name in GAINS_BY else error
        required.most(f"{what} (standard error {error:.2f})", points, limit, "{:+.2f}")
        if name in REPORTED:
            yield f"| {PANELS[name]} | reported by Kelly et al. | | | {REPORTED[name]:.2f} | | |"
            votes = found[PANEL].votes_at(0.001)
            required.most(f"{PANELS[name]}: votes per item at 0.1 % error", votes, VOTES_AT[name])
    heads = " | ".join(f"{votes:g}" for votes in SHOWN_VOTES)
    yield f"\nError in % at so many votes\n\n| panel | asked | votes at 0.1 %, by twelve streams | {heads} |"
    yield "|---|---|---|" + "---:|" * len(SHOWN_VOTES)
    yield from frontiers


def _spread(each):
    """Votes at 0.1 % of every twelve streams: what the choice of streams does to the figure."""
    groups = max(len(each.costs) // STREAMS, 1)
    parts = [StreamCurves(each.costs[g::groups], each.errors[g::groups]) for g in range(groups)]
    return ", ".join(f"{part.votes_at(0.001):.2f}" for part in parts)


def _errors_at(each):
    costs, errors = each.costs.mean(axis=0), each.errors.mean(axis=0)
    order = np.argsort(costs)
    return " | ".join(f"{100 * np.interp(votes, costs[order], errors[order]):.2f}" for votes in SHOWN_VOTES)


def ids_lines(folder, seeds, required):
    """Most reliable voter first, with the annotators' real ids."""
    model = "resnet152_baseline"
    dataset = imagenet16h.load(folder, model=model)
    ratios = np.array([area_ratios(dataset, seed, pool_size=None, model=model) for seed in seeds])
    means, errors = ratios.mean(axis=0), ratios.std(axis=0, ddof=min(1, len(seeds) - 1)) / np.sqrt(len(seeds))
    for how, mean, error, target in zip(("as asked", "pools audited"), means, errors, AREAS, strict=True):
        required.most(f"ImageNet-16H with ids, {how}: area against random order", mean, target, "{:.3f}")
        yield f"ImageNet-16H, {model}, {how}: area {mean:.3f} ({error:.3f}) of random order, {len(seeds)} seeds"


def measure(required, arguments=None):
    """The parts that the arguments name (None: those of the command line); their requirements go into `required`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    folder = Path(os.environ.get("QUORATE_DATA") or sys.exit("set QUORATE_DATA to the folder with kelly_nih.npz, ..."))
    compiled.compile_here()
    say(machine())
    lines = {
        "cost": lambda: cost_lines(required),
        "large": lambda: large_lines(folder, chosen.streams),
        "panels": lambda: panel_lines(folder, chosen.streams, required),
        "ids": lambda: ids_lines(folder, range(3, 3 + chosen.seeds), required),
    }
    for part in chosen.only:
        for line in lines[part]():
            say(line)


def main():
    required = Required()
    measure(required)
    required.end()


if __name__ == "__main__":
    main()
