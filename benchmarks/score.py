"""How fast `quorate score` is, whether it is linear in items, and how much memory it takes. One thread.

Makes Parquet files of predictions and of counts (K = 10) in a temporary folder, scores each in a fresh process, and
prints items per second of processor time, from reading to the written file, and the peak memory. Exits 1 if InfExp
falls below FEWEST items per second, the time per item grows by more than MOST_GROWTH from the smallest to the largest
file, or the peak by more than MOST_MORE from the second largest. Finally measures the memory per vote of long votes in
random order, which are kept in memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from common import np, resident  # NumPy from common, which first sets one thread
from quorate import PriorParams, method
from quorate.rng import stream
from quorate.workflows.params_file import read_params, write_params
from quorate.workflows.score import score

CLASSES = tuple(f"class-{k}" for k in range(10))
FEWEST, MOST_GROWTH, MOST_MORE = 20_000, 1.3, 1.2
BLOCK = 100_000
CASES = (("infexp", 10), ("infexp", 50), ("finexp", 10), ("quorate", 10), ("quorate", 50))


def make(folder: Path, num_items: int, *, seed: int) -> None:
    """Write predictions that are right in about three of four cases, and three votes on each item, in blocks."""
    rng = stream(seed, "score", num_items)
    kinds = {"probs": pa.float64(), "votes": pa.int64()}
    schemas = {
        name: pa.schema([("id", pa.string()), *((each, kind) for each in CLASSES)]) for name, kind in kinds.items()
    }
    paths = {name: folder / f"{name}-{num_items}.parquet" for name in kinds}
    with (
        pq.ParquetWriter(paths["probs"], schemas["probs"]) as probs,
        pq.ParquetWriter(paths["votes"], schemas["votes"]) as votes,
    ):
        for start in range(0, num_items, BLOCK):
            ids = pa.array([f"item-{number}" for number in range(start, min(start + BLOCK, num_items))])
            values = rng.dirichlet(np.full(len(CLASSES), 0.2), size=len(ids))
            probs.write_table(pa.table([ids, *values.T], schema=schemas["probs"]))
            votes.write_table(pa.table([ids, *rng.multinomial(3, values).T], schema=schemas["votes"]))


def make_long(folder: Path, num_items: int, *, seed: int) -> None:
    """Write the same votes, one row each, in random order."""
    counts = pq.read_table(folder / f"votes-{num_items}.parquet")
    table = np.column_stack([counts[name].to_numpy() for name in CLASSES])
    row, label = np.nonzero(table)
    times = table[row, label]
    row, label = np.repeat(row, times), np.repeat(label, times)
    order = stream(seed, "long", num_items).permutation(len(row))
    columns = {
        "task": counts["id"].take(pa.array(row[order])),
        "worker": pa.array(np.arange(len(row)) % 97)[: len(row)],
        "label": pa.array(list(CLASSES)).take(pa.array(label[order])),
    }
    pq.write_table(pa.table(columns), folder / f"long-{num_items}.parquet")


def learned(folder: Path, name: str, pool_size: int) -> Path:
    """Parameters as learned after a few hundred items."""
    params = PriorParams(6.0, 0.1, np.full(len(CLASSES), 0.8))
    return write_params(
        folder / f"{name}-{pool_size}.json", params, classes=CLASSES, models=("net",), method=method(name),
        pool_size=pool_size, fitted_after=500,
    )  # fmt: skip


def score_here(folder: Path, params: Path, num_items: int, votes: str) -> None:
    """Score one file in this process; print processor seconds, peak bytes and the share that asks."""
    out = folder / "scores.parquet"
    small = np.full((2, len(CLASSES)), 0.1)
    score(read_params(params), small, out=folder / "warm.parquet")  # loads the compiled kernels
    cpu = time.process_time()
    found = score(params, folder / f"probs-{num_items}.parquet", votes=folder / f"{votes}-{num_items}.parquet", out=out)
    cpu = time.process_time() - cpu
    print(cpu, resident()[1], found.num_ask / found.num_items)


def measured(folder: Path, params: Path, num_items: int, votes: str = "votes") -> tuple[float, float]:
    """Items per second and peak bytes of a fresh process, printed as a line."""
    command = [sys.executable, __file__, "--folder", str(folder), "--params", str(params), "--items", str(num_items)]
    command += ["--votes", votes]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    cpu, peak, share = (float(word) for word in out)
    what = params.stem if votes == "votes" else "long votes"
    print(
        f"{what:12} {num_items:8d} items: {num_items / cpu:7.0f} items/s, peak {peak / 1e6:4.0f} MB, "
        f"{100 * share:.0f} % ask",
        flush=True,
    )
    return num_items / cpu, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="sizes of the files")
    parser.add_argument("--folder", type=Path, help="score one file of this folder only, in this process")
    parser.add_argument("--params", type=Path, help="with --folder: the parameters")
    parser.add_argument("--votes", default="votes", help="with --folder: votes (counts) or long")
    options = parser.parse_args()
    if options.folder is not None:
        return score_here(options.folder, options.params, options.items[0], options.votes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for num_items in options.items:
            make(folder, num_items, seed=5)
        files = {case: learned(folder, *case) for case in CASES}
        for path in files.values():  # compile before the timed processes start
            score(path, np.full((2, len(CLASSES)), 0.1), out=folder / "warm.parquet")
        first = [measured(folder, files[CASES[0]], num_items) for num_items in options.items]
        for case in CASES[1:]:
            measured(folder, files[case], min(options.items[-1], 100_000))
        held = []
        for num_items in options.items[-2:]:
            make_long(folder, num_items, seed=5)
            held.append(measured(folder, files[CASES[0]], num_items, "long")[1])
    more_items = options.items[-1] - options.items[-2]
    print(
        f"long votes in random order: {(held[1] - held[0]) / more_items:.0f} bytes for each further item of three votes"
    )
    speeds, peaks = zip(*first, strict=True)
    growth = speeds[0] / speeds[-1]
    more = peaks[-1] / peaks[-2]
    print(f"time per item, largest over smallest file: {growth:.2f}; peak, largest over second largest: {more:.2f}")
    ok = min(speeds) >= FEWEST and growth <= MOST_GROWTH and more <= MOST_MORE
    print("within" if ok else "BEYOND", f"{FEWEST} items/s, {MOST_GROWTH} and {MOST_MORE}")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
