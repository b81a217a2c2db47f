"""The input of an experiment (`Context`), a whole reproduction, and its report: claims, then tables and figures.

Experiments return sections; `reproduce` combines them into a `Reproduction` and writes the page and summary.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from quorate.errors import QuorateError
from quorate.paper.jobs import Job, JobOutcome
from quorate.paper.published import ELSEWHERE
from quorate.paper.store import revision
from quorate.reports import render
from quorate.reports.figures import DrawnFigure
from quorate.reports.format import Cell
from quorate.reports.section import Chart, Claim, Document, Section, Table
from quorate.reports.svg import Bar, bars
from quorate.types import VoteDataset
from quorate.version import __version__

Run = Callable[[Sequence[Job]], dict[Job, JobOutcome]]


@dataclass(frozen=True, slots=True)
class Context:
    """The input of an experiment. `datasets` by name (see `sources`); `quick`: fewer values, models and orderings.

    `run(jobs)` returns the outcome of each job, from the store if it is there.
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
    """One experiment's section and effort: `num_run` parameter settings run, `num_stored` read from the store.

    `work_seconds`: time of its runs, now or earlier, summed over cores.
    """

    name: str
    section: Section
    seconds: float
    num_run: int
    num_stored: int
    work_seconds: float = 0.0

    def stem(self, key: str) -> str:
        """File name of a table or figure, without its ending.

        >>> part = Part("shift", Section("shift", ""), 0.0, 0, 0)
        >>> part.stem("errors"), part.stem("shift_over_time")
        ('shift-errors', 'shift-over-time')
        """
        clean = "".join(c if c.isascii() and (c.isalnum() or c == ".") else "-" for c in key)
        return clean if clean.startswith(self.name) else f"{self.name}-{clean}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a reproduction. `checksums`: of the data sets used. `left_out`: parts without data."""

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
        """The claims of all parts, the paper's first."""
        found = [claim for part in self.parts for claim in part.section.claims]
        return tuple(sorted(found, key=lambda claim: not claim.of_paper))

    @property
    def seconds(self) -> dict[str, float]:
        """Wall-clock seconds of each part, of writing the files, and in total."""
        taken = {part.name: part.seconds for part in self.parts} | {"files": self.writing_seconds}
        return taken | {"total": sum(taken.values())}

    @property
    def num_run(self) -> int:
        """Parameter settings run now."""
        return sum(part.num_run for part in self.parts)

    @property
    def num_stored(self) -> int:
        """Parameter settings read from the store."""
        return sum(part.num_stored for part in self.parts)

    @property
    def runs_per_second(self) -> float:
        """Parameter settings run per second of the parts, including analysis."""
        taken = sum(part.seconds for part in self.parts)
        return self.num_run / taken if taken else 0.0

    def command(self, name: str) -> str:
        """The command that runs this part again."""
        return f"quorate reproduce {name} --out DIR{' --quick' * self.quick}"


def verdict_counts(table: Table) -> dict[str, int]:
    """The number of cells of a table with each verdict; empty for a table without verdicts.

    >>> verdict_counts(Table("t", "", ("method", "verdict"), (("a", "better"), ("b", "agrees"), ("c", "agrees"))))
    {'agrees': 2, 'better': 1}
    """
    found = Counter(cell for row in table.rows for cell in row if cell in VERDICTS)
    return {name: found[name] for name in VERDICTS if found[name]}


def summary_of(done: Reproduction) -> dict[str, Any]:
    """The content of summary.json; each section adds its own keys, which must not repeat."""
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
                    f"the section {part.name!r} has the key {key!r}, which summary.json already has: rename it."
                )
            content[key] = value
    return content


TITLE = "The paper, reproduced"
QUICK = (
    "This is a quick reproduction with fewer items, parameter values, classifiers, seeds and orderings, to test that "
    "everything works. Run it without --quick for quotable figures."
)
MARKS = {"agrees": "yes", "better": "yes", "not reproduced": "no"}  # on other classifiers: neither


