"""Refuses votes and predictions that were probably misread, such as a wrong column taken for the labels.

Called by `join` once both are read. Each error says what was found, why it is probably a misreading, and how to fix it.
With `as_read` the caller confirms the reading, and these checks are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import shown
from quorate.tables.predictions.align import Aligned, matched, refuse_unusable
from quorate.tables.predictions.checks import CheckedPredictions
from quorate.tables.readers import pc
from quorate.tables.rules import RULES, Fired
from quorate.tables.votes.formats import GUESSED_COUNTS
from quorate.tables.votes.layouts import PASSED_OVER
from quorate.tables.votes.names import IF_CORRECT, means_no_answer, meant
from quorate.tables.votes.read import Votes
from quorate.validate import invalid

FEWEST = 10  # with fewer rows or items a share is not reliable
FEWEST_LABELS = 20  # with this many votes, labels that are nearly all different are not classes
MOST_TIED = 0.9  # share of the pools with two votes or more
LEAST_PREDICTED = 0.1  # share of the items with votes

_FIXES = {
    "unknown-label": "name the classes as the votes write them: `classes=[...]`",
    "blank-label": "name the column of the labels: `label=...`",
    "missing-task": "name the column of the items: `task=...`",
    "ragged-row": "check the delimiter and the quotes",
    "bad-count": "if the columns are annotators, pass `format='wide'`",
    "repeated-counts": "if each row is a vote, pass `format='long'`",
}
_OTHER_FIX = "name the columns: `task=...`, `worker=...`, `label=...`"


def refuse_misread_votes(
    votes: Votes,
    predicted: Sequence[str] = (),
    *,
    blanks_expected: bool = False,
    typed_classes: bool = True,
    in_order: bool = True,
) -> None:
    """Refuse votes that were mostly set aside, misspelt classes, labels that are not classes and unread times.

    `predicted`: the classes that classifiers predict; `blanks_expected`: rows without a label are future votes;
    `typed_classes`: the classes, if given, were typed by a person; `in_order`: the order of the votes matters.
    """
    if typed_classes:
        _refuse_misspelt_classes(votes)
    _refuse_mostly_set_aside(votes, ("abstained", "blank-label") if blanks_expected else ("abstained",))
    _refuse_free_text(votes)
    _refuse_abstentions(votes, predicted)
    if in_order:
        _refuse_unread_times(votes)


def refuse_misread_pools(votes: Votes, item: np.ndarray, label: np.ndarray, num_classes: int) -> None:
    """Refuse items that all have one vote, and pools that nearly all tie: both are signs of a wrong column.

    `item`, `label` (V,) numbers of the item and of the class of each vote. If the format "counts" was guessed, the
    numbers may be annotators' labels, which tie where the annotators agree: then ties in half the pools are enough.
    """
    source, guessed = votes.raw.source, votes.raw.classes is not None and GUESSED_COUNTS in _how(votes)
    counts = np.bincount(item.astype(np.int64) * num_classes + label)
    counts = np.append(counts, np.zeros(-len(counts) % num_classes, dtype=counts.dtype)).reshape(-1, num_classes)
    num_votes, top = counts.sum(axis=1), counts.max(axis=1)
    if len(counts) >= FEWEST and num_votes.max() == 1:
        rule = f"several votes on some items; each of the {len(counts)} items has one vote"
        raise invalid("votes", source, rule, f"if another column holds the items, name it: `task=...`; {IF_CORRECT}")
    several = num_votes >= 2
    _refuse_answer_key(votes, int(several.sum()), int((several & (top == num_votes)).sum()))
    tied = several & ((counts == top[:, None]).sum(axis=1) > 1)
    if several.sum() >= FEWEST and tied.sum() > (0.5 if guessed else MOST_TIED) * several.sum():
        fix = (
            "if the columns are annotators, pass `format='wide'`"
            if guessed
            else "if each row is a vote, pass `format='long'`, `task=...`, `label=...`"
        )
        rule = (
            f"votes that agree more often; {int(tied.sum())} of {int(several.sum())} items with two or more votes end "
            "in a tie, which happens when other columns are read as annotators"
        )
        raise invalid("votes", source, rule, f"{fix}; {IF_CORRECT}")


def _refuse_answer_key(votes: Votes, several: int, unanimous: int) -> None:
    """Refuse pools that are all unanimous if another column is named like labels: the one read may be the truth."""
    how = _how(votes)
    if several >= FEWEST_LABELS and unanimous == several and f" ({PASSED_OVER} '" in how:
        rule = (
            f"some disagreement; all {several} items with two or more votes are unanimous, and another column is named "
            f"like labels (read as: {how})"
        )
        fix = "if the column read holds the true answers, name the column of the votes: `label=...`"
        raise invalid("votes", votes.raw.source, rule, f"{fix}; {IF_CORRECT}")


def refuse_misread_predictions(votes: Votes, source: Aligned, num_items: int, num_usable: int) -> None:
    """Refuse a classifier if most of its rows are not probabilities, or if it predicts hardly any item with votes."""
    table = source.table
    again = sum(entry.count for entry in table.entries if entry.rule == "repeated-prediction")
    if again >= FEWEST and again > len(table.rows):
        rule = f"one row per item, not {again + len(table.rows)} rows for {len(table.rows)} items"
        fix = f"are `votes` and `predictions` swapped? Otherwise, {IF_CORRECT}"
        raise invalid("predictions", table.source, rule, fix)
    refuse_unusable(source)
    if num_items >= FEWEST and num_usable < LEAST_PREDICTED * num_items:
        rule = (
            f"a usable prediction for at least {LEAST_PREDICTED:.0%} of the items of {votes.raw.source}; "
            f"{num_usable} of {num_items} have one"
        )
        fix = "check that both tables use the same ids (`task=...`, `id_column=...`), or leave the predictions out"
        raise invalid("predictions", table.source, rule, f"{fix}; {IF_CORRECT}")


def refuse_unnamed_rows(votes: Votes, table: CheckedPredictions) -> None:
    """Refuse an array without ids, whose rows are named 0 to T-1, unless the votes have exactly these items."""
    if not table.is_unnamed:
        return
    items, rows = votes.raw.task.names.drop_null(), table.ids
    if len(items) == len(rows) and pc.all(pc.is_in(items, value_set=rows)).as_py():
        return
    rule = (
        f"the ids of the items: it has none, so its {len(rows)} rows are named 0 to {len(rows) - 1}, but "
        f"{votes.raw.source} has {len(items)} items, such as {items.slice(0, 3).to_pylist()}"
    )
    fix = "name the items of the rows, in order: `ids=...`; or save ids in the .npz, or use a table with an id column."
    raise invalid("predictions", table.source, rule, fix)


def refuse_other_classes(votes: Votes, table: CheckedPredictions, classes: tuple[str, ...], *, given: bool) -> None:
    """Refuse a classifier that shares no class with the labels of the votes, or with the classes `given`."""
    named = set(matched(table, classes, given=given).values())
    if named.intersection(votes.classes):
        return
    rule = (
        f"classes named like the labels of {votes.raw.source}, {_few(votes.classes)}; its own are {_few(table.classes)}"
    )
    fix = "rename the columns of a table, or name those of an array in order: `classes=['cat', 'dog', ...]`."
    raise invalid("predictions", table.source, rule, fix)


def _few(names: Sequence[str]) -> str:
    return f"{list(names[:10])}" + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _refuse_misspelt_classes(votes: Votes) -> None:
    if votes.given is None:
        return
    unknown = _values(votes.raw.entries, "unknown-label")
    used = set(votes.labels)
    for name in votes.given:
        close = None if name in used else meant(name, list(unknown))
        if close is not None:
            rule = (
                f"the classes as the votes of {votes.raw.source} write them; nobody voted for it, and "
                f"{unknown[close]} votes are for {close!r}"
            )
            corrected = [close if each == name else each for each in votes.given]
            raise invalid("classes", name, rule, f"did you mean {close!r}? Pass `classes={corrected}`, or {IF_CORRECT}")


def _refuse_mostly_set_aside(votes: Votes, but: Sequence[str]) -> None:
    entries = [each for each in (*votes.raw.entries, *votes.settled) if RULES[each.rule].set_aside]
    lost: Counter[str] = Counter()
    for entry in entries:
        lost[entry.rule] += entry.count if entry.rule not in but else 0
    total = lost.total()
    if total < FEWEST or total <= votes.num_votes:
        return
    worst = lost.most_common(1)[0][0]
    told = "; ".join(RULES[rule].told(count) for rule, count in lost.most_common(2) if count)
    seen = _values(entries, worst)
    such = f", such as {list(seen)[:3]}" if seen else ""
    rule = (
        f"most rows to count, but {total} are set aside and {votes.num_votes} votes are left ({told}{such}; read as: "
        f"{_how(votes)})"
    )
    raise invalid("votes", votes.raw.source, rule, f"{_FIXES.get(worst, _OTHER_FIX)}; {IF_CORRECT}")


def _refuse_free_text(votes: Votes) -> None:
    labels = votes.labels
    if votes.given is None and votes.num_votes >= FEWEST_LABELS and len(labels) > votes.num_votes / 2:
        rule = (
            f"a few classes; the {votes.num_votes} votes have {len(labels)} different labels, such as "
            f"{shown(list(labels[:3]))} (read as: {_how(votes)})"
        )
        raise invalid("votes", votes.raw.source, rule, f"{_OTHER_FIX}; {IF_CORRECT}")


def _refuse_abstentions(votes: Votes, predicted: Sequence[str]) -> None:
    """Refuse a label that means "no answer" and that no classifier predicts, unless the caller named it a class."""
    if votes.given is not None or not predicted:
        return
    named = [name for name in votes.labels if means_no_answer(name) and name not in predicted]
    if named:
        every = list(dict.fromkeys([*predicted, *votes.labels]))
        rule = f"labels that classifiers predict; {shown(named)} are not among them and often mean no answer"
        fix = f"if they are abstentions, pass `abstain_labels={named}`; if they are classes, pass `classes={every}`"
        raise invalid("votes", votes.raw.source, rule, f"{fix}; {IF_CORRECT}")


def _refuse_unread_times(votes: Votes) -> None:
    if votes.raw.time is None:
        return
    lost = np.isnan(votes.raw.time)
    if len(lost) >= FEWEST and lost.mean() > 0.5:
        such = f", such as {list(votes.raw.odd_times)[:3]}" if votes.raw.odd_times else ""
        rule = (
            "times in ISO 8601, such as 2026-03-31T14:05:00, or in seconds since 1970 (31/03/2026 and 03/31/2026 look "
            f"alike); {int(lost.sum())} of {len(lost)} cannot be read{such}"
        )
        fix = "convert them, or use the order of the rows: `order='given'`"
        raise invalid("votes", votes.raw.source, rule, f"{fix}; {IF_CORRECT}")


def _values(entries: Sequence[Fired], rule: str) -> Counter[str]:
    """The values of the rows that a rule set aside, the most frequent first."""
    seen: Counter[str] = Counter()
    for entry in entries:
        if entry.rule == rule and entry.values is not None:
            found: Any = entry.values.value_counts().to_pylist()
            seen.update({each["values"].strip(): each["counts"] for each in found if each["values"]})
    return Counter(dict(seen.most_common()))


def _how(votes: Votes) -> str:
    return votes.decisions[-1].removeprefix(f"{votes.raw.source}: ") if votes.decisions else "as it is"
