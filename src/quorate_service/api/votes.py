"""Endpoints for voting: next items, votes, abstentions, skip, undo, leave. Voters see nothing of other voters.

An owner's key may send the votes of people who vote elsewhere (`voter`), and gets the decision back. Concurrent votes
are stored in one transaction (`domain/ballots.py`). The models of responses must not contain more about an item than
its content and the caller's own votes.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, Self

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from pydantic import ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from quorate_service.access.limits import limit_votes
from quorate_service.access.principal import Member
from quorate_service.access.request_context import kept
from quorate_service.api.dependencies import Now, ProjectId, TheProjects, Voter, projects_of
from quorate_service.api.fields import In, ItemId, Key, Out, OutsideVoter, Text, Time, problems
from quorate_service.domain.ballots import Call, CallAnswer, answer_all
from quorate_service.domain.broken_images import report_image
from quorate_service.domain.item_projection import answer_of
from quorate_service.domain.items import for_browser
from quorate_service.domain.leases import give_back
from quorate_service.domain.listing import find_item
from quorate_service.domain.projects import Projects
from quorate_service.domain.votes import Kind, RecordedVote, Request
from quorate_service.microbatch import MicroBatcher
from quorate_service.problems import NotAllowed

MOST_NEXT = 20

Count = Annotated[int, Field(ge=1, le=MOST_NEXT, description="Maximum number of items.")]
NextCount = Annotated[int, Field(ge=0, le=MOST_NEXT, description="How many next items to return; 0: none.")]
Outside = Annotated[
    OutsideVoter | None,
    Field(
        description="The voter, if not the caller: only with an owner's key. Stored as `ext:<name>`, who is never a "
        "member, even one of the same name: members vote on the page or with their own key."
    ),
]


class NextIn(In):
    """How many items to return."""

    count: Count = 1


class VoteIn(In):
    """One act on one item: exactly one of `label`, `abstain`, `skip`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"item": "scan-0017", "label": "cat", "next": 1}]},
    )

    item: ItemId
    label: Annotated[Text, Field(max_length=100, description="The class voted for.")] | None = None
    abstain: Annotated[Literal[True] | None, Field(description="True: the voter cannot tell.")] = None
    skip: Annotated[Literal[True] | None, Field(description="True: leave this item to others.")] = None
    voter: Outside = None
    next: NextCount = 0

    @model_validator(mode="after")
    def _one_act(self) -> Self:
        if sum(part is not None for part in (self.label, self.abstain, self.skip)) != 1:
            raise ValueError("expected exactly one of label, abstain: true, skip: true")
        return self

    @property
    def kind(self) -> Kind:
        """Which act it is."""
        return "vote" if self.label is not None else "abstain" if self.abstain else "skip"


class UndoIn(In):
    """The act to undo."""

    item: ItemId
    voter: Outside = None
    next: NextCount = 0


class ReportIn(In):
    """An item whose image could not be loaded."""

    item: ItemId


class ReportedOut(Out):
    """The result of a report."""

    item: str
    set_aside: Annotated[
        bool,
        Field(
            description="False: others have seen the image, or this voter reports many, so others are still asked; "
            "skip the item."
        ),
    ]


class ShowOut(Out):
    """An item's content; the browser loads `image`, the server never does."""

    text: str | None = None
    image: str | None = None
    link: str | None = None


class LeasedOut(Out):
    """An item reserved for the caller until `expires`."""

    item: str
    show: ShowOut
    expires: Time


class NextOut(Out):
    """The next items and the classes; no items: there is nothing to do now."""

    classes: list[str]
    items: list[LeasedOut]


class RecordedOut(Out):
    """The caller's own act, as stored."""

    item: str
    kind: Literal["vote", "abstain", "skip", "retract", "close"]
    label: str | None
    time: Time
    undo_until: Annotated[float | None, Field(description="Until when it can be undone, seconds since 1970.")]
    repeated: Annotated[bool, Field(description="True: this request was stored before.")]


class DecidedOut(Out):
    """The decision on an item, for owners only."""

    ask: Annotated[bool, Field(description="Whether to ask for more votes.")]
    label: Annotated[str | None, Field(description="Null: closed without an answer.")]
    confidence: Annotated[float | None, Field(description="Null without an answer.")]
    num_votes: int
    reason: str
    late: Annotated[bool, Field(description="True: a vote or abstention after the item was closed.")] = False


class VotedOut(Out):
    """What was stored, and the next items."""

    recorded: RecordedOut
    decision: Annotated[DecidedOut | None, Field(description="Only to owners, for `voter`.")] = None
    next: Annotated[list[LeasedOut] | None, Field(description="The next items, if requested and available.")] = None


class LeftOut(Out):
    """How many items were given back."""

    given_back: int


router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["voting"])


