"""Voting: the next items for a voter, votes, abstentions, skip, undo, leave. Voters see nothing of the others.

An owner's key may send the votes of people who vote elsewhere (`voter`), and gets the decision back. Votes that arrive
at the same time are stored in one transaction (`domain/ballots.py`). The models of requests and answers come first:
none of them may say more about an item than what is shown and the caller's own votes.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, Self

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from pydantic import ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from quorate.service.access.limits import limit_votes
from quorate.service.access.principal import Member
from quorate.service.access.request_context import kept
from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import Now, ProjectId, TheProjects, Voter, projects_of
from quorate.service.api.fields import In, ItemId, Key, Out, OutsideVoter, Text, Time, problems
from quorate.service.domain.ballots import Call, CallAnswer, answer_all
from quorate.service.domain.items import for_browser
from quorate.service.domain.open_items import report_image
from quorate.service.domain.projects import Projects
from quorate.service.domain.queue import give_back
from quorate.service.domain.trail import find
from quorate.service.domain.votes import Kind, RecordedVote, Request
from quorate.service.microbatch import MicroBatcher
from quorate.service.problems import NotAllowed

MOST_NEXT = 20

Count = Annotated[int, Field(ge=1, le=MOST_NEXT, description="How many items at most.")]
NextCount = Annotated[int, Field(ge=0, le=MOST_NEXT, description="How many next items to answer with; 0: none.")]
Outside = Annotated[
    OutsideVoter | None,
    Field(
        description="Whose vote it is, if not the caller's: only with an owner's key. Kept as `ext:<name>`, a person "
        "apart from every member, also from one of that name: members vote on the page or with a key of their own."
    ),
]


class NextIn(In):
    """How many items are wanted."""

    count: Count = 1


class VoteIn(In):
    """One act on one item: exactly one of `label`, `abstain`, `skip`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"item": "scan-0017", "label": "cat", "next": 1}]},
    )

    item: ItemId
    label: Annotated[Text, Field(max_length=100, description="The class voted for.")] | None = None
    abstain: Annotated[Literal[True] | None, Field(description="True: the voter cannot tell.")] = None
    skip: Annotated[Literal[True] | None, Field(description="True: not this one; others will be asked.")] = None
    voter: Outside = None
    next: NextCount = 0

    @model_validator(mode="after")
    def _one_act(self) -> Self:
        if sum(each is not None for each in (self.label, self.abstain, self.skip)) != 1:
            raise ValueError("expected exactly one of label, abstain: true, skip: true")
        return self

    @property
    def kind(self) -> Kind:
        """Which act it is."""
        return "vote" if self.label is not None else "abstain" if self.abstain else "skip"


class UndoIn(In):
    """Whose act on which item is taken back."""

    item: ItemId
    voter: Outside = None
    next: NextCount = 0


class ReportIn(In):
    """Whose image could not be loaded."""

    item: ItemId


class ReportedOut(Out):
    """What became of a report."""

    item: str
    set_aside: Annotated[
        bool,
        Field(description="False: too many reports of this voter are open, so others are still asked; skip the item."),
    ]


class ShowOut(Out):
    """What the voter looks at; the browser loads `image`, the server never does."""

    text: str | None = None
    image: str | None = None
    link: str | None = None


class LeasedOut(Out):
    """An item that is the caller's until `expires`."""

    item: str
    show: ShowOut
    expires: Time


class NextOut(Out):
    """The next items and what to choose from; no items: there is nothing to do now."""

    classes: list[str]
    items: list[LeasedOut]


class RecordedOut(Out):
    """The caller's own act as it is stored."""

    item: str
    kind: Literal["vote", "abstain", "skip", "retract", "close"]
    label: str | None
    time: Time
    undo_until: Annotated[float | None, Field(description="Until when it can be taken back, seconds since 1970.")]
    repeated: Annotated[bool, Field(description="True: this very request was stored before.")]


class DecidedOut(Out):
    """What is decided of an item; owners see it, voters never do."""

    ask: Annotated[bool, Field(description="Whether more votes are asked for.")]
    label: str
    confidence: float
    num_votes: int
    reason: str
    late: Annotated[bool, Field(description="True: a vote or abstention that came after the item was closed.")] = False


class VotedOut(Out):
    """What was stored, and what comes next."""

    recorded: RecordedOut
    decision: Annotated[DecidedOut | None, Field(description="Only to owners, for `voter`.")] = None
    next: Annotated[list[LeasedOut] | None, Field(description="The next items, if asked for and to be had now.")] = None


class LeftOut(Out):
    """How many items went back in line."""

    given_back: int


router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["voting"], route_class=StrictRoute)


