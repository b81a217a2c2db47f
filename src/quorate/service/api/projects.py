"""Projects: created, listed, shown and changed, with the models of their requests and responses."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, get_type_hints

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, create_model

from quorate.service.access.accounts import Role, add_member, memberships_of
from quorate.service.access.principal import Principal
from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import (
    Anyone,
    Caller,
    Creator,
    Owner,
    ProjectId,
    TheProjects,
    TheStore,
    Work,
    Write,
)
from quorate.service.api.fields import In, Out, Page, Text, Time, Wanted, problems
from quorate.service.domain.listing import Counts, acts_of, counts
from quorate.service.domain.projects import Project, Projects
from quorate.service.domain.routing import Rule
from quorate.service.domain.settings import ProjectSettings, rule_for_people

State = Literal["active", "paused", "archived"]
FIELDS: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(ProjectSettings).items()}
Whole = Annotated[int, Field(ge=0, le=10**9)]
Seconds = Annotated[float, Field(ge=0, le=86400)]
Classes = Annotated[list[Annotated[Text, Field(max_length=100)]], Field(min_length=2, max_length=200)]
DisplayNames = Annotated[
    dict[Annotated[Text, Field(max_length=100)], Annotated[Text, Field(min_length=1, max_length=100)]],
    Field(
        description="What pages show for a class, by class: all of them at once. A class left out is shown as it is. "
        "Votes, events, exports and this API keep the class.",
        max_length=200,
        examples=[{"cat": "Cat or kitten"}],
    ),
]
Models = Annotated[list[Annotated[Text, Field(max_length=100)]], Field(min_length=1, max_length=20)]
Name = Annotated[Text, Field(min_length=1, max_length=200, examples=["Chest X-rays"])]


class SettingsChange(In):
    """Settings by name; those left out stay as they are. At most one of threshold, budget, target_error."""

    pool_size: Annotated[int, Field(ge=1, le=10**9, description="The pool whose plurality is the truth.")] | None = None
    method: Annotated[Text, Field(max_length=200, examples=["finexp:threshold=0.95"])] | None = None
    threshold: Annotated[float, Field(ge=0, le=1, description="Close at this confidence.")] | None = None
    budget: Annotated[float, Field(gt=0, le=10**9, description="Votes per item, on average.")] | None = None
    target_error: Annotated[float, Field(gt=0, lt=1, description="Share of answers that may be wrong.")] | None = None
    price: Annotated[float, Field(ge=0, le=10**9, description="Of one vote; for the money shown.")] | None = None
    currency: Annotated[Text, Field(max_length=8)] | None = None
    instructions: Annotated[Text, Field(max_length=10_000, description="Shown to voters.")] | None = None
    min_votes: Annotated[Whole, Field(description="Fewest votes of an item that is added from now on.")] | None = None
    max_votes: Annotated[int, Field(ge=1, le=10**9, description="Most votes of such an item; null: all.")] | None = None
    audit_rate: Annotated[float, Field(ge=0, le=1, description="Share of closed items voted to the end.")] | None = None
    lease_seconds: Seconds | None = None
    undo_seconds: Seconds | None = None
    refit_every: Whole | None = None
    display_names: DisplayNames | None = None
    gold_share: (
        Annotated[float, Field(ge=0, le=0.5, description="Share of the items given out that are gold items.")] | None
    ) = None
    person_prices: (
        Annotated[
            dict[Annotated[Text, Field(min_length=1, max_length=60)], Annotated[float, Field(ge=0, le=10**9)]],
            Field(
                description="Prices of one vote, by account id or `ext:<name>`: all of them at once. "
                "Everybody else has the project's price.",
                max_length=1000,
                examples=[{"ext:ada": 0.5}],
            ),
        ]
        | None
    ) = None
    routing: Annotated[Rule, Field(description="Which item goes to whom: any, agreement or best.")] | None = None
    show_own_gold: Annotated[bool, Field(description="Show each voter their own share on gold.")] | None = None
    adjudicate_below: (
        Annotated[float, Field(ge=0, le=1, description="Below this confidence closed items wait for a senior.")] | None
    ) = None
    classes: Annotated[Classes | None, Field(description="Those it has; they cannot change.")] = None
    models: Annotated[Models | None, Field(description="Those it has; they cannot change.")] = None
    window: Annotated[Whole | None, Field(description="As it is; it cannot change.")] = None
    seed: Annotated[Whole | None, Field(description="As it is; it cannot change.")] = None

    def given(self) -> dict[str, Any]:
        """What was sent; null where a setting is taken back (threshold, budget, max_votes, ...)."""
        return self.model_dump(exclude_unset=True)


class SettingsIn(SettingsChange):
    """Settings of a new project: `classes` and `pool_size`, and what differs from the rest's usual values."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"classes": ["cat", "dog"], "pool_size": 5, "threshold": 0.95}]}
    )

    classes: Classes
    pool_size: Annotated[int, Field(ge=1, le=10**9, description="The pool whose plurality is the truth.")]
    models: Models | None = None
    window: Whole | None = None
    seed: Whole | None = None

    def given(self) -> dict[str, Any]:
        """What was sent, without nulls: they mean the usual value."""
        return self.model_dump(exclude_none=True)


