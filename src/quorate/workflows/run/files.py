"""What a user hands to `run` -> votes and predictions joined; a `RunResult` -> a folder of files, whole or not at all.

Arrays become tables on the way in; the reading itself is `quorate.tables`. On the way out summary.json comes last, so
that a folder with a summary is complete. Called by `workflows.run`; `plan`, `calibrate` and `audit` read and check
their folder here too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import source_is
from quorate.files import write_folder
from quorate.reports.plain_json import plain
from quorate.tables import Joined, join, read_predictions, read_votes
from quorate.tables.options import TableOptions
from quorate.tables.readers.arrow import TEXT, arrow_csv, pa, pq
from quorate.tables.readers.sources import Progress
from quorate.tables.votes.names import abstain_names
from quorate.types import PredictionLike, TableLike, VoteDataset
from quorate.validate import broken
from quorate.workflows.params_file import write_params

if TYPE_CHECKING:
    from quorate.workflows.run.result import RunResult


LAST = "summary.json"


def check_free(out: str | Path, *, overwrite: bool) -> Path:
    """The folder to write to: new or empty, or any folder if `overwrite`; never one with files otherwise.

    Its parent is made if it is not there.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise broken("out", str(out), "a folder, not a file", "name another folder.")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        what = "a run" if (folder / LAST).exists() else "files"
        fix = "name another folder, or pass `overwrite=True`."
        raise broken("out", str(out), f"an empty folder; this one holds {what}", fix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(folder.parent, os.W_OK):  # better said now than after the run
        rule = f"a folder that can be written to, unlike {str(folder.parent)!r}"
        raise broken("out", str(out), rule, "name another folder.")
    return folder


def write_run(result: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write all files of a run; other files in the folder are left alone."""
    return write_folder(folder, {name: partial(write, result) for name, write in FILES.items()})


def _decisions_csv(result: RunResult, path: Path) -> None:
    options = arrow_csv.WriteOptions(quoting_style="needed")
    arrow_csv.write_csv(result.table, str(path), write_options=options)


def _decisions_parquet(result: RunResult, path: Path) -> None:
    pq.write_table(result.table, path, compression="zstd")


def _params(result: RunResult, path: Path) -> None:
    write_params(
        path,
        result.params,
        classes=result.classes,
        models=result.models,
        method=result.last_method,
        pool_size=result.pools.params_pool_size,
        fitted_after=result.outcome.fitted_after,
        pool_rule="largest-recorded" if result.pools.pool_size is None else "given",
        min_votes=result.settings["min_votes"],
        max_votes=result.settings["max_votes"],
        error_costs=result.error_costs,
        accuracy=result.settings["accuracy"],
        abstain_labels=result.settings["abstain_labels"],
    )


def _rejects(result: RunResult, path: Path) -> None:
    result.report.write_rejects(path)


def _report(result: RunResult, path: Path) -> None:
    path.write_text(result.to_html(), encoding="utf-8", newline="\n")


def _summary(result: RunResult, path: Path) -> None:
    text = json.dumps(plain(result.summary()), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


FILES: dict[str, Callable[[RunResult, Path], None]] = {
    "decisions.parquet": _decisions_parquet,
    "decisions.csv": _decisions_csv,
    "rejects.csv": _rejects,
    "params.json": _params,
    "report.html": _report,
    LAST: _summary,
}


VoteSource = TableLike | np.ndarray | VoteDataset
PredictionSources = PredictionLike | Sequence[PredictionLike] | Mapping[str, PredictionLike] | None


def read_inputs(
    votes: VoteSource,
    predictions: PredictionSources,
    columns: TableOptions,
    *,
    by_time: bool,
    progress: Progress | None,
) -> tuple[Joined, bool]:
    """Votes and predictions joined, and whether the votes of an item have an order: those of counts have none.

    `by_time`: votes in the order of their times, else of their rows.
    """
    if isinstance(votes, VoteDataset):
        columns = replace(columns, classes=columns.classes or votes.classes)
        given = dict(zip(votes.models, np.asarray(votes.predictions), strict=True))
        predictions = given if predictions is None else predictions
        votes = votes.votes
    as_read = columns.as_read or isinstance(votes, np.ndarray)  # an array says what it is
    if isinstance(votes, np.ndarray):
        places = votes.shape[:1]
        table: TableLike = _long_table(votes, columns)
        if columns.ids is None:  # rows of the predictions are those of the votes, voted on or not
            columns = replace(columns, ids=list(range(*places)))
    else:
        table = votes
    with source_is("votes"):
        read = read_votes(
            table, format=columns.format, task=columns.task, worker=columns.worker, label=columns.label,
            timestamp=columns.timestamp, classes=columns.classes, abstain_labels=columns.abstain_labels,
            ignore_columns=columns.ignore_columns, strict=columns.strict, as_read=as_read, progress=progress,
        )  # fmt: skip
    if not by_time and read.raw.time is not None:
        read = replace(read, raw=replace(read.raw, time=None))
    has_order = read.raw.classes is None  # only counts come with classes of their own
    how: dict[str, Any] = {"classes": columns.classes, "strict": columns.strict, "as_read": as_read}
    if predictions is None:
        return join(read, items=columns.items, **how), has_order
    with source_is("predictions"):
        said = read_predictions(
            predictions, id_column=columns.id_column, ids=columns.ids, accuracy=columns.accuracy, task=columns.task,
            **how,
        )  # fmt: skip
    return join(read, said, items=columns.items, **how), has_order


def read_as(columns: TableOptions) -> dict[str, Any]:
    """How labels were read, for summary.json and params.json: whoever decides on must read them alike."""
    named = abstain_names(columns.abstain_labels, columns.classes)
    return {"accuracy": columns.accuracy, "abstain_labels": list(named)}


def _long_table(votes: np.ndarray, columns: TableOptions) -> pa.Table:
    """An array (items, votes) of class numbers, -1 for none, as a long table; `classes` and `ids` name them."""
    if votes.ndim != 2 or votes.dtype.kind not in "iu":
        rule = "whole numbers (items, votes per item), -1 for none"
        raise broken("votes", f"{votes.dtype} {votes.shape}", rule, "pass such an array, or a table.")
    rows, places = np.nonzero(votes >= 0)
    numbers = votes[rows, places]
    most = int(numbers.max(initial=0))
    names = [str(number) for number in range(most + 1)] if columns.classes is None else list(columns.classes)
    ids = [str(number) for number in range(len(votes))] if columns.ids is None else [str(each) for each in columns.ids]
    for what, found, needed in (("classes", names, most + 1), ("ids", ids, len(votes))):
        if len(found) < needed:
            raise broken(what, len(found), f"{needed} names for these `votes`", "name them all.")
    return pa.table(
        {
            "task": pa.array(ids, type=TEXT).take(pa.array(rows)),
            "label": pa.array(names, type=TEXT).take(pa.array(numbers)),
        }
    )
