"""The input of an experiment (`Context`), a whole reproduction, and its report: claims, then tables and figures.

Experiments return sections; `reproduce` combines them into a `Reproduction` and writes the page and summary.json.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from quorate.errors import QuorateError
from quorate.reports import render
from quorate.reports.figures import DrawnFigure
from quorate.reports.format import Cell
from quorate.reports.section import Claim, Document, Section, Table
from quorate.types import VoteDataset
from quorate.version import __version__
from quorate_paper.jobs import Job, JobOutcome
from quorate_paper.store import revision

Run = Callable[[Sequence[Job]], dict[Job, JobOutcome]]


@dataclass(frozen=True, slots=True)
class Context:
    """The input of an experiment. `datasets` by name (see `sources`); `quick`: fewer values, models and orderings.

    `run(jobs)` returns the outcome of each job, from the store if it is there. `publish(name, content)`: writes a
    file of results as published, which then are computed now; None: they are shown as stored.
    """

    datasets: Mapping[str, VoteDataset]
    seeds: tuple[int, ...]
    quick: bool
    run: Run
    publish: Callable[[str, str], None] | None = None


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
        """The claims of all parts, the paper's first, of these the ones that do not hold."""
        found = [claim for part in self.parts for claim in part.section.claims]
        return tuple(sorted(found, key=lambda claim: (not claim.source, claim.holds is not False)))

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


def page(done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> str:
    """The whole page; `drawn` by the stem of each figure's file."""
    return render.page(document(done, drawn))


def document(done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> Document:
    """The reproduction as a report."""
    return Document(
        title=f"{TITLE}: quorate {__version__}",
        question=TITLE,
        answer=headline(done),
        picture=None,
        notes=(QUICK,) if done.quick else (),
        sections=(_summary(done), *(_section(part, done) for part in done.parts)),
        folded=(_times(done), _data(done)),
        footer=f"quorate {__version__}{_revision()}; seeds {_seeds(done)}. Every run is in runs.parquet and runs.csv, "
        "the summary for machines in summary.json.",
        contents=True,
        drawn=drawn,
    )


def headline(done: Reproduction) -> str:
    """The result in a sentence or two: the paper's claims, our own checks, and what each part counted."""
    kinds = [f"{what}: {text}" for what, text in held(done.claims)]
    sentences = [f"{'; '.join(kinds)}."] if kinds else []
    sentences += [str(part.section.summary["headline"]) for part in done.parts if "headline" in part.section.summary]
    return " ".join(sentences) or "No claim could be tested on the available data."


def held(claims: Sequence[Claim]) -> list[tuple[str, str]]:
    """(kind of claims, how many hold, do not hold and cannot be tested); the paper's first.

    >>> held([Claim("a", True, "", "4.3"), Claim("b", None, "no data", "4.4"), Claim("c", False, "")])
    [('Claims of the paper', '1 of 2 hold, 1 cannot be tested'), ('Our own checks', '0 of 1 hold')]
    """
    kinds = {"Claims of the paper": said(claims, is_quoted=True), "Our own checks": said(claims, is_quoted=False)}
    return [(kind, text) for kind, text in kinds.items() if text]


def said(claims: Sequence[Claim], *, is_quoted: bool) -> str:
    """How many hold of the paper's claims, or of our own checks; "" if there are none.

    A claim tested on two sets of classifiers is one claim, which holds if it holds on both.

    >>> said([Claim("a", True, "", "4"), Claim("a", False, "", "4"), Claim("b", True, "", "4")], is_quoted=True)
    '1 of 2 hold, 1 on some classifiers only'
    """
    verdicts: dict[str, set[bool | None]] = {}
    for claim in claims:
        if bool(claim.source) == is_quoted:
            verdicts.setdefault(claim.text, set()).add(claim.holds)
    kinds = {"on some classifiers only": {True, False}, "cannot be tested": {None}}
    counts = {text: sum(found == kind for found in verdicts.values()) for text, kind in kinds.items()}
    more = "".join(f", {count} {text}" for text, count in counts.items() if count)
    return f"{sum(found == {True} for found in verdicts.values())} of {len(verdicts)} hold{more}" if verdicts else ""


def shortened(text: str, most: int = 100) -> str:
    """The text, cut at a word if it is longer than a line.

    >>> shortened("one two three", 9)
    'one two …'
    """
    return text if len(text) <= most else f"{text[: most - 1].rsplit(' ', 1)[0]} …"


def _summary(done: Reproduction) -> Section:
    cards = [(text.split(" hold")[0], f"{what} hold") for what, text in held(done.claims)]
    cards.append((f"{done.num_run + done.num_stored:,}", f"runs, seeds {_seeds(done)}"))
    return Section(
        "summary",
        "Summary",
        cards=tuple(cards),
        cautions=tuple(f"Left out, because its data is missing: {text}" for text in done.left_out),
        claims=done.claims,
    )


def _section(part: Part, done: Reproduction) -> Section:
    """The experiment's section without its claims, which are in the summary; tables and figures name their source."""

    def source(stem: str, kind: str) -> str:
        return f"Made by `{done.command(part.name)}`, also in `{kind.format(stem)}`"

    def shown(table: Table) -> Table:
        stem = part.stem(table.key)
        return replace(table, key=stem, source=source(stem, "tables/{}.csv"))

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
