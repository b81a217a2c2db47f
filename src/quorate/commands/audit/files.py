"""The files of an audit: reads the decisions and the votes of the panels; reads and writes the draw with its seed.

Decisions may be any table that `tables` reads. Votes of the panels follow the rules for all votes: ids are compared as
text (7.0 is 7), blank labels are missing votes, and votes for items that were not audited are counted. Called by
`commands.audit`.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from quorate.errors import shown, source_is
from quorate.files import atomic_file
from quorate.reasons import CERTAIN
from quorate.tables import (
    FEWEST,
    Format,
    Report,
    Votes,
    existing,
    read_votes,
    refuse_misread_votes,
    text_rows,
    whole_number,
)
from quorate.types import Reason
from quorate.validate import invalid, members
from quorate.version import __version__

Row = dict[str, str]

ITEM = ("item", "task", "id", "item_id", "task_id")
MARK = "# quorate audit draw "
COLUMNS = ("item", "rate", "audited", "expected_loss", "label", "pool_size")


@dataclass(frozen=True, slots=True)
class ClosedItem:
    """One row of the decisions: the answer, its confidence, and why asking stopped."""

    item: str
    label: str
    confidence: float
    reason: str
    num_votes: int | None
    pool_size: int

    @property
    def is_settled(self) -> bool:
        """Can no further vote change it?"""
        return self.reason in CERTAIN

    @property
    def expected_loss(self) -> float:
        """u = 1 - confidence."""
        return 1.0 - self.confidence

    @property
    def settled_loss(self) -> float:
        """The loss of a settled item: 0, or 1 - 1/t in a tie of t; 1 if the answer is not the winner, or nobody voted.

        The confidence of a settled item is 1 for the winner, 1/t in a tie, and 0 for an answer that error costs chose
        against the votes.
        """
        if self.num_votes == 0:
            return 1.0
        return self.expected_loss if self.confidence < 0.501 else 0.0


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """One row of the draw: whether the item is audited, and its answer, expected loss and pool at that time."""

    item: str
    rate: float
    audited: bool
    expected_loss: float
    label: str
    pool_size: int


@dataclass(frozen=True, slots=True)
class DrawFile:
    """A draw file: its seed, the lowest rate declared, and a row per unsettled closed item.

    `decisions`: the path of the file it was last drawn from; "" if unknown.
    """

    seed: int
    min_rate: float
    rows: tuple[DrawnItem, ...]
    decisions: str = ""


def read_decisions(path: str | Path) -> tuple[list[ClosedItem], int]:
    """The answered items in the order of the file, and how many others: open (stop_reason "ask") or without a label."""
    rows = _read(path)
    item = _column(rows, ITEM, path)
    label, confidence = (_column(rows, (name,), path) for name in ("consensus_label", "confidence"))
    reason, pool = (_column(rows, (name,), path) for name in ("stop_reason", "pool_size"))
    closed = []
    for number, row in enumerate(rows, start=1):
        place = f"row {number} of {path}"
        if row[reason] not in get_args(Reason):
            rule = f"one of {', '.join(get_args(Reason))}"
            fix = "write the decisions with `quorate run`, or use one of these."
            raise invalid("stop_reason", row[reason], rule, fix, place=place)
        if row[reason] != "ask" and row[label]:
            surely = _confidence(row[confidence], place)
            votes = _count(row["num_votes"], "num_votes", place) if row.get("num_votes") else None
            size = members(_count(row[pool], "pool_size", place))
            closed.append(ClosedItem(row[item], row[label], surely, row[reason], votes, size))
    _refuse_repeats([each.item for each in closed], path)
    return closed, len(rows) - len(closed)


def read_draw(path: str | Path) -> DrawFile:
    """A draw that `write_draw` wrote."""
    file = existing(path)
    try:
        with file.open(encoding="utf-8", newline="") as text:
            head = text.readline()
            rows = list(csv.DictReader(text))
        if not head.startswith(MARK):
            raise ValueError(f"its first line does not start with {MARK.strip()!r}")
        meta = json.loads(head.removeprefix(MARK))
        drawn = tuple(
            DrawnItem(
                row["item"],
                float(row["rate"]),
                row["audited"] == "1",
                float(row["expected_loss"]),
                row["label"],
                int(row["pool_size"]),
            )
            for row in rows
        )
        draw = DrawFile(int(meta["seed"]), float(meta["min_rate"]), drawn, str(meta.get("decisions", "")))
    except (ValueError, KeyError, TypeError, csv.Error) as cause:
        rule = f"a file that `quorate audit draw` wrote ({cause})"
        raise invalid("path", str(path), rule, "pass that file, unchanged.") from cause
    _refuse_repeats([row.item for row in draw.rows], path)
    return draw


def write_draw(draw: DrawFile, path: str | Path) -> None:
    """Write the draw atomically; numbers are written with every digit."""
    meta = {"seed": draw.seed, "min_rate": draw.min_rate, "decisions": draw.decisions, "version": __version__}
    with atomic_file(Path(path)) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as text:
        text.write(f"{MARK}{json.dumps(meta)}\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in draw.rows:
            cells = (row.item, repr(row.rate), int(row.audited), repr(row.expected_loss), row.label, row.pool_size)
            writer.writerow(cells)


def _read(path: str | Path) -> list[Row]:
    """The rows of a table by column; an unreadable row may be an item, so it is refused."""
    table = text_rows(path)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _column(rows: Sequence[Row], names: Sequence[str], path: str | Path) -> str:
    """The first of `names` that is a column."""
    if not rows:
        raise invalid("path", str(path), "a header and at least one row", "pass the file with the data.")
    for name in names:
        if all(name in row for row in rows):
            return name
    rule = f"a column {' or '.join(names)} beside {', '.join(rows[0])}"
    raise invalid("path", str(path), rule, "rename the column.")


def _confidence(text: str, place: str) -> float:
    """A probability; slightly more than 1 is a rounding error."""
    number = _number(text, "confidence", place)
    if not 0 <= number <= 1 + 1e-9:
        raise invalid("confidence", text, "a number in [0, 1]", "correct the row.", place=place)
    return min(number, 1.0)


def _count(text: str, name: str, place: str) -> int:
    """A whole number."""
    number = _number(text, name, place)
    if number < 0 or number != int(number):
        raise invalid(name, text, "a whole number >= 0", "correct the row.", place=place)
    return int(number)


def _number(text: str, name: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise invalid(name, text, "a number", "correct the row.", place=place)
    return number


def _refuse_repeats(items: Sequence[str], path: str | Path) -> None:
    item, times = Counter(items).most_common(1)[0] if items else ("", 0)
    if times > 1 or "" in items:
        which = f"item {shown(item)} occurs {times} times" if times > 1 else "an item has no id"
        raise invalid("path", str(path), f"each item once, with its id ({which})", "correct the file.")


@dataclass(frozen=True, slots=True)
class VotesTable:
    """A table of votes and how to read it: arguments of `quorate.tables.read_votes`."""

    path: str | Path
    format: Format = "auto"
    task: str | None = None
    worker: str | None = None
    label: str | None = None
    abstain_labels: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Panels:
    """`votes` per label, by audited item; `num_passed_over` votes for other items; `notes` on irregularities.

    `report`: how the table was read and which rules fired.
    """

    votes: Mapping[str, Counter[str]]
    num_passed_over: int
    notes: tuple[str, ...]
    report: Report


def read_panels(table: VotesTable, wanted: Iterable[str]) -> Panels:
    """The votes on the wanted items. A blank label is a missing vote; the last vote of a worker on an item counts."""
    with source_is("votes"):
        given = asdict(table)
        read = read_votes(given.pop("path"), **given)
    refuse_misread_votes(read, in_order=False)
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
            f"votes for audited items, such as {shown(list(names)[:3])}; all its {passed_over} votes are for other "
            f"items, such as {shown(list(read.items[:3]))}"
        )
        raise invalid("votes", read.raw.source, rule, "name the column of the items: `task=...`.")
    return Panels(found, passed_over, _notes(read, passed_over), read.report)


def tidy(text: str) -> str:
    """An id or a label as it is compared with another table: no outer white space, 7 for 7.0, with leading zeros.

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
            raise invalid("item", item, rule, "rename one in the decisions and draw again.")
    return names


def _counted(read: Votes) -> Counter[tuple[str, str]]:
    """How many votes that count each item and label has."""
    items, labels = read.raw.task.names.to_pylist(), read.raw.label.names.to_pylist()
    codes = zip(
        read.raw.task.codes[read.counts_vote].tolist(), read.raw.label.codes[read.counts_vote].tolist(), strict=True
    )
    counts: Counter[tuple[str, str]] = Counter()
    for (item, label), count in Counter(codes).items():
        counts[tidy(items[item]), tidy(labels[label])] += count
    return counts


def _notes(read: Votes, passed_over: int) -> tuple[str, ...]:
    notes = [f"Warning: {each}" for each in read.warnings]
    if passed_over:
        notes.append(f"{passed_over} of {read.num_votes} votes are for items that were not audited: ignored.")
    for each in read.report.findings:
        done = "the vote is missing" if each.rule == "no-answer" else each.done
        notes.append(f"{each.met}: {done} ({each.rule}, {each.count} times).")
    return tuple(notes)
