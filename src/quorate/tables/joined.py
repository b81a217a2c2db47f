"""`join`: votes and predictions -> `Joined`, matched by item id and class name, with one report of every rule.

`Joined` is what the commands work on: one array each for item, label and worker, sorted by item and then in recorded
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate.arrow import TEXT, pa, pc
from quorate.errors import source_is
from quorate.frames import TEXTS, OwnTypes, give_back, in_own_type
from quorate.tables.misread_checks import (
    doubtful_pools,
    doubtful_predictions,
    doubtful_votes,
    refuse_misread_votes,
    refuse_other_classes,
    refuse_unnamed_rows,
)
from quorate.tables.predictions.align import (
    Aligned,
    aligned,
    looked_up,
    named_classes,
    unpredicted_labels,
    without_other_columns,
)
from quorate.tables.predictions.read import Predictions, uniform
from quorate.tables.readers.sources import filled
from quorate.tables.report import Report, merged, refuse_dirt
from quorate.tables.rules import Fired, fired_whole
from quorate.tables.texts import class_texts
from quorate.tables.votes.clean import relabelled, settle, spelled_as
from quorate.tables.votes.codes import by_first
from quorate.tables.votes.read import Votes, label_entries
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array
from quorate.validate import MOST_VOTES, invalid

MOST_CELLS = 2_000_000_000  # of the padded table of votes, two bytes each
Array = TypeVar("Array", bound=np.ndarray)
MOST_CLASSES = 2**15 - 1  # votes are kept as int16


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Votes and predictions by item.

    `items` T ids, in the order of their first vote (by time where there are times)
    `starts` (T + 1,) votes of item t are starts[t] .. starts[t + 1] of the arrays below, in recorded order
    `item` (V,) index into `items`   `label` (V,) index into `classes`   `worker` (V,) index into `workers`, -1 nobody
    `order` (V,) place in the recorded sequence of all votes   `time` (V,) seconds since 1970, NaN unknown; or None
    `predictions` (M, T, K) probabilities, floored, each row summing to 1   `models` M names
    `unvoted` ids with a prediction but no vote, and `unvoted_predictions` (M, U, K)
    `report` every rule that fired   `backend` the kind of table that `vote_table` returns, `own` its column types
    """

    items: tuple[str, ...]
    starts: IntArray
    item: NDArray[np.int32]
    label: NDArray[np.int16]
    worker: NDArray[np.int32]
    order: IntArray
    time: FloatArray | None
    classes: tuple[str, ...]
    workers: tuple[str, ...]
    predictions: FloatArray
    models: tuple[str, ...]
    unvoted: tuple[str, ...]
    unvoted_predictions: FloatArray
    report: Report
    name: str = "votes"
    backend: str = "pyarrow"
    own: OwnTypes = TEXTS

    @property
    def num_items(self) -> int:
        """T."""
        return len(self.items)

    @property
    def num_votes(self) -> int:
        """V."""
        return len(self.label)

    def votes_of(self, item: int) -> NDArray[np.int16]:
        """The class numbers of the votes on item number `item`, in recorded order."""
        return self.label[self.starts[item] : self.starts[item + 1]]

    def to_dataset(self, *, pool: Literal["own"] = "own") -> VoteDataset:
        """A `VoteDataset` whose pools are the items' own votes: (T, N) in recorded order, -1 after the last."""
        if pool != "own":
            raise invalid("pool", pool, "'own': each item's pool is everyone who voted on it", "leave it out.")
        lengths = np.diff(self.starts)
        longest = int(lengths.max())
        if longest > MOST_VOTES or longest * self.num_items > MOST_CELLS:
            rule = (
                f"at most {MOST_VOTES} votes per item and {MOST_CELLS} cells in all; there are {self.num_items} items "
                f"with up to {longest} votes"
            )
            raise invalid("votes", self.name, rule, "split the items.")
        votes = np.full((self.num_items, longest), -1, dtype=np.int16)
        cells = self.item, np.arange(self.num_votes) - self.starts[self.item]
        votes[cells] = self.label
        voters = np.full(votes.shape, -1, dtype=np.int64)
        voters[cells] = self.worker
        return VoteDataset(
            name=self.name,
            votes=frozen_array(votes, np.int16),
            predictions=frozen_array(self.predictions),
            models=self.models,
            classes=self.classes,
            blocks=frozen_array(np.zeros(self.num_items), np.int64),
            notes=tuple(self.report.lines()),
            voters=frozen_array(voters, np.int64) if self.workers else None,
        )

    def vote_table(self, backend: str | None = None) -> Any:  # noqa: ANN401 - a frame of any library
        """The clean votes as a long table `task, worker, label` (and `timestamp`), in recorded order.

        Returns the kind of table that was read, or `backend`: "pandas", "polars" or "pyarrow". If votes were read from
        a frame, ids, workers and labels have the types they had there.
        """
        at = np.argsort(self.order)
        worker = self.worker[at]
        columns = {
            "task": in_own_type(self.items, self.own.task).take(pa.array(self.item[at])),
            "worker": in_own_type(self.workers, self.own.worker).take(pa.array(worker, mask=worker < 0)),
            "label": in_own_type(self.classes, self.own.label).take(pa.array(self.label[at])),
        }
        if self.time is not None:
            columns["timestamp"] = pa.array(self.time[at], from_pandas=True)
        return give_back(pa.table(columns), self.backend if backend is None else backend)


