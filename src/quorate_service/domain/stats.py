"""The numbers of a project's dashboard. They cost O(items + ballots), so background jobs compute them.

`stats` computes them, `latest_stats` reads the latest. Called by `background`, the API and the dashboard.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, case, cast, desc, func, or_, select

from quorate.audit import standing
from quorate.streams import CONFIDENCE_LEVEL, TargetErrorControl
from quorate_service.domain.audits import ProjectAudit, audit_report
from quorate_service.domain.learning import stored_control
from quorate_service.domain.listing import voter_names
from quorate_service.domain.projects import Project
from quorate_service.domain.verdicts import num_waiting
from quorate_service.store.schema import (
    accounts,
    answer,
    ballots,
    counted,
    events,
    has_answer,
    is_gold,
    items,
    memberships,
    not_withdrawn,
    tasks,
)

HOUR = 3600.0
LIVE_SECONDS = 8.0  # numbers up to this age are shown as live
HISTORY = 200  # "learn" events shown over time
MOST_VOTERS = 200  # listed individually


@dataclass(frozen=True, slots=True)
class Stats:
    """The numbers of a project at `time` (seconds since 1970), without withdrawn items.

    Money is at the project's price now.

    Null where there is nothing yet. The API returns these fields.
    """

    time: float
    num_items: int
    num_open: int
    num_closed: int
    num_unanswered: int  # closed items without a final answer
    num_in_audit: int
    num_people: int  # people who vote: voters, seniors, owners who have voted, people whose votes an owner sent
    num_waiting: int  # closed items that wait for a senior's verdict
    num_short: int  # open or in the audit, and asking for more people than these
    votes_for_audits: int  # at most so many does the service still ask for on closed items
    num_predicted: int  # items with the prediction of a classifier
    num_votes: int
    num_abstained: int
    num_late: int
    last_vote: float | None
    votes_per_closed: float | None
    votes_on_closed: int  # with an answer
    votes_of_pools: int  # of the same items, without the people who could not tell
    votes_saved: int
    share_saved: float | None
    money_spent: float
    money_saved: float
    num_gold: int  # gold items; no other number includes them
    gold_answers: int
    money_gold: float  # cost of the answers to gold items
    believed_error: float | None
    reasons: dict[str, int]
    labels: dict[str, int]
    hours: list[dict[str, float]]
    num_voters: int
    voters: list[dict[str, Any]]  # the busiest
    learning: list[dict[str, Any]]
    goal: dict[str, Any] | None
    audit: ProjectAudit

    def as_json(self) -> dict[str, Any]:
        """Everything, by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LatestStats(Stats):
    """The latest numbers, computed at `time` (seconds since 1970), `age` seconds ago; `version` grows each time they
    are computed.

    Money is at the project's price now. Null where there is nothing yet.
    """

    age: float
    version: int


LATEST = TypeAdapter(LatestStats)


def stats(connection: Connection, project: Project, *, now: float) -> Stats:
    """Compute all numbers."""
    num_voters = _num_voters(connection, project)
    num_people = _num_people(connection, project)
    counts = _counts(connection, project)
    answered = counts.pop("num_answered")
    asked, pools = counts["votes_on_closed"], counts["votes_of_pools"]
    price = project.settings.price
    gold = _gold(connection, project)
    audit = audit_report(connection, project)
    return Stats(
        time=now,
        votes_per_closed=asked / answered if answered else None,
        votes_saved=pools - asked,
        share_saved=1.0 - asked / pools if pools else None,
        money_spent=_money(counts["num_votes"], price),
        money_saved=_money(pools - asked, price),
        reasons=_grouped(connection, project, items.c.reason),
        labels=_grouped(connection, project, answer),
        hours=_hours(connection, project, now),
        last_vote=_last_vote(connection, project),
        num_voters=num_voters,
        num_people=num_people,
        num_short=_num_short(connection, project, num_people),
        voters=_voters(connection, project),
        learning=learning_history(connection, project),
        goal=_goal(connection, project, audit),
        audit=audit,
        num_waiting=num_waiting(connection, project),
        **gold,
        **counts,
    )


def latest_stats(connection: Connection, project: Project, *, now: float) -> LatestStats:
    """The numbers that were stored last; computed here if there are none, or they know no items."""
    query = select(tasks.c.state).where(tasks.c.project_id == project.id, tasks.c.task == "stats")
    state = json.loads(connection.execute(query).scalar_one_or_none() or "{}")
    latest = state.get("stats")
    if not latest or not latest["num_items"]:  # cheap, and an import shows at once
        latest = stats(connection, project, now=now).as_json()
    age = abs(now - latest["time"])  # a time in the future: the clock was set back
    return LATEST.validate_python(latest | {"age": age, "version": int(state.get("version", 0))})


