"""Making a project, and its settings: forms that say what each choice does, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from quorate.errors import InvalidInput, QuorateError
from quorate.service.access.accounts import enrol
from quorate.service.access.principal import Principal
from quorate.service.access.request_context import now_of, store_of
from quorate.service.api.dependencies import Creator, Owner, ProjectId, projects_of
from quorate.service.domain.settings import ProjectSettings, rule_for_people
from quorate.service.pages.form_fields import Fields, in_words_of_the_form, whole_number
from quorate.service.pages.rendering import go, render
from quorate.service.pages.settings_form import (
    LABELS,
    as_form,
    changes_of,
    goals_of,
    method_told,
    new_settings,
    why_not_all,
)
from quorate.service.problems import of_error
from quorate.validate import broken

router = APIRouter(include_in_schema=False)
BLANK = as_form(ProjectSettings(classes=("cat", "dog"), pool_size=5)) | {"classes": "", "models": "", "name": ""}
BLANK |= {"people": ""}


@router.get("/new")
def new_page(request: Request, caller: Creator) -> Response:
    """An empty form."""
    return _new(request, caller, BLANK)


@router.post("/new")
def create(request: Request, caller: Creator, fields: Fields) -> Response:
    """Make the project; its maker owns it."""
    now, me = now_of(request), caller.account_id
    try:
        settings = new_settings(fields)
        _check_people(fields, settings.pool_size)
        with store_of(request).write() as connection:
            made = projects_of(request).create_in(connection, fields.get("name", ""), settings, by=me, now=now)
            enrol(connection, made.id, me, role="owner", by=me, now=now)
    except (InvalidInput, QuorateError) as error:
        return _new(request, caller, BLANK | fields, in_words_of_the_form(of_error(error).body(), fields, LABELS))
    return go(f"/p/{made.id}", "created")


def _check_people(fields: dict[str, str], pool_size: int) -> None:
    """Fewer people than the pool has: items may never close, unless the owner wants it so."""
    people = whole_number(fields, "people")
    if people is not None and people < pool_size and "keep_pool" not in fields:
        raise broken(
            "pool_size",
            pool_size,
            rule_for_people(people),
            f"write {max(people, 1)}, or tick that more people come later.",
        )


def _new(request: Request, caller: Principal, form: dict[str, str], problem: dict[str, Any] | None = None) -> Response:
    status = problem["status"] if problem else 200
    return render(request, "new.html", status, me=caller, form=form, labels=LABELS, problem=problem)


@router.get("/p/{project_id}/settings")
def settings_page(request: Request, project_id: ProjectId, caller: Owner) -> Response:
    """The settings as they are."""
    project = projects_of(request).get(project_id)
    return _settings(request, caller.principal, project_id, as_form(project.settings) | {"name": project.name})


@router.post("/p/{project_id}/settings")
def change(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """Change what may change while a project runs."""
    projects_ = projects_of(request)
    try:
        before = projects_.get(project_id).settings
        changes = changes_of(fields, before=before)
        name, state = fields.get("name"), fields.get("state")
        me = caller.principal.account_id
        projects_.change(project_id, name=name, state=state, by=me, now=now_of(request), **changes)
    except QuorateError as error:
        problem = in_words_of_the_form(of_error(error).body(), fields, LABELS)
        return _settings(request, caller.principal, project_id, fields, problem)
    return go(f"/p/{project_id}/settings", "saved")


def _settings(
    request: Request, me: Principal, project_id: str, form: dict[str, str], problem: dict[str, Any] | None = None
) -> Response:
    project = projects_of(request).get(project_id)
    whole = BLANK | as_form(project.settings) | {"name": project.name} | form
    shown = {"project": project, "form": whole, "problem": problem, "role": "owner", "tab": "settings"}
    told = {"labels": LABELS, "method": method_told(project.settings)}
    shown |= told | {"goals": goals_of(project.settings), "why_not_all": why_not_all(project.settings)}
    return render(request, "settings.html", problem["status"] if problem else 200, me=me, **shown)