def join(
    votes: Votes,
    predictions: Predictions | None = None,
    *,
    classes: Sequence[Any] | None = None,
    strict: bool = False,
) -> Joined:
    """Match votes and predictions of the same items.

    Without `predictions` there is one classifier, "uniform", which predicts every class with the same probability.
    `classes`: exactly these, in this order, and other labels are set aside; by default the classes of the predictions
    in the order of their columns, then those of the votes by first vote. Items with a vote are kept; where a
    classifier has no prediction, all classes are equally likely. Refused: a classifier that shares no id, or no class,
    with the votes, an array without ids, and tables that look misread (docs/tables.md).

    >>> from quorate.tables import read_predictions, read_votes
    >>> votes = read_votes(pa.table({"task": ["b", "a", "b"], "worker": ["x", "x", "y"], "label": ["dog"] * 3}))
    >>> probs = read_predictions(pa.table({"id": ["a", "b"], "cat": [0.9, 0.2], "dog": [0.1, 0.8]}))
    >>> joined = join(votes, probs)
    >>> joined.items, joined.classes, joined.predictions[0, 0].round(2)
    (('b', 'a'), ('cat', 'dog'), array([0.2, 0.8]))
    """
    named = votes.given if classes is None else class_texts(classes)
    if predictions is not None and named is None:
        predictions = without_other_columns(predictions, votes.labels)
    tables = predictions.tables if predictions is not None else ()
    predicted = named_classes(tables, named)
    votes = _relabelled(votes, predicted, named)
    final = _final_classes(votes, predicted, named)
    refuse_misread_votes(votes, predicted if tables else ())
    tables = tuple(replace(table, ids=spelled_as(table.ids, votes.raw.task.names)) for table in tables)
    for table in tables:
        refuse_unnamed_rows(votes, table)
        refuse_other_classes(votes, table, final, given=named is not None)
    sources = [aligned(table, final, given=named is not None) for table in tables]
    warnings = [*doubtful_votes(votes), *_doubtful_predictions(votes, sources)]
    recorded = _recorded(votes)
    outcome, more = _with_predictions(votes, recorded, sources, len(final))
    entries = [*(entry for source in sources for entry in source.entries), *more]
    if named is None:
        warnings += unpredicted_labels(tables, predicted, votes)
    if strict:  # also what `read_votes` kept, as classes may have settled it since
        with source_is("votes"):
            refuse_dirt([*votes.raw.entries, *votes.settled])
        with source_is("predictions"):
            refuse_dirt(entries)
    joined = _joined(votes, recorded, final, outcome, _report(votes, predictions, recorded, final, outcome, entries))
    warnings += doubtful_pools(votes, joined.item, joined.label, len(final))
    return replace(joined, report=replace(joined.report, warnings=(*joined.report.warnings, *warnings)))


