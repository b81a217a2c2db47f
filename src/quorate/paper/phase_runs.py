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

from quorate.datasets import accuracies, cifar10h, has_papers_own
from quorate.learning.fit import fit
from quorate.paper.jobs import Job, JobOutcome, Parameters, mean_se, near_cost, settings
from quorate.paper.published import Printed, difference_se, elsewhere, verdict
from quorate.paper.report import Context
from quorate.paper.store import known
from quorate.reports.format import Cell
from quorate.reports.section import Claim, Figure, Section, Table
from quorate.streams import prepare
from quorate.types import FloatArray, PriorParams, VoteDataset

DATA = cifar10h.NAME
SETS = (cifar10h.IMBALANCED, DATA)  # the closest to the paper first
ASKED_ITEMS = 1000
BUDGETS = (1.0, 2.0, 3.0)
PAPER_ACCURACIES = (50, 70, 85)
MOST_MODELS = 4  # with more classifiers, only those nearest to the paper's accuracies are run
LEARNED, FIXED_ASK, OURS = "learned", "fixed-ask", "value"
VALUES = {
    LEARNED: (0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99),
    FIXED_ASK: (0.16, 0.22, 0.28, 0.34, 0.4, 0.48, 0.56, 0.64, 0.72),
    OURS: (4.0, 5.5, 7.7, 11.0, 20.0, 33.0, 62.0, 140.0, 500.0),
}
FEW_VALUES = {LEARNED: (0.75, 0.9, 0.96, 0.985), FIXED_ASK: (0.22, 0.44, 0.6, 0.72)}
QUICK_VALUES = {LEARNED: (0.75, 0.93, 0.975), FIXED_ASK: (0.22, 0.48, 0.72), OURS: (11.0, 55.0, 290.0)}


def cell_heads(value: str) -> tuple[str, ...]:
    """The heads of the columns of `PhaseCell.shown`; `value` is the name of the measured quantity."""
    return ("method", "votes", value, "± se", "streams", "binned", "runs", "paper f", "paper", "± se", "difference, se",
            "verdict")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the tables: a method with a hyperprior. `name` is the method's, with a mark for another than its own."""

    method: str
    hyperprior: str | None = None

    @property
    def name(self) -> str:
        """The name in tables and summary.json."""
        return f"{self.method}, Gamma(3, 2)" if self.hyperprior else self.method

    def parameters(self, *, quick: bool) -> tuple[Parameters, ...]:
        """Settings whose first phase costs about 0.3 to 3.5 votes per item with every classifier."""
        many = FEW_VALUES if self.hyperprior else VALUES
        values = QUICK_VALUES if quick else many
        if self.method == OURS:
            return settings("error_cost", values[OURS])
        family = FIXED_ASK if self.method.startswith(FIXED_ASK) else LEARNED
        extra: Parameters = (("hyperprior", self.hyperprior),) if self.hyperprior else ()
        return tuple((*extra, *parameters) for parameters in settings("threshold", values[family]))


KINDS = (
    Kind("infexp"),
    Kind("fixed-ask-infexp"),
    Kind("finexp"),
    Kind("fixed-ask-finexp"),
    Kind("finexp", hyperprior="infexp"),
    Kind("fixed-ask-finexp", hyperprior="infexp"),
    Kind(OURS),
)


@dataclass(frozen=True, slots=True)
class PhaseCell:
    """One cell of a table with the printed one: `value` and `se` over the `num_streams` seeds that reach the budget.

    `binned`: mean over the `num_runs` runs within 0.1 of the budget, as in the paper. `verdict`: only if every seed
    reaches the budget.
    """

    model: str
    method: str
    budget: float
    value: float
    se: float
    num_streams: int
    binned: float | None
    num_runs: int
    paper_accuracy: int | None
    paper: float | None
    paper_se: float | None
    verdict: str | None

    def shown(self) -> tuple[Cell, ...]:
        """The columns of both tables, from the method to the verdict (`cell_heads`)."""
        gap = None
        if self.paper is not None and self.paper_se is not None:
            gap = known(difference_se(self.value, self.se, self.paper, self.paper_se))
        accuracy = f"{self.paper_accuracy} %" if self.paper is not None else None
        return (
            self.method, self.budget, known(self.value), known(self.se), self.num_streams, self.binned, self.num_runs,
            accuracy, self.paper, self.paper_se, gap, self.verdict,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The outcomes of one row of the tables, one per seed."""

    model: str
    kind: Kind
    outcomes: tuple[JobOutcome, ...]


def sets_of(context: Context) -> tuple[str, ...]:
    """The names of the available data sets; if the paper's own classifiers are there, only those."""
    there = tuple(name for name in SETS if name in context.datasets)
    return (DATA,) if DATA in there and has_papers_own(context.datasets[DATA]) else there


def is_like_papers(dataset: VoteDataset) -> bool:
    """Whether the classifiers are the paper's own or trained as it describes; then its claims should hold."""
    return has_papers_own(dataset) or dataset.name == cifar10h.IMBALANCED


def key_of(name: str, data: str) -> str:
    """The key for tables, figures and summary.json: `name` with a suffix for the data set.

    >>> key_of("two_phase", "cifar10h"), key_of("two_phase", "cifar10h_imbalanced")
    ('two_phase', 'two_phase_imbalanced')
    """
    return name + data.removeprefix(DATA)


def runs(context: Context, data: str) -> tuple[Runs, ...]:
    """Every method on every classifier, over the seeds; the runs that `two_phase` and `calibration` share."""
    dataset = context.datasets[data]
    rows = [
        (model, kind)
        for model in models(dataset, quick=context.quick)
        for kind in KINDS
        if not kind.hyperprior or (not context.quick and beside(dataset, model, PAPER_ACCURACIES) is not None)
    ]
    jobs = {row: [_job(context, data, *row, seed) for seed in seeds(context)] for row in rows}
    done = context.run([job for row in rows for job in jobs[row]])
    return tuple(Runs(*row, tuple(done[job] for job in jobs[row])) for row in rows)


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
    claim: Callable[[Found, list[PhaseCell]], Claim],
    size: str,
    table: Callable[[Found], Table],
    figure: Callable[[Found], Figure],
    row: Callable[[Found, PhaseCell], dict[str, Cell]],
    more_cautions: Sequence[str] = (),
) -> Section:
    """The section of an experiment: for each data set the claim on the printed `size`, a table and a figure.

    summary.json gets the cells in the form of `row`, and the `tops`.
    """
    if not found:
        return Section(key, title, ("CIFAR-10H was not found: nothing was run.",))
    claims: list[Claim] = []
    summary: dict[str, object] = {}
    for each in found:
        judged = [cell for cell in each.rows if cell.verdict is not None]
        claims += [claim(each, judged), *size_claims(each.dataset, judged, size)] if judged else []
        summary[key_of(key, each.data)] = [row(each, cell) for cell in each.rows]
        summary[key_of(f"{key}_ceiling", each.data)] = each.tops
    return Section(
        key=key,
        title=title,
        lead=(*lead, *(said_of(each.rows, whose(each.dataset)) for each in found)),
        claims=tuple(claims),
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
        "last one can miss up to 19 items. quorate is refitted when its window has grown by a twenty-fifth, so the "
        "last fit can miss up to 39 items.",
        "Streams: the number of seeds whose runs reach the budget. A cell has a verdict only if all do.",
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
        "predictions file. Each printed accuracy is compared with the classifier nearest to it; all verdicts are "
        "marked (another classifier), count neither for nor against reproduction, and are counted separately."
    )


