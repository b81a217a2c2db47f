import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import quorate
from quorate.commands import dask_cluster
from quorate.errors import ClusterError, MissingExtra
from quorate.streams import prepare
from quorate_paper.cluster import backend_for
from quorate_paper.jobs import Job, settings
from quorate_paper.store import RunStore
from quorate_paper.sweep import on_threads, sweep
from tests.quorate_paper.test_sweep import CHECKSUMS, DATA, JOBS, LONG, ROOT, files
from tests.refusals import refused

distributed = pytest.importorskip("distributed")

WAIT = 120  # seconds: far more than anything here takes


def run(module, *arguments, log, env=None, cwd=ROOT):
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
    with log.open("ab") as file:
        return subprocess.Popen(command, cwd=cwd, stdout=file, stderr=file, env=os.environ | (env or {}))


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


class Machines:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder, **env):
        self.folder, self.started = folder, []
        place = folder / "scheduler.json"
        arguments = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        self.scheduler = self._run("dask_scheduler", *arguments, env=env)
        self.address = wait_for(lambda: _address(place), "no scheduler")

    def _run(self, *arguments, **options):
        process = run(*arguments, log=self.folder / f"{len(self.started)}.log", **options)
        self.started.append(process)
        return process

    def worker(self, *, ready=True, **options):
        name = f"worker-{len(self.started)}"
        arguments = (self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name)
        process = self._run("dask_worker", *arguments, "--local-directory", str(self.folder), **options)
        if ready:
            with self.client() as client:
                wait_for(lambda: name in names(client), f"no {name}")
        return process

    def client(self):
        return distributed.Client(self.address, set_as_default=False)

    def stop(self, *processes):
        for process in processes or self.started:
            process.kill()
            process.wait(WAIT)
        if processes:
            with self.client() as client:
                wait_for(lambda: not names(client), "workers remain")


def _address(place):
    try:
        return json.loads(place.read_text())["address"]
    except (OSError, ValueError):
        return None


def names(client):
    return {worker["name"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()}


@contextmanager
def machines(folder, **env):
    made = Machines(folder, **env)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("machines")) as made:
        yield made


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The files that one thread of this process writes."""
    folder = tmp_path_factory.mktemp("alone")
    sweep(JOBS + LONG[:4], DATA, RunStore(folder, CHECKSUMS), backend=on_threads(1))
    return files(folder)


def streams_made():
    return prepare.cache_info().currsize


def test_two_processes_started_here_write_the_same_bytes_and_end(tmp_path, alone):
    prepare.cache_clear()
    with backend_for("local:2", None) as backend:
        made_here = streams_made()
        sweep(JOBS, DATA, RunStore(tmp_path, CHECKSUMS), backend=backend)
        assert streams_made() == made_here
    assert files(tmp_path).items() <= alone.items()
    assert len(files(tmp_path)) == len(JOBS)


def test_the_death_of_every_worker_that_began_loses_nothing(shared, tmp_path, alone):
    workers = [shared.worker(), shared.worker()]
    busy, done = [], []

    def kill_them(*_):
        done.append(time.monotonic())
        if len(done) > 1:
            return
        with shared.client() as client:
            busy.extend(tasks for tasks in client.processing().values() if tasks)
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.wait(WAIT)
        workers.append(shared.worker(ready=False))

    with backend_for(shared.address) as backend:
        found = sweep(LONG[:4], DATA, RunStore(tmp_path, CHECKSUMS), backend=backend, progress=kill_them)
    assert busy  # there was work when they were killed
    assert list(found) == LONG[:4]
    assert len(done) == 4
    assert files(tmp_path).items() <= alone.items()
    shared.stop(*workers)


def test_a_worker_with_other_sources_is_refused_before_anything_is_run(shared, tmp_path):
    copy = tmp_path / "quorate"
    shutil.copytree(Path(quorate.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "streams" / "stream.py").open("a") as file:
        file.write("\n# changed\n")
    worker = shared.worker(env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    with pytest.raises(ClusterError) as caught, backend_for(shared.address):
        pass
    shared.stop(worker)
    assert caught.value.field == "cluster" and "code" in caught.value.rule


def test_a_worker_that_cannot_import_quorate_is_refused(shared, tmp_path):
    (tmp_path / "quorate").mkdir()
    (tmp_path / "quorate" / "__init__.py").write_text("raise ImportError('not here')")
    worker = shared.worker(env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    with pytest.raises(ClusterError) as caught, backend_for(shared.address):
        pass
    shared.stop(worker)
    assert "not here" in caught.value.rule


def test_a_scheduler_without_workers_is_told(shared, monkeypatch):
    monkeypatch.setattr(dask_cluster, "ANSWER_WITHIN", 1.0)
    with refused("cluster", ClusterError) as caught, backend_for(shared.address):
        pass
    assert f"dask worker {shared.address}" in caught.value.fix


@pytest.mark.slow
def test_jobs_given_up_and_a_scheduler_that_goes_are_told_and_what_is_done_stays(tmp_path, alone):
    with machines(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as own:
        workers = [own.worker()]
        store = RunStore(tmp_path / "runs", CHECKSUMS)

        with backend_for(own.address) as backend:
            with pytest.raises(ClusterError, match="several died"):
                sweep(LONG[:4], DATA, store, backend=backend, progress=lambda *_: workers[0].kill())
            assert 1 <= len(files(store.folder)) < 4
            workers.append(own.worker())
            with pytest.raises(ClusterError, match="disconnected"):
                sweep(LONG[:4], DATA, store, backend=backend, progress=lambda *_: own.scheduler.kill())
        assert 2 <= len(files(store.folder)) < 4
        assert files(store.folder).items() <= alone.items()


def test_an_address_where_nobody_answers_is_told_with_what_to_do(monkeypatch):
    monkeypatch.setattr(dask_cluster, "ANSWER_WITHIN", 1.0)
    started = time.monotonic()
    with (
        pytest.raises(ClusterError, match=r"tcp://127.0.0.1:9.*dask scheduler --port 9"),
        backend_for("tcp://127.0.0.1:9"),
    ):
        pass
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "address", ["", "local", "local:", "local:0", "local:x", "localhost:8786", "tcp://host", "http://a:1"]
)
def test_what_is_no_address_is_refused(address):
    with refused("cluster", value=address), backend_for(address):
        pass


def test_without_dask_the_message_has_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'quorate\[cluster\]'"), backend_for("local:2"):
        pass


def test_without_an_address_jobs_run_on_threads_here(tmp_path):
    job = Job("toy", 3, "model-0", 3, "random", settings("query_rate", (0.5,)))
    with backend_for(None, 2) as backend:
        assert list(sweep([job], DATA, RunStore(tmp_path, CHECKSUMS), backend=backend)) == [job]
