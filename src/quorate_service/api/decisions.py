"""Decisions, their history, items that wait for a verdict, and a project's numbers: audit, dashboard, learning."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import Field

from quorate_service.api.dependencies import Now, ProjectId, Senior, TheProjects, Viewer, Work, Write
from quorate_service.api.fields import In, ItemId, ItemQuery, Out, Page, Text, Time, Wanted, problems
from quorate_service.api.votes import ShowOut
from quorate_service.domain.audits import ProjectAudit
from quorate_service.domain.items import for_browser
from quorate_service.domain.listing import Filter, decided, list_items, list_learned
from quorate_service.domain.projects import Project
from quorate_service.domain.stats import LatestStats, latest_stats
from quorate_service.domain.trail import trail
from quorate_service.domain.verdicts import MOST_NOTE, Doubtful, give_verdict, waiting

router = APIRouter(prefix="/api/v1/projects/{project_id}")


class DecisionOut(Out):
    """A closed item, with the columns of `quorate run`."""

    item: str
    answer: Annotated[
        str | None,
        Field(description="The verdict, else what the whole pool said later, else the next; null: no answer."),
    ]
    consensus_label: Annotated[
        str | None, Field(description="Null: no answer, because everybody abstained or nobody voted before it closed.")
    ]
    confidence: Annotated[float | None, Field(description="Null without an answer.")]
    num_votes: Annotated[int, Field(description="Votes on which the answer is based.")]
    agreement: Annotated[float | None, Field(description="Share of these votes that are for the answer.")]
    stop_reason: str
    cost: Annotated[
        float, Field(description="Cost of its votes, including late ones; the number of votes if they are free.")
    ]
    pool_size: int
    audited: bool
    voters: Annotated[list[str], Field(description="Names of the voters on whom the answer is based, in order.")]
    probs: Annotated[dict[str, float], Field(description="Probability of winning the pool, by class.")]
    closed: Time
    verdict: Annotated[str | None, Field(description="A senior's verdict; null: none.")] = None
    verdict_by: Annotated[str | None, Field(description="The senior's name.")] = None
    verdict_time: Annotated[float | None, Field(description="Seconds since 1970.")] = None


@router.get("/decisions", tags=["decisions"], summary="List decisions", responses=problems(403, 404))
def list_project_decisions(
    project_id: ProjectId, _caller: Viewer, projects_: TheProjects, wanted: Wanted
) -> Page[DecisionOut]:
    """Closed items in the order in which they were added. Items closed before the first page was read appear exactly
    once. Items that close while pages are read may be missing; webhooks report every one."""
    after = wanted.number()
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        rows = list_items(connection, project_id, Filter("closed"), after=after, limit=wanted.most)
        rows_decided = decided(projects_, connection, project, rows)
    classes, numbers = project.settings.classes, {row.name: row.number for row in rows}
    bodies = [asdict(row) | {"probs": dict(zip(classes, row.probs, strict=True))} for row in rows_decided]
    return wanted.page(bodies, lambda body: int(numbers[body["item"]]))


class TrailOut(Out):
    """The full history of an item, as read by `quorate.session.single.recompute`."""

    item: str
    number: int
    settings: Annotated[dict[str, Any], Field(description="As in the header of a session's journal.")]
    eras: Annotated[list[dict[str, Any]], Field(description="Parameters in force, learned and of the method.")]
    events: Annotated[list[dict[str, Any]], Field(description="In order; `recomputed` is the decision computed again.")]
    beside: Annotated[
        list[dict[str, Any]], Field(description="Skips, answers to a gold item, verdicts: not part of the pool's vote.")
    ]
    owner_actions: Annotated[list[dict[str, Any]], Field(description="What owners did with it, in addition to events.")]
    signed_in_by: Annotated[
        dict[int, str], Field(description="How each event's author signed in, by `seq`; not part of the event.")
    ]


@router.get("/item/trail", tags=["items"], summary="An item's audit trail", responses=problems(403, 404))
def show_trail(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, item: ItemQuery) -> TrailOut:
    """Every event with its decision, the parameters in force, and the same decision computed again now."""
    with projects_.store.read() as connection:
        return TrailOut(**trail(projects_, connection, projects_.get_in(connection, project_id), item))


class DoubtfulOut(Out):
    """An item that waits for a verdict: its content and its votes, without names or the prediction."""

    item: str
    show: ShowOut
    votes: Annotated[dict[str, int], Field(description="By class.")]
    num_abstained: int
    tied: Annotated[bool, Field(description="The whole pool voted, and it is a tie.")]
    mine: Annotated[str | None, Field(description="The caller's own vote; null: none.")]
    closed: Time


class VerdictIn(In):
    """A verdict on one item."""

    item: ItemId
    label: Annotated[Text, Field(max_length=100, description="The class.")]
    replaces: Annotated[
        Text | None,
        Field(
            max_length=100,
            description="The verdict that this one corrects; null: the item has none. If it has "
            "another one by now, the request is refused.",
        ),
    ] = None
    note: Annotated[Text, Field(max_length=MOST_NOTE, description="Why, for the record.")] = ""


class VerdictOut(Out):
    """A verdict as it is stored."""

    item: str
    label: str
    event: int
    time: Time


@router.get(
    "/adjudication", tags=["adjudication"], summary="Items that wait for a verdict", responses=problems(403, 404)
)
def list_waiting(project_id: ProjectId, caller: Senior, projects_: TheProjects, wanted: Wanted) -> Page[DoubtfulOut]:
    """Closed items whose pool ties or whose confidence is below `adjudicate_below`, in order of closing."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        me, after = caller.account_id, wanted.number(0)
        doubtful = waiting(connection, project, me, after=after, limit=wanted.most)
    places = {item.item: item.closed_event for item in doubtful}
    return wanted.page([_doubtful(project, item) for item in doubtful], lambda item: places[item["item"]])


