"""Is the confidence calibrated on the real data sets? Prints the tables of docs/calibrate.md; needs QUORATE_DATA.

`--why` prints the sources of the calibration error instead: votes drawn from the model fitted to each set, compared
with the real ones; how often panels are unanimous in both; the gap by quarter of the stream and by votes seen.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from common import np, say  # NumPy from common, which first sets one thread
from quorate import VoteDataset, concentration, fit
from quorate.datasets import vote_dataset
from quorate.paper.sources import Sources
from quorate.rng import stream
from quorate.workflows.calibrate import Calibration, calibrate

SETS = (("cifar10h", 10), ("imagenet16h", None), ("imagenet16h_shift", None), ("chaosnli", None))
METHODS = ("quorate", "finexp", "infexp")
LIMIT = 2.0  # points


def streams(sources: Sources, name: str) -> Iterator[tuple[str, VoteDataset, int | str]]:
    """Every classifier of a set alone, then all together: its name, the items it covers, and its number."""
    if name == "imagenet16h":  # classifiers cover different items
        for each in sources:
            if each.startswith(f"{name}/") and each != f"{name}/all":
                yield each.removeprefix(f"{name}/"), sources[each], 0
        yield "all", sources[f"{name}/all"], "all"
        return
    data = sources[name]
    yield from ((each, data, number) for number, each in enumerate(data.models))
    yield "all", data, "all"


def averaged(runs: list[Calibration]) -> dict[str, float]:
    """Means over the seeds, in points."""
    early, every = [run.early for run in runs if run.early is not None], [run.every for run in runs]
    return {
        "votes": float(np.mean([run.mean_cost for run in runs])),
        "sure": 100 * float(np.mean([each.confidence for each in early])),
        "right": 100 * float(np.mean([each.right for each in early])),
        "early": 100 * float(np.mean([each.ece for each in early])),
        "early honest": 100 * float(np.mean([each.ece_honest for each in early])),
        "every": 100 * float(np.mean([each.ece for each in every])),
        "every honest": 100 * float(np.mean([each.ece_honest for each in every])),
    }


def table(sources: Sources, num_seeds: int, *, each: bool, only: str | None) -> None:
    """A line per set and method: the mean over the single classifiers, and the range in brackets."""
    print("| data set | method | votes per item | sure, % | right, % | error, stopped early | if honest "
          "| error, every decision | if honest | above 2 points |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, pool_size in SETS:
        if only not in (None, name):
            continue
        for method in METHODS:
            rows = {}
            for model, data, number in streams(sources, name):
                say(f"{name} {method} {model}")
                runs = [
                    calibrate(data, method=method, pool_size=pool_size, model=number, seed=seed)
                    for seed in range(num_seeds)
                ]
                rows[model] = averaged(runs)
                if each:
                    print(model, {key: round(value, 2) for key, value in rows[model].items()}, flush=True)
            _line(name, method, rows)


def _line(name: str, method: str, rows: dict[str, dict[str, float]]) -> None:
    single = [row for model, row in rows.items() if model != "all"]

    def mean(key: str) -> float:
        return float(np.mean([row[key] for row in single]))

    def spread(key: str) -> str:
        values = [row[key] for row in single]
        return f"{mean(key):.1f} ({min(values):.1f} to {max(values):.1f}); all {rows['all'][key]:.1f}"

    over = sum(row["early"] > LIMIT for row in single), sum(row["every"] > LIMIT for row in single)
    print(
        f"| {name} | {method} | {mean('votes'):.2f} | {mean('sure'):.1f} | {mean('right'):.1f} | {spread('early')} | "
        f"{mean('early honest'):.1f} | {spread('every')} | {mean('every honest'):.1f} | "
        f"{over[0]} and {over[1]} of {len(single)} |",
        flush=True,
    )


def drawn(data: VoteDataset, model: int, pool_size: int, seed: int) -> VoteDataset:
    """The same items and predictions, with votes drawn from the model fitted to all votes of the real set."""
    counts = (data.votes[:, :, None] == np.arange(data.num_classes)).sum(axis=1)
    params, _ = fit(data.predictions[model], counts, bias=True)
    rng = stream(seed, "drawn", data.name)
    sizes = np.minimum((data.votes >= 0).sum(axis=1), pool_size)
    votes = np.full((data.num_items, pool_size), -1)
    for item, alpha in enumerate(concentration(params, data.predictions[model])):
        shares = rng.dirichlet(alpha)
        votes[item, : sizes[item]] = rng.choice(data.num_classes, size=sizes[item], p=shares / shares.sum())
    return vote_dataset(votes, data.predictions[model], classes=data.classes, blocks=data.blocks, name="drawn")


def unanimous(data: VoteDataset, pool_size: int, seed: int) -> float:
    """Share of unanimous panels of `pool_size`, in percent."""
    keys = np.where(data.votes < 0, 2.0, stream(seed, "unanimous").random(data.votes.shape))
    votes = np.take_along_axis(data.votes, np.argsort(keys, axis=1), axis=1)[:, :pool_size]
    return 100 * float(((votes == votes[:, :1]) | (votes < 0)).all(axis=1).mean())


def why(sources: Sources) -> None:
    """Real votes compared with votes drawn from the model, for the first classifier of each set."""
    print("| data set | method | votes | unanimous, % | sure, % | right, % | error, stopped early | if honest | "
          "too high by: quarters of the stream | too high by: before any vote, after 1, 2, 3, 4 |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, size in (("cifar10h", 10), ("imagenet16h_shift", 6), ("chaosnli", 100)):
        real = sources[name]
        both = {"real": real, "drawn": drawn(real, 0, size, seed=0)}
        for method in METHODS:
            for kind, data in both.items():
                found = calibrate(data, method=method, pool_size=size, model=0, prefixes=True)
                early = found.early
                assert early is not None
                stages = " ".join(f"{100 * each.gap:+.1f}" for each in found.by_stage)
                after = " ".join(f"{100 * each.gap:+.1f}" for each in found.prefixes[1:6])
                print(
                    f"| {name} | {method} | {kind} | {unanimous(data, size, 0):.0f} | {100 * early.confidence:.1f} | "
                    f"{100 * early.right:.1f} | {100 * early.ece:.1f} | {100 * early.ece_honest:.1f} | {stages} | "
                    f"{after} |",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="streams to average over")
    parser.add_argument("--each", action="store_true", help="print every classifier too")
    parser.add_argument("--only", choices=[name for name, _ in SETS], help="one data set")
    parser.add_argument("--why", action="store_true", help="print the sources of the calibration error instead")
    options = parser.parse_args()
    folder = os.environ.get("QUORATE_DATA")
    if not folder:
        sys.exit("set QUORATE_DATA to the folder with cifar10h.npz and the other sets")
    sources = Sources(Path(folder))
    if options.why:
        return why(sources)
    return table(sources, options.seeds, each=options.each, only=options.only)


if __name__ == "__main__":
    main()