def _doubtful_predictions(votes: Votes, sources: Sequence[Aligned]) -> list[str]:
    names = votes.raw.task.names.take(pa.array(votes.voted))
    warnings: list[str] = []
    for source in sources:
        present, usable = looked_up(source, names)[1:]
        if present.any():  # no shared id at all has its own error
            warnings += doubtful_predictions(votes, source, len(names), int(usable.sum()))
    return warnings


@dataclass(frozen=True, slots=True, eq=False)
class _Recorded:
    """The votes that are kept: `at` their positions in recorded order, `tasks` the items by first vote."""

    at: IntArray
    tasks: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """Predictions by item, and those of items without votes; `usable`: how many items each classifier predicts."""

    probs: FloatArray
    models: tuple[str, ...]
    usable: tuple[int, ...]
    unvoted: pa.Array
    unvoted_probs: FloatArray


def _relabelled(votes: Votes, known: tuple[str, ...], given: tuple[str, ...] | None) -> Votes:
    """The votes with labels replaced by class names; duplicates are resolved again if that changed any label."""
    if not known or (given is not None and given == votes.given):
        return votes
    raw, entries = relabelled(votes.raw, known, given=given is not None)
    if raw is votes.raw:
        return replace(votes, given=given)
    raw = replace(raw, entries=(*raw.entries, *entries))
    kept, settled = settle(raw)
    again = replace(votes, raw=raw, counts_vote=kept, settled=settled, given=given)
    return again if given is not None else replace(again, settled=(*settled, *label_entries(again)))


def _final_classes(votes: Votes, known: tuple[str, ...], given: tuple[str, ...] | None) -> tuple[str, ...]:
    if votes.num_votes == 0:
        tally = "; ".join(votes.report.lines()[-5:])
        raise invalid("votes", votes.raw.source, f"votes to join; none is left ({tally})", "correct it, or `classes`.")
    final = given if given is not None else tuple(dict.fromkeys([*known, *votes.classes]))
    if len(final) < 2:
        raise invalid("classes", list(final), "at least 2 classes", "name them all: `classes=[...]`.")
    if len(final) > MOST_CLASSES:
        rule = f"at most {MOST_CLASSES} classes; there are {len(final)}, such as {final[-1]!r}"
        raise invalid("votes", votes.raw.source, rule, "if the label column is free text, name another: `label=...`.")
    return final


def _recorded(votes: Votes) -> _Recorded:
    """The votes in recorded order: by time where there are times, else by row."""
    raw = votes.raw
    at = np.flatnonzero(votes.counts_vote)
    if raw.time is not None:
        at = at[np.argsort(filled(raw.time)[at], kind="stable")]
    return _Recorded(at, by_first(raw.task.codes[at], len(raw.task.names)))


def _with_predictions(
    votes: Votes, recorded: _Recorded, sources: Sequence[Aligned], num_classes: int
) -> tuple[_Outcome, list[Fired]]:
    names = votes.raw.task.names.take(pa.array(recorded.tasks))
    nothing = pa.array([], type=TEXT)
    if not sources:
        none = np.empty((1, 0, num_classes))
        return _Outcome(uniform(len(names), num_classes), ("uniform",), (), nothing, none), []
    entries: list[Fired] = []
    matches = [looked_up(source, names) for source in sources]
    for source, (_, present, _) in zip(sources, matches, strict=True):
        entries += _unmatched(votes, source, names, present)
    every = pa.concat_arrays([source.table.ids for source in sources]).unique()
    apart = every.filter(pc.invert(pc.is_in(every, value_set=votes.raw.task.names.take(pa.array(votes.voted)))))
    if len(apart):
        where = ", ".join(source.table.source for source in sources)
        without_votes = fired_whole("unmatched", where, apart, of="items")
        entries += [replace(entry, is_wanted=True) for entry in without_votes]
    unvoted = np.stack([looked_up(source, apart)[0] for source in sources])
    models = tuple(source.table.model for source in sources)
    usable = tuple(int(is_usable.sum()) for _, _, is_usable in matches)
    return _Outcome(np.stack([probs for probs, _, _ in matches]), models, usable, apart, unvoted), entries


