"""The numbers of a project, for owners and readers: the audit's bound, the dashboard's numbers, what was learned."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from quorate.service.api.fields import Out, Time, problems
from quorate.service.api.here import Now, ProjectId, TheProjects, Viewer
from quorate.service.api.paging import Cursor, Limit, Page, after_number, page
from quorate.service.api.reading import StrictRoute
from quorate.service.deciding.listing import list_learned
from quorate.service.deciding.stats import latest_stats

router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["numbers"], route_class=StrictRoute)

Share = float | None


class AuditOut(Out):
    """What the audited items prove; `sentence` says it in words."""

    alpha: float
    num_closed: int
    num_settled: int
    num_drawn: int
    num_complete: int
    num_without_coin: int
    believed_error: Annotated[Share, Field(description="What the posterior says of all closed items.")]
    measured_error: Annotated[Share, Field(description="Unbiased, from the items drawn by coin.")]
    most_wrong: Annotated[Share, Field(description="With probability 1 - alpha no larger share is wrong, at any time.")]
    is_informative: Annotated[bool, Field(description="False while there are not enough audits.")]
    audited_believed: Share
    audited_measured: Share
    sentence: str


class AuditTold(AuditOut):
    """The same, as of `time`."""

    time: Time


class StatsOut(Out):
    """One look at a project, at `time`; null where there is nothing yet."""

    time: Time
    num_items: int
    num_open: int
    num_closed: int
    num_in_audit: int
    num_votes: int
    num_abstained: int
    num_late: int
    votes_per_closed: float | None
    votes_on_closed: int
    votes_of_pools: int
    votes_saved: int
    share_saved: float | None
    money_spent: float
    money_saved: float
    believed_error: float | None
    reasons: dict[str, int]
    labels: dict[str, int]
    hours: list[dict[str, float]]
    voters: list[dict[str, Any]]
    learning: list[dict[str, Any]]
    goal: dict[str, Any] | None
    audit: AuditOut


class LearnedOut(Out):
    """What the classifiers were found to be worth, and when: theta votes, phi doubt, tau by model and class."""

    event: int
    time: Time
    theta: float
    phi: float
    tau: Annotated[dict[str, dict[str, float]], Field(description="By model and class.")]
    num_items: int


@router.get("/audit", summary="What the audit proves", responses=problems(403, 404))
def show_audit(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, now: Now) -> AuditTold:
    """Of every closed item, as computed last beside the dashboard's numbers: see `time`."""
    with projects_.store.read() as connection:
        told = latest_stats(connection, projects_.get_in(connection, project_id), now=now)
    return AuditTold(**told["audit"], time=told["time"])


@router.get("/stats", summary="The dashboard's numbers", responses=problems(403, 404))
def show_stats(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, now: Now) -> StatsOut:
    """As computed last, at most some seconds ago: see `time`."""
    with projects_.store.read() as connection:
        return StatsOut(**latest_stats(connection, projects_.get_in(connection, project_id), now=now))


@router.get("/learning", summary="What was learned, over time", responses=problems(403, 404))
def list_learning(
    project_id: ProjectId, _caller: Viewer, projects_: TheProjects, cursor: Cursor = None, limit: Limit = 100
) -> Page[LearnedOut]:
    """Each fit, oldest first."""
    after = after_number(cursor, first=0)
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        found = list_learned(connection, project_id, after=after, limit=limit + 1)
    models, classes = project.settings.models, project.settings.classes

    def shown(learned: dict[str, Any]) -> LearnedOut:
        tau = {model: dict(zip(classes, each, strict=True)) for model, each in zip(models, learned["tau"], strict=True)}
        return LearnedOut(**learned | {"tau": tau})

    return Page[LearnedOut](**page(found, limit, shown, lambda each: int(each["event"])))
