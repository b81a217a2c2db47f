"""Votes per second and waiting times of the service, relative to bare inserts. Run by `make bench-service`.

50 concurrent voters on this machine's loopback, a project of 100,000 items and one of 1,000, SQLite and PostgreSQL, one
and two workers. Server, database and voters share the cores. Exits 1 if PostgreSQL handles fewer votes than a quarter
of the durable inserts of a single connection, if the next item takes longer among more items, if a request is refused,
or, with --million, if memory grows. The inserts of many connections are printed too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from common import machine, say
from service_load import CONNECTIONS, bare_rates, load, typical_body
from service_million import beside_closed, growth, million
from service_place import Place, Server, furnish, new_database, postgresql, scratch

LEAST_SHARE, MOST_SLOWDOWN, MOST_GROWTH = 0.25, 1.5, 1.1
WARM_UP = 5.0
CLOSED = (40_000, 100_000, 200_000, 400_000)
MODES = ("page", "apart", "people")


def main() -> int:
    """Run the selected measurements, print them, and return 1 if a requirement is missed."""
    options = _options()
    results: dict[str, Any] = {
        "machine": machine(),
        "quick": options.quick,
        "cells": [],
        "growth": [],
        "million": [],
        "fast": [],
    }
    for name in options.databases:
        with scratch() as folder, _database(name, folder, options.postgresql) as (where, pid):
            if options.fast_path:
                place = furnish(new_database(where, "fast"), num_items=options.items, num_voters=options.voters)
                results["fast"].append({"database": name, **_fast_path(place, options)})
            elif options.closed:
                rows = beside_closed(new_database(where, "closed"), steps=CLOSED)
                results["million"].append({"database": name, "rows": rows, "growth": growth(rows)})
            elif options.million:
                rows = million(new_database(where, "million"), votes=options.million, every=options.every)
                results["million"].append({"database": name, "rows": rows, "growth": growth(rows)})
            else:
                _measure(name, where, pid, options, results)
    _show(results, options)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    missed = _missed(results)
    for line in missed:
        print(f"missed: {line}")
    return 0 if options.quick or not missed else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--few-items", type=int, default=1000)
    parser.add_argument("--voters", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of every load")
    parser.add_argument("--bare-seconds", type=float, default=5.0, help="duration of every run of bare inserts")
    parser.add_argument("--postgresql", metavar="URL", help="an existing server instead of a private one")
    parser.add_argument("--million", type=int, nargs="?", const=1_000_000, metavar="VOTES", help="only memory")
    parser.add_argument("--closed", action="store_true", help="only memory, with the closed items of a million votes")
    parser.add_argument(
        "--fast-path", action="store_true", help="only the effect of api/fast_path.py, alternating on and off"
    )
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to test that it runs")
    options = parser.parse_args()
    if options.quick:
        options.items, options.few_items, options.voters, options.seconds, options.bare_seconds = 300, 100, 5, 0.7, 0.3
        options.workers = options.workers[:1]
    options.every = max(1, (options.million or 0) // 10)
    return options


@contextlib.contextmanager
def _database(name: str, folder: Path, given: str | None) -> Iterator[tuple[str, int | None]]:
    """Where databases can be created, and the process id of the private server if there is one."""
    if name == "sqlite":
        yield str(folder), None
    elif given is not None:
        yield given, None
    else:
        with postgresql(folder) as (url, pid):
            yield url, pid


def _measure(name: str, where: str, pid: int | None, options: argparse.Namespace, results: dict[str, Any]) -> None:
    say(f"{name}: making {options.items:,} items")
    many = furnish(new_database(where, "many"), num_items=options.items, num_voters=options.voters)
    for workers in options.workers:
        say(f"{name}: {workers} worker(s)")
        results["cells"].append(_cell(name, where, many, workers, pid, options))
    few = furnish(new_database(where, "few"), num_items=options.few_items, num_voters=options.voters)
    say(f"{name}: {options.few_items:,} items beside {options.items:,}")
    results["growth"].append(_growth(name, few, many, options))


def _cell(
    name: str, where: str, place: Place, workers: int, pid: int | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Measure bare inserts, the voters in every mode, and bare inserts again."""
    inserts = {"workers": workers, "seconds": options.bare_seconds}
    server = Server(place.url, workers)
    try:
        load(place, server, "apart", seconds=min(WARM_UP, options.seconds), database=pid)
        bare = [bare_rates(where, **inserts, body=typical_body(place.url))]
        loads = [load(place, server, mode, seconds=options.seconds, database=pid).as_json() for mode in MODES]
        bare.append(bare_rates(where, **inserts, body=typical_body(place.url)))
    finally:
        server.stop()
    rates = {key: statistics.mean(each[key]["per_second"] for each in bare) for key in ("one", "all")}
    shares = {each["mode"]: {key: each["votes_per_second"] / rates[key] for key in rates} for each in loads}
    return {
        "database": name, "workers": workers, "items": options.items, "loads": loads, "bare": bare,
        "bare_per_second": rates, "connections": workers * CONNECTIONS, "shares": shares,
    }  # fmt: skip


def _growth(name: str, few: Place, many: Place, options: argparse.Namespace) -> dict[str, Any]:
    """The next item's time in a small and a large project, alternating; voters pause, so that there is no queue."""
    servers = [Server(place.url, 1) for place in (few, many)]
    p50s: list[list[float]] = [[], []]
    try:
        for _ in range(2 if options.quick else 4):
            for each, place, server in zip(p50s, (few, many), servers, strict=True):
                found = load(place, server, "people", seconds=max(1.5, options.seconds / 4), database=None)
                each.append(found.next.p50)
    finally:
        for server in servers:
            server.stop()
    small, large = (statistics.median(each[1:]) for each in p50s)
    return {"database": name, "few": small, "many": large, "ratio": large / small, "rounds": p50s}


