"""Figures of each voter, for owners: accuracy on gold, accuracy by the crowd model, agreement, patterns.

Background jobs compute them from at most `MOST_VOTES` of the latest votes and store them in table
`tasks`; no request waits for it. `latest_people` reads them. No page or endpoint for voters does; access tests check
this.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, select

from quorate.numerics import share_interval
from quorate.people import TYPES, Ballots, PersonQuality, others_plurality, quality_of, run_crowd
from quorate.types import FloatArray, IntArray
from quorate_service.domain.gold import GoldCalibration, gold_calibration
from quorate_service.domain.listing import voter_names
from quorate_service.domain.projects import Project, Projects
from quorate_service.store.schema import ballots, events, items, not_withdrawn, tasks

MOST_VOTES = 20_000  # the latest ones, gold answers included
MOST_PEOPLE, MOST_CELLS = 500, 4_000_000  # people with figures; people * classes^2
ONE_SITTING = 1800.0  # seconds: a longer pause is not time spent on a vote


@dataclass(frozen=True, slots=True)
class PersonFigures:
    """One voter. Shares have 95 % intervals; None without data.

    `gold_right` of `gold_answers` known answers given   `accuracy` as the crowd model estimates it   `agreement` with
    the plurality of the other voters, on `compared` items
    `kind` careful, uniform or habit, with its probability and the evidence   `seconds` median between votes
    """

    voter: str
    name: str
    num_votes: int
    gold_answers: int
    gold_right: int
    gold_low: float | None
    gold_high: float | None
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    compared: int
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    kind: str
    kind_probability: float
    evidence: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class PeopleFigures:
    """All voters by name, as of `time`, from `num_votes` votes; `is_partial`: there are more votes."""

    time: float
    last_event: int
    num_votes: int
    is_partial: bool
    people: tuple[PersonFigures, ...]
    calibration: GoldCalibration | None


def people(projects_: Projects, connection: Connection, project: Project, *, now: float) -> PeopleFigures:
    """Compute all figures; takes seconds."""
    last = last_event(connection, project)
    rows = _votes(connection, project, MOST_VOTES + 1)
    calibration = gold_calibration(projects_, connection, project, rows[:MOST_VOTES])
    cast = _of_the_busiest(rows[:MOST_VOTES], len(project.settings.classes))
    figures = _people(connection, project, cast) if cast else ()
    return PeopleFigures(now, last, len(cast), len(cast) < len(rows), figures, calibration)


def _of_the_busiest(cast: Sequence[Row[Any]], num_classes: int) -> Sequence[Row[Any]]:
    """The votes of the people with the most votes: as many people as a page can show and memory can hold."""
    limit = max(min(MOST_PEOPLE, MOST_CELLS // num_classes**2), 1)
    busiest = {voter for voter, _ in Counter(row.voter for row in cast).most_common(limit)}
    return [row for row in cast if row.voter in busiest]


def last_event(connection: Connection, project: Project) -> int:
    """The number of the project's last event; while it stays the same, so do the figures."""
    query = select(events.c.id).where(events.c.project_id == project.id).order_by(events.c.id.desc()).limit(1)
    return int(connection.execute(query).scalar_one_or_none() or 0)


def latest_people(connection: Connection, project_id: str) -> dict[str, Any] | None:
    """The latest figures as JSON; None if there are none."""
    query = select(tasks.c.state).where(tasks.c.project_id == project_id, tasks.c.task == "people")
    state = json.loads(connection.execute(query).scalar_one_or_none() or "{}")
    return state or None


def _votes(connection: Connection, project: Project, most: int) -> Sequence[Row[Any]]:
    """The latest votes that count, gold answers included, the latest first."""
    query = select(ballots.c.item_id, ballots.c.voter, ballots.c.label, ballots.c.time, items.c.gold)
    query = query.join(items, items.c.id == ballots.c.item_id).where(not_withdrawn)
    query = query.where(ballots.c.project_id == project.id, ballots.c.kind == "vote")
    return list(
        connection.execute(query.order_by(ballots.c.time.desc(), ballots.c.item_id, ballots.c.voter.desc()).limit(most))
    )


