"""Rows of a CSV with too many or too few cells: listed up to a number, counted beyond it. Called by `open_files`.

PyArrow hands them over one by one while it parses, before or after the rows around them are given; so the numbers of
the good rows are found from how many good rows stand before each bad one.
"""

from __future__ import annotations

import numpy as np

from quorate.tables.readers.arrow import arrow_csv
from quorate.tables.rules import Fired, fired
from quorate.types import IntArray

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
