"""How much memory a long session holds, and whether its decisions slow down. Run by `make bench-memory`.

One million items with named voters and a request id on every call pass through one `Session` (window 500, K = 10, pool
of 6, method "quorate" with defaults). Prints memory on the way; exits 1 if the peak is above 400 MB or if decisions are
more than 1.3 times slower than those of a young session, measured in turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import compile_first, median, np, resident, say  # NumPy by way of common, which sets one thread first
from quorate import Session, method

MOST_BYTES, MOST_SLOWDOWN = 400e6, 1.3
WINDOW, NUM_CLASSES, POOL, WARM_UP, MEASURED, PEOPLE = 500, 10, 6, 5000, 2000, 997
METHOD = method("quorate")  # with defaults
BLOCK = 20_000  # synthetic items, met again and again under new ids
COMPILE = """
from quorate import Session
session = Session("quorate", classes=["cat", "dog"], pool_size=6, refit_every=1)
session.open("1", [0.6, 0.4])
session.vote("1", "cat", "ann")
session.close("1")
"""


MAKE_FEED = f"""
import sys
import numpy as np
from quorate.datasets import synthetic
data = synthetic(num_items={BLOCK}, num_classes={NUM_CLASSES}, pool_size={POOL}, accuracy=0.93, agreement=0.93, seed=5)
np.savez(sys.argv[1], predictions=data.predictions[0], votes=data.votes)
"""


class Feed:
    """An endless stream of items: item t is row t mod BLOCK of a synthetic set, its voters six of PEOPLE.

    The set is made by a process of its own, so that the generator is not measured with the session.
    """

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "feed.npz"
            subprocess.run([sys.executable, "-c", MAKE_FEED, str(file)], check=True)
            with np.load(file) as arrays:
                self.predictions, self.votes = arrays["predictions"], arrays["votes"].tolist()
        self.classes = [f"class-{k}" for k in range(NUM_CLASSES)]

    def session(self) -> Session:
        return Session(METHOD, classes=self.classes, pool_size=POOL, window=WINDOW, seed=0)

    def pass_item(self, session: Session, t: int) -> tuple[int, float]:
        """Open the item and bring votes until the session stops asking: votes used, seconds per decision."""
        name, row = f"item-{t:09d}", t % BLOCK
        begin = time.perf_counter()
        decision = session.open(name, self.predictions[row], request_id=f"open {name}")
        used = 0
        while decision.ask:
            voter = f"voter-{(t + 101 * used) % PEOPLE:04d}"
            label = self.classes[self.votes[row][used]]
            decision = session.vote(name, label, voter, request_id=f"{used} {name}")
            used += 1
        return used, (time.perf_counter() - begin) / (used + 1)


def measure(feed: Feed, session: Session, first: int) -> tuple[int, float]:
    """Items from `first` on until MEASURED of them had votes: the next item, median seconds per decision."""
    times, t = [], first
    while len(times) < MEASURED:
        used, spent = feed.pass_item(session, t)
        if used:
            times.append(spent)
        t += 1
    return t, median(times)


def beside(feed: Feed, old: Session, first: int) -> float:
    """How many times slower the old session is than a young one, item by item in turn, both with a full window."""
    young = feed.session()
    for t in range(WARM_UP):
        feed.pass_item(young, t)
    old_times, young_times = [], []
    for step in range(2 * MEASURED):
        old_times.append(feed.pass_item(old, first + step))
        young_times.append(feed.pass_item(young, WARM_UP + step))
    slow, quick = (median([spent for used, spent in times if used]) for times in (old_times, young_times))
    return slow / quick


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000, help="items to pass through (default: a million)")
    items = parser.parse_args().items
    if items < WARM_UP + 4 * MEASURED:
        parser.error(f"--items {items} is too few; expected at least {WARM_UP + 4 * MEASURED}")
    compile_first(COMPILE)
    feed = Feed()
    session = feed.session()
    print(f"Session({METHOD.name!r}, window={WINDOW}), min_gain={METHOD.knobs['min_gain']}, K={NUM_CLASSES}, "
          f"pool of {POOL}, named voters, request ids, no journal")  # fmt: skip
    for t in range(WARM_UP):
        feed.pass_item(session, t)
    base = resident()[0]
    t, at_start = measure(feed, session, WARM_UP)
    began, first = time.perf_counter(), t
    last = items - 3 * MEASURED
    print(f"{'items':>10}  {'votes':>10}  {'RSS MB':>7}")
    for t in range(first, last):
        feed.pass_item(session, t)
        if (t + 1) % 100_000 == 0:
            print(f"{t + 1:>10}  {session.counts()['votes']:>10}  {resident()[0] / 1e6:>7.1f}", flush=True)
        if (t + 1) % 20_000 == 0:
            spent = time.perf_counter() - began
            left = spent / (t + 1 - first) * (items - t - 1)
            say(f"{t + 1} of {items} items, {spent:.0f} s, about {left:.0f} s left")
    t, at_end = measure(feed, session, last)
    while t < items:
        feed.pass_item(session, t)
        t += 1
    now, peak = resident()
    counts = session.counts()
    print(f"{counts['closed']:>10}  {counts['votes']:>10}  {now / 1e6:>7.1f}")
    print(f"peak RSS                       {peak / 1e6:8.1f} MB   (at most {MOST_BYTES / 1e6:.0f})")
    print(f"memory per closed item         {(now - base) / (counts['closed'] - WARM_UP):8.1f} bytes")
    print(f"votes per item                 {counts['votes'] / counts['opened']:8.2f}")
    print(f"time per decision, start       {1e6 * at_start:8.1f} us")
    print(f"time per decision, end         {1e6 * at_end:8.1f} us")
    print(f"end / start                    {at_end / at_start:8.2f}      (minutes apart, so noisy)")
    slowdown = beside(feed, session, t)
    print(f"beside a young session         {slowdown:8.2f}      (in turns; at most {MOST_SLOWDOWN})")
    kept = peak <= MOST_BYTES and slowdown <= MOST_SLOWDOWN
    print("kept" if kept else "MISSED")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
