"""How long `quorate run` takes: synthetic votes and predictions written as files, then read, replayed and reported.

    python benchmarks/run_speed.py [--items 100000] [--votes 10] [--classes 10] [--budget 3] [--method value]

Prints the seconds of a second run in the same process, when all modules are loaded.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

import quorate
from quorate.datasets import synthetic


def write_tables(folder: Path, *, items: int, votes: int, classes: int) -> tuple[Path, Path]:
    data = synthetic(num_items=items, pool_size=votes, num_classes=classes, accuracy=0.8, seed=1)
    names = pa.array([f"item-{t}" for t in range(items)])
    rows, places = np.nonzero(data.votes >= 0)
    table = {
        "task": names.take(pa.array(rows)),
        "worker": pa.array([f"worker-{number}" for number in range(votes)]).take(pa.array(places)),
        "label": pa.array(data.classes).take(pa.array(data.votes[rows, places])),
    }
    arrow_csv.write_csv(pa.table(table), folder / "votes.csv")
    probs = {name: data.predictions[0, :, k] for k, name in enumerate(data.classes)}
    pq.write_table(pa.table({"id": names, **probs}), folder / "probs.parquet")
    return folder / "votes.csv", folder / "probs.parquet"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("items", 100_000), ("votes", 10), ("classes", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--budget", type=float, default=None)
    parser.add_argument("--method", default="value")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, files = folder / "small", folder / "full"
        small.mkdir()
        files.mkdir()
        warm = write_tables(small, items=500, votes=args.votes, classes=args.classes)
        quorate.run(*warm, method=args.method, budget=args.budget, out=folder / "warm")
        full = write_tables(files, items=args.items, votes=args.votes, classes=args.classes)
        start, cpu = time.perf_counter(), time.process_time()
        result = quorate.run(*full, method=args.method, budget=args.budget, out=folder / "out")
        seconds, busy = time.perf_counter() - start, time.process_time() - cpu
    print(result)
    print(f"{args.items} items, {args.items * args.votes} votes: {seconds:.1f} s ({busy:.1f} s of processor time)")


if __name__ == "__main__":
    main()
