"""The runs that `two_phase` and `calibration` share, and how both compare their cells with the paper's.

CIFAR-10H with its whole pool: experts are asked about the first 1000 items, the rest is answered without votes, and the
window keeps all items. Once with the available classifiers, once with classifiers trained on uneven class counts, as in
the paper. Takes a `Context`, returns outcomes by classifier and method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from quorate.model import fit
from quorate.reports.format import Cell
from quorate.reports.section import Claim, Figure, Section, Table
from quorate.streams import prepare
from quorate.types import FloatArray, PriorParams, VoteDataset
from quorate_paper.datasets import accuracies, cifar10h, has_papers_own
from quorate_paper.jobs import Job, JobOutcome, Parameters, mean_se, near_cost, settings
from quorate_paper.published import Printed, difference_se, is_close
from quorate_paper.report import Context
from quorate_paper.settings import ASKED_ITEMS, FINEXP_32
from quorate_paper.store import known

DATA = cifar10h.NAME
SETS = (cifar10h.IMBALANCED, DATA)  # the closest to the paper first
BUDGETS = (1.0, 2.0, 3.0)
PAPER_ACCURACIES = (50, 70, 85)
MOST_MODELS = 4  # with more classifiers, only those nearest to the paper's accuracies are run
LEARNED, FIXED_ASK, OURS = "learned", "fixed-ask", "value"
VALUES = {
    LEARNED: (0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99),
    FIXED_ASK: (0.16, 0.22, 0.28, 0.34, 0.4, 0.48, 0.56, 0.64, 0.72),
    OURS: (4.0, 5.5, 7.7, 11.0, 20.0, 33.0, 62.0, 140.0, 500.0),
}
QUICK_VALUES = {LEARNED: (0.75, 0.93, 0.975), FIXED_ASK: (0.22, 0.48, 0.72), OURS: (11.0, 55.0, 290.0)}
PHASE_METHODS = {  # with their labels
    "infexp": "InfExp",
    "fixed-ask-infexp": "Fix-InfExp (asks)",
    "finexp": "FinExp",
    "fixed-ask-finexp": "Fix-FinExp (asks)",
    FINEXP_32: "FinExp, Gamma(3, 2)",
    "fixed-ask-finexp:hyperprior=infexp": "Fix-FinExp (asks), Gamma(3, 2)",
    OURS: "value",
}


def cell_heads(value: str) -> tuple[str, ...]:
    """The heads of the columns of `PhaseCell.shown`; `value` is the name of the measured quantity."""
    heads = ("method", "votes", value, "± se", "streams", "binned", "runs", "paper f", "paper", "± se")
    return (*heads, "difference, se")


def parameters(method: str, *, quick: bool) -> tuple[Parameters, ...]:
    """Settings whose first phase costs about 0.3 to 3.5 votes per item with every classifier."""
    values = QUICK_VALUES if quick else VALUES
    if method == OURS:
        return settings("error_cost", values[OURS])
    return settings("threshold", values[FIXED_ASK if method.startswith(FIXED_ASK) else LEARNED])


@dataclass(frozen=True, slots=True)
class PhaseCell:
    """One cell of a table with the printed one: `value` and `se` over the `num_streams` seeds that reach the budget.

    `binned`: mean over the `num_runs` runs within 0.1 of the budget, as in the paper. The printed figure is that of a
    classifier of about the same accuracy.
    """

    model: str
    method: str
    budget: float
    value: float
    se: float
    num_streams: int
    num_missing: int
    binned: float | None
    num_runs: int
    paper_accuracy: int | None
    paper: float | None
    paper_se: float | None

    @property
    def is_whole(self) -> bool:
        """Whether there is a printed figure, and every seed reaches the budget."""
        return self.paper is not None and self.num_missing == 0

    def shown(self) -> tuple[Cell, ...]:
        """The columns of both tables, from the method on (`cell_heads`)."""
        gap = None
        if self.paper is not None and self.paper_se is not None:
            gap = known(difference_se(self.value, self.se, self.paper, self.paper_se))
        accuracy = f"{self.paper_accuracy} %" if self.paper is not None else None
        return (
            PHASE_METHODS[self.method], self.budget, known(self.value), known(self.se), self.num_streams, self.binned,
            self.num_runs, accuracy, self.paper, self.paper_se, gap,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The outcomes of one row of the tables, one per seed."""

    model: str
    method: str
    outcomes: tuple[JobOutcome, ...]


def sets_of(context: Context) -> tuple[str, ...]:
    """The names of the available data sets; if the paper's own classifiers are there, only those."""
    there = tuple(name for name in SETS if name in context.datasets)
    return (DATA,) if DATA in there and has_papers_own(context.datasets[DATA]) else there


def key_of(name: str, data: str) -> str:
    """The key for tables, figures and summary.json: `name` with a suffix for the data set.

    >>> key_of("two_phase", "cifar10h"), key_of("two_phase", "cifar10h_imbalanced")
    ('two_phase', 'two_phase_imbalanced')
    """
    return name + data.removeprefix(DATA)


