"""`read_votes`: a file or a frame of votes -> `Votes`, compact and clean, with a report of every rule that fired.

The caller names the format, or it is detected; the report says what was decided. Called by the commands, which pass
the votes to `join`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard, Unpack

import numpy as np

from quorate.arrow import pa
from quorate.frames import TEXTS, OwnTypes
from quorate.tables.label_studio import check_field, is_label_studio, studio_chunks
from quorate.tables.labels import differ_by_case, means_no_answer
from quorate.tables.options import Format, TableOptions, VoteKeywords, shows, table_options
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.readers.sources import Opened, without_columns
from quorate.tables.report import Report, refuse_dirt
from quorate.tables.rules import Fired
from quorate.tables.votes.arrays import raw_of_array
from quorate.tables.votes.clean import clean, settle
from quorate.tables.votes.codes import Raw, by_first, collect, first_of_each, hits
from quorate.tables.votes.formats import Layout, choose
from quorate.types import IntArray, Progress, TableLike
from quorate.validate import invalid

_NONE = np.empty(0, dtype=bool)


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Votes read from one source. `raw` every vote with an item and a label; `counts_vote` (V,) those that count.

    `given` the classes the caller named, or None; `backend` the kind of table that was read, `own` the types that ids,
    workers and labels had there: here they are text; `passed_over` other columns that are named like labels; `warnings`
    why columns may have been misread.
    """

    raw: Raw
    counts_vote: np.ndarray
    settled: tuple[Fired, ...]
    decisions: tuple[str, ...]
    given: tuple[str, ...] | None = None
    backend: str = "pyarrow"
    own: OwnTypes = TEXTS
    passed_over: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def columns(self) -> str:
        """How the columns were read."""
        return self.decisions[-1].partition(": ")[2]

    @property
    def num_votes(self) -> int:
        """Votes that count."""
        return int(self.counts_vote.sum())

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels with votes, in the order of their first vote."""
        used = by_first(self.raw.label.codes[self.counts_vote], len(self.raw.label.names))
        return tuple(dict.fromkeys(self.raw.label.names.take(pa.array(used)).to_pylist()))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes given, or the columns of counts, or the labels in the order of their first vote."""
        if self.given is not None:
            return self.given
        return tuple(dict.fromkeys([*(self.raw.classes or ()), *self.labels]))

    @property
    def items(self) -> tuple[str, ...]:
        """Ids of the items with a vote, in the order of their first vote in the source."""
        return tuple(self.raw.task.names.take(pa.array(self.voted)).to_pylist())

    @property
    def voted(self) -> IntArray:
        """Codes of the items with a vote that counts, in the order of their first vote in the source."""
        return by_first(self.raw.task.codes[self.counts_vote], len(self.raw.task.names))

    @property
    def report(self) -> Report:
        """What was decided and which rules fired."""
        totals = {"rows": self.raw.num_rows, "votes": self.num_votes, "items": len(self.voted)}
        return Report(
            self.decisions, totals, (*self.raw.entries, *self.settled), warnings=self.warnings, columns=self.columns
        )


@shows(VoteKeywords)
def read_votes(
    source: TableLike | np.ndarray,
    *,
    progress: Progress | None = None,
    voters: IntArray | None = None,
    **columns: Unpack[VoteKeywords],
) -> Votes:
    """Votes from a path (CSV, TSV, JSONL, Parquet, Excel, Label Studio JSON), a data frame or an array.

    `format` "long" (a row per vote), "wide" (a column per person), "counts" (a column per class), "cells" (all votes of
    an item in one cell, a list of labels or a mapping of label to count), "label-studio", or "auto": what the names of
    the columns say. `task`, `worker`, `label`, `timestamp` name the columns, `ignore_columns` those not to read (a
    list, or one text with commas); in wide tables `worker` may list the columns of people; in Label Studio exports
    `task` is a field of `data` and `label` the `from_name`. `classes`: all classes; other labels are set aside, and so
    are `abstain_labels`, which mean no answer. `encoding` of text tables, by default UTF-8. `strict` refuses every
    irregularity. `progress(done, total, what)` is called while reading. An array (items, votes) holds class numbers, -1
    for none, and `voters` of the same shape who cast each vote.

    >>> votes = read_votes(pa.table({"item": ["a", "a", "b"], "annotator": ["x", "y", "x"], "label": ["1", "0", "1"]}))
    >>> votes.num_votes, votes.items, votes.classes
    (3, ('a', 'b'), ('1', '0'))
    """
    return votes_by(table_options(columns, VoteKeywords), source, progress=progress, voters=voters)


