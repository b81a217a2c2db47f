"""The rules that fired -> a frozen summary, a few lines for people, and a file of the rows set aside.

The file lists every row that a rule set aside, except ragged rows beyond the first 100,000 of a table
(`delimited.MOST_RAGGED`), which are only counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from quorate.arrow import TEXT, known_ending, pa, table_file
from quorate.errors import shown
from quorate.tables.rules import MOST_SAMPLES, RULES, Fired
from quorate.types import IntArray
from quorate.validate import invalid

REJECT_COLUMNS = pa.schema(
    [("source", TEXT), ("row", pa.int64())] + [(name, TEXT) for name in ("rule", "reason", "task", "worker", "value")]
)
BLOCK = 100_000  # rows written at a time


@dataclass(frozen=True, slots=True)
class Sample:
    """A row on which a rule fired; `row` is None if it is about a whole item or column, a cell if there is none."""

    source: str
    row: int | None
    task: str | None
    worker: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule over all sources: how often it fired and on which rows first."""

    rule: str
    met: str
    done: str
    set_aside: bool
    count: int
    samples: tuple[Sample, ...]

    @property
    def such(self) -> str:
        """The rule, how often it fired and the first values: "doubtful-label 12 (NA)"."""
        values = [sample.value or sample.task for sample in self.samples[:2]]
        few = ", ".join(dict.fromkeys(filter(None, values)))
        return f"{self.rule} {self.count:,}{f' ({few})' if few else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """How the sources were read, how much was read and which rules fired.

    `decisions` sentences: the format, the columns, the delimiter   `totals` rows, votes, items ... by name
    `classes` votes for each class   `usable` items with a usable prediction, by classifier; both once they are joined
    `warnings` why the tables may have been misread   `columns` how the columns of the votes were read
    """

    decisions: tuple[str, ...]
    totals: Mapping[str, int]
    entries: tuple[Fired, ...]
    classes: Mapping[str, int] = field(default_factory=dict)
    usable: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    columns: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every rule that fired, in the order of the documentation."""
        names = {entry.rule for entry in self.entries}
        return tuple(_finding(name, self.entries) for name in RULES if name in names)

    @property
    def predicted(self) -> str:
        """How many items each classifier predicts, where these are not all, as a part of a sentence."""
        total = self.totals.get("items", 0)
        few = [f"{count:,} of {total:,} items have a prediction" for count in self.usable.values() if count < total]
        return f"; {', '.join(few)}" if few else ""

    @property
    def num_set_aside(self) -> int:
        """The number of rows not used; `write_rejects` lists them."""
        return sum(entry.count for entry in self.entries if RULES[entry.rule].set_aside)

    def count(self, rule: str) -> int:
        """How often a rule fired; 0 if it did not."""
        if rule not in RULES:
            raise invalid("rule", rule, f"one of {list(RULES)}", "name one of them.")
        return sum(entry.count for entry in self.entries if entry.rule == rule)

    def write_rejects(self, path: str | Path) -> int:
        """Write every row set aside, with its number and the reason (.csv or .parquet); returns how many."""
        return write_rejects(self.entries, path)

    def as_dict(self) -> dict[str, object]:
        """The whole summary as plain values, for JSON."""
        findings = [
            {"rule": f.rule, "met": f.met, "done": f.done, "count": f.count, "set_aside": f.set_aside}
            | {"samples": [{name: cell for name, cell in asdict(s).items() if cell is not None} for s in f.samples]}
            for f in self.findings
        ]
        return {
            "warnings": list(self.warnings),
            "decisions": list(self.decisions),
            "totals": dict(self.totals),
            "set_aside": self.num_set_aside,
            "votes_by_class": [{"class": name, "votes": count} for name, count in self.classes.items()],
            "usable_predictions": [{"model": name, "items": count} for name, count in self.usable.items()],
            "understood": self.understood(),
            "findings": findings,
        }

    def understood(self, rejects: str | None = None) -> list[str]:
        """Warnings, and a line on what was read; what else was found has a second line. `rejects`: the file's name."""
        tally = Counter[tuple[str, str]]()
        for entry in self.entries:
            tally[entry.rule, entry.source] += entry.count if RULES[entry.rule].set_aside else 0
        several = len({source for (_, source), count in tally.items() if count}) > 1
        lost = ", ".join(
            f"{rule} {count:,}{f' in {source}' if several else ''}"
            for rule in RULES
            for (name, source), count in tally.items()
            if name == rule and count
        )
        aside = f"; {self.num_set_aside:,} rows set aside: {lost}{f' ({rejects})' if rejects else ''}" if lost else ""
        votes, items = (self.totals.get(name, 0) for name in ("votes", "items"))
        read_as = f": {self.columns}" if self.columns else ""
        kept = [finding for finding in self.findings if RULES[finding.rule].strict and not finding.set_aside]
        return [
            *(f"Warning: {finding}" for finding in self.warnings),
            f"Read {votes:,} votes of {items:,} items{read_as}{self.predicted}{aside}.",
            *([f"Also found: {', '.join(finding.such for finding in kept)}."] if kept else []),
        ]

    def lines(self) -> list[str]:
        """The summary for people, as lines."""
        totals = ", ".join(f"{number} {name[:-1] if number == 1 else name}" for name, number in self.totals.items())
        fired = [f"{f.rule} {f.count}: {f.done}" for f in self.findings]
        return [*self.decisions, totals, *fired]


