"""An item's trail -> its story, step by step: who did what when, the votes and the belief after it, and the check.

`story` is pure; what `trail` and the row say goes in. Called by the item's page; `explain` makes sentences of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quorate.decision.belief import TIE_WIDTH
from quorate.service.access.log import owner_of_link
from quorate.service.domain.item_projection import ABSENT
from quorate.service.domain.trail import same

TOLD = ("ask", "label", "confidence", "reason")  # of a decision, on the page


@dataclass(frozen=True, slots=True)
class Step:
    """One event: `probs` and `asks` after it (None: nothing was decided), `agrees` with the decision made again."""

    seq: int
    time: float
    kind: str
    who: str | None
    label: str | None
    is_late: bool
    votes: tuple[int, ...]
    num_abstained: int  # as the votes, after this event
    num_absent: int  # experts that an owner had taken out of the pool by then
    is_absent: bool  # the event is of such an expert
    probs: tuple[float, ...] | None
    asks: bool | None
    answer: str | None
    confidence: float | None
    reason: str | None
    agrees: bool | None
    params: int | None
    tune: int | None
    link_by: str | None  # whose link signed the voter in, if an owner made it

    @property
    def tied(self) -> int:
        """How many classes are as likely as the likeliest one."""
        return 1 if self.probs is None else len(likeliest(self.probs))


def likeliest(probs: Sequence[float]) -> list[int]:
    """The classes as likely as the likeliest one, by number: several in a tie.

    >>> likeliest([0.2, 0.4, 0.4])
    [1, 2]
    """
    return [index for index, each in enumerate(probs) if max(probs) - each <= TIE_WIDTH]


def story(
    events: Sequence[Mapping[str, Any]],
    classes: Sequence[str],
    names: Mapping[str, str],
    signed_in_by: Mapping[int, str] | None = None,
) -> list[Step]:
    """Every event in order, with what it led to.

    >>> (step,) = story([{"seq": 1, "time": 0.0, "type": "open", "decision": {"ask": True}}], ["a", "b"], {})
    >>> step.kind, step.votes
    ('open', (0, 0))
    """
    ballots: dict[str, str | None] = {}  # None: cannot tell
    steps = []
    for event in events:
        voter = event.get("voter")
        if event["type"] in ("vote", "abstain") and voter is not None:
            ballots[voter] = event.get("label")
        elif event["type"] == "retract" and voter is not None:
            ballots.pop(voter, None)
        given = list(ballots.values())
        votes = tuple(given.count(name) for name in classes)
        link_by = _link_by((signed_in_by or {}).get(event["seq"]), names)
        absent = sum(name.startswith(ABSENT) for name in ballots)
        steps.append(_step(event, votes, given.count(None) - absent, absent, names, link_by))
    return steps


def _link_by(signed_in_by: str | None, names: Mapping[str, str]) -> str | None:
    """The name of the owner whose link signed the voter in; None if no owner's did."""
    owner = owner_of_link(signed_in_by)
    return owner if owner is None else names.get(owner, owner or "an owner")


def _step(
    event: Mapping[str, Any],
    votes: tuple[int, ...],
    num_abstained: int,
    num_absent: int,
    names: Mapping[str, str],
    link_by: str | None,
) -> Step:
    decision, again = event.get("decision", {}), event.get("recomputed")
    voter = event.get("voter")
    probs = tuple(again["probs"]) if again and again["probs"] is not None else None
    return Step(
        seq=event["seq"],
        time=event["time"],
        kind="unskip" if event.get("undone") else event["type"],
        who=None if voter is None else names.get(voter, voter.removeprefix("ext:")),
        label=event.get("label"),
        is_late=bool(event.get("late")),
        votes=votes,
        num_abstained=num_abstained,
        num_absent=num_absent,
        is_absent=voter is not None and voter.startswith(ABSENT),
        probs=probs,
        asks=decision.get("ask") if again else None,
        answer=decision.get("label"),
        confidence=decision.get("confidence"),
        reason=decision.get("reason"),
        agrees=None if again is None else same({name: decision[name] for name in TOLD}, again),
        params=decision.get("params"),
        tune=decision.get("tune"),
        link_by=link_by,
    )
