"""As published against exact: what the paper's estimator does to FinExp, and how far its samples are off.

The importance samples are drawn from a flat proposal. Under a sharp prior nearly all of their weight falls on the few
histograms that agree with the classifier, so the estimated log likelihood is too low, the more so the sharper the
prior: the fit is pulled to flatter priors than the data supports. Called by `shift`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.model import concentration, log_dirichlet_multinomial
from quorate.reports.format import Cell
from quorate.reports.section import Table
from quorate.streams import Stream
from quorate.types import PriorParams
from quorate_paper.as_published import importance_log_likelihood, importance_samples
from quorate_paper.settings import SAMPLES
from quorate_paper.shift.streams import POOL_SIZE
from quorate_paper.shift.table import SAMPLED_ROW, ShiftCell

PRIORS = ((1.0, 1.0), (3.0, 0.3), (3.0, 0.1), (3.0, 0.03), (3.0, 0.01), (3.0, 0.001))  # theta, phi; tau is 1
NUM_ITEMS, NUM_VOTES, REPEATS = 100, 2, 20


def sampling_table(stream: Stream) -> Table:
    """Error of the log likelihood of 1,000 importance samples, an item, for priors from flat to sharp."""
    num_classes, rng = stream.counts.shape[1], np.random.default_rng(0)
    seen = np.array([np.bincount(row[:NUM_VOTES], minlength=num_classes) for row in stream.votes[:NUM_ITEMS]])
    predictions = stream.mean_predictions[:NUM_ITEMS]
    drawn = [importance_samples(seen, pool_size=POOL_SIZE, num_samples=SAMPLES, rng=rng) for _ in range(REPEATS)]
    rows: list[tuple[Cell, ...]] = []
    for theta, phi in PRIORS:
        alpha = concentration(PriorParams(theta, phi, np.ones(num_classes)), predictions)
        exact = log_dirichlet_multinomial(seen, alpha)
        error = np.array([importance_log_likelihood(alpha, samples) for samples in drawn]) - exact
        rows.append((f"{theta:g}", f"{phi:g}", float(error.mean()), float(error.std(axis=0).mean()),
                     float(100 * np.mean(error < -1.0))))  # fmt: skip
    return Table(
        key="shift-importance-samples",
        title=f"{SAMPLES:,} importance samples against the closed likelihood, by the prior",
        heads=("theta", "phi", "mean error of the log likelihood", "its spread between draws", "% off by more than -1"),
        rows=tuple(rows),
        note=f"{NUM_ITEMS} clean items with {NUM_VOTES} of {POOL_SIZE} votes seen, {REPEATS} draws each, tau = 1. The "
        "estimate is unbiased, its log is not: with a sharp prior the histograms that carry the likelihood are seldom "
        "drawn, the log likelihood comes out too low, and the fit prefers a flatter prior than the data does.",
        text_columns=2,
    )


def contrast(table: Sequence[ShiftCell]) -> tuple[str, ...]:
    """Sentences: the published estimator, the printed figure, and the exact posterior at 2 votes after the shift."""
    found = []
    for cell in table:
        if cell.method == SAMPLED_ROW and cell.phase == "post":
            every = next(
                each for each in table
                if (each.method, each.budget, each.phase, each.grouping)
                == ("finexp", cell.budget, cell.phase, cell.grouping)
            )  # fmt: skip
            read = {name: each.text for name, each in cell.read.items()}
            found.append(
                f"FinExp after the shift at {cell.budget:g} votes by {cell.grouping}, one classifier: published "
                f"estimator {read['as_published']} %, printed (five classifiers) {cell.printed.value:.2f} %, exact "
                f"under the same prior {read['exact']} %, exact under Gamma(3, 2) {read['finexp_32']} %; five "
                f"classifiers: closed likelihood {every.read['as_published'].text} %, exact "
                f"{every.read['exact'].text} %, Gamma(3, 2) {every.read['finexp_32'].text} %."
            )
    return tuple(found)