class ProjectIn(In):
    """A new project."""

    name: Name
    settings: SettingsIn
    num_people: Annotated[
        int | None,
        Field(ge=1, le=10**9, description="How many people will vote. Not kept: `notes` warn if the pool is larger."),
    ] = None


class ProjectChange(In):
    """Another name, state or settings; what is left out stays."""

    name: Name | None = None
    state: State | None = None
    settings: SettingsChange | None = None


class SettingsOut(create_model("_Settings", __base__=Out, **FIELDS)):  # type: ignore[misc]
    """Every setting: the fields of `ProjectSettings`."""


class NoteOut(Out):
    """A choice that is allowed and may not be meant: what it is, what would be usual, and what to do."""

    field: str
    value: int
    rule: str
    fix: str


class ProjectRow(Out):
    """A project in the list of the caller's."""

    id: str
    name: str
    state: State
    role: Role
    created: Time


class ProjectOut(ProjectRow):
    """One project. `settings` and `counts` are for owners and readers; voters see what they choose from."""

    classes: list[str]
    display_names: Annotated[dict[str, str], Field(description="What to show for a class, where it is another name.")]
    instructions: str
    acted: Annotated[int, Field(description="Items the caller has acted on.")]
    settings: SettingsOut | None = None
    counts: Counts | None = None
    notes: list[NoteOut] = Field(default_factory=list, description="Warnings, when the project is made.")


router = APIRouter(prefix="/api/v1/projects", tags=["projects"], route_class=StrictRoute)


@router.post("", summary="Make a project", status_code=201, response_model=ProjectOut, responses=problems(403, 409))
def create_project(once: Write, caller: Creator, body: ProjectIn) -> Response:
    """The caller is its owner."""
    settings, me = ProjectSettings.from_json(body.settings.given()), caller.account_id

    def work(on: Work) -> ProjectOut:
        made = on.projects.create(body.name, settings, by=me, now=on.now)
        add_member(on.store, made.id, me, role="owner", by=me, now=on.now)
        return told(on.projects, made, caller, "owner").model_copy(update={"notes": notes(body, settings)})

    return once(caller, work)


@router.get("", summary="The caller's projects", responses=problems())
def list_projects(caller: Caller, store: TheStore, projects_: TheProjects, wanted: Wanted) -> Page[ProjectRow]:
    """Those the caller is a member of; with a key for one project, or a sign-in to one, that one."""
    only = caller.only_project
    mine = memberships_of(store, caller.account_id, only=only, after=wanted.name, limit=wanted.most)
    rows = [as_row(projects_.get(each.project_id), each.role) for each in mine]
    return wanted.page(rows, lambda row: str(row["id"]))


@router.get("/{project_id}", summary="One project", responses=problems(404))
def show_project(project_id: ProjectId, caller: Anyone, projects_: TheProjects) -> ProjectOut:
    """Owners and readers see settings and counts; voters what they choose from."""
    return told(projects_, projects_.get(project_id), caller, caller.role)


@router.patch("/{project_id}", summary="Change a project", response_model=ProjectOut, responses=problems(403, 404, 409))
def change_project(once: Write, project_id: ProjectId, caller: Owner, body: ProjectChange) -> Response:
    """Classes, models, method, window and seed stay: past decisions rely on them. Its parameters may change."""

    def work(on: Work) -> ProjectOut:
        changes = body.settings.given() if body.settings is not None else {}
        made = {"name": body.name, "state": body.state, "by": caller.account_id}
        changed = on.projects.change(project_id, **made, now=on.now, **changes)
        return told(on.projects, changed, caller, "owner")

    return once(caller, work)


def notes(body: ProjectIn, settings: ProjectSettings) -> list[NoteOut]:
    """What the maker of a project should look at again."""
    people, pool = body.num_people, settings.pool_size
    if people is None or people >= pool:
        return []
    fix = f"set pool_size to {people}, or invite {pool - people} more."
    return [NoteOut(field="pool_size", value=pool, rule=rule_for_people(people), fix=fix)]


def as_row(project: Project, role: Role) -> dict[str, Any]:
    """What every member is told of a project."""
    return {name: getattr(project, name) for name in ("id", "name", "state", "created")} | {"role": role}


def told(projects_: Projects, project: Project, who: Principal, role: Role) -> ProjectOut:
    """What somebody of this role is told of the project."""
    sees_all, settings = role in ("owner", "reader"), project.settings
    shown = settings if role == "owner" else replace(settings, person_prices={})  # what people are paid is for owners
    with projects_.store.read() as connection:
        acted = acts_of(connection, project.id, who.account_id)
        numbers = counts(connection, project.id) if sees_all else None
    return ProjectOut(
        **as_row(project, role),
        classes=list(settings.classes),
        display_names=settings.display_names,
        instructions=settings.instructions,
        acted=acted,
        settings=SettingsOut.model_validate(shown) if sees_all else None,
        counts=numbers,
    )
