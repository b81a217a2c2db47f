"""Several votes of one worker on one item -> the one that counts, and why each of the others does not.

The label is that of the last vote by time, else by row; the vote kept is the first of the unbroken run that ends there.
Called by `votes` after cleaning, and by `join` if class names changed a label.
"""

from __future__ import annotations

import numpy as np

from quorate.tables.gather import Raw
from quorate.tables.rules import Entry, fired
from quorate.tables.timestamps import filled
from quorate.types import IntArray


def settle(raw: Raw) -> tuple[np.ndarray, tuple[Entry, ...]]:
    """Which votes count (V,), and entries for those that do not and for the items left without any."""
    kept = np.ones(len(raw.rows), dtype=bool)
    entries: list[Entry] = []
    at = _contested(raw)
    if len(at):
        verdict = _verdicts(raw, at)
        kept[at[verdict > 0]] = False
        for code, rule in enumerate(("exact-duplicate", "repeated-vote", "changed-vote"), start=1):
            where = np.sort(at[verdict == code])
            if len(where):
                texts = (raw.task.texts(where), raw.worker.texts(where), raw.label.texts(where))
                entries.append(
                    fired(rule, raw.source, raw.rows[where], tasks=texts[0], workers=texts[1], values=texts[2])
                )
    return kept, (*entries, *_voteless(raw, kept))


def _contested(raw: Raw) -> IntArray:
    """Positions of votes whose worker has another vote on the same item; anonymous votes are never contested."""
    key = raw.task.codes.astype(np.int64) * max(len(raw.worker.names), 1) + raw.worker.codes
    named = raw.worker.codes >= 0
    ordered = np.sort(key if named.all() else key[named])
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return np.empty(0, dtype=np.int64)
    at = np.searchsorted(twice, key)  # far fewer than the votes: cheaper than sorting those again
    return np.flatnonzero(named & (twice[np.minimum(at, len(twice) - 1)] == key))


def _verdicts(raw: Raw, at: IntArray) -> IntArray:
    """For each contested vote: 0 it counts, 1 exact duplicate, 2 repeated, 3 changed later."""
    time = np.zeros(len(at)) if raw.time is None else filled(raw.time)[at]
    task, worker, label = (each.codes[at] for each in (raw.task, raw.worker, raw.label))
    order = np.lexsort((at, time, worker, task))
    task, worker, label, time = task[order], worker[order], label[order], time[order]
    new_pair = np.append(True, (task[1:] != task[:-1]) | (worker[1:] != worker[:-1]))
    new_run = new_pair | np.append(True, label[1:] != label[:-1])
    run, pair = np.cumsum(new_run), np.cumsum(new_pair)
    last_of_pair = np.append(new_pair[1:], True)
    in_last_run = run == run[last_of_pair][pair - 1]
    same_time = np.append(False, time[1:] == time[:-1])
    found = np.where(in_last_run, np.where(new_run, 0, np.where(same_time, 1, 2)), 3)
    verdict = np.empty(len(at), dtype=np.int64)
    verdict[order] = found
    return verdict


def _voteless(raw: Raw, kept: np.ndarray) -> tuple[Entry, ...]:
    votes = np.bincount(raw.task.codes[kept], minlength=len(raw.task.names))
    without = np.flatnonzero(votes == 0)
    if not len(without):
        return ()
    few = without[:5]
    return (
        fired("item-without-votes", raw.source, np.zeros(len(few)), count=len(without), tasks=raw.task.names.take(few)),
    )
