"""Takes a plan as an argument; its threads repeatedly insert one row and commit; prints the time of each.

Prints that it is ready, then waits for a line on stdin, so that several processes start together. Started by
`service_bare.py`. Uses only the database's driver.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from typing import Any

COLUMNS = ("project_id", "item_id", "seq", "kind", "voter", "request", "time", "body")
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY")  # as in the service


class Inserter:
    """The threads of one process, one connection each."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.turn = plan, threading.Lock()
        self.is_sqlite = "://" not in plan["url"]
        self.times: list[float] = []
        mark = "?" if self.is_sqlite else "%s"
        self.statement = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join([mark] * len(COLUMNS))})"

    def run(self) -> list[float]:
        """All threads at once; the seconds of every insert."""
        links = [self._connect() for _ in range(self.plan["threads"])]
        threads = [threading.Thread(target=self._insert, args=(n, link)) for n, link in enumerate(links)]
        print("ready", flush=True)
        sys.stdin.readline()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.times

    def _insert(self, number: int, link: Any) -> None:
        voter = f"v{self.plan['number']}-{number}"
        item = 1 + self.plan["number"] * self.plan["threads"] + number
        end, seq, times = time.perf_counter() + self.plan["seconds"], 0, []
        while (begin := time.perf_counter()) < end:
            seq += 1
            row = ("p_bare", item, seq, "vote", voter, f"{voter}:{seq}", time.time(), self.plan["body"])
            if self.is_sqlite:
                with self.turn:  # as in the service: writers of a process take turns, so that SQLite does not block
                    link.execute(self.statement, row)
            else:
                link.execute(self.statement, row)
            times.append(time.perf_counter() - begin)
        link.close()
        with self.turn:
            self.times += times

    def _connect(self) -> Any:
        if not self.is_sqlite:
            import psycopg  # noqa: PLC0415  # not needed for SQLite

            return psycopg.connect(self.plan["url"].replace("+psycopg", ""), autocommit=True)
        link = sqlite3.connect(self.plan["url"], timeout=60.0, isolation_level=None, check_same_thread=False)
        for pragma in PRAGMAS:
            link.execute(f"PRAGMA {pragma}")
        return link


if __name__ == "__main__":
    json.dump(Inserter(json.loads(sys.argv[1])).run(), sys.stdout)
