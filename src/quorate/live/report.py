"""A report on a jury: how many independent judges it is worth, agreement with people, money saved.

`jury_report` takes the result of a loop or of a panel; the report has the figures and renders an HTML page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.experts.agreement import effective_size
from quorate.experts.ballots import NO_VOTE, from_matrix
from quorate.experts.bootstrap import BOOTSTRAPS, Estimate, mean_of
from quorate.files import write_atomic
from quorate.live.results import LiveResult, Outcome
from quorate.reports import render
from quorate.reports.format import interval, percent, plain
from quorate.reports.section import Chart, Document, Section, Table
from quorate.reports.svg import Bar, bars
from quorate.rng import stream
from quorate.types import IntArray
from quorate.version import __version__

FEWEST_AUDITS = 30  # with fewer, all questions with two votes are used, which are not a random sample
UNKNOWN = Estimate(np.nan, np.nan, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeFigures:
    """One judge: calls by outcome, their cost, and how often the votes agree with people."""

    judge: str
    votes: int
    abstentions: int
    failures: int
    cost: float
    with_people: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class JuryReport:
    """The figures of a jury. Estimates have a 95 % bootstrap interval; nan: unknown.

    `independent` how many independent judges the whole jury is worth, from `measured_on` questions, which are a random
    sample if `by_audits`   `error` share of audited questions where the whole jury disagrees, ties shared
    `with_people` share of questions with the same answer as people, of the `num_people` questions people voted on
    """

    sums: Mapping[str, Any]
    judges: tuple[JudgeFigures, ...]
    independent: Estimate
    measured_on: int
    by_audits: bool
    num_audited: int
    error: Estimate
    with_people: Estimate
    num_people: int
    currency: str

    def as_dict(self) -> dict[str, object]:
        """All figures, as JSON types; None if unknown."""
        figures: Mapping[str, object] = asdict(self)
        return plain(figures)

    def __str__(self) -> str:
        """What `print` shows: money saved, agreement, independent judges."""
        return f"{_answer(self)}\n{_worth(self)}"

    def to_html(self) -> str:
        """A self-contained HTML page."""
        return render.page(_document(self))

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        return write_atomic(Path(path), self.to_html())

    def _repr_html_(self) -> str:
        return render.fragment(_answer(self), _table(self))


def jury_report(
    result: LiveResult, people: Mapping[str, str] | None = None, *, currency: str = "", seed: int = 0
) -> JuryReport:
    """Figures on the named judges of a result. `people`: item -> the label that people gave, where they voted.

    >>> from quorate.live import Judge, Panel
    >>> panel = Panel([Judge(name, lambda text: "a") for name in ("x", "y", "z")], ["a", "b"], audit_rate=1.0)
    >>> for number in range(40):
    ...     outcome = panel.decide(number)
    >>> report = jury_report(panel.result(), {"1": "a", "2": "b"})
    >>> report.error.value, report.with_people.value, report.num_people
    (0.0, 0.5, 2)
    """
    known = {} if people is None else people
    rng = stream(seed, "jury-report")
    outcomes = [outcome for outcome in result.outcomes if not outcome.earlier]
    audited = [outcome for outcome in outcomes if outcome.audited and outcome.votes]
    by_audits = len(audited) >= FEWEST_AUDITS
    measured = [each for each in (audited if by_audits else outcomes) if len(each.votes) >= 2]
    answered = [outcome for outcome in outcomes if outcome.label is not None and outcome.item in known]
    return JuryReport(
        sums=result.summary(),
        judges=tuple(_figures(name, row, outcomes, known, rng) for name, row in result.by_judge().items() if name),
        independent=_independent(measured, known, rng),
        measured_on=len(measured),
        by_audits=by_audits,
        num_audited=len(audited),
        error=_share([1.0 - _right(outcome) for outcome in audited], rng),
        with_people=_share([float(each.label == known[each.item]) for each in answered], rng),
        num_people=len(answered),
        currency=currency,
    )


def _figures(
    name: str,
    row: Mapping[str, float],
    outcomes: Sequence[Outcome],
    people: Mapping[str, str],
    rng: np.random.Generator,
) -> JudgeFigures:
    alike = [
        float(outcome.votes[name] == people[outcome.item])
        for outcome in outcomes
        if name in outcome.votes and outcome.item in people
    ]
    votes, abstentions, failures = (int(row[kind]) for kind in ("votes", "abstentions", "failures"))
    return JudgeFigures(name, votes, abstentions, failures, row["cost"], _share(alike, rng))


def _independent(outcomes: Sequence[Outcome], people: Mapping[str, str], rng: np.random.Generator) -> Estimate:
    """How many independent judges the votes are worth; people's labels are the truth where they voted."""
    judges = sorted({name for outcome in outcomes for name in outcome.votes})
    labels = sorted({label for outcome in outcomes for label in outcome.votes.values()})
    if len(outcomes) < 2 or len(judges) < 2 or len(labels) < 2:
        return UNKNOWN
    place = {label: number for number, label in enumerate(labels)}
    votes = np.full((len(outcomes), len(judges)), NO_VOTE)
    for row, outcome in enumerate(outcomes):
        for name, label in outcome.votes.items():
            votes[row, judges.index(name)] = place[label]
    truth: IntArray = np.array([place.get(people.get(outcome.item, ""), -1) for outcome in outcomes])
    return effective_size(from_matrix(votes, classes=labels, people=judges), truth, BOOTSTRAPS, rng)


