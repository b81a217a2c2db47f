"""What voters send and are told. Nothing here may say more of an item than what is shown, and one's own acts."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from quorate.service.api.fields import In, ItemId, Out, OutsideVoter, Text, Time
from quorate.service.domain.vote_types import Kind

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
