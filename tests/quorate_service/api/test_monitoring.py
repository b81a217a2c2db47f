"""Metrics of several workers: each counts, and any of them reports the sum."""

import os
import subprocess
import sys

import pytest

from quorate_service.api.monitoring import Metrics
from quorate_service.domain.ballots import act
from quorate_service.domain.item_actions import change_item
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.votes import Request
from quorate_service.store import Store
from quorate_service.store.prepare import prepare

WORKER = """
import sys
from quorate_service.api.monitoring import Metrics
from quorate_service.store import Store

store = Store(sys.argv[1])
metrics = Metrics(store)
for _ in range(int(sys.argv[2])):
    metrics.requests.labels("POST", "/votes", "200").inc()
    metrics.acts.labels("vote").inc()
    metrics.seconds.labels("POST", "/votes").observe(0.003)
print(metrics.text().decode())
store.close()
"""


def told_by(url, times, folder):
    environment = {name: value for name, value in os.environ.items() if name != "PROMETHEUS_MULTIPROC_DIR"}
    if folder is not None:
        environment["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    command = [sys.executable, "-c", WORKER, url, str(times)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize(("is_shared", "counted"), [(True, 7), (False, 4)])
def test_workers_that_share_a_folder_count_together(tmp_path, is_shared, counted):
    url = f"sqlite:///{tmp_path / 'service.db'}"
    store = Store(url)
    prepare(store)
    store.close()
    folder = tmp_path / "metrics" if is_shared else None
    if folder is not None:
        folder.mkdir()
    told_by(url, 3, folder)
    told = told_by(url, 4, folder)
    assert f'quorate_requests_total{{method="POST",route="/votes",status="200"}} {counted}.0' in told
    assert f'quorate_acts_total{{kind="vote"}} {counted}.0' in told
    assert f'quorate_request_seconds_bucket{{le="0.005",method="POST",route="/votes"}} {counted}.0' in told
    assert told.count('quorate_items{state="open"} 0.0') == 1


def test_withdrawn_items_are_neither_open_nor_closed(store):
    projects = Projects(store)
    settings = ProjectSettings(classes=["a", "b"], pool_size=5, method="ask-all")
    made = projects.create("mine", settings, now=1.0).id
    add_items(projects, made, [NewItem(name) for name in "abcde"], now=1.0)
    for name in "abc":
        act(projects, Request(made, name, "owner", "close", served=False), now=2.0)
    for name in "cd":
        change_item(projects, made, "withdraw", name, by="owner", now=3.0)
    told = Metrics(store).text().decode().splitlines()
    numbers = {"open": 1, "closed": 2, "withdrawn": 2}
    assert all(f'quorate_items{{state="{state}"}} {number}.0' in told for state, number in numbers.items())
