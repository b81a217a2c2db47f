"""`Findings`: the rules that fire while a table is read in pieces, in constant memory.

Rows set aside go to a file at once. Called by `quorate score`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quorate.arrow import pa, table_file
from quorate.tables.report import REJECT_COLUMNS, Report, reject_tables
from quorate.tables.rules import MOST_SAMPLES, RULES, Fired


@dataclass(slots=True)
class Findings:
    """Collects the rules that fire while a table is streamed: counts and a few samples; rows set aside go to `path`.

    The file of rejects appears only if it has rows.
    """

    path: Path
    _decisions: dict[str, None] = field(default_factory=dict)
    _merged: dict[tuple[str, str], Fired] = field(default_factory=dict)
    _out: Any = None
    _files: ExitStack = field(default_factory=ExitStack)
    num_set_aside: int = 0
    _warnings: list[str] = field(default_factory=list)

    def add(self, entries: Sequence[Fired]) -> None:
        """Add the entries of a batch; those about a whole column or file count once."""
        new = [entry for entry in entries if not (_is_of_file(entry) and (entry.rule, entry.source) in self._merged)]
        for entry in new:
            key = (entry.rule, entry.source)
            self._merged[key] = _merged(self._merged.get(key), entry)
        for table in reject_tables(new):
            if self._out is None:
                self._out = self._files.enter_context(table_file(self.path, REJECT_COLUMNS))
            self._out.write_table(table)
            self.num_set_aside += table.num_rows

    def decide(self, decisions: Sequence[str]) -> None:
        """Add the sentences on how a table was read, each once."""
        self._decisions |= dict.fromkeys(decisions)

    def warn(self, *warnings: str) -> None:
        """Add warnings about how the tables were read."""
        self._warnings += warnings

    def lost(self, source: str) -> Counter[str]:
        """How many rows of a source each rule set aside."""
        every = {rule: entry.count for (rule, name), entry in self._merged.items() if name == source}
        return Counter({rule: count for rule, count in every.items() if RULES[rule].set_aside})

    def report(self, totals: dict[str, int]) -> Report:
        """The findings as a report."""
        return Report(tuple(self._decisions), totals, tuple(self._merged.values()), warnings=tuple(self._warnings))

    def __enter__(self) -> Findings:
        return self

    def __exit__(self, *problem: object) -> None:
        self._files.__exit__(*problem)  # type: ignore[arg-type]
        if problem[0] is None and self._out is None:
            self.path.unlink(missing_ok=True)  # of an earlier run


def _is_of_file(entry: Fired) -> bool:
    return len(entry.rows) > 0 and not entry.rows.any()


def _merged(old: Fired | None, new: Fired) -> Fired:
    """Both entries as one: counts are added, the first few rows kept as samples."""
    if old is not None and len(old.rows) >= MOST_SAMPLES:
        return replace(old, count=old.count + new.count)
    few = slice(0, MOST_SAMPLES)
    texts = [_few(texts_of_row) for texts_of_row in (new.tasks, new.workers, new.values)]
    new = replace(new, rows=new.rows[few], tasks=texts[0], workers=texts[1], values=texts[2])
    if old is None or not len(old.rows):
        return replace(new, count=new.count + (old.count if old else 0))
    return replace(old, count=old.count + new.count)


def _few(texts: pa.Array | None) -> pa.Array | None:
    return None if texts is None else texts.slice(0, MOST_SAMPLES)