def _right(outcome: Outcome) -> float:
    """The share of the answer in the plurality of all votes: 1 if it won alone, 1 / t in a tie of t, else 0."""
    counts = Counter(outcome.votes.values())
    most = max(counts.values())
    return float(counts[outcome.label or ""] == most) / sum(count == most for count in counts.values())


def _share(values: Sequence[float], rng: np.random.Generator) -> Estimate:
    return mean_of(np.array(values), BOOTSTRAPS, rng) if values else UNKNOWN


def _answer(report: JuryReport) -> str:
    """The report in one sentence."""
    sums, unit = report.sums, f" {report.currency}" if report.currency else ""
    answer = (
        f"{sums['items']:,} questions cost {sums['cost']:,.4g}{unit} instead of {sums['full_cost']:,.4g}{unit}: "
        f"{percent(sums['saved'], 0)} saved"
    )
    if not np.isnan(report.error.value):
        answer += f". The whole jury would have disagreed on {percent(report.error.value)} of the questions"
    if report.num_people:
        answer += f". People agree on {percent(report.with_people.value)} of the questions that they answered"
    return answer + "."


def _worth(report: JuryReport) -> str:
    """How many independent judges the jury is worth, in one sentence."""
    found = report.independent
    if np.isnan(found.value):
        return "How many independent judges the jury is worth is not known: no two judges ever differed."
    return (
        f"The votes of this jury of {len(report.judges)} are worth those of {found.value:.1f} independent judges (95 % "
        f"interval {found.low:.1f} to {found.high:.1f}), measured on {report.measured_on:,} questions."
    )


def _with_interval(found: Estimate) -> tuple[str, str]:
    if np.isnan(found.value):
        return "–", ""
    return percent(found.value), interval(percent(found.low), percent(found.high))


def _table(report: JuryReport) -> Table:
    heads = ("judge", "votes", "abstentions", "failures", "cost", "agrees with people", "95 % interval")
    rows = tuple(
        (
            each.judge, each.votes, each.abstentions, each.failures, f"{each.cost:,.4g}",
            *_with_interval(each.with_people),
        )
        for each in report.judges
    )  # fmt: skip
    return Table("judges", "The judges", heads, rows)


def _notes(report: JuryReport) -> tuple[str, ...]:
    notes = []
    if not report.num_audited:
        notes.append("No question was audited, so it is unknown how often the whole jury would have disagreed.")
    elif not report.by_audits:
        notes.append(f"Only {report.num_audited} questions were audited: too few for reliable figures.")
    if not report.by_audits:
        notes.append(
            "The number of independent judges comes from questions with at least two votes, which are the harder ones."
        )
    if not report.num_people:
        notes.append("Errors that all judges share are not visible without people: pass `people={item: label}`.")
    if report.sums["unanswered"]:
        notes.append(f"{report.sums['unanswered']:,} questions are unanswered: every call failed or abstained.")
    if report.sums["tied"]:
        notes.append(f"{report.sums['tied']:,} answers are a draw between two classes or more.")
    return tuple(notes)


def _document(report: JuryReport) -> Document:
    explained = (
        "Judges who err on the same questions count for fewer. Where people did not vote, the plurality of the judges "
        "is used as the truth, which hides errors that most judges share: the number is then too high."
    )
    lead = (_worth(report), explained)
    rows = tuple(
        (name, *_with_interval(found), number)
        for name, found, number in (
            ("the whole jury disagrees", report.error, report.num_audited),
            ("people agree", report.with_people, report.num_people),
        )
    )
    measured = Table("", "How good the answers are", ("", "share", "95 % interval", "questions"), rows)
    cost = bars(
        [Bar(each.judge, each.cost, f"{each.cost:,.4g}", False) for each in report.judges],
        title="Cost by judge",
    )
    return Document(
        title="The jury",
        question="What was the jury worth, and what did it cost?",
        answer=_answer(report),
        picture=Chart(cost, f"Cost by judge{f', in {report.currency}' if report.currency else ''}."),
        sections=(
            Section("worth", "Independent judges", lead),
            Section("answers", "The answers", tables=(measured,)),
            Section("judges", "Judge by judge", tables=(_table(report),)),
        ),
        notes=_notes(report),
        footer=f"quorate {__version__}",
    )
