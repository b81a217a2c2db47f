"""Raw votes -> clean votes: each has an item and a label, and each worker has one vote per item.

Called by `read_votes`, and by `join` once the classes are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quorate.arrow import TEXT, pa, pc
from quorate.tables.labels import are_abstentions, match_labels
from quorate.tables.readers.sources import filled
from quorate.tables.rules import Fired, fired_whole
from quorate.tables.votes.codes import Coded, Raw, hits, only, renamed
from quorate.types import IntArray

WHOLE_NUMBER = r"^(-?(?:0|[1-9][0-9]*))\.0+$"


def clean(raw: Raw, classes: Sequence[str] | None, abstain: Sequence[str] = ()) -> Raw:
    """The votes that have an item and a label, with tidy names; entries of rules that fired are added.

    `abstain`: labels that are abstentions.
    """
    filled, entries = _without_blanks(raw)
    filled, abstained = _without_abstentions(filled, abstain)
    entries += abstained
    task, of_task = tidy_ids(filled.task, filled.source, filled.rows, worker=filled.worker)
    worker, of_worker = tidy_ids(filled.worker, filled.source, filled.rows, task=filled.task, worker=filled.worker)
    tidy = replace(filled, task=task, worker=worker)
    labelled, of_label = relabelled(tidy, classes, given=classes is not None)
    broken = _line_breaks(labelled)
    lost = [] if labelled.time is None else _entry("bad-time", labelled, np.isnan(labelled.time))
    everything = (*raw.entries, *entries, *of_task, *of_worker, *of_label, *broken, *lost)
    return replace(labelled, entries=everything)


def tidy_ids(
    coded: Coded, source: str, rows: IntArray, *, task: Coded | None = None, worker: Coded | None = None
) -> tuple[Coded, list[Fired]]:
    """Ids as text without outer white space, with leading zeros; beside 7, 7.0 is 7. `task`, `worker`: of each row."""
    bare = pc.utf8_trim_whitespace(coded.names)
    whole = _whole(bare)
    tidy = pc.if_else(pc.is_in(whole, value_set=bare), whole, bare)
    respelled = changed(coded.names, tidy)
    blank = pc.equal(tidy, "")
    if not pc.any(blank).as_py() and not respelled.any():
        return coded, []
    entries = hits("spelling", source, rows, _cells(coded, respelled), task or coded, worker=worker, value=coded)
    return renamed(coded, pc.if_else(blank, pa.scalar(None, TEXT), tidy)), entries


def spelled_as(ids: pa.Array, known: pa.Array) -> pa.Array:
    """Ids as `known` writes them: 7 for 7.0, or 7.0 for 7; others as they are.

    >>> spelled_as(pa.array(["7.0", "8.0", "9"]), pa.array(["7", "9.0"])).to_pylist()
    ['7', '8.0', '9.0']
    """
    by_number = known.take(pc.index_in(_whole(ids), value_set=_whole(known)))
    return pc.if_else(pc.is_in(ids, value_set=known), ids, pc.coalesce(by_number, ids))


def _whole(ids: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(ids, WHOLE_NUMBER, r"\1")


def relabelled(raw: Raw, classes: Sequence[str] | None, *, given: bool) -> tuple[Raw, list[Fired]]:
    """The votes with each label replaced by its class; unknown labels are set aside only if classes were `given`."""
    names = raw.label.names.to_pylist()
    used = np.bincount(raw.label.codes[raw.label.codes >= 0], minlength=len(names)) > 0
    matches = match_labels([name if on else None for name, on in zip(names, used, strict=True)], classes, given=given)
    entries = []
    for rule in ("spelling", "unknown-label"):
        hit = _cells(raw.label, np.array([match.rule == rule for match in matches], dtype=bool))
        entries += _entry(rule, raw, hit, raw.label)
    if all(name is None or match.name == name for name, match in zip(names, matches, strict=True)):
        return raw, entries
    label = renamed(raw.label, pa.array([match.name for match in matches], type=TEXT))
    return only(replace(raw, label=label), label.codes >= 0), entries


def changed(before: pa.Array, after: pa.Array) -> np.ndarray:
    """Which names differ."""
    return np.asarray(pc.fill_null(pc.not_equal(before, after), False).to_numpy(zero_copy_only=False))


def blank_cells(coded: Coded) -> np.ndarray:
    """Which cells are null, empty or white space."""
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(coded.names), ""), True)
    return np.append(blank.to_numpy(zero_copy_only=False), True)[coded.codes]


def _without_blanks(raw: Raw) -> tuple[Raw, list[Fired]]:
    no_task, no_label, no_worker = (blank_cells(coded) for coded in (raw.task, raw.label, raw.worker))
    entries = _entry("no-item", raw, no_task, raw.label)
    entries += _entry("no-answer", raw, no_label & ~no_task)
    keep = ~(no_task | no_label)
    if raw.has_workers:
        entries += _entry("no-worker", raw, no_worker & keep)
    worker = Coded(np.where(no_worker, np.int32(-1), raw.worker.codes), raw.worker.names)
    return only(replace(raw, worker=worker), keep), entries


def _without_abstentions(raw: Raw, named: Sequence[str]) -> tuple[Raw, list[Fired]]:
    """The votes without those for a label that was named as an abstention."""
    if not named:
        return raw, []
    hit = _cells(raw.label, np.array(are_abstentions(raw.label.names.to_pylist(), named), dtype=bool))
    classes = raw.classes
    if classes is not None:
        classes = tuple(name for name, out in zip(classes, are_abstentions(classes, named), strict=True) if not out)
    entries = _entry("no-answer", raw, hit, raw.label)
    return only(replace(raw, classes=classes), ~hit), [replace(entry, is_wanted=True) for entry in entries]


def _line_breaks(raw: Raw) -> list[Fired]:
    entries = []
    for coded in (raw.task, raw.worker, raw.label):
        hit = pc.match_substring(coded.names, "\n").to_numpy(zero_copy_only=False)
        if hit.any():
            entries += _entry("line-break", raw, _cells(coded, hit), coded)
    return entries


def _entry(rule: str, raw: Raw, hit: np.ndarray, value: Coded | None = None) -> list[Fired]:
    """An entry for the votes where `hit`, or none."""
    return hits(rule, raw.source, raw.rows, hit, raw.task, worker=raw.worker, value=value)


def _cells(coded: Coded, of_name: np.ndarray) -> np.ndarray:
    """A property of each name -> the same for each cell; False for cells without a name."""
    return np.append(of_name, False)[coded.codes]


def settle(raw: Raw) -> tuple[np.ndarray, tuple[Fired, ...]]:
    """Resolve repeated votes: which votes count (V,), and entries for the others and for items left without votes."""
    kept = np.ones(len(raw.rows), dtype=bool)
    at = _contested(raw)
    if len(at):
        kept[at] = _counts(raw, at)
    without = np.bincount(raw.task.codes[kept], minlength=len(raw.task.names)) == 0
    items = raw.task.names.take(np.flatnonzero(without))
    return kept, (
        *_entry("duplicate", raw, ~kept, raw.label),
        *fired_whole("unmatched", raw.source, items, of="items"),
    )


def _contested(raw: Raw) -> IntArray:
    """Positions of votes whose worker has another vote on the same item; anonymous votes are never contested."""
    key = raw.task.codes.astype(np.int64) * max(len(raw.worker.names), 1) + raw.worker.codes
    named = raw.worker.codes >= 0
    ordered = np.sort(key if named.all() else key[named])
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return np.empty(0, dtype=np.int64)
    at = np.searchsorted(twice, key)  # `twice` is short, so this is cheaper than another sort of all votes
    return np.flatnonzero(named & (twice[np.minimum(at, len(twice) - 1)] == key))


def _counts(raw: Raw, at: IntArray) -> np.ndarray:
    """Which contested votes count: a person's last label on an item, and of the votes for it at the end the first."""
    time = np.zeros(len(at)) if raw.time is None else filled(raw.time)[at]
    task, worker, label = (coded.codes[at] for coded in (raw.task, raw.worker, raw.label))
    order = np.lexsort((at, time, worker, task))
    task, worker, label = task[order], worker[order], label[order]
    new_pair = np.append(True, (task[1:] != task[:-1]) | (worker[1:] != worker[:-1]))
    new_run = new_pair | np.append(True, label[1:] != label[:-1])
    run, pair = np.cumsum(new_run), np.cumsum(new_pair)
    in_last_run = run == run[np.append(new_pair[1:], True)][pair - 1]
    counts = np.empty(len(at), dtype=bool)
    counts[order] = in_last_run & new_run
    return counts