def runs(context: Context, data: str) -> tuple[Runs, ...]:
    """Every method on every classifier, over the seeds; the runs that `two_phase` and `calibration` share."""
    planned = _jobs(context, data)
    done = context.run([job for some in planned.values() for job in some])
    return tuple(Runs(*row, tuple(done[job] for job in some)) for row, some in planned.items())


def jobs(context: Context) -> list[Job]:
    """The jobs that both sections run, for an estimate of their time."""
    return [job for data in sets_of(context) for some in _jobs(context, data).values() for job in some]


def _jobs(context: Context, data: str) -> dict[tuple[str, str], list[Job]]:
    names = models(context.datasets[data], quick=context.quick)
    rows = [(model, method) for model in names for method in PHASE_METHODS]
    return {row: [_job(context, data, *row, seed) for seed in seeds(context)] for row in rows}


class Found(NamedTuple):
    """The results of an experiment with the classifiers of one data set.

    `tops`: by classifier, the result of parameters fitted to every vote of every item.
    """

    data: str
    dataset: VoteDataset
    done: tuple[Runs, ...]
    rows: list[PhaseCell]
    tops: dict[str, float]


CellOf = Callable[[VoteDataset, Runs, float], PhaseCell]


def rows_of(dataset: VoteDataset, done: Sequence[Runs], cell: CellOf, budgets: Sequence[float]) -> list[PhaseCell]:
    """The cells to show: a budget that no seed reaches is kept only if the paper prints a figure for it."""
    cells = [cell(dataset, row, budget) for row in done for budget in budgets]
    return [cell for cell in cells if cell.num_streams or cell.paper is not None]


def found_on(
    context: Context,
    data: str,
    cell: CellOf,
    budgets: Sequence[float],
    top: Callable[[VoteDataset, str, int], float],
) -> Found:
    """Run the experiment on a data set and read its cells and `tops`."""
    dataset, done = context.datasets[data], runs(context, data)
    rows = rows_of(dataset, done, cell, budgets)
    models = dict.fromkeys(row.model for row in rows)
    return Found(data, dataset, done, rows, {model: top(dataset, model, context.seeds[0]) for model in models})


def section_of(
    key: str,
    title: str,
    found: Sequence[Found],
    *,
    lead: Sequence[str],
    claims: Callable[[Found, list[PhaseCell]], Sequence[Claim]],
    table: Callable[[Found], Table],
    figure: Callable[[Found], Figure],
    row: Callable[[Found, PhaseCell], dict[str, Cell]],
    more_cautions: Sequence[str] = (),
) -> Section:
    """The section of an experiment: for each data set the paper's claims, a table and a figure.

    summary.json gets the cells in the form of `row`, and the `tops`.
    """
    if not found:
        return Section(key, title, ("CIFAR-10H was not found: nothing was run.",))
    held: list[Claim] = []
    summary: dict[str, object] = {}
    for each in found:
        judged = [cell for cell in each.rows if cell.is_whole]
        held += claims(each, judged) if judged else []
        summary[key_of(key, each.data)] = [row(each, cell) for cell in each.rows]
        summary[key_of(f"{key}_ceiling", each.data)] = each.tops
    return Section(
        key=key,
        title=title,
        lead=(*lead, *(said_of(each.rows, whose(each.dataset)) for each in found)),
        claims=tuple(held),
        tables=tuple(map(table, found)),
        figures=tuple(map(figure, found)),
        cautions=(*cautions([each.dataset for each in found]), *more_cautions),
        summary=summary,
    )


def seeds(context: Context) -> tuple[int, ...]:
    """The seeds: all, or only the first in a quick run."""
    return context.seeds[:1] if context.quick else context.seeds


def models(dataset: VoteDataset, *, quick: bool) -> tuple[str, ...]:
    """The classifiers to run: all if few, else those nearest to the paper's accuracies; two in a quick run."""
    wanted = dict.fromkeys(nearest(dataset, PAPER_ACCURACIES).values())
    if quick:
        return tuple(wanted)[:2]
    return dataset.models if len(dataset.models) <= MOST_MODELS else tuple(wanted)


def nearest(dataset: VoteDataset, printed: Sequence[int]) -> dict[int, str]:
    """The classifier compared with each printed accuracy (percent): the nearest in accuracy."""
    ours = 100 * accuracies(dataset)
    return {accuracy: dataset.models[int(np.nanargmin(np.abs(ours - accuracy)))] for accuracy in printed}


def beside(dataset: VoteDataset, model: str, printed: Sequence[int]) -> int | None:
    """The printed accuracy that this classifier is compared with; None if others are nearer to all of them."""
    return next((accuracy for accuracy, name in nearest(dataset, printed).items() if name == model), None)


def phase_one_costs(outcome: JobOutcome) -> FloatArray:
    """(Q,) votes per item in the first phase."""
    return outcome.costs[:, 0]


@lru_cache(maxsize=8)
def whole_fit(dataset: VoteDataset, model: str, seed: int) -> PriorParams:
    """Parameters fitted to every vote of every item: the best that can be learned."""
    stream = prepare(dataset, dataset.votes.shape[1], model, seed)
    return fit(stream.mean_predictions, stream.counts)[0]


