"""The documented limits of `quorate score` and of reading votes, on a small scale: speed, and memory per further row.

Each is measured in a fresh process, by processor time and peak memory, which depend least on other work.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from quorate import PriorParams, method
from quorate.commands.params_file import write_params
from quorate.commands.score import score

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")

CLASSES = tuple(f"class-{k}" for k in range(10))
LEAST_SPEED = 10_000  # items per second: half of what docs/score.md promises
MOST_PER_ITEM = 250  # bytes: about 130 are measured here, and more than twice the limit if the stream is held
MOST_PER_VOTE = 250  # bytes: docs/tables.md measured 90 on ten million votes
SOME = 20_000
MANY = (270_000, 420_000)  # Parquet is read 131,072 rows at a time: beyond two of these it must not grow
HEAD = "import re, sys, time\nfrom pathlib import Path\n"
FOOT = r"""
seconds = time.process_time() - start
status = Path("/proc/self/status").read_text()  # getrusage would tell the peak of the process that started this one
print(seconds, 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1]))
"""
SCORE = """
from quorate.commands.score import score
params, probs, out, small = sys.argv[1:]
score(params, small, out=out)
start = time.process_time()
score(params, probs, out=out)
"""
READ = """
from quorate.tables import join, read_votes
start = time.process_time()
assert join(read_votes(sys.argv[1])).num_votes > 0
"""


def measured(code, *arguments):
    """Processor seconds and peak bytes of the code in a process of its own, with one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    command = [sys.executable, "-c", HEAD + code + FOOT, *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **one}, check=True, capture_output=True, text=True)
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


def predictions(path, count):
    values = np.random.default_rng(3).dirichlet(np.full(len(CLASSES), 0.2), size=count)
    ids = [f"item-{t}" for t in range(count)]
    pq.write_table(pa.table([ids, *values.T], names=["id", *CLASSES]), path)
    return path


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """`scored(n)`: (seconds, peak) of scoring so many items."""
    folder = tmp_path_factory.mktemp("score")
    learned = PriorParams(6.0, 0.1, np.full(len(CLASSES), 0.8))
    params = write_params(
        folder / "params.json", learned, classes=CLASSES, models=("net",), method=method("infexp"), pool_size=10,
        fitted_after=500,
    )  # fmt: skip
    small, out = predictions(folder / "small.parquet", 10), folder / "scores.parquet"
    score(params, small, out=out)  # compiles here, if anything has to be
    return lambda n: measured(SCORE, params, predictions(folder / f"{n}.parquet", n), out, small)


@pytest.mark.timing
def test_score_takes_at_least_half_the_promised_items_a_second(scored):
    seconds, _ = scored(SOME)
    assert SOME / seconds >= LEAST_SPEED


@pytest.mark.slow
def test_the_memory_of_score_does_not_grow_with_the_items(scored):
    (_, less), (_, more) = (scored(size) for size in MANY)
    assert (more - less) / (MANY[1] - MANY[0]) <= MOST_PER_ITEM


def test_the_memory_of_reading_votes_grows_by_little_more_than_their_numbers(tmp_path):
    peaks = []
    for rows in (200_000, 800_000):
        rng = np.random.default_rng(4)
        columns = {"task": rng.integers(rows // 10, size=rows), "worker": rng.integers(5000, size=rows)}
        columns["label"] = rng.integers(10, size=rows)
        table = pa.table({name: pa.array(cells).cast(pa.string()) for name, cells in columns.items()})
        arrow_csv.write_csv(table, tmp_path / f"{rows}.csv")
        peaks.append(measured(READ, tmp_path / f"{rows}.csv")[1])
    assert (peaks[1] - peaks[0]) / 600_000 <= MOST_PER_VOTE
