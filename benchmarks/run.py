"""The speed of quorate, as ratios within one run. Run by `make bench`.

Every figure is the median of runs that alternate with what they are compared with, in one thread unless its row says
so. Exits 1 if a required ratio is missed. Set QUORATE_DATA to the folder with imagenet16h_shift.npz and cifar10h.npz to
time on the real streams; without it, synthetic look-alikes are used, and the table says so. `--reproduce` also times
the whole reproduction; `--only InfExp` runs the parts whose name contains that.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from common import say  # first: it sets one thread before NumPy loads
from fresh import start_rows, threads_row
from posteriors import finite_rows, infinite_rows
from report import Row, show, write_json
from reproduce_time import reproduce_row
from streams import finexp_row, infexp_row, refit_row

Step = tuple[str, Callable[[], Row | list[Row]]]


def steps(*, quick: bool, reproduce: bool) -> list[Step]:
    """The measurements, in order; quick: tiny inputs, only to test that everything runs."""
    batch, part, rounds = (60, 20, 1) if quick else (10_000, 500, 5)
    return [
        ("plurality_infinite", lambda: infinite_rows(batch=batch, part=part, rounds=rounds)),
        ("plurality_finite", lambda: finite_rows(batch=batch, part=part, rounds=rounds)),
        ("warm refit", lambda: refit_row(count=2 if quick else 6, steps=20 if quick else 1000, rounds=rounds)),
        ("InfExp stream", lambda: infexp_row(items=60 if quick else 2400, rounds=1 if quick else 5)),
        ("FinExp stream", lambda: finexp_row(refits=1 if quick else 3, samples=10 if quick else 1000,
                                             decisions=20 if quick else 1000, rounds=1 if quick else 5)),
        ("fresh process", lambda: start_rows(1 if quick else 9)),
        ("threads", lambda: threads_row(jobs=1 if quick else 8, rounds=1 if quick else 3)),
        *([("reproduce all", lambda: reproduce_row(quick=quick))] if reproduce else []),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the rows as JSON to FILE, or to stdout for -")
    parser.add_argument("--quick", action="store_true", help="a smoke run: tiny inputs, nothing is required")
    parser.add_argument("--reproduce", action="store_true", help="also `quorate reproduce all` (needs QUORATE_DATA)")
    parser.add_argument("--only", metavar="PART", default="", help="only the parts whose name contains PART")
    options = parser.parse_args()
    began = time.perf_counter()
    rows: list[Row] = []
    plan = [
        step
        for step in steps(quick=options.quick, reproduce=options.reproduce)
        if options.only.lower() in step[0].lower()
    ]
    if not plan:
        parser.error(f"--only {options.only}: no part has that in its name")
    for number, (name, measure) in enumerate(plan, start=1):
        say(f"[{number}/{len(plan)}] {name} ({time.perf_counter() - began:.0f} s so far)")
        measured = measure()
        rows += measured if isinstance(measured, list) else [measured]
    rows.sort(key=lambda row: not row.gates)
    took = time.perf_counter() - began
    if options.json != "-":
        show(rows)
        print(f"{took:.0f} s in all" + (". A quick run: its figures mean nothing" if options.quick else ""))
    if options.json:
        write_json(rows, options.json, quick=options.quick, took=took)
    missed = [row.key for row in rows if row.gates and not row.met]
    if missed:
        say(f"missed: {', '.join(missed)}")
    return 1 if missed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
