"""CSV and its kin: encoding, delimiter and header from the first bytes; rows with too many or too few cells.

Called by `open_files`. Byte-order marks name the encoding; without one the text is UTF-8. PyArrow hands over bad rows
one by one while it parses, before or after the rows around them; so the numbers of the good rows are found from how
many good rows stand before each bad one.
"""

from __future__ import annotations

import codecs
import csv
from dataclasses import dataclass

import numpy as np

from quorate.tables.readers.arrow import arrow_csv
from quorate.tables.rules import Fired, fired
from quorate.types import IntArray

DELIMITERS = (",", "\t", ";", "|")
MOST_RECORDS = 30  # looked at to choose the delimiter
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the head of a text table says: `columns` the header's names, in order."""

    encoding: str
    has_mark: bool
    delimiter: str
    columns: tuple[str, ...]


def sniff(head: bytes, *, is_cut: bool = False) -> Sniffed:
    """Encoding, delimiter and header from the first bytes; if they are not all (`is_cut`), their last line is left out.

    >>> sniff("task;worker;label\\n1;ann;cat\\n".encode("utf-8-sig"))
    Sniffed(encoding='utf-8', has_mark=True, delimiter=';', columns=('task', 'worker', 'label'))
    """
    encoding, has_mark = encoding_of(head)
    lines = head.decode(encoding, errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    whole = lines[:-1] if is_cut else lines
    parsed = {each: _records(whole, each) for each in DELIMITERS}
    best = max(DELIMITERS, key=lambda each: _score(parsed[each]))
    header = parsed[best][0] if parsed[best] else []
    return Sniffed(encoding, has_mark, best, tuple(header))


def encoding_of(head: bytes) -> tuple[str, bool]:
    """The encoding, and whether a byte-order mark says so."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, True
    return "utf-8", False


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(lines, delimiter=delimiter):
            records.append(record)
            if len(records) == MOST_RECORDS:
                break
    except csv.Error:  # a field beyond csv's limit: what was read before it is enough
        pass
    return records


def _score(records: list[list[str]]) -> tuple[float, int]:
    """How many records have as many cells as the header, then how many cells that is."""
    if not records or len(records[0]) < 2:
        return (0.0, 0)
    filled = [record for record in records if record]
    alike = sum(len(record) == len(records[0]) for record in filled)
    return (alike / len(filled), len(records[0]))


SHOWN = 200  # characters of a row


class Ragged:
    """The bad rows of one file and the row numbers of its good ones; the header is row 1."""

    def __init__(self, source: str, most: int) -> None:
        self._source, self._left = source, most
        self._num_bad = self._num_passed = self._num_good = self._unlisted = 0
        self._runs: list[list[int]] = []  # [good rows before it, length]: of each run of bad rows not passed yet
        self._rows: list[int] = []  # to be listed in the next entry
        self._texts: list[str] = []

    def keep_apart(self, row: arrow_csv.InvalidRow) -> str:
        """What PyArrow calls for a bad row."""
        good_before = row.number - 2 - self._num_bad
        self._num_bad += 1
        if self._runs and self._runs[-1][0] == good_before:
            self._runs[-1][1] += 1
        else:
            self._runs.append([good_before, 1])
        if self._left:
            self._left -= 1
            self._rows.append(row.number)
            self._texts.append(f"{row.actual_columns} cells, not {row.expected_columns}: {row.text[:SHOWN]}")
        else:
            self._unlisted += 1
        return "skip"

    def row_numbers(self, length: int) -> IntArray:
        """The numbers of the next `length` good rows among all rows."""
        good = np.arange(self._num_good, self._num_good + length, dtype=np.int64)
        starts, lengths = np.array(self._runs, dtype=np.int64).reshape(-1, 2).T
        before = np.append(0, np.cumsum(lengths))  # bad rows before each run
        numbers: IntArray = good + 2 + self._num_passed + before[np.searchsorted(starts, good, side="right")]
        self._num_good += length
        passed = int(np.searchsorted(starts, self._num_good, side="left"))
        self._num_passed += int(before[passed])
        del self._runs[:passed]
        return numbers

    def entries(self) -> tuple[Fired, ...]:
        """The rule for the bad rows since the last call, if there were any."""
        count = len(self._rows) + self._unlisted
        if not count:
            return ()
        entry = fired("ragged-row", self._source, self._rows, count=count, values=self._texts)
        self._rows, self._texts, self._unlisted = [], [], 0
        return (entry,)