def compared(dataset: VoteDataset, ours: tuple[float, float], printed: Printed, *, points: float) -> str:
    """The verdict on a cell where larger is better; agreement also needs the printed sign.

    `ours`: value and standard error. Verdicts on classifiers other than the paper's are marked.
    """
    found = verdict(*ours, printed.value, printed.se, lower_is_better=False, points=points)
    if found == "agrees" and printed.value != 0 and ours[0] * printed.value <= 0:
        found = "better" if ours[0] > printed.value else "not reproduced"
    return found if has_papers_own(dataset) else elsewhere(found)


def cell_of(
    dataset: VoteDataset,
    row: Runs,
    budget: float,
    read: Sequence[float],
    curves: Sequence[tuple[FloatArray, FloatArray]],
    *,
    paper_accuracy: int | None,
    printed: Printed | None,
    points: float,
) -> PhaseCell:
    """A cell from each seed's curve of (costs, values) at the budget, with the printed one if there is one."""
    mean, se = mean_se(read)
    near = np.concatenate([near_cost(*curve, budget) for curve in curves])
    num_streams = int(np.isfinite(read).sum())
    found = None
    if printed is not None and num_streams == len(read):
        found = compared(dataset, (mean, se), printed, points=points)
    return PhaseCell(
        model=row.model,
        method=row.kind.name,
        budget=budget,
        value=mean,
        se=se,
        num_streams=num_streams,
        binned=float(near.mean()) if near.size else None,
        num_runs=int(near.size),
        paper_accuracy=paper_accuracy,
        paper=printed.value if printed else None,
        paper_se=printed.se if printed else None,
        verdict=found,
    )


def size_claims(dataset: VoteDataset, judged: Sequence[PhaseCell], text: str) -> list[Claim]:
    """The claim that values have the printed size: only for the paper's own classifiers."""
    if not has_papers_own(dataset):
        return []
    agree = sum(cell.verdict in ("agrees", "better") for cell in judged)
    return [Claim(text, agree == len(judged), f"in {agree} of {len(judged)} cells")]


def said_of(rows: Sequence[PhaseCell], what: str) -> str:
    """A sentence on the verdicts of cells that have a printed one; `what` names the classifiers."""
    judged = [row for row in rows if row.paper is not None and row.verdict is not None]
    missing = sum(row.paper is not None and row.verdict is None for row in rows)
    number = {word: sum(str(row.verdict).startswith(word) for row in judged) for word in ("agrees", "better")}
    rest = len(judged) - sum(number.values())
    short = f"; {missing} more printed cells are not reached by every stream" if missing else ""
    return (
        f"On {what}, of {len(judged)} cells beside printed ones {number['agrees']} agree, {number['better']} are "
        f"better and {rest} differ{short}."
    )


def plain(cell: PhaseCell, value: str) -> dict[str, Cell]:
    """A cell for summary.json, with its value under the name of the measured quantity; NaN becomes null."""
    row = {name: known(getattr(cell, name)) for name in PhaseCell.__dataclass_fields__}
    return {value if name == "value" else name: held for name, held in row.items()}


def _job(context: Context, data: str, model: str, kind: Kind, seed: int) -> Job:
    return Job(
        data=data,
        pool_size=context.datasets[data].votes.shape[1],
        model=model,
        seed=seed,
        method=kind.method,
        parameters=kind.parameters(quick=context.quick),
        window=None,
        query_free_after=ASKED_ITEMS,
    )
