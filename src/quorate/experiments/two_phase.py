"""Learn while experts are there, then answer without them: what the learned prior adds to the classifier alone.

The first 1000 items of CIFAR-10H are asked as usual, the rest are answered from the prediction and what was learned;
nothing leaves the window. Gives the table of tab:two_phase beside the paper's. `calibration` reads the same runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from quorate.datasets import accuracies
from quorate.experiments.design import Job, Knobs, settings
from quorate.experiments.outcome import Outcome
from quorate.experiments.published import two_phase_gain
from quorate.experiments.readings import at_cost, mean_se, near_cost
from quorate.experiments.runs import expected_errors
from quorate.experiments.section import Cell, Claim, Context, Figure, Section, Table
from quorate.experiments.two_phase_plots import Line, Panel, draw
from quorate.experiments.verdicts import difference_se, verdict
from quorate.learning.fit import fit
from quorate.prior.concentration import concentration
from quorate.simulation import prepare
from quorate.types import FloatArray, PriorParams, VoteDataset

DATA = "cifar10h"
ASKED_ITEMS = 1000
BUDGETS = (1.0, 2.0, 3.0)
PAPER_ACCURACIES = (50, 70, 85)
AT_HAND = ("patches-50", "patches-68", "cnn-89", "resnet110-94")  # the classifiers we have, which are not the paper's
LEARNED, FIXED_ASK, OURS = "learned", "fixed-ask", "quorate"
VALUES = {
    LEARNED: (0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99),
    FIXED_ASK: (0.16, 0.22, 0.28, 0.34, 0.4, 0.48, 0.56, 0.64, 0.72),
    OURS: (0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.025, 0.01, 0.003),
}
FEW_VALUES = {LEARNED: (0.75, 0.9, 0.96, 0.985), FIXED_ASK: (0.22, 0.44, 0.6, 0.72)}
QUICK_VALUES = {LEARNED: (0.75, 0.93, 0.975), FIXED_ASK: (0.22, 0.48, 0.72), OURS: (0.2, 0.03, 0.005)}


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the tables: a method under a hyperprior. `name` is the method's, with a mark for the paper's prior."""

    method: str
    paper_prior: bool = False

    @property
    def name(self) -> str:
        """As tables and summary.json call it."""
        return f"{self.method}, Gamma(1.1, 1)" if self.paper_prior else self.method

    def knobs(self, *, quick: bool) -> tuple[Knobs, ...]:
        """Settings whose first phase costs from about 0.3 to 3.5 votes an item, whichever the classifier."""
        many = FEW_VALUES if self.paper_prior else VALUES
        values = QUICK_VALUES if quick else many
        if self.method == OURS:
            return settings("min_gain", values[OURS])
        family = FIXED_ASK if self.method.startswith(FIXED_ASK) else LEARNED
        extra: Knobs = (("hyperprior", "paper"),) if self.paper_prior else ()
        return tuple((*extra, *knobs) for knobs in settings("threshold", values[family]))


KINDS = (
    Kind("infexp"),
    Kind("fixed-ask-infexp"),
    Kind("finexp"),
    Kind("fixed-ask-finexp"),
    Kind("finexp", paper_prior=True),
    Kind("fixed-ask-finexp", paper_prior=True),
    Kind(OURS),
)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The outcomes of one row of the tables: one a seed."""

    model: str
    kind: Kind
    outcomes: tuple[Outcome, ...]


def runs(context: Context) -> tuple[Runs, ...]:
    """Every method on every classifier, over the seeds; the runs that `section` and `calibration` share."""
    dataset = context.datasets[DATA]
    rows = [
        (model, kind)
        for model in models(dataset, quick=context.quick)
        for kind in KINDS
        if not kind.paper_prior or (not context.quick and beside(dataset, model, PAPER_ACCURACIES) is not None)
    ]
    jobs = {row: [_job(context, dataset, *row, seed) for seed in seeds(context)] for row in rows}
    done = context.run([job for row in rows for job in jobs[row]])
    return tuple(Runs(*row, tuple(done[job] for job in jobs[row])) for row in rows)


def seeds(context: Context) -> tuple[int, ...]:
    """The seeds in use: all, or the first if it must be quick."""
    return context.seeds[:1] if context.quick else context.seeds


def models(dataset: VoteDataset, *, quick: bool) -> tuple[str, ...]:
    """The classifiers to run: all if they are few, else those nearest to the paper's accuracies; two if quick."""
    wanted = dict.fromkeys(nearest(dataset, PAPER_ACCURACIES).values())
    if quick:
        return tuple(wanted)[:2]
    return dataset.models if len(dataset.models) <= len(AT_HAND) else tuple(wanted)


