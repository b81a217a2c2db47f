"""`quorate.run_findings`: replays several label columns of one table separately and writes one report over all.

A row of the table is one person's read of one item, with a column per finding. Called by `quorate run --finding`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from quorate.errors import QuorateError
from quorate.files import check_free, write_folder
from quorate.reports.format import json_page
from quorate.tables.readers.sources import Progress
from quorate.tables.votes.names import name_texts
from quorate.types import TableLike, VoteDataset
from quorate.validate import invalid
from quorate.workflows.inputs import PredictionSources
from quorate.workflows.run import run
from quorate.workflows.run.findings_report import findings_headline, findings_page, summarise_findings
from quorate.workflows.run.result import RunResult, write_run

FINDINGS_FILES = ("report.html", "summary.json")  # besides a folder per finding
OWN = ("label", "truth")  # arguments of `run` that apply to one finding only
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, eq=False)
class FindingsResult:
    """A finished run of several findings: `.results` by finding, `.summary()`, `.headline()`, `.to_html()`.

    `folders` the name of each finding's folder: the finding, with characters replaced that file names cannot have
    """

    results: Mapping[str, RunResult]
    folders: Mapping[str, str]

    @cached_property
    def reads_per_item(self) -> np.ndarray | None:
        """(T,) the most votes that a finding of each item takes: the reads it needs if one read answers every finding.

        None where that is unknown: votes were shuffled or chosen by person, or a row lacks a finding.
        """
        results = list(self.results.values())
        if not all(map(_in_row_order, results)) or len({frozenset(each.items) for each in results}) > 1:
            return None
        places = {item: place for place, item in enumerate(results[0].items)}
        most = np.zeros(len(places), dtype=np.int64)
        for each in results:
            at = np.array([places[item] for item in each.items])
            most[at] = np.maximum(most[at], each.outcome.num_votes + each.outcome.audit_votes)
        return most

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return summarise_findings(self)

    def summary(self) -> dict[str, Any]:
        """Totals over the findings, and the summary of each, as plain values: what summary.json holds."""
        return dict(self._summary)

    def headline(self) -> str:
        """The result in one sentence."""
        return findings_headline(self._summary)

    def to_html(self) -> str:
        """The report over all findings as one page; it links to the reports of the findings."""
        return findings_page(self._summary)

    def __repr__(self) -> str:
        """The totals and a line per finding."""
        lines = (f"  {name}: {result.headline()}" for name, result in self.results.items())
        return "\n".join([f"FindingsResult: {self.headline()}", *lines])


def _in_row_order(result: RunResult) -> bool:
    """Whether the votes of every item were asked in the order of the rows, and every row is a vote."""
    totals = result.report.totals
    return (
        not result.settings["votes_shuffled"]
        and not result.method.needs_people
        and totals["rows"] == totals["votes"]
        and not result.pools.surplus.any()
    )


def _shows_run(function: F) -> F:
    """Make `help` list the arguments of `run` instead of `**options`."""
    own = [each for each in signature(function).parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    taken = {each.name for each in own} | set(OWN)
    more = [
        each
        for each in signature(run).parameters.values()
        if each.kind is Parameter.KEYWORD_ONLY and each.name not in taken
    ]
    function.__signature__ = signature(function).replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return function


@_shows_run
def run_findings(
    votes: TableLike,
    findings: Sequence[str],
    predictions: Mapping[str, PredictionSources] | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - the arguments of `run`
) -> FindingsResult:
    """Replay several findings of one table, such as the nodules and the effusions that radiologists reported.

    `votes`: a long table, a path or a frame; a row is one person's read of one item. `findings`: the columns with the
    labels, each replayed separately; blanks are not votes. `predictions`: finding -> a source or several, as in `run`;
    a finding may have none. `options` of `run` apply to every finding. `out`: a folder for report.html and summary.json
    over all, and a folder per finding with its files; nothing is written if one finding fails.

    >>> import pandas as pd
    >>> reads = pd.DataFrame({
    ...     "image": ["a", "a", "a", "b", "b", "b"],
    ...     "reader": ["ann", "bob", "eve"] * 2,
    ...     "nodule": ["yes", "yes", "yes", "no", "no", "yes"],
    ...     "effusion": ["no", "no", "no", "yes", "no", "yes"],
    ... })
    >>> done = run_findings(reads, ["nodule", "effusion"])
    >>> {name: result.decisions["consensus_label"].tolist() for name, result in done.results.items()}
    {'nodule': ['yes', 'no'], 'effusion': ['no', 'yes']}
    """
    names = _checked(votes, findings, options)
    given = dict(predictions or {})
    for name in given:
        if name not in names:
            raise invalid("predictions", name, f"one of `findings`: {', '.join(names)}", "name a finding.")
    folder = None if out is None else check_free(out, overwrite=overwrite)
    ignored = _listed(options.get("ignore_columns"))
    results = {}
    for name in names:
        own = {"label": name, "ignore_columns": [*ignored, *(each for each in names if each != name)]}
        report = None if progress is None else partial(_progress, progress, name)
        with _named(name, names):
            results[name] = run(votes, given.get(name), progress=report, **{**options, **own})
    result = FindingsResult(results, folder_names(names))
    if folder is not None:
        write_findings(result, folder)
    return result


def _checked(votes: TableLike, findings: Sequence[str], options: Mapping[str, object]) -> list[str]:
    """The findings as a list; refuses options that apply to one finding only."""
    if isinstance(findings, str) or not findings or len(set(findings)) < len(findings):
        shown = findings if isinstance(findings, str) else list(findings)
        raise invalid("findings", shown, "a list of different columns", "name each label column once.")
    if isinstance(votes, (np.ndarray, VoteDataset)):
        rule = "a long table: a row per item and person, a column per finding"
        raise invalid("votes", type(votes).__name__, rule, "pass a path or a frame, or call `run` for each finding.")
    for name in OWN:
        if options.get(name) is not None:
            rule = "left out with `findings`: it applies to one finding only"
            raise invalid(name, options[name], rule, "leave it out, or run that finding alone.")
    if options.get("format", "auto") not in ("auto", "long"):
        rule = "long with `findings`: a row per item and person, a column per finding"
        raise invalid("format", options["format"], rule, "leave it out.")
    return name_texts(list(findings))  # type: ignore[no-any-return]


def _listed(columns: str | Sequence[str] | None) -> list[str]:
    if isinstance(columns, str):
        return [part.strip() for part in columns.split(",")]
    return list(columns or ())


def _progress(report: Progress, finding: str, done: int, total: int, what: str) -> None:
    report(done, total, f"{finding}: {what}")


@contextmanager
def _named(finding: str, findings: Sequence[str]) -> Iterator[None]:
    """Add the finding to errors raised in the block; an error about its column names `findings` as the field."""
    try:
        yield
    except QuorateError as problem:
        if problem.field in ("label", "ignore_columns") and problem.value in findings:
            problem.field = "findings"
        else:
            problem.place = ", ".join(filter(None, (f"finding {finding}", problem.place)))
        raise


def folder_names(findings: Sequence[str]) -> dict[str, str]:
    """A folder name for each finding; characters that a file system may refuse become _, equal names get a number.

    >>> folder_names(["nodule", "Mass / cyst", "Nodule", "report.html"])
    {'nodule': 'nodule', 'Mass / cyst': 'Mass _ cyst', 'Nodule': 'Nodule-2', 'report.html': 'report.html-2'}
    """
    found: dict[str, str] = {}
    taken = {name.casefold() for name in FINDINGS_FILES}
    for finding in findings:
        plain = re.sub(r"[^\w .-]", "_", finding).strip(" .") or "finding"
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}", number + 1
        taken.add(name.casefold())
        found[finding] = name
    return found


def write_findings(result: FindingsResult, folder: Path) -> None:
    """Write a folder per finding, then the report and, last, summary.json: a folder that has it is complete."""
    (folder / "summary.json").unlink(missing_ok=True)
    for finding, name in result.folders.items():
        write_run(result.results[finding], folder / name)
    write_folder(folder, {"report.html": result.to_html(), "summary.json": json_page(result.summary())})