def _unmatched(votes: Votes, source: Aligned, names: pa.Array, present: np.ndarray) -> list[Fired]:
    """An entry for the items that a classifier does not predict; an error if it predicts none."""
    if present.all():
        return []
    if not present.any():
        voted, predicted = (list(ids.slice(0, 3).to_pylist()) for ids in (names, source.table.ids))
        rule = f"the ids of {votes.raw.source}, such as {voted}; it has other ids, such as {predicted}"
        raise invalid("predictions", source.table.source, rule, "name the id columns: `task=...`, `id_column=...`.")
    absent = names.filter(pa.array(~present))
    return fired_whole("unmatched", source.table.source, absent, of="items")


def _report(
    votes: Votes,
    predictions: Predictions | None,
    recorded: _Recorded,
    classes: tuple[str, ...],
    outcome: _Outcome,
    entries: Sequence[Fired],
) -> Report:
    reports = [votes.report] + ([predictions.report] if predictions is not None else [])
    totals = {"rows": votes.raw.num_rows, "votes": len(recorded.at), "items": len(recorded.tasks)}
    if predictions is not None:
        totals |= dict(predictions.report.totals)
    per_label = np.bincount(votes.raw.label.codes[recorded.at], minlength=len(votes.raw.label.names))
    counts = dict.fromkeys(classes, 0)
    for name, count in zip(votes.raw.label.names.to_pylist(), per_label.tolist(), strict=True):
        if count:
            counts[name] += count
    usable = dict(zip(outcome.models, outcome.usable, strict=False))
    return replace(merged(reports, totals=totals, entries=entries), classes=counts, usable=usable)


def _joined(votes: Votes, recorded: _Recorded, classes: tuple[str, ...], outcome: _Outcome, report: Report) -> Joined:
    raw, at = votes.raw, recorded.at
    item_number = np.full(len(raw.task.names), -1, dtype=np.int32)
    item_number[recorded.tasks] = np.arange(len(recorded.tasks), dtype=np.int32)
    item = item_number[raw.task.codes[at]]
    order = _stable_order(item)
    at = at[order]
    item = item[order]
    number = {name: k for k, name in enumerate(classes)}
    class_of = np.array([number.get(name, -1) for name in raw.label.names.to_pylist()], dtype=np.int16)
    worker, workers = _workers(votes, at)
    starts = np.append(0, np.cumsum(np.bincount(item, minlength=len(recorded.tasks))))
    return Joined(
        items=tuple(raw.task.names.take(pa.array(recorded.tasks)).to_pylist()),
        starts=_fixed(starts),
        item=_fixed(item),
        label=_fixed(class_of[raw.label.codes[at]]),
        worker=_fixed(worker),
        order=_fixed(order),
        time=None if raw.time is None else _fixed(raw.time[at]),
        classes=classes,
        workers=workers,
        predictions=_fixed(outcome.probs),
        models=outcome.models,
        unvoted=tuple(outcome.unvoted.to_pylist()),
        unvoted_predictions=frozen_array(outcome.unvoted_probs),
        report=report,
        name=raw.source,
        backend=votes.backend,
        own=votes.own,
    )


def _stable_order(item: np.ndarray) -> IntArray:
    """np.argsort(item, kind="stable"), but three times as fast: sorts item and position packed into one number."""
    key = item.astype(np.int64) * len(item) + np.arange(len(item))
    key.sort()
    key %= len(item)
    return key


def _workers(votes: Votes, at: IntArray) -> tuple[np.ndarray, tuple[str, ...]]:
    """The worker's number of each vote, -1 for none, and the names of the numbers."""
    codes = votes.raw.worker.codes[at]
    used = by_first(codes[codes >= 0], len(votes.raw.worker.names))
    worker_number = np.full(len(votes.raw.worker.names) + 1, -1, dtype=np.int32)  # code -1 indexes the last entry
    worker_number[used] = np.arange(len(used), dtype=np.int32)
    return worker_number[codes], tuple(votes.raw.worker.names.take(pa.array(used)).to_pylist())


def _fixed(array: Array) -> Array:
    """The same array, set read-only; no copy, because it was created here."""
    array.flags.writeable = False
    return array
