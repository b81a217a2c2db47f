"""Long tables -> chunks of votes: a row per vote with an item, a label and, if known, a worker and a time.

Called by `votes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quorate.tables.codes import constant, encode
from quorate.tables.gather import Chunk
from quorate.tables.sources import Opened, Progress, batches
from quorate.tables.timestamps import seconds, unread

PASSED_OVER = "not"


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Which column is what; None where there is none. `passed_over`: other columns that are called like labels."""

    task: str
    label: str
    worker: str | None = None
    timestamp: str | None = None
    passed_over: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        every = (self.task, self.label, self.worker, self.timestamp)
        return list(dict.fromkeys(name for name in every if name is not None))

    def told(self) -> str:
        """The choice in words, for the report."""
        worker = f"worker {self.worker!r}" if self.worker is not None else "no worker (votes are anonymous)"
        time = f"time {self.timestamp!r}" if self.timestamp is not None else "no time (rows are in order)"
        other = f" ({PASSED_OVER} {', '.join(map(repr, self.passed_over))})" if self.passed_over else ""
        return f"one vote per row: item {self.task!r}, label {self.label!r}{other}, {worker}, {time}"


def long_chunks(opened: Opened, columns: LongColumns, progress: Progress | None) -> Iterator[Chunk]:
    """The votes of a long table, batch by batch."""
    for batch in batches(opened, columns.names, progress):
        table, length = batch.table, batch.table.num_rows
        time = None if columns.timestamp is None else seconds(table[columns.timestamp])
        yield Chunk(
            task=encode(table[columns.task]),
            worker=constant(None, length) if columns.worker is None else encode(table[columns.worker]),
            label=encode(table[columns.label]),
            time=time,
            rows=batch.rows,
            entries=batch.entries,
            num_rows=length,
            odd_times=() if time is None else unread(table[columns.timestamp], time),
        )