def nearest(dataset: VoteDataset, printed: Sequence[int]) -> dict[int, str]:
    """Which of our classifiers stands beside each printed accuracy (percent): the nearest in accuracy."""
    ours = 100 * accuracies(dataset)
    return {accuracy: dataset.models[int(np.nanargmin(np.abs(ours - accuracy)))] for accuracy in printed}


def beside(dataset: VoteDataset, model: str, printed: Sequence[int]) -> int | None:
    """The printed accuracy that this classifier is set beside; None if another is nearer to every one of them."""
    return next((accuracy for accuracy, name in nearest(dataset, printed).items() if name == model), None)


def phase_one_costs(outcome: Outcome) -> FloatArray:
    """(Q,) votes an item while experts were there."""
    return outcome.costs[:, 0]


def gains(outcome: Outcome, dataset: VoteDataset) -> FloatArray:
    """(Q,) accuracy without experts less the classifier's on the same items, in points, expected over ties."""
    job = outcome.job
    stream = prepare(dataset, job.pool_size, job.model, job.seed)
    alone = expected_errors(stream, stream.mean_predictions.argmax(axis=1))[ASKED_ITEMS:].mean()
    return np.asarray(100.0 * (alone - outcome.errors[:, 1]))


@lru_cache(maxsize=8)
def whole_fit(dataset: VoteDataset, model: str, seed: int) -> PriorParams:
    """Parameters fitted to every vote of every item: what there is to be learned."""
    stream = prepare(dataset, dataset.votes.shape[1], model, seed)
    return fit(stream.mean_predictions, stream.counts)[0]


def ceiling(dataset: VoteDataset, model: str, seed: int) -> float:
    """The gain, on the same items, of parameters fitted to every vote of every item."""
    stream, params = prepare(dataset, dataset.votes.shape[1], model, seed), whole_fit(dataset, model, seed)
    wrong, alone = (
        expected_errors(stream, values.argmax(axis=1))[ASKED_ITEMS:].mean()
        for values in (concentration(params, stream.mean_predictions), stream.mean_predictions)
    )
    return float(100.0 * (alone - wrong))


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: our gain in points beside the printed one. `binned`: mean over the runs within 0.1 of the budget."""

    model: str
    accuracy: float
    method: str
    budget: float
    gain: float
    se: float
    binned: float | None
    num_runs: int
    paper_accuracy: int | None
    paper: float | None
    paper_se: float | None
    verdict: str | None


def rows_of(dataset: VoteDataset, all_runs: Iterable[Runs]) -> list[Row]:
    """The cells of the table, row by row; a budget that no seed's curve reaches is left out."""
    accuracy = dict(zip(dataset.models, 100 * accuracies(dataset), strict=True))
    cells = [_row(dataset, runs, budget, float(accuracy[runs.model])) for runs in all_runs for budget in BUDGETS]
    return [cell for cell in cells if not math.isnan(cell.gain)]


