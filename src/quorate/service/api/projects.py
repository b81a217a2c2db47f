"""Endpoints for projects: create, list, show, change, list what owners did; with their models."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, create_model

from quorate.service.access.accounts import Role, add_member, memberships_of
from quorate.service.access.principal import Principal
from quorate.service.api.dependencies import (
    Anyone,
    Caller,
    Creator,
    Owner,
    ProjectId,
    TheProjects,
    TheStore,
    Viewer,
    Work,
    Write,
)
from quorate.service.api.fields import In, Out, Page, Text, Time, Wanted, problems
from quorate.service.domain.events import list_actions
from quorate.service.domain.listing import Counts, acts_of, counts
from quorate.service.domain.projects import Project, Projects
from quorate.service.domain.settings import ProjectSettings, rule_for_people

State = Literal["active", "paused", "archived"]
FIELDS: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(ProjectSettings).items()}
Whole = Annotated[int, Field(ge=0, le=10**9)]
Seconds = Annotated[float, Field(ge=0, le=86400)]
Classes = Annotated[list[Annotated[Text, Field(max_length=100)]], Field(min_length=2, max_length=200)]
DisplayNames = Annotated[
    dict[Annotated[Text, Field(max_length=100)], Annotated[Text, Field(min_length=1, max_length=100)]],
    Field(
        description="Names that pages show, by class; replaces all earlier ones. Other classes are shown unchanged. "
        "Votes, events, exports and this API use the class.",
        max_length=200,
        examples=[{"cat": "Cat or kitten"}],
    ),
]
Models = Annotated[list[Annotated[Text, Field(max_length=100)]], Field(min_length=1, max_length=20)]
Name = Annotated[Text, Field(min_length=1, max_length=200, examples=["Chest X-rays"])]


class SettingsChange(In):
    """Settings by name; those left out stay unchanged. At most one of threshold, budget, target_error."""

    pool_size: Annotated[int, Field(ge=1, le=10**9, description="Experts in the pool.")] | None = None
    method: Annotated[Text, Field(max_length=200, examples=["finexp:threshold=0.95"])] | None = None
    threshold: Annotated[float, Field(ge=0, le=1, description="Items close at this confidence.")] | None = None
    budget: Annotated[float, Field(gt=0, le=10**9, description="Votes per item, on average.")] | None = None
    target_error: Annotated[float, Field(gt=0, lt=1, description="Share of answers that may be wrong.")] | None = None
    price: Annotated[float, Field(ge=0, le=10**9, description="Price of one vote; for display only.")] | None = None
    currency: Annotated[Text, Field(max_length=8)] | None = None
    instructions: Annotated[Text, Field(max_length=10_000, description="Shown to voters.")] | None = None
    min_votes: Annotated[Whole, Field(description="Minimum votes of items added from now on.")] | None = None
    max_votes: Annotated[int, Field(ge=1, le=10**9, description="Maximum votes of these; null: all.")] | None = None
    audit_rate: Annotated[float, Field(ge=0, le=1, description="Share of closed items to audit.")] | None = None
    lease_seconds: Seconds | None = None
    display_names: DisplayNames | None = None
    gold_share: (
        Annotated[float, Field(ge=0, le=0.5, description="Share of the items given out that are gold items.")] | None
    ) = None
    adjudicate_below: (
        Annotated[float, Field(ge=0, le=1, description="Closed items below this confidence wait for a senior.")] | None
    ) = None
    classes: Annotated[Classes | None, Field(description="Cannot change; only the current value is accepted.")] = None
    models: Annotated[Models | None, Field(description="Cannot change; only the current value is accepted.")] = None
    seed: Annotated[Whole | None, Field(description="Cannot change; only the current value is accepted.")] = None

    def given(self) -> dict[str, Any]:
        """The settings sent; null unsets one (threshold, budget, max_votes, ...)."""
        return self.model_dump(exclude_unset=True)


class SettingsIn(SettingsChange):
    """Settings of a new project: `classes`, `pool_size`, and those that differ from the defaults."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"classes": ["cat", "dog"], "pool_size": 5, "threshold": 0.95}]}
    )

    classes: Classes
    pool_size: Annotated[int, Field(ge=1, le=10**9, description="Experts in the pool.")]
    models: Models | None = None
    seed: Whole | None = None

    def given(self) -> dict[str, Any]:
        """The settings sent, without nulls: they mean the default."""
        return self.model_dump(exclude_none=True)


class ProjectIn(In):
    """A new project."""

    name: Name
    settings: SettingsIn
    num_people: Annotated[
        int | None,
        Field(ge=1, le=10**9, description="How many people will vote. Not stored: `notes` warn if the pool is larger."),
    ] = None


class ProjectChange(In):
    """A new name, state or settings; what is left out stays unchanged."""

    name: Name | None = None
    state: State | None = None
    settings: SettingsChange | None = None


class SettingsOut(create_model("_Settings", __base__=Out, **FIELDS)):  # type: ignore[misc]
    """Every setting: the fields of `ProjectSettings`."""