@router.post("/next", summary="The next items for the caller", responses=problems(403, 404))
async def next_for_voter(
    http: HttpRequest, project_id: ProjectId, caller: Voter, now: Now, body: NextIn | None = None
) -> NextOut:
    """Up to `count` items, kept for the caller until `expires`; those the caller holds already come first.

    May be repeated: the answer is the same. Says nothing of predictions, other votes or how sure the service is: that
    would sway the voter.
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
    """Acknowledged once it is stored for good. Sent again with the same Idempotency-Key, it counts once.

    With `next`, the answer holds the caller's next items, so that one round trip is enough.
    """
    asked = _request(project_id, caller, body.item, body.kind, body.label, body.voter, key)
    return await _answer(http, caller, asked, body.next, now)


@router.post("/undo", summary="Take back one's vote, for a short time", responses=problems(403, 404, 409))
async def undo(
    http: HttpRequest, project_id: ProjectId, caller: Voter, body: UndoIn, now: Now, key: Key = None
) -> VotedOut:
    """The item is the caller's again, to vote on anew."""
    asked = _request(project_id, caller, body.item, "retract", None, body.voter, key)
    return await _answer(http, caller, asked, body.next, now)


@router.post("/report-image", summary="Report an image that cannot be loaded", responses=problems(403, 404))
def report(
    http: HttpRequest, project_id: ProjectId, caller: Voter, projects_: TheProjects, now: Now, body: ReportIn
) -> ReportedOut:
    """The item is set aside: nobody is asked about it until an owner clears it. May be repeated."""
    voter = caller.account_id
    limit_votes(http, voter)
    return ReportedOut(item=body.item, set_aside=report_image(projects_, project_id, body.item, voter, now=now))


@router.post("/leave", summary="Give back the items one holds", responses=problems(403, 404))
def leave(project_id: ProjectId, caller: Voter, projects_: TheProjects) -> LeftOut:
    """What the caller holds goes to others at once, not when it expires. May be repeated: nothing is held then."""
    return LeftOut(given_back=give_back(projects_, project_id, caller.account_id))


def vote_batcher_of(request: HttpRequest) -> MicroBatcher[Call, CallAnswer]:
    """The micro-batcher through which all votes of the app are stored."""
    return kept(request, "vote_batcher", lambda: MicroBatcher(partial(answer_all, projects_of(request))))


def _leased(project_id: str, answer: CallAnswer) -> list[LeasedOut] | None:
    """The voter's next items as an answer holds them."""
    if answer.items is None:
        return None
    shows = [ShowOut(**for_browser(project_id, each.show)) for each in answer.items]
    told = zip(answer.items, shows, strict=True)
    return [LeasedOut(item=each.item, show=show, expires=each.expires) for each, show in told]


def _request(
    project_id: str, caller: Member, item: str, kind: Kind, label: str | None, outside: str | None, key: str | None
) -> Request:
    if outside is None:
        who = caller
        return Request(project_id, item, who.account_id, kind, label, key, signed_in_by=who.signed_in_by)
    if caller.role != "owner":
        wrong, fix = "only an owner may send the votes of others", "leave voter out to vote yourself."
        raise NotAllowed(wrong, fix, field="voter", value=outside, rule="only with an owner's key")
    sender = f"sent by {caller.account_id}, {caller.signed_in_by}"
    return Request(project_id, item, f"ext:{outside}", kind, label, key, served=False, signed_in_by=sender)


async def _answer(http: HttpRequest, caller: Member, asked: Request, count: int, now: float) -> VotedOut:
    if asked.served:  # an owner's program may send as many votes of others as it can
        limit_votes(http, caller.account_id)
    call = Call(asked.project_id, caller.account_id, asked, count, now)
    answer = await vote_batcher_of(http).submit(call, queue=asked.project_id)
    recorded = answer.recorded
    assert recorded is not None
    if not recorded.repeated:
        http.app.state.metrics.acts.labels(recorded.kind).inc()
    decision = None if asked.served else await run_in_threadpool(decided, projects_of(http), asked, recorded)
    told = RecordedOut.model_validate(recorded)
    return VotedOut(recorded=told, decision=decision, next=_leased(asked.project_id, answer))


def decided(projects_: Projects, asked: Request, recorded: RecordedVote) -> DecidedOut:
    """What is decided of the item now, for an owner."""
    if recorded.decision is not None:
        return DecidedOut.model_validate(recorded.decision).model_copy(update={"late": recorded.late})
    with projects_.store.read() as connection:
        row = find(connection, projects_.get_in(connection, asked.project_id), asked.item)
    return DecidedOut(
        ask=row.is_open, label=row.label, confidence=row.confidence, num_votes=row.decided_votes, reason=row.reason,
        late=recorded.late,
    )  # fmt: skip
