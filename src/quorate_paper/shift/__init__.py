"""Distribution shift: clean images, then noisy ones, on ImageNet-16H; every method before and after, and over time.

Runs every method on the shift stream. Returns the table of tab:dist_shift_appendix by both groupings, what the paper
claims, and the figures of its section on shift. Called by `reproduce`.
"""

from __future__ import annotations

from dataclasses import replace

from quorate.reports.section import Figure, Section
from quorate.streams import prepare
from quorate.types import VoteDataset
from quorate_paper.datasets import checksum
from quorate_paper.jobs import Job
from quorate_paper.report import Context
from quorate_paper.shift import plots, stored
from quorate_paper.shift.claims import claims
from quorate_paper.shift.estimator import contrast, sampling_table
from quorate_paper.shift.near import GROUPINGS
from quorate_paper.shift.streams import (
    DATA,
    POOL_SIZE,
    WINDOW,
    Course,
    Streams,
    courses,
    expected_jobs,
    first_model,
    orderings,
    refits,
    streams,
)
from quorate_paper.shift.table import COLUMNS, as_table, cells, count_table, counts

KEY, TITLE = "shift", "Distribution shift"
CAUTIONS = (
    "The paper groups runs by their average cost, and does not say over what; both groupings are shown, and both are "
    "counted. At equal cost over the whole stream every method spends the same.",
    "Errors are expected over ties; the paper drew ties once, so a printed cell can lie below the tie floor.",
    "Standard errors are over seeds with fixed classifiers (all streams share items); the paper's are over runs in a "
    "bin.",
)


def jobs(context: Context) -> list[Job]:
    """The jobs that the section runs, for an estimate of its time."""
    return expected_jobs(_seeds_of(context), context.datasets[DATA]) if DATA in context.datasets else []


def section(context: Context) -> Section:
    """The whole experiment; if the data set is missing, a section that says so."""
    if DATA not in context.datasets:
        return Section(KEY, TITLE, (f"Not run: the data set {DATA} is missing.",))
    context = _seeds_of(context)
    dataset = context.datasets[DATA]
    found = streams(context, dataset)
    kept = _published(context, dataset, found)
    table = tuple(cell for grouping in GROUPINGS for cell in cells(found, kept, grouping))
    counted = counts(table)
    time = orderings(context, found)
    over_time = courses(context, found)
    first = first_model(found)
    whole = [each for each in counted if each.column == "exact"]
    said = (
        "Printed cells of the shift table that the exact methods agree with: "
        + "; ".join(
            f"{each.close} of {each.total} within 2 standard errors and {each.near} within 2 points or 3 standard "
            f"errors by {each.grouping}" for each in whole
        )
        + "."
    )  # fmt: skip
    return Section(
        key=KEY,
        title=TITLE,
        lead=(*_lead(dataset, found, kept), said, *contrast(table)),
        claims=claims(found, table, over_time, time, first, refits(context, found)),
        tables=(
            *(as_table(table, grouping) for grouping in GROUPINGS),
            count_table(counted),
            sampling_table(prepare(dataset, POOL_SIZE, first, found.seeds[0], "shuffled")),
        ),
        figures=_figures(found, over_time, time, kept),
        cautions=CAUTIONS,
        summary={
            "headline": said,
            "shift_table": [cell.row() for cell in table],
            "shift_counts": [each._asdict() for each in counted],
            "shift_contrast": list(contrast(table)),
            "as_published": None if kept is None else kept.origin,
        },
    )


def _seeds_of(context: Context) -> Context:
    """A quick run has the first seed only."""
    return replace(context, seeds=context.seeds[:1]) if context.quick else context


def _published(context: Context, dataset: VoteDataset, found: Streams) -> stored.Stored | None:
    """The published and released variants: run now, or as stored if they were run on this data."""
    if context.publish is not None:
        kept = stored.run_published(context.run, dataset, data=DATA, pool_size=POOL_SIZE, seeds=found.seeds)
        context.publish(stored.FILE, stored.as_json(kept))
        return kept
    kept = stored.load(data=DATA, pool_size=POOL_SIZE, sizes=found.sizes)
    return kept if kept.origin["data"] == checksum(dataset) else None


def _lead(dataset: VoteDataset, found: Streams, kept: stored.Stored | None) -> tuple[str, ...]:
    pre, post = found.floors
    return (
        f"{found.sizes[0]} clean images, then {found.sizes[1]} noisy ones, six experts, {len(dataset.models)} "
        f"classifiers that never saw noise, {len(found.seeds)} seed{'s' * (len(found.seeds) > 1)}. Ties leave at least "
        f"{pre:.2f} % wrong before the shift and {post:.2f} % after it.",
        "The columns as published and as released are missing: nothing is stored for this data "
        "(`quorate reproduce shift --as-published`)."
        if kept is None
        else f"The columns {COLUMNS['as_published']} and {COLUMNS['as_released']} are stored results of "
        f"`quorate reproduce shift --as-published`: quorate {kept.origin['version']}, "
        f"{', '.join(f'{name} {version}' for name, version in kept.origin['libraries'].items())}, seeds "
        f"{', '.join(map(str, kept.origin['seeds']))}.",
    )


def _figures(
    found: Streams,
    over_time: dict[tuple[str, str, float], Course],
    time: dict[str, Course],
    kept: stored.Stored | None,
) -> tuple[Figure, ...]:
    name, many = _model_name(found), len(next(iter(time.values())).costs)
    average = (
        f"Moving average of the last {WINDOW} items (fewer at the start), mean over seeds; dashed upright: the shift"
    )
    return (
        Figure("shift-curves", "Error against cost through the shift, all classifiers",
               "Mean over classifiers and seeds; dotted: the tie floor. Grey: FinExp as published with the closed "
               "likelihood, and as released, as stored. The scale of errors is logarithmic.",
               "Curves of error against votes per item before the shift, after it and over the whole stream.",
               plots.curves(found, kept), (10.5, 4.8)),
        Figure("shift-budgets", f"Error and cost over time at four budgets, {name}",
               f"{average}; budgets are votes per item over the whole stream.",
               "Moving averages of error and cost over time for every method at 0.5, 1, 2 and 3 votes per item.",
               plots.by_budget(over_time, found), (9.0, 11.0)),
        Figure("shift-architectures", "Error and cost over time at 2 votes per item, every classifier",
               f"{average}. All five fused are the same line in every row.",
               "Moving averages of error and cost over time for every method on five classifiers.",
               plots.by_architecture(over_time, found), (9.0, 13.0)),
        Figure("shift-orderings", f"Average over {many} orderings at about 2 votes per item, {name}",
               f"Moving average of the last {WINDOW} items (fewer at the start); bands are 95 % (1.96 standard errors "
               "over orderings of the same items).",
               "Error and cost over time, averaged over orderings, one line with a band for every method.",
               plots.over_orderings(time, found), (9.0, 6.5)),
    )  # fmt: skip


def _model_name(found: Streams) -> str:
    model = first_model(found)
    return plots.MODEL_NAMES.get(model, model)
