"""An hour of votes on a real server, or as long as QUORATE_SOAK_SECONDS says: nothing is lost, memory stays flat."""

import os
import sys
import threading
import time

import psutil
import pytest

from tests.quorate_service.conftest import BOTH
from tests.quorate_service.faults.running import Server, Voters, account, furnish

SECONDS = float(os.environ.get("QUORATE_SOAK_SECONDS", "3600"))
SAMPLES = 20
MOST_GROWTH = 1.15
WANTED = {"lost": 0, "doubled": 0, "invented": 0, "decided differently": 0}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 1200)]


def resident(server):
    parent = psutil.Process(server.process.pid)
    return sum(each.memory_info().rss for each in [parent, *parent.children(recursive=True)]) / 1e6


@BOTH
def test_an_hour_of_votes_is_stored_and_memory_stays_flat(database_url):
    workers = 1 if database_url.startswith("sqlite") else 2
    most = int(min(400_000, 5000 + 100 * SECONDS))
    place = furnish(database_url, num_items=5000, num_voters=12)
    server = Server(database_url, workers=workers)
    server.start()
    voters = Voters(server.address, place)
    stop = threading.Event()
    feeder = threading.Thread(target=feed, args=(database_url, place, stop, most), daemon=True)
    memory, rates = [], []
    try:
        voters.start()
        feeder.start()
        voters.wait_for(100)
        for _ in range(SAMPLES):
            before, begin = voters.num_acknowledged, time.monotonic()
            time.sleep(SECONDS / SAMPLES)
            rates.append((voters.num_acknowledged - before) / (time.monotonic() - begin))
            memory.append(resident(server))
        stop.set()
        feeder.join(60)
        voters.finish()
    finally:
        server.stop()
    counts = account(database_url, place, voters)
    told = {"MB": [round(value) for value in memory], "votes/s": [round(rate) for rate in rates]}
    print(f"\n  {SECONDS:.0f} s: {counts}, {told}", file=sys.__stdout__)
    assert {name: counts[name] for name in WANTED} == WANTED
    assert counts["acknowledged"] > SECONDS
    assert min(rates) > 0
    assert memory[-1] < MOST_GROWTH * memory[SAMPLES // 4], "memory grew after the first quarter"


def feed(url, place, stop, most):
    """Add items while voters vote, so that they never run out."""
    from quorate_service.domain.items import NewItem, add_items
    from quorate_service.domain.projects import Projects
    from quorate_service.store import Store

    store, made = Store(url), 5000
    projects = Projects(store)
    while not stop.wait(5.0) and made < most:
        batch = [NewItem(f"more{made + n}", {"cat": 0.7}) for n in range(500)]
        add_items(projects, place.project_id, batch, now=time.time())
        made += 500
    store.close()
