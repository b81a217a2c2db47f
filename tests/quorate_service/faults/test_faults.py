"""Whatever breaks in mid-load, every acknowledged vote is there once, none is invented, no decision differs.

Run against a real server; the counts are printed.
"""

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from quorate_service.store import as_url
from tests.conftest import COUNTS
from tests.missing import missing
from tests.processes import wait_until
from tests.quorate_service.conftest import BOTH
from tests.quorate_service.faults.network import CuttingProxy
from tests.quorate_service.faults.running import Server, Voters, account, furnish, num_closed, num_fits, span_of_votes
from tests.quorate_service.postgres import Postgres, find_binaries, unprivileged

NOTHING_WRONG = {"lost": 0, "doubled": 0, "invented": 0, "decided differently": 0}
JUMPING = Path(__file__).parent / "jumping"


def kind_of(url):
    return as_url(url).get_backend_name()


def wrong(counts):
    return {name: counts[name] for name in NOTHING_WRONG}


@pytest.fixture
def told(record_property):
    """`account`, with the counts in the summary at the end of the run."""

    def counted(url, place, voters, title):
        counts = account(url, place, voters)
        record_property(COUNTS, f"{title}: " + ", ".join(f"{value} {name}" for name, value in counts.items()))
        return counts

    return counted


@pytest.fixture
def serve():
    """`serve(url)`: a server on this database, started; it ends with the test, however that ends."""
    servers = []

    def start(url, **options):
        servers.append(Server(url, **options))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def running(database_url, serve):
    """A database with a project, a server on it, and voters who are about to start."""
    place = furnish(database_url)
    server = serve(database_url)
    return place, server, Voters(server.address, place)


@BOTH
def test_the_server_is_killed_again_and_again(database_url, running, told):
    place, server, voters = running
    voters.start()
    for _ in range(3):
        voters.wait_for(30)
        server.kill()
        server.start()
    wanted = voters.wait_for(30)
    wait_until(lambda: num_closed(database_url) >= 10, "10 items are closed")
    voters.finish()
    counts = told(database_url, place, voters, f"server killed 3 times, {kind_of(database_url)}")
    assert wrong(counts) == NOTHING_WRONG
    assert counts["acknowledged"] >= wanted >= 120 and counts["closed"] >= 5  # an undo may have opened some again


def test_postgresql_is_killed_again_and_again(postgres, serve, told):
    postgres.start()
    url = postgres.create_database("killed")
    place = furnish(url)
    server = serve(url)
    voters = Voters(server.address, place)
    voters.start()
    for _ in range(3):
        voters.wait_for(30)
        postgres.kill()
        time.sleep(0.2)
        postgres.start()
    wanted = voters.wait_for(30)
    voters.finish()
    server.stop()
    counts = told(url, place, voters, "PostgreSQL killed 3 times")
    postgres.drop_database("killed")
    assert wrong(counts) == NOTHING_WRONG
    assert counts["acknowledged"] >= wanted >= 120


def test_two_workers_share_leases_and_learning(postgres, serve, told):
    """Twelve voters, two processes: no item is leased twice for one vote, no vote counts twice, both learn as one."""
    postgres.start()
    url = postgres.create_database("shared")
    place = furnish(url, num_voters=12, num_items=60, min_votes=2, max_votes=2, audit_rate=0.0)
    server = serve(url, workers=2)
    voters = Voters(server.address, place, only_votes=True)
    voters.start()
    voters.wait_for(120, within=120.0)
    wait_until(lambda: num_fits(url) > 0, "something is learned")
    time.sleep(1.0)
    voters.finish()
    server.stop()
    counts = told(url, place, voters, "two workers on PostgreSQL")
    postgres.drop_database("shared")
    assert wrong(counts) == NOTHING_WRONG
    assert (counts["acknowledged"], counts["closed"]) == (120, 60)  # 60 items of 2 votes: nobody was asked in vain
    assert 1 <= counts["fits"] <= 6  # every 10 items, by one of the two