@router.post("/next", summary="The next items for the caller", responses=problems(403, 404))
async def next_for_voter(
    http: HttpRequest, project_id: ProjectId, caller: Voter, now: Now, body: NextIn | None = None
) -> NextOut:
    """Up to `count` items, reserved for the caller until `expires`; those the caller holds already come first.

    May be repeated: the response is the same. It never contains predictions, other votes or the confidence, which
    would influence the voter.
    """
    count = 1 if body is None else body.count
    call = Call(project_id, caller.account_id, None, count, now)
    answer = await vote_batcher_of(http).submit(call, queue=project_id)
    classes = [] if answer.project is None else list(answer.project.settings.classes)
    return NextOut(classes=classes, items=_leased(project_id, answer) or [])


@router.post("/votes", summary="Vote, cannot tell, or skip", responses=problems(403, 404, 409))
async def vote(
    http: HttpRequest, project_id: ProjectId, caller: Voter, body: VoteIn, now: Now, key: Key = None
) -> VotedOut:
    """Acknowledged after it is stored durably. Sent again with the same Idempotency-Key, it counts once.

    With `next`, the response contains the caller's next items, which saves a round trip.
    """
    act = _request(project_id, caller, body.item, body.kind, body.label, body.voter, key)
    return await _answer(http, caller, act, body.next, now)


@router.post("/undo", summary="Undo a recent vote", responses=problems(403, 404, 409))
async def undo(
    http: HttpRequest, project_id: ProjectId, caller: Voter, body: UndoIn, now: Now, key: Key = None
) -> VotedOut:
    """The item is reserved for the caller again, to vote once more."""
    act = _request(project_id, caller, body.item, "retract", None, body.voter, key)
    return await _answer(http, caller, act, body.next, now)


@router.post("/report-image", summary="Report an image that cannot be loaded", responses=problems(403, 404))
def report(
    http: HttpRequest, project_id: ProjectId, caller: Voter, projects_: TheProjects, now: Now, body: ReportIn
) -> ReportedOut:
    """After the reports of two voters, or of one if nobody has voted on it, the item is set aside: nobody is asked
    about it until an owner clears it. May be repeated."""
    voter = caller.account_id
    limit_votes(http, voter)
    return ReportedOut(item=body.item, set_aside=report_image(projects_, project_id, body.item, voter, now=now))


@router.post("/leave", summary="Give back reserved items", responses=problems(403, 404))
def leave(project_id: ProjectId, caller: Voter, projects_: TheProjects) -> LeftOut:
    """The caller's reserved items are offered to others at once, before they expire. May be repeated."""
    return LeftOut(given_back=give_back(projects_, project_id, caller.account_id))


def vote_batcher_of(request: HttpRequest) -> MicroBatcher[Call, CallAnswer]:
    """The micro-batcher through which all votes of the app are stored."""
    return kept(request, "vote_batcher", lambda: MicroBatcher(partial(answer_all, projects_of(request))))


def _leased(project_id: str, answer: CallAnswer) -> list[LeasedOut] | None:
    """The voter's next items, for the response."""
    if answer.items is None:
        return None
    shown = ((leased, ShowOut(**for_browser(project_id, leased.show))) for leased in answer.items)
    return [LeasedOut(item=leased.item, show=show, expires=leased.expires) for leased, show in shown]


def _request(
    project_id: str, caller: Member, item: str, kind: Kind, label: str | None, outside: str | None, key: str | None
) -> Request:
    if outside is None:
        return Request(project_id, item, caller.account_id, kind, label, key, signed_in_by=caller.signed_in_by)
    if caller.role != "owner":
        wrong, fix = "only an owner may send the votes of others", "leave voter out to vote yourself."
        raise NotAllowed(wrong, fix, field="voter", value=outside, rule="only with an owner's key")
    sender = f"sent by {caller.account_id}, {caller.signed_in_by}"
    return Request(project_id, item, f"ext:{outside}", kind, label, key, served=False, signed_in_by=sender)


async def _answer(http: HttpRequest, caller: Member, act: Request, count: int, now: float) -> VotedOut:
    if act.served:  # votes of others, sent by an owner's program, are not limited
        limit_votes(http, caller.account_id)
    call = Call(act.project_id, caller.account_id, act, count, now)
    answer = await vote_batcher_of(http).submit(call, queue=act.project_id)
    recorded = answer.recorded
    assert recorded is not None
    if not recorded.repeated:
        http.app.state.metrics.acts.labels(recorded.kind).inc()
    decision = None if act.served else await run_in_threadpool(decided, projects_of(http), act, recorded)
    response = RecordedOut.model_validate(recorded)
    return VotedOut(recorded=response, decision=decision, next=_leased(act.project_id, answer))


def decided(projects_: Projects, act: Request, recorded: RecordedVote) -> DecidedOut:
    """The current decision on the item, for an owner."""
    now = recorded.decision
    if now is not None:
        return _decided(now.ask, answer_of(now), now.confidence, now.num_votes, now.reason, late=recorded.late)
    with projects_.store.read() as connection:
        row = find_item(connection, act.project_id, act.item)
    return _decided(row.is_open, row.label, row.confidence, row.decided_votes, row.reason, late=recorded.late)


def _decided(ask: bool, label: str | None, sure: float, num_votes: int, reason: str, *, late: bool) -> DecidedOut:
    confidence = None if label is None else sure
    return DecidedOut(ask=ask, label=label, confidence=confidence, num_votes=num_votes, reason=reason, late=late)
