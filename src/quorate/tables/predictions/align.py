"""Checked predictions and the final classes -> probabilities (T, K) for the items, matched by id and by class name.

Called by `join`. Nothing is matched by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.tables.predictions.checks import Checked, sums
from quorate.tables.readers.arrow import pa, pc
from quorate.tables.rules import SUM_ROUNDING, SUM_TOLERANCE, Fired, fired
from quorate.tables.votes.labels import match_labels
from quorate.types import FloatArray
from quorate.validate import PREDICTION_FLOOR, floored


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """One classifier over the final classes: `probs` (n, K), one row per id of its table; `usable` (n,)."""

    table: Checked
    probs: FloatArray
    usable: np.ndarray
    entries: tuple[Fired, ...]


def named_classes(tables: Sequence[Checked], given: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes given, or every class of the classifiers in the order of their columns."""
    known: list[str] = list(given or ())
    if given is None:
        for table in tables:
            known += [name for name in matched(table, tuple(known), given=False).values() if name not in known]
    return tuple(known)


def aligned(table: Checked, classes: tuple[str, ...], *, given: bool) -> Aligned:
    """The classifier's rows with a column for each of `classes`, floored, each summing to 1."""
    column_of = {name: number for number, name in enumerate(classes)}
    names = matched(table, classes, given=given)
    own = [number for number, name in enumerate(table.classes) if names.get(name) in column_of]
    target = [column_of[names[table.classes[number]]] for number in own]
    values = np.full((len(table.rows), len(classes)), np.nan)
    values[:, target] = table.values[:, own]
    entries = _class_entries(table, classes, names, target)
    usable = table.usable
    if len(own) < len(table.classes):  # mass on a class not asked for is gone: the rule of sums again
        usable, more = _still_sums(table, values)
        entries += more
    probs = np.full(values.shape, 1.0 / len(classes))
    probs[usable] = _completed(values[usable], shares_rest=table.shares_rest)
    return Aligned(table, probs, usable, tuple(entries))


def matched(table: Checked, known: tuple[str, ...], *, given: bool) -> dict[str, str]:
    """Own class name -> final class name. A name written exactly so goes before one that needs a rule."""
    matches = dict(zip(table.classes, match_labels(table.classes, known, given=given), strict=True))
    taken = {match.name for match in matches.values() if match.rule is None}
    found: dict[str, str] = {}
    for name, match in matches.items():
        if match.rule is None or match.name not in taken:
            if match.name is not None:
                found[name] = match.name
                taken.add(match.name)
        elif not given:
            found[name] = name
    return found


def looked_up(source: Aligned, items: pa.Array) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """Probabilities of the items (T, K), all alike where there are none; which are in the table, and are usable."""
    at = pc.fill_null(pc.index_in(items, value_set=source.table.ids), -1).to_numpy(zero_copy_only=False)
    present = at >= 0
    num_classes = source.probs.shape[1]
    probs = np.full((len(at), num_classes), 1.0 / num_classes)
    probs[present] = source.probs[at[present]]
    usable = np.zeros(len(at), dtype=bool)
    usable[present] = source.usable[at[present]]
    return probs, present, usable


def _class_entries(
    table: Checked, classes: tuple[str, ...], names: dict[str, str], target: Sequence[int]
) -> list[Fired]:
    dropped = [name for name in table.classes if name not in names]
    absent = [name for number, name in enumerate(classes) if number not in set(target)]
    entries = []
    if dropped:
        entries.append(_about("class-not-asked-for", table.source, dropped))
    if absent and not table.shares_rest:
        entries.append(_about("class-without-column", table.source, absent))
    respelled = [name for name, final in names.items() if final != name]
    rules = [match.rule for match in match_labels(respelled, classes, given=True)]
    for rule in dict.fromkeys(each for each in rules if each is not None):
        with_it = [name for name, each in zip(respelled, rules, strict=True) if each == rule]
        entries.append(_about(rule, table.source, with_it))
    return entries


def _about(rule: str, source: str, names: Sequence[str]) -> Fired:
    few = list(names[:5])
    return fired(rule, source, np.zeros(len(few)), count=len(names), values=few)


def _still_sums(table: Checked, values: FloatArray) -> tuple[np.ndarray, list[Fired]]:
    total = sums(values)
    off = np.maximum(total - 1, 0) if table.shares_rest else np.abs(total - 1)
    far = table.usable & (off > SUM_TOLERANCE)
    near = np.flatnonzero(table.usable & ~far & (off > SUM_ROUNDING))
    entries = []
    if far.any():
        told = [f"sum {each:.6g} over the classes asked for" for each in total[far]]
        tasks = table.ids.filter(far)
        entries.append(fired("sum-off", table.source, table.rows[far], tasks=tasks, values=told))
    if len(near):
        few = near[:5]
        entries.append(fired("sum-near-one", table.source, table.rows[few], count=len(near), tasks=table.ids.take(few)))
    return table.usable & ~far, entries


def _completed(values: FloatArray, *, shares_rest: bool) -> FloatArray:
    """Rows with a number for every class: the rest shared by those not named, or the floor for them."""
    unsaid = np.isnan(values)
    rest = 0.0 if not shares_rest else np.maximum(1 - sums(values), 0) / np.maximum(unsaid.sum(axis=1), 1)
    full = np.where(unsaid, np.broadcast_to(np.asarray(rest).reshape(-1, 1), values.shape), values)
    return floored(np.maximum(full, PREDICTION_FLOOR))
