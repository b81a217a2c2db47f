"""Projects: made by who may, listed and shown to members, changed by owners."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from quorate.service.access.accounts import Role, add_member, memberships_of
from quorate.service.access.principal import Principal
from quorate.service.api.fields import Key, problems
from quorate.service.api.here import Anyone, Caller, Creator, Owner, ProjectId, TheProjects, TheStore
from quorate.service.api.idempotency import Work, carried_out
from quorate.service.api.paging import Cursor, Limit, Page, after_name, page
from quorate.service.api.project_models import (
    CountsOut,
    NoteOut,
    ProjectChange,
    ProjectIn,
    ProjectOut,
    ProjectRow,
    SettingsOut,
)
from quorate.service.api.reading import StrictRoute
from quorate.service.deciding.listing import acts_of, counts
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.settings import ProjectSettings, rule_for_people

router = APIRouter(prefix="/api/v1/projects", tags=["projects"], route_class=StrictRoute)


@router.post("", summary="Make a project", status_code=201, response_model=ProjectOut, responses=problems(403, 409))
def create_project(request: Request, caller: Creator, body: ProjectIn, key: Key = None) -> Response:
    """The caller is its owner."""
    settings = ProjectSettings.from_json(body.settings.given())

    def work(on: Work) -> ProjectOut:
        me = caller.account_id
        made = on.projects.create(body.name, settings, by=me, now=on.now)
        add_member(on.store, made.id, me, role="owner", by=me, now=on.now)
        return told(on.projects, made, caller, "owner").model_copy(update={"notes": notes(body, settings)})

    return carried_out(request, caller, key, work, status=201)


@router.get("", summary="The caller's projects", responses=problems())
def list_projects(
    caller: Caller, store: TheStore, projects_: TheProjects, cursor: Cursor = None, limit: Limit = 100
) -> Page[ProjectRow]:
    """Those the caller is a member of; with a key for one project, or a sign-in to one, that one."""
    only = caller.only_project
    mine = memberships_of(store, caller.account_id, only=only, after=after_name(cursor), limit=limit + 1)

    def shown(project_id: str, role: Role) -> ProjectRow:
        project = projects_.get(project_id)
        return ProjectRow(id=project.id, name=project.name, state=project.state, role=role, created=project.created)

    return Page[ProjectRow](
        **page(mine, limit, lambda each: shown(each.project_id, each.role), lambda each: each.project_id)
    )


@router.get("/{project_id}", summary="One project", responses=problems(404))
def show_project(project_id: ProjectId, caller: Anyone, projects_: TheProjects) -> ProjectOut:
    """Owners and readers see settings and counts; voters what they choose from."""
    return told(projects_, projects_.get(project_id), caller.principal, caller.role)


@router.patch("/{project_id}", summary="Change a project", response_model=ProjectOut, responses=problems(403, 404, 409))
def change_project(
    request: Request, project_id: ProjectId, caller: Owner, body: ProjectChange, key: Key = None
) -> Response:
    """Classes, models, method, window and seed stay: past decisions rely on them. The method's knobs may change."""

    def work(on: Work) -> ProjectOut:
        changes = body.settings.given() if body.settings is not None else {}
        me = caller.principal.account_id
        changed = on.projects.change(project_id, name=body.name, state=body.state, by=me, now=on.now, **changes)
        return told(on.projects, changed, caller.principal, "owner")

    return carried_out(request, caller.principal, key, work)


def notes(body: ProjectIn, settings: ProjectSettings) -> list[NoteOut]:
    """What the maker of a project should look at again."""
    people, pool = body.num_people, settings.pool_size
    if people is None or people >= pool:
        return []
    fix = f"set pool_size to {people}, or invite {pool - people} more."
    return [NoteOut(field="pool_size", value=pool, rule=rule_for_people(people), fix=fix)]


def told(projects_: Projects, project: Project, who: Principal, role: Role) -> ProjectOut:
    """What somebody of this role is told of the project."""
    sees_all = role in ("owner", "reader")
    with projects_.store.read() as connection:
        acted = acts_of(connection, project.id, who.account_id)
        numbers = CountsOut.model_validate(counts(connection, project.id)) if sees_all else None
    return ProjectOut(
        id=project.id, name=project.name, state=project.state, role=role, created=project.created,
        classes=list(project.settings.classes), display_names=project.settings.display_names,
        instructions=project.settings.instructions, acted=acted,
        settings=SettingsOut(**project.settings.as_json()) if sees_all else None, counts=numbers,
    )  # fmt: skip
