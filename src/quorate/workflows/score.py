"""`score`: learned parameters, predictions and perhaps votes -> posterior, confidence and ask or stop for every item.

No state and nothing learned: each item by itself, streamed in batches. What `quorate score` does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quorate.errors import InvalidInput
from quorate.tables.frames import open_frame
from quorate.tables.label_studio import is_label_studio
from quorate.tables.open_files import ending_of, existing, open_file
from quorate.tables.report import Report
from quorate.validate import members, shown, whole
from quorate.version import __version__
from quorate.workflows.params_file import ParamsFile, read_params
from quorate.workflows.score_batches import ById, Follower, InOrder, ItemBatch, NoVotes, item_batches
from quorate.workflows.score_cluster import scored_by
from quorate.workflows.score_items import Outcome, scorer
from quorate.workflows.score_output import Findings, schema, scored_table, table_file
from quorate.workflows.score_parts import Told
from quorate.workflows.score_predictions import Model, models
from quorate.workflows.score_votes import all_votes, counted_votes, vote_format

BATCH_ROWS = 50_000
MATCHES = ("auto", "order", "id")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What was written: `out` the file, `reasons` how many items for each reason, `report` which rules fired.

    `expected_errors` sum of 1 - confidence over the items that stop, `left_over` items of `--match id` tables that the
    first table of predictions does not have.
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
    seconds: float
    report: Report
    rejects: str | None

    @property
    def num_ask(self) -> int:
        """Items that a further vote is worth asking for."""
        return self.reasons.get("ask", 0)

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "out": self.out,
            "num_items": self.num_items,
            "num_votes": self.num_votes,
            "ask": self.num_ask,
            "stop": self.num_items - self.num_ask,
            "reasons": self.reasons,
            "expected_errors": self.expected_errors,
            "left_over": self.left_over,
            "models": list(self.models),
            "method": self.method,
            "pool_size": self.pool_size,
            "seconds": self.seconds,
            "rejects": self.rejects,
            "tables": self.report.as_dict(),
            "version": __version__,
        }


def score(
    params: str | Path | ParamsFile,
    predictions: Any,  # noqa: ANN401
    *,
    votes: Any = None,  # noqa: ANN401
    out: str | Path,
    pool_size: int | None = None,
    match: Literal["auto", "order", "id"] = "auto",
    cluster: str | None = None,
    id_column: str | None = None,
    batch_rows: int = BATCH_ROWS,
    strict: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """Score every item of the (first) predictions into `out`, .parquet or .csv; what the parameters say is final.

    `predictions` a path, frame or array, or a list of them, one per model; their order is that of the parameters
    unless their names are the models'. `votes`: counts, long or wide, as `quorate.tables` reads them. `match`: "order"
    follows the rows of the first predictions, in constant memory; "id" looks up by id, in memory; "auto" is "order",
    and "id" for long and wide votes. `cluster` tcp://HOST:PORT or local:N. The same input gives the same bytes, with a
    cluster or without.

    >>> import tempfile, numpy as np, quorate
    >>> from quorate.workflows.params_file import ParamsFile
    >>> learned = ParamsFile(quorate.PriorParams(4, 0.5, [1, 1]), ("cat", "dog"), ("net",), "infinite", "infexp", 6, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = score(learned, np.array([[0.99, 0.01], [0.6, 0.4]]), out=f"{folder}/scores.csv")
    ...     found.reasons
    {'ask': 1, 'confident': 1}
    """
    known = params if isinstance(params, ParamsFile) else read_params(params)
    size = known.pool_size if pool_size is None else members(pool_size)
    rows = whole(batch_rows, where="batch_rows", most=10_000_000)
    if match not in MATCHES:
        raise InvalidInput(f"match={shown(match)}; expected one of {', '.join(MATCHES)}.")
    method = known.method()
    how = scorer(method, known.params, size)
    begin = time.perf_counter()
    file = Path(out)
    rejects = file.with_name(f"{file.stem}.rejects.csv")
    with Findings(rejects, strict) as findings, table_file(file, schema(known.classes)) as writer:
        found = _models(predictions, known, id_column, rows, findings.add)
        others = [_follow(model, match, len(known.classes)) for model in found[1:]]
        voters = _voters(votes, known.classes, match, id_column, rows, findings.add)
        tally = _Tally()
        with scored_by(how, cluster) as scored:
            for batch, outcome in scored(item_batches(found[0], others, voters, size)):
                reasons = how.reasons(outcome.codes)
                writer.write_table(
                    scored_table(batch.ids, batch.votes, outcome.probs, outcome.labels, reasons, known.classes)
                )
                tally.add(batch, outcome, reasons)
                if progress is not None:
                    progress(batch.done, batch.total, f"scoring {found[0].source}")
        left = sum(each.finish() for each in (*others, voters))
        if tally.num_items == 0:
            raise InvalidInput(f"{found[0].source} has no item to score; expected rows with an id; export it again.")
    return Scores(
        out=str(file),
        num_items=tally.num_items,
        num_votes=tally.num_votes,
        reasons=dict(sorted(tally.reasons.items())),
        expected_errors=tally.expected_errors,
        left_over=left,
        models=tuple(model.name for model in found),
        method=method.describe(),
        pool_size=size,
        seconds=time.perf_counter() - begin,
        report=findings.report({"items": tally.num_items, "votes": tally.num_votes}),
        rejects=str(rejects) if findings.num_set_aside else None,
    )


class _Tally:
    """Sums over the batches."""

    def __init__(self) -> None:
        self.num_items = self.num_votes = 0
        self.expected_errors = 0.0
        self.reasons: Counter[str] = Counter()

    def add(self, batch: ItemBatch, outcome: Outcome, reasons: np.ndarray) -> None:
        doubt = 1.0 - outcome.probs[np.arange(len(outcome.labels)), outcome.labels]
        self.num_items += len(batch.ids)
        self.num_votes += int(batch.votes.sum())
        self.expected_errors += float(doubt[reasons != "ask"].sum())
        self.reasons.update(reasons.tolist())


def _models(predictions: Any, known: ParamsFile, id_column: str | None, rows: int, told: Told) -> list[Model]:  # noqa: ANN401
    """One per model of the parameters: by name if all names are known there, else in the order given."""
    sources = list(predictions) if isinstance(predictions, (list, tuple)) else [predictions]
    found = [
        model
        for source in sources
        for model in models(source, known.classes, id_column=id_column, batch_rows=rows, told=told)
    ]
    if len(found) != len(known.models):
        raise InvalidInput(
            f"predictions hold {len(found)} models ({', '.join(each.name for each in found)}); the parameters were "
            f"learned with {len(known.models)} ({', '.join(known.models)}); give one source each."
        )
    by_name = {model.name: model for model in found}
    if set(by_name) == set(known.models):
        return [by_name[name] for name in known.models]
    return found


def _follow(model: Model, match: str, num_classes: int) -> Follower:
    if match == "id":
        return ById(model.rows(), num_classes=num_classes)
    return InOrder(model.rows(), what=model.source, num_classes=num_classes)


def _voters(
    votes: Any,  # noqa: ANN401
    classes: tuple[str, ...],
    match: str,
    task: str | None,
    rows: int,
    told: Told,
) -> Follower:
    if votes is None:
        return NoVotes(len(classes))
    by_id = match == "id"
    if isinstance(votes, (str, Path)):
        file = existing(votes)
        if ending_of(file) in (".json", ".jsonl", ".ndjson") and is_label_studio(file):
            return _by_id(votes, classes, None, told)
        opened = open_file(file)
    else:
        opened = open_frame(votes, name="votes")
    task = task if task in opened.columns else None
    layout = vote_format(opened, classes)
    if by_id or (match == "auto" and layout != "counts"):
        return _by_id(votes, classes, task, told)
    stream = counted_votes(opened, classes, layout=layout, task=task, batch_rows=rows, told=told)
    return InOrder(stream, what=opened.name, num_classes=len(classes))


def _by_id(votes: Any, classes: Sequence[str], task: str | None, told: Told) -> Follower:  # noqa: ANN401
    def rows() -> Iterator[Any]:
        yield all_votes(votes, tuple(classes), task=task, told=told)

    return ById(rows(), num_classes=len(classes))
