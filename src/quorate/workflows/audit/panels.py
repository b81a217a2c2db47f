"""The panels' votes in, by the rules of every other table of votes; votes by audited item and label out.

Ids are compared as `quorate.tables` compares them (7.0 is 7), blank labels are votes that are still missing, and votes
for items that were not audited are counted. Called by `workflows.audit`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quorate.errors import shown, source_is
from quorate.tables.misread_checks import FEWEST, refuse_misread_votes
from quorate.tables.options import Format
from quorate.tables.report import Report
from quorate.tables.votes.names import whole_number
from quorate.tables.votes.read import Votes, read_votes
from quorate.validate import broken


@dataclass(frozen=True, slots=True)
class VotesTable:
    """A table of votes and how to read it, as `quorate.tables.read_votes` takes it."""

    path: str | Path
    format: Format = "auto"
    task: str | None = None
    worker: str | None = None
    label: str | None = None
    timestamp: str | None = None
    abstain_labels: str | Sequence[str] | None = None
    ignore_columns: str | Sequence[str] | None = None
    strict: bool = False
    as_read: bool = False


@dataclass(frozen=True, slots=True)
class Panels:
    """`votes` how many for each label, by audited item; `num_passed_over` votes for other items; `notes` for people.

    `report`: how the table was read and which rules fired.
    """

    votes: Mapping[str, Counter[str]]
    num_passed_over: int
    notes: tuple[str, ...]
    report: Report


def read_panels(table: VotesTable, wanted: Iterable[str]) -> Panels:
    """The votes on the wanted items. A blank label is a vote that is missing; of a worker's votes the last counts."""
    with source_is("votes"):
        read = read_votes(
            table.path, format=table.format, task=table.task, worker=table.worker, label=table.label,
            timestamp=table.timestamp, abstain_labels=table.abstain_labels, ignore_columns=table.ignore_columns,
            strict=table.strict, as_read=table.as_read,
        )  # fmt: skip
    if not table.as_read:
        refuse_misread_votes(read, blanks_expected=True, in_order=False)
    names = _by_id(wanted)
    found: dict[str, Counter[str]] = {item: Counter() for item in names.values()}
    passed_over = 0
    for (item, label), count in _counted(read).items():
        if item in names:
            found[names[item]][label] += count
        else:
            passed_over += count
    if passed_over >= FEWEST and passed_over == read.num_votes:
        rule = (
            f"votes for audited items, such as {shown(list(names)[:3])}; none of its {passed_over} votes is for one: "
            f"its ids are such as {shown(list(read.items[:3]))}"
        )
        raise broken("votes", read.raw.source, rule, "name the column of the items: `task=...`.")
    return Panels(found, passed_over, _notes(read, passed_over), read.report)


def tidy(text: str) -> str:
    """An id or a label as tables of votes have it: no outer white space, 7.0 is 7, leading zeros stay.

    >>> tidy(" 7.0"), tidy("007")
    ('7', '007')
    """
    return whole_number(text.strip())


def _by_id(wanted: Iterable[str]) -> dict[str, str]:
    """The items by their tidy id."""
    names: dict[str, str] = {}
    for item in wanted:
        other = names.setdefault(tidy(item), item)
        if other != item:
            rule = f"ids that differ by more than white space or a .0, unlike {shown(other)}: both were audited"
            raise broken("item", item, rule, "rename one in the decisions and draw again.")
    return names


def _counted(read: Votes) -> Counter[tuple[str, str]]:
    """How many votes that count each item and label has."""
    items, labels = read.raw.task.names.to_pylist(), read.raw.label.names.to_pylist()
    codes = zip(
        read.raw.task.codes[read.counts_vote].tolist(), read.raw.label.codes[read.counts_vote].tolist(), strict=True
    )
    counts: Counter[tuple[str, str]] = Counter()
    for (item, label), count in Counter(codes).items():
        counts[items[item], labels[label]] += count
    return counts


def _notes(read: Votes, passed_over: int) -> tuple[str, ...]:
    told = f"{passed_over} of {read.num_votes} votes are for items that were not audited: passed over."
    notes = [*(f"{each}." for each in read.report.decisions), told]
    for each in read.report.findings:
        done = "the vote is missing" if each.rule == "blank-label" else each.done
        notes.append(f"{each.told}: {done} ({each.rule}).")
    return tuple(notes)