def page(done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> str:
    """The whole page; `drawn` by the stem of each figure's file."""
    return render.page(document(done, drawn))


def document(done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> Document:
    """The reproduction as a report."""
    return Document(
        title=f"{TITLE}: quorate {__version__}",
        question=TITLE,
        answer=headline(done),
        picture=_picture(done),
        notes=(QUICK,) if done.quick else (),
        sections=(_summary(done), *(_section(part, done) for part in done.parts)),
        folded=(_times(done), _data(done)),
        footer=f"quorate {__version__}{_revision()}; seeds {_seeds(done)}. Every run is in runs.parquet and runs.csv, "
        "the summary for machines in summary.json.",
        contents=True,
        marks=MARKS,
        drawn=drawn,
    )


def headline(done: Reproduction) -> str:
    """The result in a sentence or two: cells on the paper's own classifiers first, then the others."""
    cells = _all_verdicts(done)
    kinds = [f"{held} of {total} {what}" for what, held, total in _held(done)]
    sentences = [f"{' and '.join(kinds)} hold on the data."] if kinds else []
    if own := sum(cells[name] for name in OWN_VERDICTS):
        sentences.append(
            f"Of {own} table cells compared with the paper's figures on its own classifiers, {cells['agrees']} agree, "
            f"{cells['better']} are better and {cells['not reproduced']} are not reproduced."
        )
    agree, better, differ = (cells[name] for name in OTHER_VERDICTS)
    if others := agree + better + differ:
        sentences.append(
            f"On other classifiers, which cannot reproduce the paper's figures: of {others} cells {agree} agree, "
            f"{better} are better and {differ} differ."
        )
    return " ".join(sentences) or "No claim could be tested on the available data."


def _held(done: Reproduction) -> list[tuple[str, int, int]]:
    """(kind of claims, how many hold, how many there are); the paper's first."""
    kinds = {"claims of the paper": True, "other targets": False}
    found = {what: [claim.holds for claim in done.claims if claim.of_paper == own] for what, own in kinds.items()}
    return [(what, sum(holds), len(holds)) for what, holds in found.items() if holds]


def _all_verdicts(done: Reproduction) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in done.parts:
        for table in part.section.tables:
            total.update(verdict_counts(table))
    return total


def _picture(done: Reproduction) -> Chart | None:
    """A chart of claims that hold, and of cells by verdict."""
    cells = _all_verdicts(done)
    rows = [Bar(f"{what} that hold", held, f"{held} of {total}", is_ours=True) for what, held, total in _held(done)]
    if any(cells[name] for name in OWN_VERDICTS):
        rows += [Bar(f"table cells: {name}", cells[name], str(cells[name])) for name in OWN_VERDICTS]
    return Chart(bars(rows, title="Claims and table cells by verdict")) if rows else None


def _summary(done: Reproduction) -> Section:
    cells = _all_verdicts(done)
    cards = [(f"{held} of {total}", f"{what} hold") for what, held, total in _held(done)]
    cards += [(str(cells[name]), f"cells: {name}") for name in OWN_VERDICTS if any(cells[own] for own in OWN_VERDICTS)]
    cards.append((f"{done.num_run + done.num_stored:,}", f"runs, seeds {_seeds(done)}"))
    shown = tuple(name for name in VERDICTS if cells[name])
    rows: list[tuple[Cell, ...]] = [
        (table.title, *(counts.get(name, 0) for name in shown))
        for part in done.parts
        for table in part.section.tables
        if (counts := verdict_counts(table))
    ]
    verdicts = Table("", "Verdicts: cells compared with the paper's, by table", ("table", *shown), tuple(rows))
    return Section(
        "summary",
        "Summary",
        cards=tuple(cards),
        cautions=tuple(f"Left out, because its data is missing: {text}" for text in done.left_out),
        claims=done.claims,
        tables=(verdicts,) if rows else (),
    )


def _section(part: Part, done: Reproduction) -> Section:
    """The experiment's section without its claims, which are in the summary; tables and figures name their source."""

    def source(stem: str, kind: str) -> str:
        return f"Made by `{done.command(part.name)}`, also in `{kind.format(stem)}`"

    def shown(table: Table) -> Table:
        stem = part.stem(table.key)
        counts = ", ".join(f"{name} {many}" for name, many in verdict_counts(table).items())
        note = " ".join(filter(None, [table.note, counts and f"Verdicts: {counts}."]))
        return replace(table, key=stem, note=note, source=source(stem, "tables/{}.csv"))

    figures = ((figure, part.stem(figure.key)) for figure in part.section.figures)
    return replace(
        part.section,
        key=part.name,
        claims=(),
        tables=tuple(shown(table) for table in part.section.tables),
        figures=tuple(replace(figure, key=stem, source=source(stem, "figures/{}.svg")) for figure, stem in figures),
    )


def _times(done: Reproduction) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (part.section.title, part.seconds, part.num_run, part.num_stored, part.work_seconds) for part in done.parts
    ]
    work = sum(part.work_seconds for part in done.parts)
    rows.append(("tables, figures and this page", done.writing_seconds, None, None, None))
    rows.append(("all", done.seconds["total"], done.num_run, done.num_stored, work))
    heads = ("part", "seconds", "runs made now", "runs from the store", "core seconds of all runs, now or earlier")
    title = f"Seconds and runs of each part; {done.runs_per_second:.1f} runs per second"
    return Section("times", "Time", tables=(Table("", title, heads, tuple(rows), digits=1),))


def _data(done: Reproduction) -> Section:
    rows = tuple(done.checksums.items())
    table = Table("", "sha256 of the data used", ("data set", "sha256"), rows, text_columns=2)
    return Section("data", "Data used", tables=(table,) if rows else ())


def _seeds(done: Reproduction) -> str:
    return ", ".join(str(seed) for seed in done.seeds)


def _revision() -> str:
    return f", revision {revision()[:12]}" if revision() else ""