def _fast_path(place: Place, options: argparse.Namespace) -> dict[str, Any]:
    """Votes per second and CPU per vote with and without the fast path, alternating."""
    servers = {is_on: Server(place.url, 1, fast_path=is_on) for is_on in (True, False)}
    found: dict[bool, list[Any]] = {True: [], False: []}
    try:
        for number in range(2 if options.quick else 7):
            for is_on in (True, False) if number % 2 else (False, True):
                each = load(place, servers[is_on], "page", seconds=max(0.7, options.seconds / 4), database=None)
                found[is_on].append(each)
    finally:
        for server in servers.values():
            server.stop()
    rates, cpu = (
        {is_on: statistics.median(getattr(each, name) for each in part[1:]) for is_on, part in found.items()}
        for name in ("votes_per_second", "cpu_workers")
    )
    return {
        "on": rates[True], "off": rates[False], "ratio": rates[True] / rates[False], "cpu_on": cpu[True],
        "cpu_off": cpu[False], "rounds": {str(k): [each.votes_per_second for each in v] for k, v in found.items()},
    }  # fmt: skip


def _missed(results: dict[str, Any]) -> list[str]:
    missed = []
    for cell in results["cells"]:
        share = max(each["one"] for each in cell["shares"].values())
        if cell["database"] == "postgresql" and share < LEAST_SHARE:
            missed.append(f"{share:.0%} of bare inserts with {cell['workers']} worker(s); required {LEAST_SHARE:.0%}")
        problems = [each["problems"] for each in cell["loads"] if each["problems"]]
        if problems:
            missed.append(f"{cell['database']}: answers that were no success: {problems}")
    for each in results["growth"]:
        if each["ratio"] > MOST_SLOWDOWN:
            missed.append(f"{each['database']}: next item {each['ratio']:.2f} times slower among more items")
    for each in results["million"]:
        if each["growth"] > MOST_GROWTH:
            missed.append(f"{each['database']}: memory grew to {each['growth']:.2f} times that after a tenth")
    return missed


def _show(results: dict[str, Any], options: argparse.Namespace) -> None:
    console = Console(width=150)
    if options.quick:
        console.print("A quick run: it shows that everything runs; its figures mean nothing.")
    if results["cells"]:
        console.print(_loads_table(results, options))
        console.print(_bare_table(results))
    for each in results["growth"]:
        console.print(
            f"{each['database']}: next item, p50 {each['few']:.1f} ms among {options.few_items:,} items, "
            f"{each['many']:.1f} ms among {options.items:,}: ratio {each['ratio']:.2f} (at most {MOST_SLOWDOWN:g})"
        )
    for each in results["fast"]:
        console.print(
            f"{each['database']}: {each['on']:.0f} votes/s with the fast path, {each['off']:.0f} without: ratio "
            f"{each['ratio']:.2f}; CPU {each['cpu_on']:.2f} and {each['cpu_off']:.2f} ms a vote"
        )
    for each in results["million"]:
        for row in each["rows"]:
            what = f"{row['votes']:>9,} votes" if "votes" in row else f"{row['closed']:>9,} closed items"
            console.print(f"{each['database']}: {what} {row['megabytes']:8.1f} MB")
        console.print(f"{each['database']}: end / after a tenth {each['growth']:.2f} (at most {MOST_GROWTH:g})")


def _loads_table(results: dict[str, Any], options: argparse.Namespace) -> Table:
    table = Table(
        title=f"{options.voters} voters at once, {options.items:,} items; all on {results['machine']['cores']} cores"
    )
    names = ("database", "workers", "voters", "votes/s", "of bare, all", "of bare, one", "next p50/95/99 ms",
             "vote p50/95/99 ms", "CPU ms a vote: workers", "database", "voters", "RSS MB")  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if name in ("database", "voters") else "right")
    for cell in results["cells"]:
        for each in cell["loads"]:
            share, database = cell["shares"][each["mode"]], each["cpu_database"]
            table.add_row(
                cell["database"], str(cell["workers"]), each["mode"], f"{each['votes_per_second']:.0f}",
                f"{share['all']:.0%}", f"{share['one']:.0%}", _percentiles(each["next"]), _percentiles(each["vote"]),
                f"{each['cpu_workers']:.2f}", "" if database is None else f"{database:.2f}",
                f"{each['cpu_voters']:.2f}", f"{each['memory'] / 1e6:.0f}",
            )  # fmt: skip
    return table


def _bare_table(results: dict[str, Any]) -> Table:
    table = Table(title="Bare inserts in the same run: one row of the events table and a commit each, nothing else")
    for name in ("database", "connections", "inserts/s", "before/after", "p50/95/99 ms"):
        table.add_column(name, justify="left" if name == "database" else "right")
    for cell in results["cells"]:
        for key, connections in (("one", 1), ("all", cell["connections"])):
            both = " / ".join(f"{each[key]['per_second']:.0f}" for each in cell["bare"])
            rate, times = cell["bare_per_second"][key], _percentiles(cell["bare"][0][key]["times"])
            table.add_row(cell["database"], str(connections), f"{rate:.0f}", both, times)
    return table


def _percentiles(times: dict[str, float]) -> str:
    return " / ".join(f"{times[name]:.3g}" for name in ("p50", "p95", "p99"))


if __name__ == "__main__":
    sys.exit(main())
