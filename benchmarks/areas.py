"""Area under the error-cost curve of "value" relative to "finexp", which stops at a confidence: `make areas`.

The measure of docs/experiments.md (`quorate reproduce curves`): whole streams, single classifiers, ties in expectation,
mean of the ratios of the streams over the costs both methods reach, starting from never asking. Below 1 our rule errs
less at equal cost. The rule before ("optimistic") has twice the values of the grid. quorate learns from its default
window, finexp from the paper's.

Real sets need QUORATE_DATA; what is in the store of a reproduction (`--runs quorate-reproduction/runs`) is not run
again, so that an interrupted run goes on where it was. Cheap sets come first. Exits 1 if the default misses a required
area; names the sets that missed, and those without data. `--seeds 3 4` and `--only shift` look at a part.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from quorate.datasets import synthetic
from quorate.types import VoteDataset
from quorate_paper.curves import CurveSetting, panel
from quorate_paper.datasets import checksum, data_folder
from quorate_paper.jobs import Job, grid, settings
from quorate_paper.sources import Sources
from quorate_paper.store import RunStore
from quorate_paper.sweep import on_threads, sweep
from scenarios import SETTINGS

ANYWHERE = 1.02  # required of every classifier on every set, mean of its seeds
EVEN = {"num_items": 4000, "accuracy": 0.75, "agreement": 0.75}


@dataclass(frozen=True)
class Row:
    """A set of streams: its title, names of its data sets by `Sources` or here, and the area required of the mean."""

    title: str
    data: str
    pool_size: int
    required: float = ANYWHERE


REAL = (
    Row("ImageNet-16H shift, N=6", "imagenet16h_shift", 6, 0.885),
    Row("ImageNet-16H, N=6", "imagenet16h", 6, 0.90),
    Row("ImageNet-16H, N=3", "imagenet16h", 3),
    Row("CIFAR-10H, N=10", "cifar10h", 10, 0.965),
    Row("CIFAR-10H, uneven training, N=10", "cifar10h_imbalanced", 10),
    Row("CIFAR-10H, N=3", "cifar10h", 3),
    Row("CIFAR-10H, N=50", "cifar10h", 50),
    Row("ChaosNLI, N=100", "chaosnli", 100, 0.93),
)
MADE = (
    Row("demo, typical", "demo-typical", 10, 0.92),
    Row("demo, shift", "demo-shift", 10, 0.92),
    Row("demo, pool of three", "demo-small-pool", 3, 0.97),
    Row("demo, useless", "demo-useless", 10, 1.01),
    Row("synthetic, uneven classifier", "uneven", 10),
    Row("synthetic, even classifier", "even", 10, 1.015),
    Row("synthetic, useless classifier", "useless", 10, 1.01),
)
DIALS = {"uneven": {"unevenness": 0.6}, "even": {}, "useless": {"accuracy": 0.12, "calibration": 15.0}}


def made(name: str, seed: int) -> VoteDataset:
    """A synthetic stream; another seed draws other items."""
    if name in DIALS:
        return synthetic(**EVEN | DIALS[name], seed=seed)
    return next(setting for setting in SETTINGS if name == f"demo-{setting.key}").dataset(seed)


def data_sets(row: Row, sources: Sources | None, seed: int) -> Iterator[tuple[str, VoteDataset]]:
    """The data sets of a row by the names of their jobs; ImageNet-16H has one for each classifier."""
    if row in MADE:
        yield f"{row.data}/{seed}", made(row.data, seed)
    elif sources is not None:
        names = [name for name in sources if name.split("/")[0] == row.data and not name.endswith("/all")]
        yield from ((name, sources[name]) for name in names)


def jobs_of(row: Row, data: str, dataset: VoteDataset, model: str, seed: int) -> list[Job]:
    """The reference, quorate, and asking until settled: the jobs of a reproduction."""
    shape = {"pool_size": row.pool_size, "num_classes": dataset.num_classes}
    own = [Job(data, row.pool_size, model, seed, name, grid(name, **shape)) for name in ("finexp", "value")]
    return [*own, Job(data, row.pool_size, model, seed, "until-settled", settings(None))]


def ratios(row: Row, sources: Sources | None, options: argparse.Namespace) -> Mapping[str, np.ndarray]:
    """By classifier, the area of each seed; empty without the data."""
    found: dict[str, list[float]] = {}
    for seed in options.seeds:
        for data, dataset in data_sets(row, sources, seed):
            sums = {data: sources.checksum(data) if row in REAL and sources else checksum(dataset)}
            for model in dataset.models:
                jobs = jobs_of(row, data, dataset, model, seed)
                done = sweep(jobs, {data: dataset}, RunStore(options.runs, sums), backend=on_threads(options.threads))
                curves = panel(CurveSetting(data, row.data, row.pool_size, model), dataset, jobs, done)
                found.setdefault(model, []).append(float(curves.ratios("value")[0]))
    return {model: np.array(values) for model, values in found.items()}


def line(row: Row, areas: np.ndarray) -> tuple[list[str], bool]:
    """The cells of a row of areas (classifiers, seeds), and whether it is as required to three digits."""
    mean, worst = round(float(areas.mean()), 3), round(float(areas.mean(axis=1).max()), 3)
    error = areas.std(ddof=1) / np.sqrt(areas.size) if areas.size > 1 else np.nan
    met = mean <= row.required and worst <= max(ANYWHERE, row.required)
    by_seed = " ".join(f"{value:.3f}" for value in areas.mean(axis=0))
    cells = [f"{mean:.3f}", f"{error:.3f}", by_seed, f"{worst:.3f}", f"{row.required:g}"]
    return [*cells, "yes" if met else "no"], met


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4, 5])
    parser.add_argument("--only", nargs="+", default=[""], help="sets whose title contains one of these")
    parser.add_argument("--runs", type=Path, default=Path("quorate-reproduction/runs"), help="where runs are stored")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> int:
    """Measure row by row; the table at the end, and what is not as required."""
    options, console = asked(), Console(width=150)
    folder = data_folder(None)
    sources = Sources(folder) if folder.is_dir() else None
    table = Table(title=f"area relative to finexp with a threshold, seeds {', '.join(map(str, options.seeds))}")
    for name in ("streams", "mean", "standard error", "by seed", "worst classifier", "required"):
        table.add_column(name, justify="left" if name == "streams" else "right")
    table.add_column("met")
    missed, without_data = [], []
    for row in (*MADE, *REAL):
        if not any(part in row.title for part in options.only):
            continue
        found = ratios(row, sources, options)
        without_data += [] if found else [row.title]
        if found:
            cells, met = line(row, np.array(list(found.values())))
            table.add_row(row.title, *cells)
            console.print(row.title, *cells)
            missed += [] if met else [row.title]
    console.print(table)
    for what, titles in {"missed": missed, "without data": without_data}.items():
        if titles:
            console.print(f"{what}: {'; '.join(titles)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
