"""Reads items: pages of items and of decisions, progress, items that wait for a verdict or are set aside.

Pages are read by keyset, so that every page costs the same. Decisions have the columns of `quorate run`; the session
core recomputes the probabilities (`probs`) from the item's events. Called by the API's lists and exports, and pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, case, func, or_, select

from quorate.session import ABSTAINED, Event
from quorate.types import Reason
from quorate_service.domain.events import is_folded
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.votes import not_here
from quorate_service.domain.webhooks import final_answer
from quorate_service.store.bulk import in_batches, json_field
from quorate_service.store.schema import (
    accounts,
    answer,
    ballots,
    counted,
    events,
    image_reports,
    is_gold,
    items,
    memberships,
    not_withdrawn,
    owner_actions,
)

Status = Literal["open", "closed", "audit", "aside", "withdrawn", "gold"]
BATCH = 500


@dataclass(frozen=True, slots=True)
class Filter:
    """Which items: by status, a part of the id or content, final answer, reason, and ids."""

    status: Status | None = None
    search: str | None = None
    label: str | None = None
    reason: str | None = None
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One closed item: its final `answer` (the verdict, else what the whole pool said after the item had closed, else
    the consensus), then the columns of `quorate run` up to `audited`; `num_votes`, `agreement` and `voters` (their
    names, in order) are of the votes used for the answer, `cost` is of all votes. An item that closed without an
    answer (`reasons.is_answered`) has no `consensus_label` and `confidence`."""

    item: str
    answer: str | None
    consensus_label: str | None
    confidence: float | None
    num_votes: int
    agreement: float | None
    stop_reason: Reason
    cost: float
    pool_size: int
    audited: bool
    voters: tuple[str, ...]
    probs: tuple[float, ...]
    closed: float
    verdict: str | None
    verdict_by: str | None
    verdict_time: float | None


@dataclass(frozen=True, slots=True)
class Counts:
    """A project's progress; the other counts leave out withdrawn items."""

    items: int
    open: int
    closed: int
    in_audit: int
    votes: int
    withdrawn: int


def list_items(
    connection: Connection, project_id: str, chosen: Filter, *, after: int = -1, limit: int = 100
) -> Sequence[Row[Any]]:
    """Up to `limit` items in the order in which they were added, starting after number `after`."""
    query = select(items).where(*conditions(project_id, chosen), items.c.number > after)
    return connection.execute(query.order_by(items.c.number).limit(limit)).all()


def find_item(connection: Connection, project_id: str, name: str, *, lock: bool = False) -> Row[Any]:
    """The item's row, with `lock` locked until the transaction ends; an error if it does not exist."""
    query = select(items).where(items.c.project_id == project_id, items.c.name == name)
    row: Row[Any] | None = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise not_here(name)
    return row


def has_predictions(connection: Connection, project_id: str) -> bool:
    """Whether a classifier predicts any item of the project."""
    query = select(items.c.id).where(items.c.project_id == project_id, items.c.is_predicted).limit(1)
    return connection.execute(query).one_or_none() is not None


def all_items(connection: Connection, project_id: str) -> Iterator[Row[Any]]:
    """Every item in the order in which they were added, in bounded memory."""
    query = select(items).where(items.c.project_id == project_id)
    for rows in in_batches(connection, query, items.c.number, after=-1, size=BATCH):
        yield from rows


def conditions(project_id: str, chosen: Filter) -> Iterator[ColumnElement[bool]]:
    """The conditions of a filter, for `where`."""
    yield items.c.project_id == project_id
    if chosen.status is not None:
        yield items.c.withdrawn.is_not(None) if chosen.status == "withdrawn" else not_withdrawn
    if chosen.status in ("open", "closed", "audit", "gold"):
        yield is_gold if chosen.status == "gold" else ~is_gold
    if chosen.status == "audit":
        yield items.c.audit.is_not(None)
    elif chosen.status == "aside":
        yield items.c.set_aside.is_not(None)
    elif chosen.status in ("open", "closed"):
        yield items.c.is_open == (chosen.status == "open")
    if chosen.names is not None:
        yield items.c.name.in_(chosen.names)
    if chosen.search:
        searched = (items.c.name, *(json_field(items.c.show, field) for field in ("text", "image", "link")))
        yield or_(*(field.icontains(chosen.search, autoescape=True) for field in searched))
    if chosen.label is not None:
        yield answer == chosen.label
    if chosen.reason is not None:
        yield items.c.reason == chosen.reason


def counts(connection: Connection, project_id: str) -> Counts:
    """Count the project's items and votes."""
    query = select(items.c.is_open, items.c.audit, func.count(), func.sum(items.c.num_votes))
    query = query.where(items.c.project_id == project_id, counted).group_by(items.c.is_open, items.c.audit)
    rows = connection.execute(query)
    groups = [(bool(is_open), audit, int(number), int(votes)) for is_open, audit, number, votes in rows]
    opened = sum(number for is_open, _, number, _ in groups if is_open)
    total = sum(number for _, _, number, _ in groups)
    drawn = sum(number for _, audit, number, _ in groups if audit == "drawn")
    gone = select(func.count()).where(items.c.project_id == project_id, items.c.withdrawn.is_not(None))
    withdrawn = int(connection.execute(gone).scalar_one())
    return Counts(total, opened, total - opened, drawn, sum(votes for *_, votes in groups), withdrawn)


