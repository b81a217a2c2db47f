"""Memory and time of reading ten million votes, from long CSV and Parquet files in a temporary folder.

Each file is read and joined in a fresh process with `quorate.tables`; prints peak memory, rows per second of wall clock
and of processor time, and the growth from the small file to the large one. Exits 1 if a large one exceeds MOST_BYTES or
falls below FEWEST_ROWS rows per second of processor time, which depends least on other work on the machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from common import np, resident  # NumPy from common, which first sets one thread
from quorate.rng import stream
from quorate.tables import join, read_votes

MOST_BYTES, FEWEST_ROWS = 1.5e9, 500_000
VOTES_PER_ITEM, WORKERS, CLASSES, BLOCK = 10, 20_000, 10, 500_000


def make(folder: Path, num_rows: int, *, seed: int) -> list[Path]:
    """Write a CSV and a Parquet file of the same votes, in random order, with increasing times."""
    paths = [folder / f"votes-{num_rows}.csv", folder / f"votes-{num_rows}.parquet"]
    schema = pa.schema(
        [(name, pa.string()) for name in ("task", "worker", "label")] + [("timestamp", pa.timestamp("s"))]
    )
    rng = stream(seed, "tables-memory", num_rows)
    with arrow_csv.CSVWriter(str(paths[0]), schema) as text, pq.ParquetWriter(paths[1], schema) as packed:
        for start in range(0, num_rows, BLOCK):
            size = min(BLOCK, num_rows - start)
            item = rng.integers(num_rows // VOTES_PER_ITEM, size=size)
            columns = [
                np.char.add("item-", item.astype(str)),
                np.char.add("w", rng.integers(WORKERS, size=size).astype(str)),
            ]
            columns.append(np.char.add("class-", rng.integers(CLASSES, size=size).astype(str)))
            arrays = [pa.array(column.tolist()) for column in columns]
            arrays.append(pa.array(1_700_000_000 + np.arange(start, start + size)).cast(pa.timestamp("s")))
            table = pa.table(arrays, schema=schema)
            text.write_table(table)
            packed.write_table(table)
    return paths


def read_here(path: Path) -> None:
    """Read and join one file in this process; print wall and processor seconds, peak bytes, votes, items, rejects."""
    shares = []
    wall, cpu = time.perf_counter(), time.process_time()
    votes = read_votes(path, progress=lambda done, total, what: shares.append(done / total))
    joined = join(votes)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if shares != sorted(shares) or shares[-1] != 1:
        raise SystemExit("progress did not rise to the end")
    print(wall, cpu, resident()[1], joined.num_votes, joined.num_items, votes.report.num_set_aside)


def measured(path: Path) -> tuple[float, float]:
    """Peak bytes and rows per processor second of a fresh process, printed as a line."""
    command = [sys.executable, __file__, "--read", str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    wall, cpu, peak, votes, items, aside = (float(word) for word in out)
    rows = votes + aside
    print(
        f"{path.name:22} {path.stat().st_size / 1e6:4.0f} MB: {wall:5.1f} s, {rows / wall / 1e3:4.0f} thousand rows/s "
        f"({rows / cpu / 1e3:.0f} by processor time), peak {peak / 1e6:.0f} MB; "
        f"{votes:.0f} votes on {items:.0f} items, {aside:.0f} set aside",
        flush=True,
    )
    return peak, rows / cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs=2, default=[1_000_000, 10_000_000], help="small and large file")
    parser.add_argument("--read", type=Path, help="read this file only, in this process")
    options = parser.parse_args()
    if options.read is not None:
        return read_here(options.read)
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        small, large = (make(Path(folder), rows, seed=11) for rows in options.rows)
        for before, after in zip(small, large, strict=True):
            (peak_before, _), (peak, speed) = measured(before), measured(after)
            more = (peak - peak_before) / (options.rows[1] - options.rows[0])
            print(
                f"{after.suffix}: {options.rows[1] / options.rows[0]:.0f} times the rows, {peak / peak_before:.1f} "
                f"times the peak: {more:.0f} bytes for each further vote"
            )
            ok &= peak <= MOST_BYTES and speed >= FEWEST_ROWS
    print("within" if ok else "BEYOND", f"{MOST_BYTES / 1e9:g} GB and {FEWEST_ROWS} rows per second of processor time")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
