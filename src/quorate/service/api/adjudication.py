"""Adjudication: items that wait for a senior, and the senior's verdicts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import Field

from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import ProjectId, Senior, TheProjects, Work, Write
from quorate.service.api.fields import In, ItemId, Out, Page, Text, Time, Wanted, problems
from quorate.service.api.votes import ShowOut
from quorate.service.domain.adjudication import MOST_NOTE, Doubtful, give_verdict, waiting
from quorate.service.domain.items import for_browser
from quorate.service.domain.projects import Project

router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["adjudication"], route_class=StrictRoute)


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
    note: Annotated[Text, Field(max_length=MOST_NOTE, description="Why, for the record.")] = ""


class VerdictOut(Out):
    """A verdict as it is stored."""

    item: str
    label: str
    event: int
    time: Time


@router.get("/adjudication", summary="Items that wait for a verdict", responses=problems(403, 404))
def list_waiting(project_id: ProjectId, caller: Senior, projects_: TheProjects, wanted: Wanted) -> Page[DoubtfulOut]:
    """Closed items whose pool ties or whose confidence is below `adjudicate_below`, in order of closing."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        me, after = caller.account_id, wanted.number(0)
        found = waiting(connection, project, me, after=after, limit=wanted.most)
    places = {each.item: each.closed_event for each in found}
    return wanted.page([as_response(project, each) for each in found], lambda each: places[each["item"]])


@router.post("/verdicts", summary="Give a verdict", response_model=VerdictOut, responses=problems(403, 404, 409))
def create_verdict(once: Write, project_id: ProjectId, caller: Senior, body: VerdictIn) -> Response:
    """The verdict is stored beside the pool's answer, which stays. A later verdict on the item replaces it; the history
    keeps both."""

    def work(on: Work) -> VerdictOut:
        details = {"by": caller.account_id, "signed_in_by": caller.signed_in_by, "note": body.note}
        number = give_verdict(on.projects, project_id, body.item, body.label, **details, now=on.now)
        return VerdictOut(item=body.item, label=body.label, event=number, time=on.now)

    return once(caller, work)


def as_response(project: Project, each: Doubtful) -> dict[str, Any]:
    """The fields of `DoubtfulOut`."""
    same = ("item", "num_abstained", "tied", "mine", "closed")
    votes = dict(zip(project.settings.classes, each.votes, strict=True))
    show = ShowOut(**for_browser(project.id, each.show))
    return {name: getattr(each, name) for name in same} | {"votes": votes, "show": show}