def section(context: Context) -> Section:
    """The experiment: runs, table, figure, and what the paper says of it."""
    title = "Two phases: learn with experts, then answer without them"
    if DATA not in context.datasets:
        return Section("two_phase", title, ("CIFAR-10H is not at hand: nothing was run.",), (), (), ())
    dataset = context.datasets[DATA]
    done = runs(context)
    rows = rows_of(dataset, done)
    tops = {model: ceiling(dataset, model, context.seeds[0]) for model in dict.fromkeys(row.model for row in rows)}
    return Section(
        key="two_phase",
        title=title,
        lead=_lead(dataset, len(seeds(context))),
        claims=_claims(rows, tops),
        tables=(_table(rows),),
        figures=(_figure(dataset, done),),
        cautions=cautions(dataset),
        summary={"two_phase": [plain(row) for row in rows], "two_phase_ceiling": tops},
    )


def cautions(dataset: VoteDataset) -> tuple[str, ...]:
    """What is not the paper's own, for `section` and `calibration`."""
    width = dataset.votes.shape[1]
    others = [name for name in dataset.models if name in AT_HAND]
    found = [
        f"The pool is all {width} votes of an item: the paper does not print the pool size of these experiments.",
        "Rows marked Gamma(1.1, 1) have the hyperprior the paper gives FinExp; all others Gamma(3, 2), our default.",
        "The parameters are refitted every 20 items, so last after item 1000, from all votes; only where 20 items in a "
        "row cost nothing (below about 0.6 votes an item) does a refit wait for the next vote, and the last one can "
        "miss up to 19 items.",
    ]
    if others:
        found.insert(
            0,
            f"The classifiers ({', '.join(others)}) are not the paper's ResNet-18s: each printed accuracy stands "
            "beside the classifier nearest to it, so verdicts are of sign and size only.",
        )
    return tuple(found)


def compared(model: str, found: str) -> str:
    """The verdict in words that fit a comparison across classifiers."""
    if found != "not reproduced":
        return found
    return "differs (another classifier)" if model in AT_HAND else "differs"


def plain(row: object) -> dict[str, Cell]:
    """A row as JSON holds it: NaN becomes null."""
    fields = type(row).__dataclass_fields__  # type: ignore[attr-defined]
    return {name: known(getattr(row, name)) for name in fields}


