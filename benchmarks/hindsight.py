"""What learning could gain: areas as in `areas.py`, with parameters that nobody knows beforehand. Not a bound.

For each set of streams, the area of "quorate" relative to "finexp", whole and by budget (0 to 10, 10 to 25,
25 to 50 and 50 to 100 % of the costs both methods reach), for three sources of parameters:

default     learned online, from the votes asked so far
all votes   fitted in hindsight to every vote of every pool (each block of the stream alone, as before and after a
            shift), fixed from the first item on
own votes   the same, fitted only to the votes that the default asked at the same `min_gain`: uncertain items above all

`python benchmarks/hindsight.py --only "CIFAR-10H, N=10" --seeds 3`; `--finer 3` uses three times as many settings.
Real sets need QUORATE_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from areas import MADE, REAL, data_sets, grids
from quorate import fit, method
from quorate.datasets.content import data_folder
from quorate.decision.rules import rule_of
from quorate.learning.problem import pack
from quorate.methods import Method
from quorate.paper.jobs import area_ratio, usual_window
from quorate.paper.sources import Sources
from quorate.streams import prepare
from quorate.streams.prepare import Stream
from quorate.streams.runs import CompiledRun, StreamOptions
from quorate.streams.simulate import expected_errors, simulate_stream
from quorate.types import IntArray

PARTS = ((0.0, 1.0), (0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 1.0))
SOURCES = ("default", "all votes", "own votes")
Point = tuple[float, float]  # votes per item, share wrong


def online(stream: Stream, chosen: Method, seed: int) -> tuple[Point, IntArray]:
    """The point of a run that learns, and what it asked of each item (T,)."""
    run = simulate_stream(stream, chosen, StreamOptions(window=usual_window(chosen.name)), seed=seed)
    return (run.mean_cost, run.error_rate), run.costs


def in_hindsight(stream: Stream, chosen: Method, counts: IntArray) -> Point:
    """The point of a run whose parameters are fitted beforehand to the votes `counts` (T, K), block by block."""
    rule = rule_of(chosen.policy)
    assert rule is not None
    run = CompiledRun(stream, chosen, rule, StreamOptions(window=1), error_costs=None, keep_probs=False)
    run.compiled = run.compiled._replace(learns=False)
    start = run.state.packed.copy()
    for block in np.unique(stream.blocks):
        rows = np.flatnonzero(stream.blocks == block)  # blocks follow each other
        asked = rows[counts[rows].any(axis=1)]
        run.state.packed[:] = start
        if len(asked):
            known, _ = fit(stream.predictions[asked, 0], counts[asked], bias=True, hyperprior=chosen.prior)
            run.state.packed[:] = pack(known)
        run.advance(int(rows[0]), int(rows[-1]) + 1)
    return float(run.outputs.costs.mean()), float(expected_errors(stream, run.outputs.labels).mean())


def asked_counts(stream: Stream, costs: IntArray) -> IntArray:
    """(T, K) counts of the first `costs` (T,) votes of each item."""
    votes = np.where(np.arange(stream.votes.shape[1]) < costs[:, None], stream.votes, -1)
    counts: IntArray = (votes[:, :, None] == np.arange(stream.counts.shape[1])).sum(axis=1)
    return counts


def ratios(ours: Sequence[Point], theirs: Sequence[Point]) -> list[float]:
    """Area relative to theirs in each of PARTS of the costs both reach."""
    (costs, errors), (their_costs, their_errors) = np.array(ours).T, np.array(theirs).T
    return [area_ratio(costs, errors, their_costs, their_errors, part) for part in PARTS]


def measure(stream: Stream, seed: int, times: int) -> np.ndarray:
    """(sources, parts) areas of one stream."""
    thresholds, gains = grids(int(stream.pool_sizes.max()), stream.counts.shape[1], times)
    theirs = [online(stream, method("finexp", threshold=threshold), seed)[0] for threshold in thresholds]
    curves: list[list[Point]] = [[], [], []]
    for min_gain in gains:
        chosen = method("quorate", min_gain=min_gain)
        point, costs = online(stream, chosen, seed)
        own = in_hindsight(stream, chosen, asked_counts(stream, costs))
        for curve, new in zip(curves, (point, in_hindsight(stream, chosen, stream.counts), own), strict=True):
            curve.append(new)
    return np.array([ratios(curve, theirs) for curve in curves])


def main() -> None:
    """Print every stream, then the means of its set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[3])
    parser.add_argument("--only", nargs="+", default=[""], help="sets whose title contains one of these")
    parser.add_argument("--finer", type=int, default=1, help="this many times as many settings of both methods")
    options, console = parser.parse_args(), Console(width=150)
    folder = data_folder(None)
    sources = Sources(folder) if folder.is_dir() else None
    for row in (*MADE, *REAL):
        if not any(part in row.title for part in options.only):
            continue
        found = []
        for seed in options.seeds:
            for data, dataset in data_sets(row, sources, seed):
                for model in dataset.models:
                    found.append(measure(prepare(dataset, row.pool_size, model, seed), seed, options.finer))
                    console.print(data, model, f"seed {seed}", found[-1][:, 0].round(3))
        for name, parts in zip(SOURCES, np.mean(found, axis=0), strict=True) if found else ():
            console.print(f"{row.title}, {name}:", " ".join(f"{value:.3f}" for value in parts))


if __name__ == "__main__":
    main()
