"""Finds votes and predictions that were probably misread, such as a wrong column taken for the labels.

Called by `join` once both are read. What an option can settle is refused, and the error names that option; the rest is
a warning, which commands print before their answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import shown
from quorate.tables.labels import differ_by_case, means_no_answer, meant
from quorate.tables.predictions.align import Aligned, matched, refuse_unusable
from quorate.tables.predictions.checks import CheckedPredictions
from quorate.tables.rules import RULES, Fired
from quorate.tables.votes.read import Votes
from quorate.validate import invalid

FEWEST = 10  # with fewer rows or items a share is not reliable
FEWEST_LABELS = 20  # with this many votes, labels that are nearly all different are not classes
MOST_TIED = 0.9  # share of the pools with two votes or more
MOST_AGAIN = 0.1  # share of the votes that are a person's second vote on an item
LEAST_PREDICTED = 0.1  # share of the items with votes


def refuse_misread_votes(votes: Votes, predicted: Sequence[str] = (), *, in_order: bool = True) -> None:
    """Refuse misspelt classes, labels that differ by case only or are not classes, and times that cannot be read.

    `predicted`: the classes that classifiers predict; `in_order`: the order of the votes matters.
    """
    _refuse_misspelt_classes(votes)
    _refuse_case_variants(votes, predicted)
    _refuse_free_text(votes)
    _refuse_abstentions(votes, predicted)
    if in_order:
        _refuse_unread_times(votes)


def doubtful_votes(votes: Votes) -> list[str]:
    """Warnings about the rows of votes: most set aside, or many second votes of a person on an item."""
    return doubtful_rows(votes.raw.source, votes.num_votes, [*votes.raw.entries, *votes.settled])


def doubtful_rows(source: str, num_votes: int, entries: Sequence[Fired]) -> list[str]:
    """The same from the number of votes that count and the rules that fired."""
    lost = Counter[str]()
    for entry in entries:
        lost[entry.rule] += entry.count if entry.source == source and RULES[entry.rule].set_aside else 0
    warnings, total, again = [], lost.total(), lost["duplicate"]
    if total >= FEWEST and total > num_votes:
        worst = ", ".join(f"{rule} {count}" for rule, count in lost.most_common(2) if count)
        warnings.append(
            f"{total} rows of {source} are set aside and {num_votes} votes are left ({worst}): check `task`, "
            "`label` and `format`."
        )
    if again >= FEWEST and again > MOST_AGAIN * (again + num_votes):
        warnings.append(
            f"{again} votes of {source} are a person's further votes on an item: read a finding at a time, or name the "
            "column of the people: `worker`."
        )
    return warnings


def doubtful_pools(votes: Votes, item: np.ndarray, label: np.ndarray, num_classes: int) -> list[str]:
    """Warnings about items that all have one vote, and pools that nearly all tie; an answer key is refused.

    `item`, `label` (V,) numbers of the item and of the class of each vote.
    """
    counts = np.bincount(item.astype(np.int64) * num_classes + label)
    counts = np.append(counts, np.zeros(-len(counts) % num_classes, dtype=counts.dtype)).reshape(-1, num_classes)
    num_votes, top = counts.sum(axis=1), counts.max(axis=1)
    if len(counts) >= FEWEST and num_votes.max() == 1:
        return [f"Each of the {len(counts)} items has one vote: check `task`."]
    several = num_votes >= 2
    _refuse_answer_key(votes, int(several.sum()), int((several & (top == num_votes)).sum()))
    tied = several & ((counts == top[:, None]).sum(axis=1) > 1)
    if several.sum() < FEWEST or tied.sum() <= MOST_TIED * several.sum():
        return []
    return [
        f"{int(tied.sum())} of {int(several.sum())} items with two or more votes end in a tie: check "
        f"`format` (read as: {votes.columns})."
    ]


def _refuse_answer_key(votes: Votes, several: int, unanimous: int) -> None:
    """Refuse pools that are all unanimous if another column is named like labels: the one read may be the truth."""
    if several >= FEWEST_LABELS and unanimous == several and votes.passed_over:
        rule = (
            f"some disagreement; all {several} items with two or more votes are unanimous, and another column is named "
            f"like labels, {list(votes.passed_over)} (read as: {votes.columns})"
        )
        raise invalid("votes", votes.raw.source, rule, "name the column of the votes: `label=...`.")


def doubtful_predictions(votes: Votes, source: Aligned, num_items: int, num_usable: int) -> list[str]:
    """Warnings about a classifier that predicts hardly any item with votes; unusable numbers are refused."""
    refuse_unusable(source)
    if num_items < FEWEST or num_usable >= LEAST_PREDICTED * num_items:
        return []
    return [
        f"{source.table.source} has usable predictions for {num_usable} of the {num_items} items of "
        f"{votes.raw.source}: check that both use the same ids: `task`, `id_column`."
    ]


def refuse_unnamed_rows(votes: Votes, table: CheckedPredictions) -> None:
    """Refuse an array without ids: nothing says which items its rows are, unless the votes are such an array too."""
    num_rows = votes.raw.num_unnamed
    if table.is_unnamed and num_rows not in (None, len(table.ids)):
        rule = f"a row for each of the {num_rows} rows of `votes`"
        raise invalid("predictions", f"{len(table.ids)} rows", rule, "pass arrays of the same items.")
    if table.is_unnamed and num_rows is None:
        rule = f"ids: nothing says which items of {votes.raw.source} its {len(table.ids)} rows are"
        fix = "save an .npz with arrays probs, ids and classes."
        raise invalid("predictions", table.source, rule, fix)


def refuse_other_classes(votes: Votes, table: CheckedPredictions, classes: tuple[str, ...], *, given: bool) -> None:
    """Refuse a classifier that shares no class with the labels of the votes, or with the classes `given`."""
    named = set(matched(table, classes, given=given).values())
    if named.intersection(votes.classes):
        return
    rule = (
        f"classes named like the labels of {votes.raw.source}, {_few(votes.classes)}; its own are {_few(table.classes)}"
    )
    fix = "rename the columns, or name those of an array: `classes=[...]`."
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
            corrected = [close if label == name else label for label in votes.given]
            fix = f"did you mean {close!r}? Pass `classes={corrected}`, or `abstain_labels={[close]}`."
            raise invalid("classes", name, rule, fix)


def _refuse_case_variants(votes: Votes, predicted: Sequence[str]) -> None:
    """Refuse labels that differ by case only where neither the caller nor a classifier names the classes."""
    alike = [] if votes.given is not None else [name for name in differ_by_case(votes.labels) if name not in predicted]
    if not alike:
        return
    tally = Counter(votes.raw.label.texts(votes.counts_vote).to_pylist())
    usual = {name.casefold(): name for name, _ in reversed(tally.most_common())}
    every = list(dict.fromkeys([*predicted, *(usual[name.casefold()] for name in votes.labels)]))
    rule = f"labels that differ by more than case, unlike {shown(alike)}"
    raise invalid("votes", votes.raw.source, rule, f"name the classes: `classes={every}`.")


def _refuse_free_text(votes: Votes) -> None:
    labels = votes.labels
    if votes.given is None and votes.num_votes >= FEWEST_LABELS and len(labels) > votes.num_votes / 2:
        rule = (
            f"a few classes; the {votes.num_votes} votes have {len(labels)} different labels, such as "
            f"{shown(list(labels[:3]))} (read as: {votes.columns})"
        )
        raise invalid("votes", votes.raw.source, rule, "name the column: `label=...`, or all classes: `classes=[...]`.")


def _refuse_abstentions(votes: Votes, predicted: Sequence[str]) -> None:
    """Refuse a label that means "no answer" and that no classifier predicts, unless the caller named it a class."""
    if votes.given is not None or not predicted:
        return
    named = [name for name in votes.labels if means_no_answer(name) and name not in predicted]
    if named:
        every = list(dict.fromkeys([*predicted, *votes.labels]))
        rule = f"labels that classifiers predict; {shown(named)} are not among them and often mean no answer"
        fix = f"if they are abstentions, pass `abstain_labels={named}`; if they are classes, pass `classes={every}`."
        raise invalid("votes", votes.raw.source, rule, fix)


def _refuse_unread_times(votes: Votes) -> None:
    if votes.raw.time is None:
        return
    lost = np.isnan(votes.raw.time)
    if len(lost) >= FEWEST and lost.mean() > 0.5:
        such = f", such as {list(votes.raw.odd_times)[:3]}" if votes.raw.odd_times else ""
        unread = f"{int(lost.sum())} of {len(lost)} cannot be read{such}"
        rule = f"times such as 2026-03-31T14:05:00, or seconds since 1970; {unread}"
        fix = "convert them, or leave their column out: `ignore_columns=...`."
        raise invalid("votes", votes.raw.source, rule, fix)


def _values(entries: Sequence[Fired], rule: str) -> Counter[str]:
    """The values of the rows that a rule set aside, the most frequent first."""
    seen: Counter[str] = Counter()
    for entry in entries:
        if entry.rule == rule and entry.values is not None:
            tally: Any = entry.values.value_counts().to_pylist()
            seen.update({value["values"].strip(): value["counts"] for value in tally if value["values"]})
    return Counter(dict(seen.most_common()))
