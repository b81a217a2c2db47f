"""Compares the published FinExp with 1000 importance samples to the closed form that they estimate.

`python benchmarks/importance_sampling.py`, with QUORATE_DATA set to the folder of the shift set: the first items of one
stream at one threshold, several runs of each kind that differ only in their draws; one thread, minutes. Prints votes
per item, error and seconds with their standard errors. The note of `quorate reproduce --as-published` has the result.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Literal

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from quorate.datasets import imagenet16h_shift
from quorate.paper import as_published
from quorate.paper.jobs import mean_se
from quorate.paper.published import difference_se
from quorate.rng import stream as random_stream
from quorate.streams import prepare
from quorate.streams.prepare import Stream
from quorate.streams.simulate import expected_errors

MODEL, POOL, SEED, THRESHOLD = "densenet", 6, 3, 0.9
Likelihood = Literal["sampled", "closed"]


@dataclass(frozen=True, slots=True)
class Measured:
    """Runs of one likelihood: (mean, standard error) of votes per item, of percent wrong and of seconds."""

    votes: tuple[float, float]
    error: tuple[float, float]
    seconds: tuple[float, float]


def measured(stream: Stream, likelihood: Likelihood, *, num_items: int, repeats: int) -> Measured:
    """The published FinExp on the first items, `repeats` times with different draws."""
    runs = [once(stream, likelihood, repeat, num_items) for repeat in track(range(repeats), likelihood, transient=True)]
    votes, error, seconds = (mean_se(values) for values in zip(*runs, strict=True))
    return Measured(votes, error, seconds)


def once(stream: Stream, likelihood: Likelihood, repeat: int, num_items: int) -> tuple[float, float, float]:
    """Votes per item, percent wrong, seconds of one run."""
    start = perf_counter()
    done = as_published.stream(
        stream.votes, stream.mean_predictions, method="finexp", pool_size=POOL, threshold=THRESHOLD,
        rng=random_stream(SEED, "as-published", likelihood, repeat), num_items=num_items, likelihood=likelihood,
    )  # fmt: skip
    seconds = perf_counter() - start
    labels = np.concatenate([done.labels, np.zeros(len(stream.items) - len(done.labels), dtype=np.int64)])
    wrong = expected_errors(stream, labels)[: len(done.labels)]
    return float(done.costs.mean()), float(100 * wrong.mean()), seconds


def main(
    items: Annotated[int, typer.Option("--items", help="Number of items, from the start of the stream.")] = 300,
    repeats: Annotated[int, typer.Option("--repeats", help="Runs of each kind, at least 2.")] = 4,
) -> None:
    """Print the table and the difference in standard errors."""
    data = imagenet16h_shift.load(Path(os.environ["QUORATE_DATA"]))
    stream = prepare(data, POOL, MODEL, SEED)
    found = {kind: measured(stream, kind, num_items=items, repeats=repeats) for kind in ("sampled", "closed")}
    grid = Table("likelihood", "votes an item", "error, %", "seconds a run", title=f"First {items} items, {MODEL}")
    for kind, row in found.items():
        grid.add_row(kind, *(f"{mean:.3f} ± {se:.3f}" for mean, se in (row.votes, row.error, row.seconds)))
    sampled, closed = found["sampled"], found["closed"]
    gap = difference_se(*sampled.votes, *closed.votes)
    console = Console()
    console.print(grid)
    console.print(f"Votes differ by {gap:.1f} combined standard errors of {repeats} runs each (±: standard error).")


if __name__ == "__main__":
    typer.run(main)
