"""What each error cost costs, in votes and errors: `make default-error-cost`, the table behind the default of 200.

For every data set and error cost of the method "value", one order: votes per item and % wrong; at the end of each row
those of asking until settled. Real sets if QUORATE_DATA names their folder, else synthetic ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from quorate import method, simulate
from quorate.datasets import load_npz, synthetic, vote_dataset
from quorate.model.decision.error_costs import DEFAULT_ERROR_COST

ERROR_COSTS = (1000, 500, 200, 100, 50)
SEED = 1


def panel(path):
    """Five readers of chest X-rays, and one classifier."""
    with np.load(path) as found:
        return vote_dataset(found["votes"], found["probs"], classes=["normal", "abnormal"])


def data_sets():
    """Name, data set, pool size, classifier."""
    folder = os.environ.get("QUORATE_DATA")
    if folder is None:
        dials = {"num_items": 2000, "pool_size": 10, "agreement": 0.75, "seed": 1}
        for name, accuracy in (("good", 0.9), ("fair", 0.75), ("poor", 0.5)):
            yield f"synthetic, {name} classifier", synthetic(**dials, accuracy=accuracy), 10, 0
        return
    place = Path(folder)
    yield "NIH, five readers", panel(place / "kelly_nih.npz"), None, 0
    yield "CIFAR-10H N=10, classifier 89 %", load_npz(place / "cifar10h.npz"), 10, "cnn-89"
    yield "ImageNet-16H shift N=6", load_npz(place / "imagenet16h_shift.npz"), 6, 0
    yield "ChaosNLI N=100", load_npz(place / "chaosnli_snli.npz"), 100, 0


def main():
    """Print a row for every set."""
    methods = [*(method("value", error_cost=cost) for cost in ERROR_COSTS), method("until-settled")]
    heads = [f"{cost}{' (default)' if cost == DEFAULT_ERROR_COST else ''}" for cost in ERROR_COSTS]
    table = Table(title="votes per item, % wrong, by error cost")
    for head in ("", *heads, "until settled"):
        table.add_column(head, justify="right" if head else "left")
    for name, data, pool_size, model in data_sets():
        runs = [simulate(data, chosen, pool_size=pool_size, model=model, seed=SEED) for chosen in methods]
        table.add_row(name, *(f"{run.mean_cost:.2f}, {100 * run.error_rate:.1f}" for run in runs))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
