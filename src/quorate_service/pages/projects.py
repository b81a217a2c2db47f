"""The pages for a new project and for settings."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from quorate.errors import QuorateError
from quorate_service.access.accounts import enrol
from quorate_service.access.principal import Principal
from quorate_service.access.request_context import now_of, store_of
from quorate_service.api.dependencies import Creator, projects_of
from quorate_service.domain.settings import ProjectSettings
from quorate_service.pages.formats import Fields
from quorate_service.pages.rendering import OwnerVisit, Visit, go, render, status_of
from quorate_service.pages.settings_form import (
    BLANK,
    FORM,
    LABELS,
    as_form,
    changes_of,
    in_form_words,
    marks,
    new_settings,
    touched,
)
from quorate_service.problems import of_error

ABOVE = ("classes", "pool_size", "budget", "target_error", "instructions")  # the rest is in a fold
MORE = tuple(field for name, field in FORM.items() if name not in ABOVE)

router = APIRouter(include_in_schema=False)


@router.get("/new")
def new_page(request: Request, caller: Creator) -> Response:
    """An empty form."""
    return _new(request, caller, {})


@router.post("/new")
def create(request: Request, caller: Creator, fields: Fields) -> Response:
    """Create the project; the visitor becomes its owner."""
    now, me = now_of(request), caller.account_id
    try:
        settings = ProjectSettings.from_json(new_settings(fields))
        with store_of(request).write() as connection:
            made = projects_of(request).create_in(connection, fields.get("name", ""), settings, by=me, now=now)
            enrol(connection, made.id, me, role="owner", by=me, now=now)
    except QuorateError as error:
        return _new(request, caller, fields, in_form_words(of_error(error).body(), fields))
    return go(f"/p/{made.id}", "created")


def _new(request: Request, caller: Principal, form: dict[str, str], problem: dict[str, Any] | None = None) -> Response:
    shown = {"form": {"name": ""} | BLANK | form, "labels": LABELS, "fields": FORM, "more": MORE, "problem": problem}
    return render(request, "new.html", status_of(problem), me=caller, **shown)


@router.get("/p/{project_id}/settings")
def settings_page(on: OwnerVisit, pool: int | None = None) -> Response:
    """The current settings. `pool`: to fill in for open items."""
    return _settings(on, {}, pool=pool)


@router.post("/p/{project_id}/settings")
def change(on: OwnerVisit, fields: Fields) -> Response:
    """Change settings that may change."""
    try:
        project = on.projects.get(on.project_id)
        on.projects.change(project.id, version=project.version, by=on.me, now=on.now, **changes_of(fields, project))
    except QuorateError as error:
        return _settings(on, fields, in_form_words(of_error(error).body(), fields))
    return on.go("settings", "saved")


def _settings(
    on: Visit, form: dict[str, str], problem: dict[str, Any] | None = None, *, pool: int | None = None
) -> Response:
    """The page, with what the visitor changed in `form`; all else as it is now."""
    project = on.projects.get(on.project_id)
    now = as_form(project)
    shown = {"project": project, "form": now | touched(form, now), "marks": marks(now), "problem": problem}
    shown |= {"labels": LABELS, "fields": FORM, "more": MORE, "open_pool": pool}
    return on.render("settings.html", status_of(problem), tab="settings", **shown)
