"""Scored items -> a Parquet or CSV file, a row group per batch; and the rules that fired, in constant memory.

Files are written atomically. Called by `score`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.files import atomic_file
from quorate.tables.readers import TEXT, arrow_csv, pa, pq
from quorate.tables.readers.frames import TEXTS, OwnTypes, in_own_type
from quorate.tables.report import SCHEMA, Report, reject_tables
from quorate.tables.rules import MOST_SAMPLES, RULES, Fired
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid

ENDINGS = (".parquet", ".pq", ".csv")


def schema(classes: Sequence[str], own: OwnTypes = TEXTS) -> pa.Schema:
    """The columns of the output; `own`: the types of ids and labels in the caller's frames."""
    fixed = [
        ("item", own.task or TEXT), ("consensus_label", in_own_type(classes, own.label).type),
        ("confidence", pa.float64()), ("num_votes", pa.int64()), ("ask", pa.bool_()), ("reason", TEXT),
    ]  # fmt: skip
    return pa.schema([*fixed, *((f"prob_{name}", pa.float64()) for name in classes)])


def scored_table(
    ids: Sequence[str],
    votes: IntArray,
    probs: FloatArray,
    labels: IntArray,
    reasons: np.ndarray,
    classes: Sequence[str],
    own: OwnTypes = TEXTS,
) -> pa.Table:
    """A batch as an Arrow table with the columns of `schema`."""
    confidence = probs[np.arange(len(labels)), labels]
    columns = [
        in_own_type(ids, own.task),
        in_own_type(classes, own.label).take(pa.array(labels)),
        pa.array(confidence),
        pa.array(votes.sum(axis=1)),
        pa.array(reasons == "ask"),
        pa.array(reasons.tolist(), type=TEXT),
        *(pa.array(np.ascontiguousarray(probs[:, k])) for k in range(len(classes))),
    ]
    return pa.Table.from_arrays(columns, schema=schema(classes, own))


def known_ending(file: Path) -> str:
    """The ending of the file, if that format can be written."""
    kind = file.suffix.lower()
    if kind not in ENDINGS:
        raise invalid("out", str(file), f"a name that ends in {', '.join(ENDINGS)}", "rename it.")
    return kind


@contextmanager
def table_file(path: str | Path, columns: pa.Schema) -> Iterator[pq.ParquetWriter | arrow_csv.CSVWriter]:
    """A writer with `write_table`; the file appears when the block ends, and not at all if it fails."""
    file = Path(path)
    kind = known_ending(file)
    with atomic_file(file) as unfinished:
        make = arrow_csv.CSVWriter if kind == ".csv" else pq.ParquetWriter
        with make(str(unfinished), columns) as out:
            yield out


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
                self._out = self._files.enter_context(table_file(self.path, SCHEMA))
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
    texts = [_few(each) for each in (new.tasks, new.workers, new.values)]
    new = replace(new, rows=new.rows[few], tasks=texts[0], workers=texts[1], values=texts[2])
    if old is None or not len(old.rows):
        return replace(new, count=new.count + (old.count if old else 0))
    return replace(old, count=old.count + new.count)


def _few(texts: pa.Array | None) -> pa.Array | None:
    return None if texts is None else texts.slice(0, MOST_SAMPLES)
