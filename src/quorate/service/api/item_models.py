"""What owners send and are told of items: predictions in any form the library takes, and all that is known."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from quorate.service.api.fields import In, ItemId, Out, Text, Time
from quorate.service.api.vote_models import ShowOut
from quorate.service.deciding.items import MOST_ITEMS, MOST_PRIORITY, MOST_TEXT

Share = Annotated[float, Field(ge=0, le=1)]
ClassName = Annotated[Text, Field(max_length=100)]
Prediction = Annotated[
    ClassName | Share | list[float] | dict[ClassName, float] | None,
    Field(
        description="A label, probabilities by class or in the order of the classes, one score for two classes "
        "(that of the second), or nothing.",
        examples=[{"cat": 0.8, "dog": 0.2}],
    ),
]


class ItemIn(In):
    """One new item. With several models: `predictions`, a list in their order or an object by their names."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "scan-0017", "prediction": {"cat": 0.8}, "text": "Which animal?"}]}
    )

    id: ItemId
    prediction: Prediction = None
    predictions: list[Prediction] | dict[ClassName, Prediction] | None = None
    text: Annotated[Text, Field(max_length=MOST_TEXT, description="Shown as it is, never as HTML.")] | None = None
    image: Annotated[Text, Field(max_length=2000, description="`upload:<id>`, or an https address.")] | None = None
    link: Annotated[Text, Field(max_length=2000, description="An https address to open.")] | None = None
    pool_size: Annotated[int, Field(ge=1, le=10**9)] | None = None
    priority: Annotated[int, Field(ge=-MOST_PRIORITY, le=MOST_PRIORITY)] = 0

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.prediction is not None and self.predictions is not None:
            raise ValueError("expected prediction or predictions, not both")
        return self


class ItemsIn(In):
    """A batch, stored whole or not at all. Items that are there already are left as they are."""

    items: Annotated[list[ItemIn], Field(min_length=1, max_length=MOST_ITEMS)]


class AddedOut(Out):
    """What became of one item of a batch."""

    id: str
    status: Literal["open", "closed", "exists"]


class BatchOut(Out):
    """What became of a batch, in its order."""

    items: list[AddedOut]
    added: int


class ItemOut(Out):
    """An item as it stands, for owners and readers."""

    id: str
    number: int
    status: Literal["open", "closed", "withdrawn"]
    label: str
    confidence: float
    reason: str
    votes: Annotated[dict[str, int], Field(description="By class, late ones included.")]
    num_votes: int
    num_abstained: int
    num_late: int
    pool_size: int
    priority: int
    audit: Annotated[Literal["drawn", "done"] | None, Field(description="Drawn: voted to the end. Done: it was.")]
    created: Time
    closed: Annotated[float | None, Field(description="Seconds since 1970.")]
    set_aside: Annotated[
        float | None,
        Field(description="Since when nobody is asked, as a voter reported its image as broken; seconds since 1970."),
    ] = None
    show: ShowOut


class ItemDetail(ItemOut):
    """One item, with what each model predicted, by model and class."""

    predictions: dict[str, dict[str, float]]


class CloseIn(In):
    """Which item is closed by hand."""

    id: ItemId


class ClearIn(In):
    """Which item is asked about again."""

    id: ItemId


class ClearedOut(Out):
    """An item that is no longer set aside."""

    id: str


class TrailOut(Out):
    """Everything that was done with an item, as `quorate.session.single.recompute` reads it."""

    item: str
    number: int
    settings: Annotated[dict[str, Any], Field(description="As the header of a session's journal.")]
    eras: Annotated[list[dict[str, Any]], Field(description="Parameters and knobs that decisions name.")]
    events: Annotated[list[dict[str, Any]], Field(description="In order; `recomputed` is each decision made again.")]
    owner_actions: Annotated[list[dict[str, Any]], Field(description="What owners did with it, beside the events.")]
    signed_in_by: Annotated[
        dict[int, str], Field(description="How whoever made an event was signed in, by its `seq`; not part of it.")
    ]
