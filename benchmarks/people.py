"""What named people cost a live session, and how sure it is of the truth with and without known answers.

    python benchmarks/people.py [--before SRC]

Prints CPU time a vote, bytes a person, and, if QUORATE_DATA names the folder with crowd/, confidence beside the share
right.

`--before`: the `src` folder of a version without people; the time of an anonymous session is then compared with it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

from common import machine, say
from crowds import cost_lines, crowd_of
from quorate import Session, compiled, method
from quorate.experts.panel import UNSEEN, new_panel
from quorate.experts.panel_learning import learn_item
from quorate.experts.panel_plan import advise
from required import Required

PEOPLE, CLASSES, ITEMS, DEPTH = 10_000, 10, 1500, 5
KNOWN = 50  # items of known class
ROUNDS = 7
ANONYMOUS = """
import time
from quorate import Session, compiled
compiled.interpret()  # what differs is Python; nobody waits for a compiler
def play(items):
    session = Session("quorum", classes=["a", "b", "c"], pool_size=5, refit_every=None)
    for i in items:
        session.open(str(i), [0.5, 0.3, 0.2])
        for voter in range(4):
            session.vote(str(i), "abc"[(i + voter) % 3], f"v{voter}")
play(range(50))
began = time.process_time()
play(range(1500))
print((time.process_time() - began) / 6000)
"""


def microseconds(call, count):
    """CPU time of one call, in microseconds."""
    began = time.process_time()
    call()
    return 1e6 * (time.process_time() - began) / count


def crowd_votes(session, rng, num_items, first=0):
    """Open items, each with DEPTH votes of random people, and close them."""
    names = [str(k) for k in range(CLASSES)]
    for number in range(first, first + num_items):
        item, truth = str(number), int(rng.integers(CLASSES))
        session.open(item)
        for person in rng.choice(PEOPLE, size=DEPTH, replace=False).tolist():
            label = truth if rng.random() < 0.8 else int(rng.integers(CLASSES))
            session.vote(item, names[label], f"person-{person}")
        session.close(item)


def crowd_lines():
    """A vote in a live session with 10,000 people, beside the same calls of an anonymous session; next_expert."""
    settings = {"classes": [str(k) for k in range(CLASSES)], "pool_size": 2 * DEPTH}
    times = {}
    for name, more in (("crowd", {"experts": []}), ("ask-all", {})):
        session = Session(method("crowd", doubt=0.0) if more else name, **settings, **more)
        crowd_votes(session, np.random.default_rng(0), 300)
        spent = microseconds(lambda s=session: crowd_votes(s, np.random.default_rng(1), ITEMS, 300), ITEMS * DEPTH)
        times[name] = spent
        if more:
            people = session
    say(f"live session, K = {CLASSES}: {times['crowd']:.0f} us of CPU a vote with `crowd`, learning included, "
        f"{times['ask-all']:.0f} us without people")  # fmt: skip
    people.open("last")
    known = len(people.people())
    people.next_expert("last")  # compiles
    spent = microseconds(lambda: [people.next_expert("last") for _ in range(20)], 20)
    say(f"next_expert among {known:,} people: {spent / 1000:.1f} ms of CPU")


def memory_line():
    """Bytes a person in a live session, arrays and Python objects."""
    session = Session("crowd", classes=[str(k) for k in range(CLASSES)], pool_size=50, experts=[], window=1)
    session.open("x")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for person in range(PEOPLE):
        session._state.people.crowd.enter(f"person-{person}")
        session._state.people.members[f"person-{person}"] = session._state.people.member(f"person-{person}")
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    say(f"{held / PEOPLE:.0f} bytes a person held with {PEOPLE:,} people, K = {CLASSES}")


def panel_line():
    """A decision of a panel of five, two classes, with what it learned from 600 items."""
    rng = np.random.default_rng(0)
    panel = new_panel(5, 2)
    truth = rng.integers(2, size=800)
    votes = np.where(rng.random((800, 5)) < [0.95, 0.9, 0.85, 0.8, 0.7], truth[:, None], 1 - truth[:, None])
    log_f = np.log(np.where(np.arange(2) == truth[:, None], 0.7, 0.3))[:, None]
    for i in range(600):
        learn_item(panel, log_f[i], votes[i])
    unseen = np.full(5, UNSEEN)
    advise(panel, log_f[0], unseen, min_gain=0.001)  # compiles
    spent = microseconds(lambda: [advise(panel, log_f[i], unseen, min_gain=0.001) for i in range(600, 800)], 200)
    learned = microseconds(lambda: [learn_item(panel, log_f[i], votes[i]) for i in range(600, 800)], 200)
    say(f"panel, N = 5, K = 2: {spent / 1000:.3f} ms of CPU a decision, {learned / 1000:.3f} ms to learn from an item")


def anonymous_line(before):
    """A vote in an anonymous session of this version and of an earlier one, in turn."""
    sources = {"before": before, "now": str(Path(__file__).resolve().parents[1] / "src")}
    times = {name: [] for name in sources}
    for _ in range(ROUNDS):
        for name, folder in sources.items():
            env, command = os.environ | {"PYTHONPATH": folder}, [sys.executable, "-c", ANONYMOUS]
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            times[name].append(float(done.stdout))
    old, new = (min(times[name]) for name in ("before", "now"))
    say(
        f"anonymous session: {1e6 * new:.1f} us of CPU a vote, {new / old:.3f} of the version before (best of {ROUNDS})"
    )


def expected_calibration_error(sure, right):
    """Mean distance of confidence and share right over ten equal bins, weighted by their items."""
    place = np.minimum((10 * sure).astype(int), 9)
    sizes = np.bincount(place, minlength=10)
    gaps = np.bincount(place, weights=sure - right, minlength=10)
    return np.abs(gaps[sizes > 0]).sum() / len(sure)


def sureness_lines(folder, seeds):
    """A live session on a published crowd: confidence beside the share right. Known items come first."""
    say(f"| votes | items | votes per item | right | mean score | calibration error | {KNOWN} known: mean | error |")
    say("|---|---|---|---|---|---|---|---|")
    for name in ("dog", "product"):
        ballots, truth, _ = crowd_of(folder, name)
        found = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            known = set(rng.permutation(np.flatnonzero(truth >= 0))[:KNOWN].tolist())
            order = sorted(rng.permutation(len(ballots.items)).tolist(), key=lambda i: i not in known)
            gold = {ballots.items[i]: ballots.classes[truth[i]] for i in known}
            found += [_replayed(ballots, truth, order, known, more, seed) for more in ({}, {"gold": gold})]
        plain, scaled = (np.mean(found[each::2], axis=0) for each in (0, 1))
        votes, right, mean, error = plain
        row = f"| {name} | {len(ballots.items)} | {votes:.2f} | {right:.3f} | {mean:.3f} | {error:.3f} |"
        say(f"{row} {scaled[2]:.3f} | {scaled[3]:.3f} |")


def _replayed(ballots, truth, order, known, more, seed):
    """Votes per item, share right, mean confidence and calibration error over items whose class is not given away."""
    rng = np.random.default_rng(seed)
    session = Session("crowd", classes=ballots.classes, pool_size=50, experts=[], seed=seed, **more)
    by_item = np.split(np.argsort(ballots.item, kind="stable"), np.cumsum(np.bincount(ballots.item))[:-1])
    votes, sure, right = [], [], []
    for i in order:
        item = ballots.items[i]
        decision = session.open(item)
        for v in rng.permutation(by_item[i]):
            if not decision.ask:
                break
            decision = session.vote(item, ballots.classes[ballots.label[v]], ballots.people[ballots.person[v]])
        if decision.ask:
            decision = session.close(item)
        if i not in known and truth[i] >= 0:
            votes.append(decision.num_votes)
            sure.append(decision.confidence)
            right.append(float(decision.label == ballots.classes[truth[i]]))
    return np.mean(votes), np.mean(right), np.mean(sure), expected_calibration_error(np.array(sure), np.array(right))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    compiled.compile_here()
    say(machine())
    for line in cost_lines(Required()):
        say(line)
    crowd_lines()
    memory_line()
    panel_line()
    if options.before is not None:
        anonymous_line(options.before)
    folder = os.environ.get("QUORATE_DATA")
    if folder is None:
        say("QUORATE_DATA is not set: no real crowd to compare with")
    else:
        sureness_lines(Path(folder), range(3, 3 + options.seeds))


if __name__ == "__main__":
    main()
