"""Predictions as read -> checked predictions: each item once, each row either probabilities or marked unusable.

Called by `predictions.read`; the rules are in `rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrow import pa
from quorate.tables.rules import SUM_TOLERANCE, Fired
from quorate.tables.votes.clean import tidy_ids
from quorate.tables.votes.codes import Coded, encode, first_of_each, hits
from quorate.types import FloatArray, IntArray
from quorate.validate import SUM_ROUNDING

_OF_ROWS = ("no-answer", "bad-number", "rounded")


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """One classifier's predictions as read.

    `task` (n,) the item of each row   `values` (n, K) the number for each class, NaN if missing or not a number
    `unsaid` (n, K) True where a NaN is valid: those classes share the rest (hard labels, single scores)
    `is_blank` (n,) rows without any value   `is_unnamed` no ids were given: the rows are named 0, 1, ...
    """

    model: str
    source: str
    classes: tuple[str, ...]
    task: Coded
    values: FloatArray
    unsaid: np.ndarray
    is_blank: np.ndarray
    rows: IntArray
    shares_rest: bool
    decisions: tuple[str, ...] = ()
    entries: tuple[Fired, ...] = ()
    is_unnamed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CheckedPredictions:
    """One classifier's predictions, each item once. `ids` Arrow text; rows that are not `usable` are set aside.

    `shares_rest`: the classes not named (NaN here) share what is missing from 1; otherwise they get nothing.
    `is_unnamed`: no ids were given, so the ids are positions in an array: 0, 1, ...
    """

    model: str
    source: str
    classes: tuple[str, ...]
    ids: pa.Array
    values: FloatArray
    usable: np.ndarray
    rows: IntArray
    shares_rest: bool
    entries: tuple[Fired, ...]
    is_unnamed: bool = False


def checked(given: Given) -> CheckedPredictions:
    """Tidy the ids, keep the first prediction of each item, and mark the rows that are not probabilities."""
    task, of_ids = tidy_ids(given.task, given.source, given.rows)
    named = task.codes >= 0
    first = first_of_each(task.codes, named)
    repeated = [*_entries("no-item", given, task, ~named), *_entries("duplicate", given, task, named & ~first)]
    usable, unusable = _judged(given, task, first)
    at = np.flatnonzero(first)
    return CheckedPredictions(
        model=given.model,
        source=given.source,
        classes=given.classes,
        ids=task.texts(at),
        values=given.values[at],
        usable=usable[at],
        rows=given.rows[at],
        shares_rest=given.shares_rest,
        entries=(*given.entries, *of_ids, *repeated, *unusable),
        is_unnamed=given.is_unnamed,
    )


def narrowed(table: CheckedPredictions, keep: Sequence[int], *, entries: Sequence[Fired]) -> CheckedPredictions:
    """The predictions with some of the columns only, checked again; `entries` are added."""
    kept = table.values[:, list(keep)]
    blank = [entry.rows for entry in table.entries if entry.rule == "no-answer"]
    narrow = Given(
        model=table.model,
        source=table.source,
        classes=tuple(table.classes[k] for k in keep),
        task=encode(table.ids),
        values=kept,
        unsaid=np.zeros(kept.shape, dtype=bool),
        is_blank=np.isin(table.rows, np.concatenate(blank)) if blank else np.zeros(len(kept), dtype=bool),
        rows=table.rows,
        shares_rest=table.shares_rest,
    )
    usable, unusable = _judged(narrow, narrow.task, np.ones(len(kept), dtype=bool))
    earlier = [entry for entry in table.entries if entry.rule not in _OF_ROWS]
    return replace(table, classes=narrow.classes, values=kept, usable=usable, entries=(*earlier, *entries, *unusable))


def sums(values: FloatArray) -> FloatArray:
    """The sum of each row over the classes that have a number."""
    return np.asarray(np.nansum(values, axis=1))


def _judged(given: Given, task: Coded, among: np.ndarray) -> tuple[np.ndarray, list[Fired]]:
    """Which rows are probabilities, and entries for those that are not or had to be renormalised."""
    values, total = given.values, sums(given.values)
    with np.errstate(invalid="ignore"):
        bad = ((np.isnan(values) & ~given.unsaid) | np.isinf(values) | (values < 0)).any(axis=1) & ~given.is_blank
    off = np.abs(total - 1)
    if given.shares_rest:  # a sum below 1 is valid, one above is not
        off = np.maximum(total - 1, 0)
    fine = ~bad & ~given.is_blank
    far, near = fine & (off > SUM_TOLERANCE), fine & (off <= SUM_TOLERANCE) & (off > SUM_ROUNDING)
    by_rule = (("no-answer", given.is_blank), ("bad-number", bad | far), ("rounded", near))
    entries = [entry for rule, hit in by_rule for entry in _entries(rule, given, task, hit & among)]
    return fine & ~far, entries


def _entries(rule: str, given: Given, task: Coded, hit: np.ndarray) -> list[Fired]:
    """The rows where `hit`, with their numbers and their sum."""

    def shown(at: IntArray) -> list[str]:
        picked = given.values[at]
        return [f"sum {total:.6g}: {_few(row)}" for row, total in zip(picked, sums(picked), strict=True)]

    return hits(rule, given.source, given.rows, hit, task, value=shown)


def _few(row: FloatArray) -> str:
    shown = " ".join(f"{value:.6g}" for value in row[:8])
    return f"{shown} ..." if len(row) > 8 else shown