class NoteOut(Out):
    """A warning about a setting that is allowed but probably a mistake."""

    field: str
    value: int
    rule: str
    fix: str


class ProjectRow(Out):
    """A project in the caller's list."""

    id: str
    name: str
    state: State
    role: Role
    created: Time


class ProjectOut(ProjectRow):
    """One project. `settings` and `counts` are null for voters."""

    classes: list[str]
    display_names: Annotated[dict[str, str], Field(description="Names to show for classes, if different.")]
    instructions: str
    acted: Annotated[int, Field(description="Items the caller has acted on.")]
    settings: SettingsOut | None = None
    counts: Counts | None = None
    notes: list[NoteOut] = Field(default_factory=list, description="Warnings when the project is created.")


class ActionOut(Out):
    """One action of an owner. `who`: the account, empty if unknown; `item`: null if it concerns the project."""

    id: int
    time: Time
    who: str
    kind: str
    item: str | None
    body: dict[str, Any]


router = APIRouter(prefix="/api/v1/projects", tags=["projects"])


@router.post("", summary="Make a project", status_code=201, response_model=ProjectOut, responses=problems(403, 409))
def create_project(once: Write, caller: Creator, body: ProjectIn) -> Response:
    """The caller becomes its owner."""
    settings, me = ProjectSettings.from_json(body.settings.given()), caller.account_id

    def work(on: Work) -> ProjectOut:
        project = on.projects.create(body.name, settings, by=me, now=on.now)
        add_member(on.store, project.id, me, role="owner", by=me, now=on.now)
        response = project_out(on.projects, project, caller, "owner")
        return response.model_copy(update={"notes": notes(body, settings)})

    return once(caller, work)


@router.get("", summary="The caller's projects", responses=problems())
def list_projects(caller: Caller, store: TheStore, projects_: TheProjects, wanted: Wanted) -> Page[ProjectRow]:
    """The projects that the caller is a member of; with a key for one project, that one."""
    only = caller.only_project
    found = memberships_of(store, caller.account_id, only=only, after=wanted.name, limit=wanted.most)
    rows = [as_row(projects_.get(each.project_id), each.role) for each in found]
    return wanted.page(rows, lambda row: str(row["id"]))


@router.get("/{project_id}", summary="One project", responses=problems(404))
def show_project(project_id: ProjectId, caller: Anyone, projects_: TheProjects) -> ProjectOut:
    """Owners and readers see settings and counts; voters do not."""
    return project_out(projects_, projects_.get(project_id), caller, caller.role)


@router.patch("/{project_id}", summary="Change a project", response_model=ProjectOut, responses=problems(403, 404, 409))
def change_project(once: Write, project_id: ProjectId, caller: Owner, body: ProjectChange) -> Response:
    """Classes, models, method and seed cannot change, because past decisions rely on them; the method's
    parameters can."""

    def work(on: Work) -> ProjectOut:
        changes = body.settings.given() if body.settings is not None else {}
        rest = {"name": body.name, "state": body.state, "by": caller.account_id}
        changed = on.projects.change(project_id, **rest, now=on.now, **changes)
        return project_out(on.projects, changed, caller, "owner")

    return once(caller, work)


@router.get(
    "/{project_id}/owner-actions", tags=["items"], summary="List the actions of owners", responses=problems(403, 404)
)
def list_owner_actions(
    project_id: ProjectId, _caller: Viewer, projects_: TheProjects, wanted: Wanted
) -> Page[ActionOut]:
    """Who created and changed the project, changed pools, closed, withdrew, restored and cleared items, and when; the
    oldest first."""
    with projects_.store.read() as connection:
        projects_.get_in(connection, project_id)
        found = list_actions(connection, project_id, after=wanted.number(0), limit=wanted.most)
    return wanted.page(found, lambda each: each.id)


def notes(body: ProjectIn, settings: ProjectSettings) -> list[NoteOut]:
    """Warnings about the settings of a new project."""
    people, pool = body.num_people, settings.pool_size
    if people is None or people >= pool:
        return []
    fix = f"set pool_size to {people}, or invite {pool - people} more."
    return [NoteOut(field="pool_size", value=pool, rule=rule_for_people(people), fix=fix)]


def as_row(project: Project, role: Role) -> dict[str, Any]:
    """The fields of a project that every member sees."""
    return {name: getattr(project, name) for name in ("id", "name", "state", "created")} | {"role": role}


def project_out(projects_: Projects, project: Project, who: Principal, role: Role) -> ProjectOut:
    """The project as this role sees it."""
    sees_all, settings = role in ("owner", "reader"), project.settings
    with projects_.store.read() as connection:
        acted = acts_of(connection, project.id, who.account_id)
        numbers = counts(connection, project.id) if sees_all else None
    return ProjectOut(
        **as_row(project, role),
        classes=list(settings.classes),
        display_names=settings.display_names,
        instructions=settings.instructions,
        acted=acted,
        settings=SettingsOut.model_validate(settings) if sees_all else None,
        counts=numbers,
    )
