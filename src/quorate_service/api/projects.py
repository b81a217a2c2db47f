"""Endpoints for projects: create, list, show, change, list what owners did; with their models."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from quorate_service.access.accounts import Role, add_member, memberships_of
from quorate_service.access.principal import Principal
from quorate_service.api.dependencies import (
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
from quorate_service.api.fields import In, Out, Page, Text, Time, Wanted, problems
from quorate_service.domain.events import list_actions
from quorate_service.domain.listing import Counts, acts_of, counts
from quorate_service.domain.projects import Project, Projects, State
from quorate_service.domain.settings import ProjectSettings

Name = Annotated[Text, Field(min_length=1, max_length=200, examples=["Chest X-rays"])]


def _optional(info: FieldInfo) -> tuple[Any, FieldInfo]:
    optional = copy(info)
    optional.default = optional.default_factory = None
    return info.annotation | None, optional  # type: ignore[operator]


_CHANGES: dict[str, Any] = {name: _optional(info) for name, info in ProjectSettings.model_fields.items()}


class SettingsChange(create_model("_Changes", __base__=In, **_CHANGES)):  # type: ignore[misc]
    """Settings by name; those left out stay unchanged, null unsets one. Classes and the method's name cannot change."""


class ProjectIn(In):
    """A new project."""

    name: Name
    settings: Annotated[ProjectSettings, Field(examples=[{"classes": ["cat", "dog"], "pool_size": 5, "budget": 2.5}])]


class ProjectChange(In):
    """A new name, state or settings; what is left out stays unchanged."""

    version: Annotated[
        int | None, Field(description="The version the change is based on; 409 if there is a later one. Null: any.")
    ] = None

    name: Name | None = None
    state: State | None = None
    settings: SettingsChange | None = None


class ProjectRow(Out):
    """A project in the caller's list."""

    id: str
    name: str
    state: State
    role: Role
    created: Time


class ProjectOut(ProjectRow):
    """One project. `settings` and `counts` are null for voters."""

    version: Annotated[int, Field(description="Of name, state and settings: send it with a change of them.")]
    classes: list[str]
    display_names: Annotated[dict[str, str], Field(description="Names to show for classes, if different.")]
    instructions: str
    acted: Annotated[int, Field(description="Items the caller has acted on.")]
    models: Annotated[list[str], Field(description="Names of the classifiers; empty before the first items.")]
    settings: ProjectSettings | None = None
    counts: Counts | None = None


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
    settings, me = body.settings, caller.account_id

    def work(on: Work) -> ProjectOut:
        project = on.projects.create(body.name, settings, by=me, now=on.now)
        add_member(on.store, project.id, me, role="owner", by=me, now=on.now)
        return project_out(on.projects, project, caller, "owner")

    return once(caller, work)


@router.get("", summary="The caller's projects", responses=problems())
def list_projects(caller: Caller, store: TheStore, projects_: TheProjects, wanted: Wanted) -> Page[ProjectRow]:
    """The projects that the caller is a member of; with a key for one project, that one."""
    only = caller.only_project
    joined = memberships_of(store, caller.account_id, only=only, after=wanted.name, limit=wanted.most)
    rows = [as_row(projects_.get(membership.project_id), membership.role) for membership in joined]
    return wanted.page(rows, lambda row: str(row["id"]))


@router.get("/{project_id}", summary="One project", responses=problems(404))
def show_project(project_id: ProjectId, caller: Anyone, projects_: TheProjects) -> ProjectOut:
    """Owners and readers see settings and counts; voters do not."""
    return project_out(projects_, projects_.get(project_id), caller, caller.role)


@router.patch("/{project_id}", summary="Change a project", response_model=ProjectOut, responses=problems(403, 404, 409))
def change_project(once: Write, project_id: ProjectId, caller: Owner, body: ProjectChange) -> Response:
    """Classes and the method cannot change, because past decisions rely on them; the method's parameters can."""

    def work(on: Work) -> ProjectOut:
        changes = body.settings.model_dump(exclude_unset=True) if body.settings is not None else {}
        named = {"name": body.name, "state": body.state, "by": caller.account_id}
        changed = on.projects.change(project_id, **named, version=body.version, now=on.now, **changes)
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
        actions = list_actions(connection, project_id, after=wanted.number(0), limit=wanted.most)
    return wanted.page(actions, lambda action: action.id)


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
        version=project.version,
        classes=list(settings.classes),
        display_names=settings.display_names,
        instructions=settings.instructions,
        acted=acted,
        models=list(project.models) if sees_all else [],
        settings=settings if sees_all else None,
        counts=numbers,
    )