def votes_by(
    options: TableOptions,
    source: TableLike | np.ndarray,
    *,
    progress: Progress | None = None,
    voters: IntArray | None = None,
) -> Votes:
    """`read_votes` with its options as one value."""
    if isinstance(source, np.ndarray):
        _refuse_columns(worker=options.worker, label=options.label, timestamp=options.timestamp)
        raw = raw_of_array(source, voters, options.class_names)
        return cleaned(Votes(raw, _NONE, (), (f"votes: an array {source.shape}",), options.class_names), options)
    if is_studio(source, options.format):
        raw, decisions = _studio(existing(source), options.task, options.label, progress)
        return cleaned(Votes(raw, _NONE, (), decisions, options.class_names), options)
    opened = open_votes(source, options)
    return cleaned(opened_votes(opened, choose(opened, options), options.class_names, progress), options)


def _refuse_columns(**columns: str | Sequence[str] | None) -> None:
    for argument, name in columns.items():
        if name is not None:
            raise invalid(argument, name, "no column of an array", "leave it out, or pass a table.")


def open_votes(source: TableLike, options: TableOptions) -> Opened:
    """A table of votes without the columns to ignore."""
    opened = open_frame(source) if not isinstance(source, (str, Path)) else open_file(source, options.encoding)
    return without_columns(opened, options.ignore_columns)


def opened_votes(
    opened: Opened, layout: Layout, given: tuple[str, ...] | None, progress: Progress | None = None
) -> Votes:
    """The votes of an opened table, to be cleaned."""
    raw = layout.read(progress)
    return Votes(
        replace(raw, entries=(*opened.entries, *layout.entries, *raw.entries)),
        _NONE, (), (*opened.decisions, f"{opened.name}: {layout.decision}"), given, opened.backend, layout.own,
        layout.passed_over, layout.warnings,
    )  # fmt: skip


def cleaned(votes: Votes, options: TableOptions) -> Votes:
    """The votes with tidy names, without what is set aside, and with one vote of each worker on an item."""
    if votes.raw.num_rows == 0 and not votes.raw.entries:
        raise invalid("source", votes.raw.source, "votes; no row follows the header", "export it again.")
    raw = clean(votes.raw, votes.given, options.abstentions)
    kept, entries = settle(raw)
    votes = replace(votes, raw=raw, counts_vote=kept, settled=entries)
    votes = replace(votes, settled=(*entries, *(() if votes.given is not None else label_entries(votes))))
    if options.strict:
        refuse_dirt([*votes.raw.entries, *votes.settled])
    return votes


def label_entries(votes: Votes) -> tuple[Fired, ...]:
    """An entry for doubtful classes: labels that differ by case only, or often mean no answer."""
    alike = set(differ_by_case(votes.classes))
    names = votes.raw.label.names.to_pylist()
    doubtful = np.array([name in alike or means_no_answer(name) for name in names] + [False], dtype=bool)
    hit = doubtful[votes.raw.label.codes] & votes.counts_vote
    if not hit.any():
        return ()
    first = first_of_each(votes.raw.label.codes, hit)  # one row for each label
    (entry,) = hits(
        "doubtful-label", votes.raw.source, votes.raw.rows, first, votes.raw.task, worker=votes.raw.worker,
        value=votes.raw.label,
    )  # fmt: skip
    return (replace(entry, count=int(hit.sum())),)


def is_studio(source: TableLike, format: Format) -> TypeGuard[str | Path]:  # noqa: A002
    """Whether a source is a Label Studio export."""
    if not isinstance(source, (str, Path)) or format not in ("auto", "label-studio"):
        return False
    ending = ending_of(Path(source))
    if ending not in (".json", ".jsonl", ".ndjson"):
        return False
    return format == "label-studio" or is_label_studio(existing(source))


def _studio(path: Path, task: str | None, label: str | None, progress: Progress | None) -> tuple[Raw, tuple[str, ...]]:
    check_field(path, task, argument="task")
    raw = collect(studio_chunks(path, task=task, control=label, progress=progress), path.name)
    if raw.time is not None and np.isnan(raw.time).all():
        raw = replace(raw, time=None)
    item = "the task's id" if task in (None, "id") else f"data.{task}"
    control = "any control" if label is None else f"the control {label!r}"
    return raw, (f"{path.name}: item {item}, label from the choices of {control}",)