def _people(connection: Connection, project: Project, cast: Sequence[Row[Any]]) -> tuple[PersonFigures, ...]:
    told, truth, time = _as_ballots(project, cast)
    run = run_crowd(told, seed=project.seed)  # without predictions: voters never see them
    quality = {person.person: person for person in quality_of(told, run, truth=truth)}
    agreeing = _agreement(told)
    names, paces = voter_names(connection, project), _paces(told, time)
    figures = [
        _person(
            names.get(voter, voter.removeprefix("ext:")),
            person,
            agreeing[voter],
            paces.get(voter),
        )
        for voter in told.people
        if (person := quality.get(voter)) is not None
    ]
    return tuple(sorted(figures, key=lambda person: (person.name.lower(), person.voter)))


def _as_ballots(project: Project, cast: Sequence[Row[Any]]) -> tuple[Ballots, IntArray, FloatArray]:
    """The votes by position, the known answer of each item (-1: not gold), and when each vote was cast."""
    classes = {name: number for number, name in enumerate(project.settings.classes)}
    named = {row.item_id: row.gold for row in cast}
    index_of = {item_id: number for number, item_id in enumerate(named)}
    voters = sorted({row.voter for row in cast})
    who = {voter: number for number, voter in enumerate(voters)}
    told = Ballots(
        item=np.array([index_of[row.item_id] for row in cast]),
        person=np.array([who[row.voter] for row in cast]),
        label=np.array([classes[row.label] for row in cast]),
        items=tuple(map(str, named)), people=tuple(voters), classes=project.settings.classes,
    )  # fmt: skip
    truth = np.array([-1 if gold is None else classes[gold] for gold in named.values()])
    return told, truth, np.array([row.time for row in cast])


def _agreement(told: Ballots) -> dict[str, tuple[float, int]]:
    """For each voter, how many votes equal the plurality of the others (ties in parts), and how many were compared."""
    order, counts = np.argsort(told.person, kind="stable"), told.counts
    ends = np.cumsum(np.bincount(told.person, minlength=len(told.people)))
    agreed = {}
    for voter, votes in zip(told.people, np.split(order, ends[:-1]), strict=True):
        labels, shares = others_plurality(told, counts, votes)
        agreed[voter] = (float(shares[np.arange(len(labels)), labels].sum()), len(labels))
    return agreed


def _paces(told: Ballots, time: FloatArray) -> dict[str, float]:
    """Median seconds between a person's votes within a sitting."""
    paces = {}
    for number, voter in enumerate(told.people):
        gaps = np.diff(np.sort(time[told.person == number]))
        sitting = gaps[gaps <= ONE_SITTING]
        if len(sitting):
            paces[voter] = float(np.median(sitting))
    return paces


def _person(
    name: str,
    each: PersonQuality,
    agreeing: tuple[float, int],
    seconds: float | None,
) -> PersonFigures:
    right = round((each.with_truth or 0.0) * each.num_known)
    gold_low, gold_high = share_interval(right / each.num_known, each.num_known) if each.num_known else (None, None)
    agrees, compared = agreeing
    low, high = share_interval(agrees / compared, compared) if compared else (None, None)
    return PersonFigures(
        voter=each.person, name=name, num_votes=each.num_votes - each.num_known,
        gold_answers=each.num_known, gold_right=right, gold_low=gold_low, gold_high=gold_high,
        accuracy=each.accuracy.value, accuracy_low=each.accuracy.low, accuracy_high=each.accuracy.high,
        compared=compared, agreement=agrees / compared if compared else None, agreement_low=low, agreement_high=high,
        kind=each.kind, kind_probability=each.kinds[TYPES.index(each.kind)], evidence=each.evidence, seconds=seconds,
    )  # fmt: skip