def merged(reports: Sequence[Report], *, totals: Mapping[str, int], entries: Sequence[Fired] = ()) -> Report:
    """Several reports as one, with new totals."""
    decisions = [line for report in reports for line in report.decisions]
    earlier = [entry for report in reports for entry in report.entries]
    warnings = tuple(line for report in reports for line in report.warnings)
    entries = (*earlier, *entries)
    return Report(tuple(dict.fromkeys(decisions)), dict(totals), entries, warnings=warnings, columns=reports[0].columns)


def refuse_dirt(entries: Sequence[Fired], hint: str = "") -> None:
    """Strict mode: an error with the first offending row and how many more there are; `hint` is its last sentence."""
    entries = [entry for entry in entries if RULES[entry.rule].strict and not entry.is_wanted]
    if not entries:
        return
    first = min(entries, key=lambda entry: int(entry.rows.min()) if len(entry.rows) and entry.rows.min() else 2**62)
    sample = _samples(first)[0] if len(first.rows) else Sample(first.source, None, None, None, None)
    named = {"task": sample.task, "worker": sample.worker, "value": sample.value}
    cells = ", ".join(f"{name} {shown(cell)}" for name, cell in named.items() if cell is not None)
    row = None if sample.row is None else f"row {sample.row}"
    tally = Counter[str]()
    for entry in entries:
        tally[entry.rule] += entry.count
    by_rule = ", ".join(f"{count} {rule}" for rule, count in tally.items())
    own_fix = "Name the classes: `classes=[...]`. " if first.rule == "doubtful-label" else ""
    fix = f"{own_fix}Correct the source, or read it without `strict`.{hint and f' {hint}'}"
    met = f"{RULES[first.rule].met}{f' ({cells})' if cells else ''}"
    rule = f"no irregularity, because of `strict`; found: {met}, and {tally.total() - 1} more (in all: {by_rule})"
    raise invalid("source", first.source, rule, fix, place=row)


def _finding(name: str, entries: Sequence[Fired]) -> Finding:
    fired = [entry for entry in entries if entry.rule == name]
    rule = RULES[name]
    samples = [sample for entry in fired for sample in _samples(entry)][:MOST_SAMPLES]
    return Finding(name, rule.met, rule.done, rule.set_aside, sum(e.count for e in fired), tuple(samples))


def _samples(entry: Fired) -> list[Sample]:
    """The first rows of an entry, by row number."""
    first = entry.rows.argsort(kind="stable")[:MOST_SAMPLES]
    rows = [int(row) or None for row in entry.rows[first]]  # 0: a whole item or column, not a row
    cells = [_cells(texts, first) for texts in (entry.tasks, entry.workers, entry.values)]
    return [Sample(entry.source, *row) for row in zip(rows, *cells, strict=True)]


def _cells(texts: pa.Array | None, at: IntArray) -> list[str | None]:
    cells: list[str | None] = [None] * len(at) if texts is None else texts.take(pa.array(at)).to_pylist()
    return cells


def write_rejects(entries: Iterable[Fired], path: str | Path) -> int:
    """Write the rows set aside to a .csv or .parquet file; returns how many there are.

    `row` is the number a spreadsheet or editor shows: the header of a CSV or sheet is row 1; lines of JSONL, rows of
    Parquet and of frames, and tasks of a Label Studio export are counted from 1.
    """
    written = 0
    known_ending(Path(path), argument="path")
    with table_file(path, REJECT_COLUMNS) as out:
        for table in reject_tables(entries):
            out.write_table(table)
            written += table.num_rows
    return written


def reject_tables(entries: Iterable[Fired]) -> Iterator[pa.Table]:
    """The rows set aside, as Arrow tables of bounded size, rule by rule."""
    for entry in entries:
        if RULES[entry.rule].set_aside:
            for start in range(0, len(entry.rows), BLOCK):
                yield _table(entry, start)


def _table(entry: Fired, start: int) -> pa.Table:
    rows = entry.rows[start : start + BLOCK]
    rule = RULES[entry.rule]

    def texts(values: pa.Array | None) -> pa.Array:
        return pa.nulls(len(rows), TEXT) if values is None else values.slice(start, len(rows))

    def same(text: str) -> pa.Array:
        return pa.repeat(pa.scalar(text, TEXT), len(rows))

    columns = [same(entry.source), pa.array(rows), same(rule.name), same(rule.met)]
    columns += [texts(entry.tasks), texts(entry.workers), texts(entry.values)]
    return pa.Table.from_arrays(columns, schema=REJECT_COLUMNS)