def test_the_network_is_cut_in_mid_vote_and_the_client_tries_again(database_url, running, told):
    """Responses are lost, or requests arrive in part: about one connection in five is cut."""
    place, server, _ = running
    with CuttingProxy(server.port, share=0.2, seed=5) as proxy:
        voters = Voters(f"http://127.0.0.1:{proxy.port}", place)
        voters.start()
        voters.wait_for(100)
        wait_until(lambda: proxy.num_cut >= 40, "40 exchanges are cut")
        proxy.share = 0.0
        voters.finish()
    counts = told(database_url, place, voters, f"network cut {proxy.num_cut} times, {kind_of(database_url)}")
    assert wrong(counts) == NOTHING_WRONG
    assert proxy.num_cut >= 40 and counts["retries"] >= 20  # a connection may be cut on both ways at once


def test_the_clock_jumps_forth_and_back(database_url, tmp_path, serve, told):
    """By a day in each direction: leases end at once or last too long, votes are neither lost nor duplicated."""
    clock, fresh = tmp_path / "clock", tmp_path / "fresh"
    clock.write_text("0")
    place = furnish(database_url)
    server = serve(database_url, environment={"PYTHONPATH": str(JUMPING), "TEST_CLOCK": str(clock)})
    voters = Voters(server.address, place)
    voters.start()
    for jump in ("86400", "-86400", "5", "0"):
        voters.wait_for(20)
        fresh.write_text(jump)
        fresh.replace(clock)
    voters.wait_for(20)
    voters.finish()
    server.stop()
    counts = told(database_url, place, voters, f"clock jumped 4 times, {kind_of(database_url)}")
    assert wrong(counts) == NOTHING_WRONG
    first, last = span_of_votes(database_url)
    assert last - first > 1.9 * 86400, "the server's clock did jump"


class SmallDisk:
    """A file system of a few megabytes, filled and freed at will. Needs root."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            folder.rmdir()
            missing(f"a small disk ({done.stderr.strip()})", "run as root, who may mount one")

    def fill(self) -> None:
        """Fill the file system."""
        filler = os.open(self.folder / "filler", os.O_WRONLY | os.O_CREAT)
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    os.write(filler, b"\0" * size)
        os.close(filler)

    def free(self) -> None:
        (self.folder / "filler").unlink()

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=True)
        self.folder.rmdir()


@pytest.fixture
def small_disk(tmp_path):
    disk = SmallDisk(Path(f"/tmp/quorate-disk-{os.getpid()}"), 160)  # a short path: PostgreSQL's socket lies in it
    yield disk
    disk.close()


def tended(server):
    """PostgreSQL stops itself when its log cannot be written; an operator starts it again. SQLite needs nobody."""
    if server is not None and not server.running:
        server.start()
    return True


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_disk_is_full_for_a_while(kind, small_disk, serve, told):
    server_of, url = None, f"sqlite:///{small_disk.folder / 'service.db'}"
    if kind == "postgresql":
        binaries = find_binaries()
        if binaries is None:
            missing("PostgreSQL's server", "apt-get install postgresql")
        if identity := unprivileged():
            shutil.chown(small_disk.folder, identity["user"], identity["group"])
        home = small_disk.folder / "pg"
        home.mkdir()
        server_of = Postgres(home, binaries)
        server_of.start()
        url = server_of.create_database("full")
    try:
        place = furnish(url)
        server = serve(url)
        voters = Voters(server.address, place)
        voters.start()
        voters.wait_for(40)
        small_disk.fill()
        wait_until(lambda: voters.num_answered(503) >= 30, "30 requests are answered by 503")
        small_disk.free()
        wanted = voters.num_acknowledged + 40
        wait_until(lambda: tended(server_of) and voters.num_acknowledged >= wanted, f"{wanted} votes are acknowledged")
        voters.finish()
        server.stop()
        counts = told(url, place, voters, f"disk full for {voters.num_answered(503)} requests, {kind}")
        assert wrong(counts) == NOTHING_WRONG
        assert counts["acknowledged"] >= wanted >= 80
    finally:
        if server_of is not None:
            server_of.stop()