def acts_of(connection: Connection, project_id: str, voter: str) -> int:
    """How many items this voter has acted on."""
    theirs = (ballots.c.project_id == project_id, ballots.c.voter == voter)
    return int(connection.execute(select(func.count()).select_from(ballots).where(*theirs)).scalar_one())


def acts_by_voter(connection: Connection, project_id: str) -> dict[str, tuple[int, float]]:
    """For each voter the number of votes, answers to gold items included, and when they last acted."""
    votes = func.sum(case((ballots.c.kind == "vote", 1), else_=0))
    query = select(ballots.c.voter, votes, func.max(ballots.c.time)).where(ballots.c.project_id == project_id)
    return {voter: (int(number), last) for voter, number, last in connection.execute(query.group_by(ballots.c.voter))}


def voter_names(connection: Connection, project: Project) -> dict[str, str]:
    """The names of the project's members, by account."""
    query = select(accounts.c.id, accounts.c.name).join(memberships, memberships.c.account_id == accounts.c.id)
    return {row.id: row.name for row in connection.execute(query.where(memberships.c.project_id == project.id))}


def all_decisions(projects_: Projects, connection: Connection, project: Project) -> Iterator[DecisionRow]:
    """Every closed item, in the order in which they closed, in bounded memory."""
    query = select(items).where(items.c.project_id == project.id, counted)
    for rows in in_batches(connection, query, items.c.closed_event, size=BATCH):
        yield from decided(projects_, connection, project, rows)


def decided(
    projects_: Projects, connection: Connection, project: Project, rows: Sequence[Row[Any]]
) -> list[DecisionRow]:
    """The decisions on these items."""
    written = events_of(connection, [row.id for row in rows])
    names = voter_names(connection, project)
    return [_decided(projects_, connection, project, row, written[row.id], names) for row in rows]


def events_of(connection: Connection, item_ids: Sequence[int]) -> dict[int, list[Event]]:
    """The events of several items that the session core folds, by item."""
    by_item: dict[int, list[Event]] = {item_id: [] for item_id in item_ids}
    query = select(events.c.item_id, events.c.body).where(events.c.item_id.in_(item_ids), is_folded)
    for item_id, body in connection.execute(query.order_by(events.c.item_id, events.c.seq)):
        by_item[item_id].append(json.loads(body))
    return by_item


def _decided(
    projects_: Projects,
    connection: Connection,
    project: Project,
    row: Row[Any],
    written: list[Event],
    names: Mapping[str, str],
) -> DecisionRow:
    session, _ = projects_.item_session(connection, project, row, written)
    item = session.item(row.name)
    decision, standing = session.decision(row.name), item.standing
    used = [voter for voter, ballot in item.ballots.items() if ballot.label != ABSTAINED and not ballot.late]
    assert standing is not None and decision.probs is not None
    agreeing = int(standing.votes[standing.label])
    return DecisionRow(
        item=row.name,
        answer=final_answer(row._mapping),
        consensus_label=row.label,
        confidence=None if row.label is None else decision.confidence,
        num_votes=decision.num_votes,
        agreement=agreeing / decision.num_votes if decision.num_votes else None,
        stop_reason=decision.reason,
        cost=round(row.num_votes * (project.settings.price or 1.0), 9),  # 0.3, not 0.30000000000000004
        pool_size=row.pool_size,
        audited=row.audit is not None,
        voters=tuple(names.get(voter, voter.removeprefix("ext:")) for voter in used),
        probs=tuple(float(value) for value in decision.probs),
        closed=row.closed,
        verdict=row.verdict,
        verdict_by=names.get(row.verdict_by, row.verdict_by),
        verdict_time=row.verdict_time,
    )


def list_learned(connection: Connection, project_id: str, *, after: int = 0, limit: int = 100) -> list[dict[str, Any]]:
    """Up to `limit` fits, oldest first: event, time, theta, phi, tau (M, K), num_items."""
    fits = select(events.c.id, events.c.time, events.c.body).where(events.c.project_id == project_id)
    fits = fits.where(events.c.kind == "learn", events.c.id > after).order_by(events.c.id).limit(limit)
    learned = []
    for row in connection.execute(fits):
        body = json.loads(row.body)
        tau = body["tau"] if isinstance(body["tau"][0], list) else [body["tau"]]
        learned.append({"event": row.id, "time": row.time, "theta": body["theta"], "phi": body["phi"], "tau": tau})
        learned[-1]["num_items"] = body["num_items"]
    return learned


def count_set_aside(connection: Connection, project_id: str) -> int:
    """How many items of the project are set aside, without withdrawn ones."""
    query = select(func.count()).where(items.c.project_id == project_id, items.c.set_aside.is_not(None), not_withdrawn)
    return int(connection.execute(query).scalar_one())


def reporters_of(connection: Connection, item_id: int) -> set[str]:
    """Who has reported the item's image since an owner last cleared it."""
    cleared = select(func.max(owner_actions.c.time))
    cleared = cleared.where(owner_actions.c.item_id == item_id, owner_actions.c.kind == "clear")
    since = connection.execute(cleared).scalar_one() or 0.0
    query = select(image_reports.c.voter).where(image_reports.c.item_id == item_id, image_reports.c.time > since)
    return set(connection.execute(query).scalars())


def reports_of(connection: Connection, item_id: int) -> list[tuple[str, float]]:
    """Who could not see the item's image, and when; the latest first."""
    query = select(image_reports.c.voter, image_reports.c.time).where(image_reports.c.item_id == item_id)
    return [(row.voter, row.time) for row in connection.execute(query.order_by(image_reports.c.id.desc()).limit(20))]
