import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate_paper import store as module
from quorate_paper.jobs import ARRAYS, Job, settings
from quorate_paper.store import RunStore, code_digest
from quorate_paper.sweep import run_job

JOB = Job("toy", 5, "model-0", 3, "random", settings("query_rate", (0.1, 0.6)), keep_items=True)
DONE = run_job(JOB, synthetic(num_items=30, pool_size=5, seed=1))


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path, {"toy": "abc", "other": "def"})


def test_what_is_put_is_got_back(store):
    assert store.get(JOB) is None
    path = store.put(DONE)
    back = store.get(JOB)
    assert path == store.path(JOB)
    assert back.job == JOB
    for name in ARRAYS:
        assert getattr(back, name).dtype == getattr(DONE, name).dtype
        assert getattr(back, name).tobytes() == getattr(DONE, name).tobytes()


def test_a_result_is_the_same_bytes_whenever_it_is_written(store):
    first = store.put(DONE).read_bytes()
    assert store.put(replace(DONE, seconds=99.0)).read_bytes() == first


def test_a_result_carries_its_birth(store):
    with np.load(store.put(DONE), allow_pickle=False) as archive:
        birth = json.loads(str(archive["birth"]))
    assert birth["design"]["method"] == "random"
    assert (birth["data"], birth["code"]) == ("abc", code_digest())
    assert birth["version"]
    assert birth["libraries"]["numpy"] == np.__version__


def test_other_data_or_code_makes_a_result_absent(store, monkeypatch):
    store.put(DONE)
    assert replace(store, checksums={"toy": "abd"}).get(JOB) is None
    monkeypatch.setattr(module, "code_digest", lambda: "another")
    assert store.get(JOB) is None


def test_another_release_of_numpy_makes_a_result_absent(store, monkeypatch):
    store.put(DONE)
    monkeypatch.setattr(module, "version", lambda asked: "0.0.1")
    code_digest.cache_clear()
    assert store.get(JOB) is None
    monkeypatch.undo()
    code_digest.cache_clear()
    assert store.get(JOB) is not None


def test_a_file_cut_short_anywhere_counts_as_absent(store):
    path = store.put(DONE)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert store.get(JOB) is None, length
    path.write_bytes(whole)
    assert store.get(JOB) is not None


def test_a_damaged_byte_is_noticed_or_harmless(store):
    path = store.put(DONE)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        back = store.get(JOB)
        assert back is None or all(np.array_equal(getattr(back, n), getattr(DONE, n)) for n in ARRAYS), place


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_rubbish_pickles_and_arrays_count_as_absent_and_run_nothing(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = store.put(DONE)
    np.save(tmp_path / "plain.npy", np.arange(3))
    np.savez(tmp_path / "trap.npz", **{name: np.array([Trap()], dtype=object) for name in (*ARRAYS, "birth")})
    np.savez(tmp_path / "empty.npz")
    rubbish = [b"", b"rubbish" * 99, pickle.dumps(Trap()), pickle.dumps({"costs": 1})]
    rubbish += [(tmp_path / name).read_bytes() for name in ("plain.npy", "trap.npz", "empty.npz")]
    for content in rubbish:
        path.write_bytes(content)
        assert store.get(JOB) is None
    path.unlink()
    path.mkdir()
    assert store.get(JOB) is None
    assert not (tmp_path / "sprung").exists()


def test_another_jobs_result_under_this_name_counts_as_absent(store):
    other = replace(JOB, data="other")
    store.path(other).parent.mkdir(exist_ok=True, parents=True)
    store.path(other).write_bytes(store.put(DONE).read_bytes())
    assert store.get(other) is None


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.quorate_paper.test_store import DONE, JOB, RunStore
store = RunStore(Path(sys.argv[1]), {"toy": "abc"})
print("ready", flush=True)
big = replace(DONE, item_errors=__import__("numpy").random.default_rng(0).random((2, 200_000)))
while True:
    for seed in range(20):
        store.put(replace(big, job=replace(JOB, seed=seed)))
"""


def test_a_killed_writer_leaves_no_half_written_result(store):
    for wait in (0.05, 0.2, 0.35):
        command = [sys.executable, "-c", WRITER, str(store.folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as writer:
            assert writer.stdout.readline() == b"ready\n"
            while not list(store.folder.glob("*/*.npz")):
                time.sleep(0.01)
            time.sleep(wait)
            writer.send_signal(signal.SIGKILL)
            assert writer.wait() == -signal.SIGKILL
        for path in store.folder.glob("*/*.npz"):
            with np.load(path, allow_pickle=False) as archive:
                assert archive["item_errors"].shape == (2, 200_000)
    (store.folder / "00").mkdir(exist_ok=True)
    (store.folder / "00" / ".half-left").write_bytes(b"half")
    assert store.tidy() >= 1
    assert not list(store.folder.rglob(".half-*"))
