"""`score`: learned parameters, predictions and optional votes -> posterior, confidence and ask or stop for every item.

Stateless: nothing is learned, each item is decided independently, in batches. Called by `quorate score`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from quorate.arrow import arrow_csv, known_ending, pa, pq, table_file
from quorate.commands.params_file import ParamsFile, read_params
from quorate.commands.score.batches import scored_by
from quorate.commands.score.items import InOrder, ItemBatch, item_batches, refuse_unnamed, voters
from quorate.commands.score.output import schema, scored_table
from quorate.frames import OwnTypes, ToFrames
from quorate.methods import Method
from quorate.model import ModelPicker, QuotaPolicy
from quorate.session import BatchDecisions, Decider, decider
from quorate.tables import (
    FEWEST,
    ErrorCost,
    Findings,
    ModelRows,
    PieceOptions,
    Report,
    ScoreKeywords,
    TableOptions,
    check_names,
    counts_in_pieces,
    doubtful_rows,
    predictions_in_pieces,
    read_error_cost,
    shows,
    whole_number,
)
from quorate.types import PredictionLike, Progress, TableLike
from quorate.validate import invalid, members
from quorate.version import __version__

BATCH_ROWS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Scores(ToFrames):
    """The result: `out` the file, `reasons` the number of items by reason, `report` which rules fired.

    `expected_errors` sum of 1 - confidence over the items that stop, `left_over` items of the votes that the
    first table of predictions lacks. `pool_rule` "given", or "largest-recorded": see `params_file`.
    """

    out: str
    num_items: int
    num_votes: int
    reasons: dict[str, int]
    expected_errors: float
    left_over: int
    models: tuple[str, ...]
    method: dict[str, Any]
    pool_size: int
    pool_rule: str
    seconds: float
    report: Report
    rejects: str | None

    @property
    def table(self) -> pa.Table:
        """The file that was written, read back."""
        return pq.read_table(self.out) if Path(self.out).suffix.lower() != ".csv" else arrow_csv.read_csv(self.out)

    @property
    def num_ask(self) -> int:
        """The number of items for which another vote is worth asking."""
        return self.reasons.get("ask", 0)

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        figures = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "report"}
        stop = self.num_items - self.num_ask
        return figures | {"ask": self.num_ask, "stop": stop, "tables": self.report.as_dict(), "version": __version__}


@shows(ScoreKeywords)
def score(
    params: str | Path | ParamsFile,
    predictions: PredictionLike | Sequence[PredictionLike],
    *,
    votes: TableLike | None = None,
    out: str | Path,
    pool_size: int | None = None,
    error_cost: ErrorCost | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    abstain_labels: str | Sequence[str] | None = None,
    **tables: Unpack[ScoreKeywords],
) -> Scores:
    """Score every item of the (first) predictions and write `out`, .parquet or .csv; parameters are not updated.

    Items without votes are answered as the run answered them at its end: by the parameters, or with `value` by the
    classifier alone as long as what was learned has not proved better.

    `predictions` a path, frame or array, or a list of them, one per model; matched to the models of the parameters by
    name if all names are known, else by order. `votes`: counts, long or wide, as `quorate.tables` reads them. Counts
    and further predictions are streamed: their items must be in the order of the first predictions. Other votes are
    looked up by id, in memory. `cluster` tcp://HOST:PORT or local:N. The same input gives the same bytes, with or
    without a cluster. `pool_size`, `error_cost` (a number, or a table by truth and answer) and
    `abstain_labels` None: as in the parameters. `tables`: id_column, probs_column,
    prediction_column, task, worker, label, format, ignore_columns and encoding, as in `quorate.run`. Ids and
    labels are written in the types they have in frames.

    >>> import tempfile, numpy as np, quorate
    >>> from quorate.commands.params_file import ParamsFile
    >>> from quorate.methods.encoding import method_data
    >>> infexp = method_data(quorate.method("infexp"))
    >>> learned = ParamsFile(quorate.PriorParams(4, 0.5, [1, 1]), ("cat", "dog"), ("net",), infexp, 6, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = score(learned, np.array([[0.99, 0.01], [0.6, 0.4]]), out=f"{folder}/scores.csv")
    ...     found.reasons
    {'ask': 1, 'confident': 1}
    """
    check_names(tables, ScoreKeywords.__annotations__)
    learned = params if isinstance(params, ParamsFile) else read_params(params)
    if error_cost is not None:
        learned = learned.with_error_cost(read_error_cost(error_cost, learned.classes))
    file = Path(out)
    known_ending(file)
    abstentions = learned.abstain_labels if abstain_labels is None else abstain_labels
    options = TableOptions(**tables, classes=learned.classes, abstain_labels=abstentions)
    reading = PieceOptions(options, learned.classes, BATCH_ROWS, Findings())
    return _written(_Job(learned, predictions, votes, reading, pool_size, cluster, progress), file)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """The arguments of one call of `score`."""

    params: ParamsFile
    predictions: Any
    votes: Any
    reading: PieceOptions
    pool_size: int | None
    cluster: str | None
    progress: Progress | None


def _written(job: _Job, file: Path) -> Scores:
    """Read, score and write, batch by batch; no file remains if anything is refused."""
    begin, learned, findings = time.perf_counter(), job.params, job.reading.findings
    pool_size = learned.pool_size if job.pool_size is None else members(job.pool_size)
    method, num_classes = learned.method(), len(learned.classes)
    how = _decider(method, learned, pool_size)
    first, *more = _models(job)
    refuse_unnamed([first, *more], with_votes=job.votes is not None)
    others = [InOrder(source_rows.rows(), argument="predictions", num_classes=num_classes) for source_rows in more]
    counts = counts_in_pieces(job.votes, job.reading)
    votes = voters(counts, num_classes)
    types = OwnTypes(task=first.own.task, label=counts.own.label or first.own.label)
    tally = _Tally()
    with table_file(file, schema(learned.classes, types)) as writer, scored_by(how, job.cluster) as scored:
        for batch, outcome in scored(item_batches(first, others, votes, pool_size)):
            reasons = how.reasons(outcome.codes)
            ids = [whole_number(item) for item in batch.ids]  # 7.0 is 7, as everywhere
            writer.write_table(
                scored_table(ids, batch.votes, outcome.probs, outcome.labels, reasons, learned.classes, types)
            )
            tally.add(batch, outcome, reasons)
            if job.progress is not None:
                job.progress(batch.done, batch.total, f"scoring {first.source}")
        left_over = [source_rows.finish() for source_rows in (*others, votes)][-1]
        _check_match(tally, left_over, first.source, findings)
    source = Path(job.votes).name if isinstance(job.votes, (str, Path)) else "frame"
    findings.warnings.extend(doubtful_rows(source, tally.num_votes, findings.entries))
    report = findings.report({"items": tally.num_items, "votes": tally.num_votes})
    return Scores(
        out=str(file),
        num_items=tally.num_items,
        num_votes=tally.num_votes,
        reasons=dict(sorted(tally.reasons.items())),
        expected_errors=tally.expected_errors,
        left_over=left_over,
        models=tuple(model.name for model in (first, *more)),
        method=method.describe(),
        pool_size=pool_size,
        pool_rule=learned.pool_rule if job.pool_size is None else "given",
        seconds=time.perf_counter() - begin,
        report=report,
        rejects=_write_rejects(report, file.with_name(f"{file.stem}.rejects.csv")),
    )


def _write_rejects(report: Report, path: Path) -> str | None:
    """The file of the rows set aside; None, and none of an earlier run remains, if there are none."""
    if not report.num_set_aside:
        path.unlink(missing_ok=True)
        return None
    report.write_rejects(path)
    return str(path)


def _check_match(tally: _Tally, left_over: int, source: str, findings: Findings) -> None:
    """Refuse predictions without items or of none of the items with votes; a warning if most of these have none."""
    if tally.num_items == 0:
        raise invalid("predictions", source, "rows with an id; there is no item to score", "export it again.")
    if left_over and not tally.num_voted:
        rule = f"predictions of the items with votes; none of {left_over} has one"
        raise invalid("predictions", source, rule, "check that the ids mean the same in both: `task`, `id_column`.")
    if left_over > max(tally.num_voted, FEWEST):
        many = f"{tally.num_voted} of {tally.num_voted + left_over} items with votes"
        text = f"{source} predicts {many}: check that the ids mean the same in both, `task`, `id_column`."
        findings.warnings.append(text)


def _decider(method: Method, known: ParamsFile, pool_size: int) -> Decider:
    """The decider of a method whose decisions depend on the item alone; other methods are refused."""
    draws_quotas = isinstance(method.policy, (QuotaPolicy, ModelPicker))
    built = decider(
        method,
        known.params,
        pool_size,
        min_votes=known.min_votes,
        max_votes=known.max_votes,
        answers_proved=known.answers_proved,
    )
    if built is None or draws_quotas:
        rule = "a method whose decision depends on the item alone, such as value, finexp or infexp"
        raise invalid("method", method.name, rule, "use quorate.Session for this method.")
    return built


class _Tally:
    """Sums over the batches."""

    def __init__(self) -> None:
        self.num_items = self.num_votes = self.num_voted = 0
        self.expected_errors = 0.0
        self.reasons: Counter[str] = Counter()

    def add(self, batch: ItemBatch, outcome: BatchDecisions, reasons: np.ndarray) -> None:
        doubt = 1.0 - outcome.probs[np.arange(len(outcome.labels)), outcome.labels]
        self.num_items += len(batch.ids)
        self.num_votes += int(batch.votes.sum())
        self.num_voted += int(batch.votes.any(axis=1).sum())
        self.expected_errors += float(doubt[reasons != "ask"].sum())
        self.reasons.update(reasons.tolist())


def _models(job: _Job) -> list[ModelRows]:
    """One per model of the parameters: by name if all names are known, else in the order given."""
    learned = job.params
    sources = list(job.predictions) if isinstance(job.predictions, (list, tuple)) else [job.predictions]
    read = [model for source in sources for model in predictions_in_pieces(source, job.reading)]
    if len(read) != len(learned.models):
        rule = f"{len(learned.models)} classifiers, as in `params`: {', '.join(learned.models)}"
        raise invalid("predictions", [model.name for model in read], rule, "pass one source for each.")
    by_name = {model.name: model for model in read}
    return [by_name[name] for name in learned.models] if set(by_name) == set(learned.models) else read
