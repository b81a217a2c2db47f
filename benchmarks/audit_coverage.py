"""How often the running bound of an audit is violated, and how tight it is. Prints the tables of docs/audit.md.

`python benchmarks/audit_coverage.py`, under a minute. Streams come from `tests/audit/scenarios.py`: right or wrong
confidence, drifting errors, varying rates, an adversary who sees the audit draws. Each is checked after every item.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the scenarios, which are in the tests

from tests.audit.scenarios import SCENARIOS, totals

from quorate.audit import most_errors, running_totals

STREAMS, ITEMS, BLOCK = 2000, 500, 250
ALPHAS = (0.05, 0.2)


def measure(make):
    """True error rate; violations at any time and mean final bound for each alpha."""
    rng = np.random.default_rng(1)
    wrong, violated, final = 0.0, np.zeros(len(ALPHAS)), np.zeros(len(ALPHAS))
    for _ in range(STREAMS // BLOCK):
        streams = make(rng, (BLOCK, ITEMS))
        true = streams.loss.cumsum(axis=-1)
        wrong += true[:, -1].sum()
        for k, alpha in enumerate(ALPHAS):
            bounds = totals(streams, alpha)
            violated[k] += (bounds < true - 1e-9).any(axis=-1).sum()
            final[k] += bounds[:, -1].sum()
    return wrong / STREAMS / ITEMS, violated / STREAMS, final / STREAMS / ITEMS


def coverage():
    print(f"{STREAMS} streams of {ITEMS} items, checked after every item\n")
    print("| stream | wrong % | violated % at alpha 0.05 | at 0.2 | mean bound % at alpha 0.05 | at 0.2 |")
    print("|---|---|---|---|---|---|")
    worst = np.zeros(len(ALPHAS))
    for name, make in SCENARIOS.items():
        wrong, violated, final = measure(make)
        worst = np.maximum(worst, violated)
        cells = [wrong, *violated, *final]
        print(f"| {name} | " + " | ".join(f"{100 * cell:.2f}" for cell in cells) + " |", flush=True)
    for alpha, most in zip(ALPHAS, worst, strict=True):
        allowed = alpha + 3 * (alpha * (1 - alpha) / STREAMS) ** 0.5
        print(f"\nalpha {alpha:g}: worst {100 * most:.2f} %, allowed {100 * allowed:.2f} %")


def tightness():
    """True error 0.89 % of 4000 items; the audit rate of unsettled items; confidence right on average."""
    print("\n| unsettled of 4000 | rate | audits | wrong % | bound %, alpha 0.05 | bound % from 5 to 95 % of streams |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(2)
    for unsettled, rate in ((2400, 0.10), (4000, 0.06), (2400, 0.05), (2400, 0.20), (2400, 0.50)):
        shape = (200, unsettled)
        chance = np.full(shape, 0.0089 * 4000 / unsettled)
        audited, loss = rng.random(shape) < rate, 1.0 * (rng.random(shape) < chance)
        final = running_totals(chance, np.full(shape, rate), audited, loss, min_rate=rate)[:, -1] / 4000
        low, high = np.quantile(final, (0.05, 0.95))
        audits, wrong = audited.sum(axis=-1).mean(), loss.sum(axis=-1).mean() / 4000
        print(
            f"| {unsettled} | {rate:g} | {audits:.0f} | {100 * wrong:.2f} "
            f"| {100 * final.mean():.2f} | {100 * low:.2f} to {100 * high:.2f} |",
            flush=True,
        )


def batch():
    print("\n| audited of 2400 | found wrong | at most wrong, alpha 0.05 | % of 4000 closed |\n|---|---|---|---|")
    for audited, wrong in ((240, 0), (240, 1), (240, 3), (240, 4), (120, 0), (600, 0)):
        most = most_errors(2400, audited, wrong)
        print(f"| {audited} | {wrong} | {most} | {most / 40:.2f} |")


if __name__ == "__main__":
    coverage()
    tightness()
    batch()
