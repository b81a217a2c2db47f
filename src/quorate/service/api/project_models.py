"""What owners send and are told of projects. The rules themselves are `deciding/settings.py`'s."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from quorate.service.api.fields import In, Out, Text, Time

State = Literal["active", "paused", "archived"]
Role = Literal["owner", "voter", "reader"]
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
    classes: Annotated[Classes | None, Field(description="Those it has; they cannot change.")] = None
    models: Annotated[Models | None, Field(description="Those it has; they cannot change.")] = None
    window: Annotated[Whole | None, Field(description="As it is; it cannot change.")] = None
    seed: Annotated[Whole | None, Field(description="As it is; it cannot change.")] = None

    def given(self) -> dict[str, Any]:
        """What was sent; null where a setting is taken back (threshold, budget, target_error, max_votes)."""
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


class SettingsOut(Out):
    """Every setting."""

    classes: list[str]
    pool_size: int
    models: list[str]
    method: str
    threshold: float | None
    budget: float | None
    target_error: float | None
    price: float
    currency: str
    instructions: str
    min_votes: int
    max_votes: int | None
    audit_rate: float
    lease_seconds: float
    undo_seconds: float
    window: int
    refit_every: int
    seed: int
    display_names: dict[str, str]


class CountsOut(Out):
    """How far the project is."""

    items: int
    open: int
    closed: int
    in_audit: int
    votes: int
    withdrawn: Annotated[int, Field(description="Not counted in any of the others.")]


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
    counts: CountsOut | None = None
    notes: list[NoteOut] = Field(default_factory=list, description="Warnings, when the project is made.")
