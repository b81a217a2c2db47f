"""A whole reproduction, made of the sections that experiments return, and what an experiment may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quorate.errors import QuorateError
from quorate.paper.design import Job
from quorate.paper.published import ELSEWHERE
from quorate.paper.readings import JobOutcome
from quorate.paper.store import revision
from quorate.reports.section import Claim, Section, Table
from quorate.types import VoteDataset
from quorate.version import __version__

Run = Callable[[Sequence[Job]], dict[Job, JobOutcome]]


@dataclass(frozen=True, slots=True)
class Context:
    """What an experiment may use. `datasets` by name (see `sources`); `quick`: fewer values, models and orderings.

    `run(jobs)` gives the outcome of each job, from the store where it is known.
    """

    datasets: Mapping[str, VoteDataset]
    seeds: tuple[int, ...]
    quick: bool
    run: Run


OWN_VERDICTS: tuple[str, ...] = tuple(ELSEWHERE)  # on the paper's own classifiers: these make the headline
OTHER_VERDICTS: tuple[str, ...] = tuple(ELSEWHERE.values())
VERDICTS = (*OWN_VERDICTS, *OTHER_VERDICTS)


@dataclass(frozen=True, slots=True)
class Part:
    """One experiment's section, and what it took: `num_run` parameter settings run, `num_stored` taken from the store.

    `work_seconds`: what its runs took when they were made, now or earlier, added up over cores.
    """

    name: str
    section: Section
    seconds: float
    num_run: int
    num_stored: int
    work_seconds: float = 0.0

    def stem(self, key: str) -> str:
        """File name of a table or figure, without its ending.

        >>> part = Part("shift", Section("shift", "", (), (), (), ()), 0.0, 0, 0)
        >>> part.stem("errors"), part.stem("shift_over_time")
        ('shift-errors', 'shift-over-time')
        """
        clean = "".join(c if c.isascii() and (c.isalnum() or c == ".") else "-" for c in key)
        return clean if clean.startswith(self.name) else f"{self.name}-{clean}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Everything that was reproduced. `checksums`: of the data sets used. `left_out`: what lacked its data."""

    parts: tuple[Part, ...]
    seeds: tuple[int, ...]
    quick: bool
    out: Path
    checksums: dict[str, str]
    left_out: tuple[str, ...]
    writing_seconds: float = 0.0
    files: tuple[Path, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Those of all parts, the paper's first."""
        found = [claim for part in self.parts for claim in part.section.claims]
        return tuple(sorted(found, key=lambda claim: not claim.of_paper))

    @property
    def seconds(self) -> dict[str, float]:
        """Wall-clock seconds of each part, of writing the files, and of all."""
        taken = {part.name: part.seconds for part in self.parts} | {"files": self.writing_seconds}
        return taken | {"total": sum(taken.values())}

    @property
    def num_run(self) -> int:
        """Parameter settings run now."""
        return sum(part.num_run for part in self.parts)

    @property
    def num_stored(self) -> int:
        """Parameter settings that were in the store already."""
        return sum(part.num_stored for part in self.parts)

    @property
    def runs_per_second(self) -> float:
        """Parameter settings run for each second of the parts, analysis included."""
        taken = sum(part.seconds for part in self.parts)
        return self.num_run / taken if taken else 0.0

    def command(self, name: str) -> str:
        """The command that makes this part again."""
        option = " --as-published" if name == "as-published" else ""
        what = "shift" if option else name
        seeds = ",".join(str(seed) for seed in self.seeds)
        return f"quorate reproduce {what} --data DIR --out DIR --seeds {seeds}{' --quick' * self.quick}{option}"


def verdict_counts(table: Table) -> dict[str, int]:
    """How many cells of a table got each verdict; empty for a table without verdicts.

    >>> verdict_counts(Table("t", "", ("method", "verdict"), (("a", "better"), ("b", "agrees"), ("c", "agrees"))))
    {'agrees': 2, 'better': 1}
    """
    found = Counter(cell for row in table.rows for cell in row if cell in VERDICTS)
    return {name: found[name] for name in VERDICTS if found[name]}


def summary_of(done: Reproduction) -> dict[str, Any]:
    """The reproduction for machines; each section adds its own keys, and no key twice."""
    content: dict[str, Any] = {
        "version": __version__,
        "revision": revision(),
        "seeds": list(done.seeds),
        "quick": done.quick,
        "parts": [part.name for part in done.parts],
        "data": done.checksums,
        "left_out": list(done.left_out),
        "claims": [{"part": part.name} | asdict(claim) for part in done.parts for claim in part.section.claims],
        "verdicts": {
            part.stem(table.key): counts
            for part in done.parts
            for table in part.section.tables
            if (counts := verdict_counts(table))
        },
        "seconds": {name: round(seconds, 3) for name, seconds in done.seconds.items()},
        "runs": {
            "run": done.num_run,
            "from_store": done.num_stored,
            "per_second": round(done.runs_per_second, 2),
            "core_seconds": round(sum(part.work_seconds for part in done.parts), 2),
        },
    }
    for part in done.parts:
        for key, value in part.section.summary.items():
            if key in content:
                raise QuorateError(
                    f"the section {part.name!r} gives {key!r}, which summary.json has already: rename it."
                )
            content[key] = value
    return content