def known(value: Cell) -> Cell:
    """The value, or None for a NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _job(context: Context, dataset: VoteDataset, model: str, kind: Kind, seed: int) -> Job:
    return Job(
        data=DATA,
        pool_size=dataset.votes.shape[1],
        model=model,
        seed=seed,
        method=kind.method,
        knobs=kind.knobs(quick=context.quick),
        window=None,
        query_free_after=ASKED_ITEMS,
    )


def _row(dataset: VoteDataset, runs: Runs, budget: float, accuracy: float) -> Row:
    curves = [(phase_one_costs(outcome), gains(outcome, dataset)) for outcome in runs.outcomes]
    gain, se = mean_se([float(at_cost(*curve, budget)) for curve in curves])
    near = np.concatenate([near_cost(*curve, budget) for curve in curves])
    paper_accuracy = beside(dataset, runs.model, PAPER_ACCURACIES)
    printed = two_phase_gain(paper_accuracy, runs.kind.method, budget) if paper_accuracy is not None else None
    row = Row(
        model=runs.model, accuracy=round(accuracy, 2), method=runs.kind.name, budget=budget, gain=gain, se=se,
        binned=float(near.mean()) if near.size else None, num_runs=int(near.size),
        paper_accuracy=paper_accuracy, paper=None, paper_se=None, verdict=None,
    )  # fmt: skip
    if printed is None:
        return row
    found = verdict(gain, se, printed.value, printed.se, lower_is_better=False, points=0.25)
    return replace(row, paper=printed.value, paper_se=printed.se, verdict=compared(runs.model, found))


def _lead(dataset: VoteDataset, num_seeds: int) -> tuple[str, ...]:
    rest = dataset.num_items - ASKED_ITEMS
    return (
        f"Experts are asked about the first {ASKED_ITEMS} items of CIFAR-10H; the other {rest} are answered from the "
        "classifier and what was learned, with no vote at all.",
        "Gain: accuracy on those items less the classifier's own, in points, against the plurality of the pool. It is "
        f"read at 1, 2 and 3 votes an item in the first phase; mean over {num_seeds} seed(s) and its standard error. "
        "Binned: the paper's way, the mean of all runs within 0.1 of the budget.",
    )


def _claims(rows: list[Row], tops: Mapping[str, float]) -> tuple[Claim, ...]:
    most = ", ".join(f"{model} {top:+.2f}" for model, top in tops.items())
    printed = [row for row in rows if row.paper is not None]
    if not printed:
        return ()
    wins = [row for row in printed if row.gain > 0]
    agree = [row for row in printed if row.verdict in ("agrees", "better")]
    least = min(printed, key=lambda row: row.gain)
    return (
        Claim(
            "What was learned beats the classifier alone wherever the paper prints a gain",
            len(wins) == len(printed),
            f"in {len(wins)} of {len(printed)} cells; least {least.gain:+.2f} points ({least.method} on {least.model} "
            f"at {least.budget:g}). Parameters fitted to every vote of every item would gain {most}: where that is "
            "about nothing, the classifier's own choice leaves nothing for tau to mend",
        ),
        Claim(
            "Gains have the printed size: within 0.25 points or 3 combined standard errors, or larger",
            len(agree) == len(printed),
            f"in {len(agree)} of {len(printed)} cells, on classifiers that are not the paper's",
        ),
    )


def _table(rows: list[Row]) -> Table:
    heads = ("classifier", "method", "votes", "gain", "± se", "binned", "runs", "paper f", "paper", "± se",
             "difference, se", "verdict")  # fmt: skip
    return Table(
        key="two_phase",
        title="Accuracy gained over the classifier without asking, points",
        heads=heads,
        rows=tuple(_cells(row) for row in rows),
        note="Gamma(1.1, 1): the hyperprior the paper gives FinExp.",
        text_columns=2,
    )


def _cells(row: Row) -> tuple[Cell, ...]:
    gap = None
    if row.paper is not None and row.paper_se is not None:
        gap = known(difference_se(row.gain, row.se, row.paper, row.paper_se))
    shown = f"{row.paper_accuracy} %" if row.paper is not None else None
    return (
        f"{row.model} ({row.accuracy:.1f} %)", row.method, row.budget, row.gain, known(row.se), row.binned,
        row.num_runs, shown, row.paper, row.paper_se, gap, row.verdict,
    )  # fmt: skip


def _figure(dataset: VoteDataset, done: Sequence[Runs]) -> Figure:
    panels = [_panel(dataset, model, [runs for runs in done if runs.model == model])
              for model in dict.fromkeys(runs.model for runs in done)]  # fmt: skip
    return Figure(
        key="two_phase",
        title="Accuracy gained without experts",
        caption="Accuracy on the items after the experts left, less the classifier's own, against what the first 1000 "
        "items cost. Lines: mean over seeds. Marks: the paper's cells with one standard error, for a classifier of "
        "about the same accuracy.",
        alt="Gain in accuracy against votes per item, a panel for each classifier, a line for each method",
        draw=partial(draw, tuple(panels)),
        size=(9.5, 3.2 * math.ceil(len(panels) / 2) + 0.6),
    )


def _panel(dataset: VoteDataset, model: str, runs: Sequence[Runs]) -> Panel:
    accuracy = 100 * accuracies(dataset)[dataset.models.index(model)]
    grid = np.arange(0.3, 3.51, 0.1)
    lines = []
    for row in runs:
        read = [at_cost(phase_one_costs(o), gains(o, dataset), grid) for o in row.outcomes]
        lines.append(Line(row.kind.method, row.kind.paper_prior, grid, np.mean(read, axis=0)))
    printed = beside(dataset, model, PAPER_ACCURACIES)
    marks = [
        (row.kind.method, budget, *cell)
        for row in runs
        if printed is not None and not row.kind.paper_prior
        for budget in BUDGETS
        if (cell := two_phase_gain(printed, row.kind.method, budget)) is not None
    ]
    return Panel(f"{model}, {accuracy:.1f} % right", tuple(lines), tuple(marks), printed)
