"""Takes a plan on stdin; runs voters who ask for items and vote; prints the time of each request. A separate process.

Server, database and voters share the machine's cores, so this process is as cheap as possible: one thread, open
sockets, no HTTP library. Started by `service_load.py`; connects only to this machine.
"""

from __future__ import annotations

import heapq
import json
import random
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 60.0  # seconds without any answer before giving up
IDLE = 0.05  # seconds until a voter without an item asks again


@dataclass
class Voter:
    """One person with one connection and one request at a time."""

    number: int
    key: str
    link: socket.socket
    chance: random.Random
    count: int = 0
    held: list[str] = field(default_factory=list)
    kind: str = "next"
    sent: float = 0.0
    received: bytearray = field(default_factory=bytearray)


class Crowd:
    """All voters, until the time is up or `most_votes` are acknowledged."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.times: dict[str, list[float]] = {"next": [], "vote": []}
        self.problems: dict[str, int] = {}
        self.idle = 0  # answers without an item
        self.selector = selectors.DefaultSelector()
        self.due: list[tuple[float, int]] = []  # end of the pause, and voter
        self.voters = [self._join(number, key) for number, key in enumerate(plan["keys"])]

    def _join(self, number: int, key: str) -> Voter:
        link = socket.create_connection(("127.0.0.1", self.plan["port"]), timeout=PATIENCE)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        voter = Voter(number, key, link, random.Random(f"{self.plan['name']}:{number}"))
        self.selector.register(link, selectors.EVENT_READ, voter)
        return voter

    def run(self) -> dict[str, Any]:
        """Run all voters concurrently; returns their results."""
        begin = time.perf_counter()
        end, most = begin + self.plan["seconds"], self.plan["most_votes"] or sys.maxsize
        for voter in self.voters:
            heapq.heappush(self.due, (begin + voter.chance.random() * self.plan["think"], voter.number))
        while (now := time.perf_counter()) < end and len(self.times["vote"]) < most:
            while self.due and self.due[0][0] <= now:
                self._act(self.voters[heapq.heappop(self.due)[1]])
            wait = min(end, self.due[0][0] if self.due else end) - time.perf_counter()
            for key, _ in self.selector.select(max(0.0, wait)):
                self._hear(key.data)
        seconds = time.perf_counter() - begin
        used = time.process_time()
        for voter in self.voters:
            voter.link.close()
        return {
            "seconds": seconds, "times": self.times, "idle": self.idle, "problems": self.problems, "cpu": used,
        }  # fmt: skip

    def _act(self, voter: Voter) -> None:
        if not voter.held:
            self._send(voter, "next", "/next", {"count": self.plan["held"]})
            return
        vote = {"item": voter.held.pop(0), "label": voter.chance.choice(self.plan["classes"])}
        if self.plan["together"]:
            vote["next"] = self.plan["held"]
        voter.count += 1
        self._send(voter, "vote", "/votes", vote, f"{self.plan['name']}:{voter.number}:{voter.count}")

    def _send(self, voter: Voter, kind: str, path: str, body: dict[str, Any], request: str | None = None) -> None:
        content = json.dumps(body)
        once = f"Idempotency-Key: {request}\r\n" if request else ""
        head = (
            f"POST /api/v1/projects/{self.plan['project']}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {voter.key}\r\n{once}"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        voter.kind, voter.sent = kind, time.perf_counter()
        voter.link.sendall((head + content).encode())

    def _hear(self, voter: Voter) -> None:
        """Handle one answer, once it is complete."""
        part = voter.link.recv(65536)
        if not part:
            raise ConnectionError("the server closed a connection")
        voter.received += part
        head, found, body = bytes(voter.received).partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        voter.received.clear()
        now, status = time.perf_counter(), head[9:12].decode()
        if status == "200":
            self.times[voter.kind].append(now - voter.sent)
            answer = json.loads(body)
            items = answer["items"] if voter.kind == "next" else answer["next"] or []
            voter.held = [item["item"] for item in items] or voter.held
            self.idle += voter.kind == "next" and not items
        else:
            self.problems[status] = self.problems.get(status, 0) + 1
            voter.held.clear()
        idle = voter.kind == "next" and not voter.held
        think = self.plan["think"] * 2 * voter.chance.random() if voter.kind == "vote" else 0.0
        if think or idle:
            heapq.heappush(self.due, (now + (IDLE if idle else think), voter.number))
        else:
            self._act(voter)


def _length(head: bytes) -> int:
    low = head.lower()
    start = low.index(b"content-length:") + 15
    end = low.find(b"\r", start)
    return int(low[start : end if end > 0 else None])


if __name__ == "__main__":
    json.dump(Crowd(json.load(sys.stdin)).run(), sys.stdout)