def learning_history(connection: Connection, project: Project, *, most: int = HISTORY) -> list[dict[str, Any]]:
    """The learned parameters, oldest first: theta, phi, tau by classifier and class; thinned to `most` points."""
    fits = select(events.c.id, events.c.time, events.c.body)
    fits = fits.where(events.c.project_id == project.id, events.c.kind == "learn").order_by(events.c.id.desc())
    rows = list(connection.execute(fits.limit(20 * most)).all())[::-1]
    kept = rows[:: max(1, -(-len(rows) // most))] if rows else []
    if rows and kept[-1].id != rows[-1].id:
        kept.append(rows[-1])
    learned = []
    for row in kept:
        body = json.loads(row.body)
        learned.append({"event": row.id, "time": row.time} | {k: body[k] for k in ("theta", "phi", "tau", "num_items")})
    return learned


def _counts(connection: Connection, project: Project) -> dict[str, Any]:
    closed = ~items.c.is_open
    answered = closed & has_answer
    pool_left = items.c.pool_size - items.c.num_votes - items.c.num_abstained
    row = connection.execute(
        select(
            func.count().label("num_items"),
            func.sum(case((items.c.is_open, 1), else_=0)).label("num_open"),
            func.sum(case((closed, 1), else_=0)).label("num_closed"),
            func.sum(case((items.c.audit == "drawn", 1), else_=0)).label("num_in_audit"),
            func.sum(case((items.c.is_predicted, 1), else_=0)).label("num_predicted"),
            func.sum(case((closed & items.c.is_wanted, pool_left), else_=0)).label("votes_for_audits"),
            func.sum(items.c.num_votes).label("num_votes"),
            func.sum(items.c.num_abstained).label("num_abstained"),
            func.sum(items.c.num_late).label("num_late"),
            func.sum(case((answered, items.c.num_votes), else_=0)).label("votes_on_closed"),
            func.sum(case((closed & answer.is_(None), 1), else_=0)).label("num_unanswered"),
            func.sum(case((answered, 1), else_=0)).label("num_answered"),
            func.sum(case((answered, items.c.pool_size - items.c.num_abstained), else_=0)).label("votes_of_pools"),
            func.avg(case((answered, 1.0 - items.c.confidence))).label("believed_error"),
        ).where(items.c.project_id == project.id, counted)
    ).one()
    counts = {name: int(value or 0) for name, value in row._mapping.items() if name != "believed_error"}
    believed = None if row.believed_error is None else float(row.believed_error)
    return counts | {"believed_error": believed}


def _gold(connection: Connection, project: Project) -> dict[str, Any]:
    """The number of gold items, of answers to them, and their cost."""
    here = (items.c.project_id == project.id, is_gold, not_withdrawn)
    number = connection.execute(select(func.count()).where(*here)).scalar_one()
    query = select(func.count()).select_from(ballots).join(items, items.c.id == ballots.c.item_id)
    answers = int(connection.execute(query.where(*here, ballots.c.kind == "vote")).scalar_one())
    return {"num_gold": int(number), "gold_answers": answers, "money_gold": _money(answers, project.settings.price)}


def _money(num_votes: int, price: float) -> float:
    return round(num_votes * price, 9)  # 0.3, not 0.30000000000000004


def _grouped(connection: Connection, project: Project, column: ColumnElement[str]) -> dict[str, int]:
    """How many closed items have each value."""
    here = (items.c.project_id == project.id, ~items.c.is_open, counted, column.is_not(None))
    query = select(column, func.count()).where(*here).group_by(column)
    rows = sorted(connection.execute(query).all(), key=lambda row: (-row[1], row[0]))
    return {str(name): int(count) for name, count in rows}


def _hours(connection: Connection, project: Project, now: float) -> list[dict[str, float]]:
    """Votes in each of the last 24 hours, and the seconds from the first of them to the end of that hour."""
    since = now - 24 * HOUR
    ago = cast((now - ballots.c.time) / HOUR, Integer)
    query = select(ago.label("ago"), func.count(), func.min(ballots.c.time))
    query = query.where(ballots.c.project_id == project.id, ballots.c.time > since)
    query = query.join(items, items.c.id == ballots.c.item_id).where(counted)
    query = query.where(ballots.c.kind == "vote", ballots.c.time <= now).group_by("ago")
    by_hour = {int(row[0]): (int(row[1]), now - HOUR * int(row[0]) - row[2]) for row in connection.execute(query)}
    hours = [(hour, *by_hour.get(hour, (0, 0.0))) for hour in range(23, -1, -1)]
    return [{"hours_ago": float(hour), "votes": float(votes), "seconds": seconds} for hour, votes, seconds in hours]


def _last_vote(connection: Connection, project: Project) -> float | None:
    """When the last vote was cast."""
    last = select(func.max(ballots.c.time)).join(items, items.c.id == ballots.c.item_id)
    last = last.where(ballots.c.project_id == project.id, ballots.c.kind == "vote", counted)
    time: float | None = connection.execute(last).scalar_one()
    return time


def _num_voters(connection: Connection, project: Project) -> int:
    """How many people have acted on an item."""
    people = select(func.count(ballots.c.voter.distinct())).where(ballots.c.project_id == project.id)
    return int(connection.execute(people).scalar_one())


def _num_people(connection: Connection, project: Project) -> int:
    """How many people vote: voters and seniors, and those owners and outside voters who have voted."""
    ours = select(ballots.c.voter).where(ballots.c.project_id == project.id)
    votes = or_(memberships.c.role.in_(("voter", "senior")), memberships.c.account_id.in_(ours))
    members = _present(project).where(votes).subquery()
    outside = ours.where(ballots.c.voter.startswith("ext:")).distinct().subquery()
    queries = (select(func.count()).select_from(people) for people in (members, outside))
    return sum(int(connection.execute(query).scalar_one()) for query in queries)


def _present(project: Project) -> Select[Any]:
    """The accounts of the members who may vote."""
    may = (memberships.c.project_id == project.id, memberships.c.removed.is_(None), memberships.c.role != "reader")
    members = select(memberships.c.account_id).join(accounts, accounts.c.id == memberships.c.account_id)
    return members.where(*may, accounts.c.disabled.is_(None))


def _num_short(connection: Connection, project: Project, num_people: int) -> int:
    """How many items ask for more people than there are: those who acted before they were removed are not missing."""
    theirs = (ballots.c.item_id == items.c.id, ~ballots.c.voter.startswith("ext:"))
    gone = select(func.count()).where(*theirs, ballots.c.voter.not_in(_present(project))).scalar_subquery()
    skipped = items.c.num_ballots - items.c.num_votes - items.c.num_abstained
    missing = items.c.pool_size + skipped - gone > num_people
    query = select(func.count()).where(items.c.project_id == project.id, items.c.is_wanted, counted, missing)
    return int(connection.execute(query).scalar_one())


def _voters(connection: Connection, project: Project) -> list[dict[str, Any]]:
    """The busiest voters: votes, abstentions, skips, and agreement with the answers of closed items."""
    agreed = and_(ballots.c.kind == "vote", ~items.c.is_open, ballots.c.label == answer)
    judged = and_(ballots.c.kind == "vote", ~items.c.is_open)
    query = select(
        ballots.c.voter,
        func.sum(case((ballots.c.kind == "vote", 1), else_=0)).label("votes"),
        func.sum(case((ballots.c.kind == "abstain", 1), else_=0)).label("abstained"),
        func.sum(case((ballots.c.kind == "skip", 1), else_=0)).label("skipped"),
        func.sum(case((agreed, 1), else_=0)).label("agreed"),
        func.sum(case((judged, 1), else_=0)).label("judged"),
        func.max(ballots.c.time).label("last"),
    )
    query = query.join(items, items.c.id == ballots.c.item_id).where(ballots.c.project_id == project.id, counted)
    busiest = query.group_by(ballots.c.voter).order_by(desc("votes"), ballots.c.voter).limit(MOST_VOTERS)
    rows = connection.execute(busiest).all()
    names = voter_names(connection, project)
    voters = [
        {
            "voter": row.voter, "name": names.get(row.voter, row.voter.removeprefix("ext:")), "votes": int(row.votes),
            "abstained": int(row.abstained), "skipped": int(row.skipped), "last": float(row.last),
            "agreement": int(row.agreed) / int(row.judged) if row.judged else None,
        }
        for row in rows
    ]  # fmt: skip
    return sorted(voters, key=lambda voter: (-voter["votes"], voter["name"]))


def _goal(connection: Connection, project: Project, audit: ProjectAudit) -> dict[str, Any] | None:
    """The goal and what is reached, for a budget or a target error.

    The error reached is an estimate: null unless the audit supports it, as in the summary of a run.
    """
    control = stored_control(connection, project)
    if control is None:
        return None
    reached = None if math.isnan(control.reached) else control.reached
    kind = "budget" if project.settings.budget is not None else "target_error"
    goal = {"kind": kind, "asked_for": control.asked_for, "reached": reached, "parameters": control.parameters}
    if isinstance(control, TargetErrorControl):
        proved = audit.most_wrong if audit.num_complete and audit.is_informative and audit.is_enough else None
        goal |= {"confidence_level": CONFIDENCE_LEVEL, **standing(control.asked_for, reached, proved)}
        is_shown = goal["estimate_supported"] and not math.isnan(control.upper)
        goal |= {"reached": reached if is_shown else None, "upper": control.upper if is_shown else None}
    return goal