def whose(dataset: VoteDataset) -> str:
    """A phrase for the origin of the classifiers."""
    if dataset.name == cifar10h.IMBALANCED:
        return "classifiers trained on uneven class counts, as the paper describes its own"
    return "the paper's own classifiers" if has_papers_own(dataset) else "classifiers unlike the paper's"


def cautions(datasets: Sequence[VoteDataset]) -> tuple[str, ...]:
    """Differences from the paper, for `two_phase` and `calibration`."""
    found = [
        f"The pool is all {datasets[0].votes.shape[1]} votes of an item: the paper does not print the pool size of "
        "these experiments.",
        "FinExp has the paper's hyperprior Gamma(1.1, 1), InfExp its Gamma(3, 2), value its own. In rows marked "
        "Gamma(3, 2) FinExp has that of InfExp, as in the released code.",
        "The paper introduces its fixed prior for FinExp. We interpret Fix-InfExp as InfExp with the fixed prior: "
        "fixed-ask-infexp asks by the posterior of an infinite pool, fixed-ask-finexp by that of the finite one.",
        "The paper's methods are refitted every 20 items, so the last time after item 1000, from all votes. Only if "
        "20 items in a row have no votes (below about 0.6 votes per item) does a refit wait for the next vote, and the "
        "last one can miss up to 19 items. value is refitted when its window has grown by a twenty-fifth, so the "
        "last fit can miss up to 39 items.",
        "Streams: the number of seeds whose runs reach the budget. A cell is compared only if all do.",
    ]
    return (*map(_whose_caution, datasets), *found)


def _whose_caution(dataset: VoteDataset) -> str:
    if has_papers_own(dataset):
        return (
            "The classifiers are treated as the paper's own, because they were read from the authors' predictions "
            "file; each printed accuracy is compared with the one nearest to it."
        )
    return (
        f"The classifiers ({', '.join(dataset.models)}) are {whose(dataset)}: the paper's own are only in the authors' "
        "predictions file. Each printed accuracy is shown beside the classifier nearest to it; a difference from the "
        "printed figure counts neither for nor against reproduction."
    )


def cell_of(
    dataset: VoteDataset,
    row: Runs,
    budget: float,
    read: Sequence[float],
    curves: Sequence[tuple[FloatArray, FloatArray]],
    *,
    paper_accuracy: int | None,
    printed: Printed | None,
) -> PhaseCell:
    """A cell from each seed's curve of (costs, values) at the budget, with the printed one if there is one."""
    mean, se = mean_se(read)
    near = np.concatenate([near_cost(*curve, budget) for curve in curves])
    num_streams = int(np.isfinite(read).sum())
    return PhaseCell(
        model=row.model,
        method=row.method,
        budget=budget,
        value=mean,
        se=se,
        num_streams=num_streams,
        num_missing=len(read) - num_streams,
        binned=float(near.mean()) if near.size else None,
        num_runs=int(near.size),
        paper_accuracy=paper_accuracy,
        paper=printed.value if printed else None,
        paper_se=printed.se if printed else None,
    )


def said_of(rows: Sequence[PhaseCell], what: str) -> str:
    """A sentence on the cells that have a printed one; `what` names the classifiers."""
    judged = [row for row in rows if row.is_whole]
    missing = sum(row.paper is not None and not row.is_whole for row in rows)
    close = sum(is_close(row.value, row.se, Printed(row.paper or 0.0, row.paper_se or 0.0)) for row in judged)
    short = f"; {missing} more are not reached by every stream" if missing else ""
    return (
        f"On {what}, {close} of {len(judged)} cells are within 2 combined standard errors of the printed one of about "
        f"the same accuracy{short}."
    )


def comparison(judged: Sequence[PhaseCell], low: float, high: float) -> list[tuple[float, float]]:
    """(value at the low budget, at the high one) of each classifier and method that has both."""
    values = {(cell.model, cell.method, cell.budget): cell.value for cell in judged}
    pairs = dict.fromkeys((model, method) for model, method, _ in values)
    return [(values[(*pair, low)], values[(*pair, high)]) for pair in pairs
            if (*pair, low) in values and (*pair, high) in values]  # fmt: skip


def plain(cell: PhaseCell, value: str) -> dict[str, Cell]:
    """A cell for summary.json, with its value under the name of the measured quantity; NaN becomes null."""
    row = {name: known(getattr(cell, name)) for name in PhaseCell.__dataclass_fields__}
    row["label"] = PHASE_METHODS[cell.method]
    return {value if name == "value" else name: held for name, held in row.items()}


def _job(context: Context, data: str, model: str, method: str, seed: int) -> Job:
    return Job(
        data=data,
        pool_size=context.datasets[data].votes.shape[1],
        model=model,
        seed=seed,
        method=method,
        parameters=parameters(method, quick=context.quick),
        window=None,
        query_free_after=ASKED_ITEMS,
    )