@router.post(
    "/verdicts",
    tags=["adjudication"],
    summary="Give a verdict",
    response_model=VerdictOut,
    responses=problems(403, 404, 409),
)
def create_verdict(once: Write, project_id: ProjectId, caller: Senior, body: VerdictIn) -> Response:
    """The verdict is the final answer. The pool's answer stays beside it. A later verdict (`replaces`) corrects it; the
    history keeps both."""

    def work(on: Work) -> VerdictOut:
        number = give_verdict(
            on.projects, project_id, body.item, body.label, replaces=body.replaces, by=caller.account_id,
            signed_in_by=caller.signed_in_by, note=body.note, now=on.now,
        )  # fmt: skip
        return VerdictOut(item=body.item, label=body.label, event=number, time=on.now)

    return once(caller, work)


def _doubtful(project: Project, each: Doubtful) -> dict[str, Any]:
    """The fields of `DoubtfulOut`."""
    same = ("item", "num_abstained", "tied", "mine", "closed")
    votes = dict(zip(project.settings.classes, each.votes, strict=True))
    show = ShowOut(**for_browser(project.id, each.show))
    return {name: getattr(each, name) for name in same} | {"votes": votes, "show": show}


@dataclass(frozen=True, slots=True)
class AuditTold(ProjectAudit):
    """What the audited items prove, as of `time`; `sentence` says it in English.

    `believed_error`: the expected error of all closed items by their posteriors. `measured_low`, `measured_high`: the
    estimate from the audit sample, with unfinished items counted as right and as wrong; null while none is finished.
    `most_wrong`: with probability 1 - alpha no larger share is wrong, however often it is computed.
    `is_informative`: false while there are not enough audits for any bound. `is_enough`: false while there are too few
    for a statement; about `num_needed` complete ones are needed if none is wrong. It is true also if more than 20 % of
    at least 5 complete ones are wrong. `audited_...`: expected and observed on the sample.
    """

    time: float


class LearnedOut(Out):
    """Learned parameters and when: theta is how many votes the classifiers are worth, phi the doubt on every class, tau
    the weights of log f by model and class."""

    event: int
    time: Time
    theta: float
    phi: float
    tau: Annotated[dict[str, dict[str, float]], Field(description="By model and class.")]
    num_items: int


@router.get("/audit", tags=["numbers"], summary="What the audit proves", responses=problems(403, 404))
def show_audit(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, now: Now) -> AuditTold:
    """Covers every closed item; computed in the background with the dashboard's numbers, see `time`."""
    with projects_.store.read() as connection:
        latest = latest_stats(connection, projects_.get_in(connection, project_id), now=now)
    return AuditTold(**asdict(latest.audit), time=latest.time)


@router.get("/stats", tags=["numbers"], summary="The dashboard's numbers", responses=problems(403, 404))
def show_stats(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, now: Now) -> LatestStats:
    """The latest numbers, a few seconds old while a worker is running: see `age`."""
    with projects_.store.read() as connection:
        return latest_stats(connection, projects_.get_in(connection, project_id), now=now)


@router.get("/learning", tags=["numbers"], summary="Learned parameters over time", responses=problems(403, 404))
def list_learning(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, wanted: Wanted) -> Page[LearnedOut]:
    """Each fit, oldest first."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        fits = list_learned(connection, project_id, after=wanted.number(0), limit=wanted.most)
    return wanted.page([fit | {"tau": project.by_model(fit["tau"])} for fit in fits], lambda fit: int(fit["event"]))
