import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.errors import InvalidInput, QuorateError
from quorate_paper.jobs import Job, settings
from quorate_paper.store import RunStore
from quorate_paper.sweep import on_threads, sweep
from tests.refusals import refused

ROOT = Path(__file__).parents[2]
DATA = {
    "toy": synthetic(num_items=120, num_classes=4, pool_size=6, accuracy=0.6, seed=2),
    "long": synthetic(num_items=4000, num_classes=4, pool_size=30, accuracy=0.5, agreement=0.5, seed=2),
}
CHECKSUMS = {"toy": "abc", "long": "def"}
JOBS = [
    Job("toy", size, "model-0", seed, name, settings(parameter, values), keep_items=seed == 3)
    for seed in (3, 4)
    for size in (3, 6)
    for name, parameter, values in (
        ("value", "error_cost", (0.1, 0.01)),
        ("infexp", "threshold", (0.9,)),
        ("fixed-finexp", "threshold", (0.5, 0.9)),
        ("mp", "scale", (1.0, 10.0)),
    )
]


def files(folder):
    """Every stored result's bytes by its name."""
    return {path.name: path.read_bytes() for path in folder.glob("*/*.npz")}


def counting(backend):
    """The backend, and the jobs it was asked to run."""
    asked = []

    def run(jobs, datasets):
        asked.extend(jobs)
        yield from backend(jobs, datasets)

    return run, asked


def test_outcomes_come_in_the_order_of_the_jobs_each_once(tmp_path):
    found = sweep([*JOBS, *JOBS[:3]], DATA, RunStore(tmp_path, CHECKSUMS), backend=on_threads(2))
    assert list(found) == JOBS
    assert all(outcome.job == job for job, outcome in found.items())


def test_one_thread_and_two_write_the_same_bytes(tmp_path):
    for threads in (1, 2):
        sweep(JOBS, DATA, RunStore(tmp_path / str(threads), CHECKSUMS), backend=on_threads(threads))
    assert files(tmp_path / "1") == files(tmp_path / "2")
    assert len(files(tmp_path / "1")) == len(JOBS)


def test_what_is_stored_is_not_run_again(tmp_path):
    store = RunStore(tmp_path, CHECKSUMS)
    sweep(JOBS[:5], DATA, store, backend=on_threads(1))
    backend, asked = counting(on_threads(1))
    found = sweep(JOBS, DATA, store, backend=backend)
    assert set(asked) == set(JOBS[5:])
    assert list(found) == JOBS
    backend, asked = counting(on_threads(1))
    again = sweep(JOBS, DATA, store, backend=backend)
    assert asked == []
    assert all(np.array_equal(again[job].costs, found[job].costs) for job in JOBS)


def test_a_damaged_result_is_run_again_and_repaired(tmp_path):
    store = RunStore(tmp_path, CHECKSUMS)
    sweep(JOBS, DATA, store, backend=on_threads(1))
    whole = files(tmp_path)
    store.path(JOBS[0]).write_bytes(whole[store.path(JOBS[0]).name][:-9])
    store.path(JOBS[1]).write_bytes(b"rubbish")
    backend, asked = counting(on_threads(1))
    sweep(JOBS, DATA, store, backend=backend)
    assert set(asked) == {JOBS[0], JOBS[1]}
    assert files(tmp_path) == whole


def test_progress_counts_the_work_that_is_left_to_do(tmp_path):
    store, said = RunStore(tmp_path, CHECKSUMS), []
    sweep(JOBS[:4], DATA, store, backend=on_threads(1))
    sweep(JOBS, DATA, store, backend=on_threads(1), progress=lambda *told: said.append(told))
    work = [job.weight * DATA["toy"].num_items for job in JOBS[4:]]
    assert [done for done, _, _ in said] == sorted({done for done, _, _ in said})
    assert len(said) == len(work)
    assert {total for _, total, _ in said} == {sum(work)}
    assert said[-1][0] == sum(work)
    assert {what for _, _, what in said} == {job.label for job in JOBS[4:]}


def test_data_that_are_not_loaded_are_named_before_anything_is_run(tmp_path):
    with refused("data", value="toys"):
        sweep([*JOBS, replace(JOBS[0], data="toys")], DATA, RunStore(tmp_path, CHECKSUMS), backend=on_threads(1))
    assert not files(tmp_path)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_job_that_fails_is_named_and_the_others_stay_stored(tmp_path, threads):
    wrong = replace(JOBS[0], model="nobody", pool_size=2)  # the smallest pool: run last
    with pytest.raises(InvalidInput, match="'nobody'") as caught:
        sweep([wrong, *JOBS], DATA, RunStore(tmp_path, CHECKSUMS), backend=on_threads(threads))
    assert caught.value.__notes__ == [f"while running {wrong.label}"]
    assert len(files(tmp_path)) >= len(JOBS) - 1


def test_a_backend_that_loses_jobs_is_found_out(tmp_path):
    def forgetful(jobs, datasets):
        yield from on_threads(1)(jobs[:-2], datasets)

    with pytest.raises(QuorateError, match=f"2 of {len(JOBS)} jobs"):
        sweep(JOBS, DATA, RunStore(tmp_path, CHECKSUMS), backend=forgetful)


LONG = [
    Job("long", 30, "model-0", seed, "value", settings("error_cost", tuple(gain + 1e-5 * seed for gain in (0.1, 0.01))))
    for seed in range(12)
]
SWEEPER = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start without it
from tests.quorate_paper.test_sweep import CHECKSUMS, DATA, JOBS, LONG, RunStore, on_threads, sweep
told = lambda done, total, what: print(what, flush=True)
jobs = {"JOBS": JOBS, "LONG": LONG}[sys.argv[2]]
sweep(jobs, DATA, RunStore(Path(sys.argv[1]), CHECKSUMS), backend=on_threads(2), progress=told)
print("whole", flush=True)
"""


def sweeper(folder, which):
    command = [sys.executable, "-c", SWEEPER, str(folder), which]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.timing
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_is_stopped_goes_on_where_it_was(tmp_path, stop):
    with sweeper(tmp_path, "LONG") as first:
        assert first.stdout.readline().startswith("value on long")
        stopped = time.monotonic()
        first.send_signal(stop)
        rest, problem = first.communicate(timeout=60)
        took = time.monotonic() - stopped
    assert first.returncode == -stop
    assert "whole" not in rest
    assert took < 10
    assert ("KeyboardInterrupt" in problem) == (stop == signal.SIGINT)
    kept = files(tmp_path)
    assert 1 <= len(kept) < len(LONG)
    store = RunStore(tmp_path, CHECKSUMS)
    backend, asked = counting(on_threads(2))
    wanted = [job for job in LONG if store.get(job)] + [job for job in LONG if not store.get(job)][:1]
    found = sweep(wanted, DATA, store, backend=backend)
    assert len(asked) == 1  # what was stored is not run again, the next one is
    assert list(found) == wanted
    assert kept.items() <= files(tmp_path).items()


def test_two_sweeps_of_one_folder_at_once_do_no_harm(tmp_path):
    with sweeper(tmp_path / "both", "JOBS") as one, sweeper(tmp_path / "both", "JOBS") as other:
        for process in (one, other):
            output, problem = process.communicate(timeout=120)
            assert process.returncode == 0, problem
            assert output.endswith("whole\n")
    sweep(JOBS, DATA, RunStore(tmp_path / "alone", CHECKSUMS), backend=on_threads(1))
    assert files(tmp_path / "both").keys() == files(tmp_path / "alone").keys()
    assert not list(tmp_path.rglob(".half-*"))
    lines = (tmp_path / "both" / "timings.jsonl").read_text().splitlines()
    assert all(json.loads(line)["seconds"] > 0 for line in lines)
