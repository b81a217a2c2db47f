"""Computes what to do from the state of both sides: which votes to add or retract, and how to change a task.

Pure functions of the current state, never of a message about a change. So webhooks may be lost, late or repeated,
annotations are counted once, and after a plan is carried out the next one is empty. Called by the service's connector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quorate_service.label_studio.tasks import RemoteAnnotation, Task

FIELDS = ("quorate_consensus", "quorate_confidence", "quorate_reason", "quorate_votes")  # in the task's data
OUTSIDE = "ext:"  # prefix of voters who are not members of the project here, as in the API
LOST = f"{OUTSIDE}annotation-"  # prefix of voters whose Label Studio account was deleted
DIGITS = 4  # of the confidence
REQUEUE_FOR_OTHERS, IGNORE_SKIPPED = "REQUEUE_FOR_OTHERS", "IGNORE_SKIPPED"  # a project's settings for skips


@dataclass(frozen=True, slots=True)
class RemoteBallot:
    """One person's answer to a task: a class, or None (a skip, or no usable answer)."""

    voter: str
    label: str | None
    annotation: int


@dataclass(frozen=True, slots=True)
class VoteChange:
    """An act to carry out here. `annotation`: the one it comes from; None for a ballot whose annotation is gone."""

    kind: Literal["vote", "abstain", "retract"]
    voter: str
    label: str | None
    annotation: int | None


@dataclass(frozen=True, slots=True)
class ItemView:
    """The state of a task's item here. `wants`: how many more answers can be asked for at once, 0 if none."""

    is_closed: bool
    wants: int
    label: str | None  # the final answer; None: closed without one
    confidence: float | None  # None also for an answer of a senior or of the whole pool
    reason: str
    num_votes: int


def ballots_of(annotations: Iterable[RemoteAnnotation], names: Mapping[int, str]) -> list[RemoteBallot]:
    """One ballot for each person, in the order of their annotations; `names`: the users' names here.

    Of several annotations of a person the last usable one counts; a skip counts if there is nothing else. Annotations
    marked as ground truth do not count.

    >>> twice = [RemoteAnnotation(1, 7, "", "cat", "t1"), RemoteAnnotation(2, 7, "", "dog", "t2")]
    >>> twice.append(RemoteAnnotation(3, 8, "", None, "t3"))
    >>> [(each.voter, each.label) for each in ballots_of(twice, {7: "ada", 8: "ben"})]
    [('ada', 'dog'), ('ben', None)]
    """
    chosen: dict[str, RemoteAnnotation] = {}
    for annotation in annotations:
        if annotation.is_ground_truth:
            continue
        voter = names[annotation.user] if annotation.user is not None else f"{LOST}{annotation.id}"
        if voter not in chosen or _rank(annotation) >= _rank(chosen[voter]):
            chosen[voter] = annotation
    ordered = sorted(chosen.items(), key=lambda pair: pair[1].id)
    return [RemoteBallot(voter, annotation.label, annotation.id) for voter, annotation in ordered]


def _rank(annotation: RemoteAnnotation) -> tuple[bool, str, int]:
    return annotation.label is not None, annotation.updated, annotation.id


def plan_votes(theirs: Sequence[RemoteBallot], ours: Mapping[str, str | None]) -> list[VoteChange]:
    """The acts that make our ballots equal to theirs: first retractions, then new ballots, in their order.

    >>> plan_votes([RemoteBallot("ada", "cat", 1)], {"ada": "dog"})
    [VoteChange(kind='retract', voter='ada', label=None, annotation=1),
     VoteChange(kind='vote', voter='ada', label='cat', annotation=1)]
    """
    wanted = {ballot.voter: ballot for ballot in theirs}
    stale = [voter for voter, label in ours.items() if voter not in wanted or wanted[voter].label != label]
    back = [
        VoteChange("retract", voter, None, wanted[voter].annotation if voter in wanted else None) for voter in stale
    ]
    kept = set(ours) - set(stale)
    new = [
        VoteChange("abstain" if ballot.label is None else "vote", ballot.voter, ballot.label, ballot.annotation)
        for ballot in theirs
        if ballot.voter not in kept
    ]
    return back + new


def plan_task(task: Task, item: ItemView, *, skip_queue: str) -> dict[str, Any]:
    """The fields of the task to set, by name; empty if nothing needs to change.

    Label Studio gives a task to no more people than its overlap allows. An item that needs n more answers has room for
    n, so nobody is asked unnecessarily, however many people work at once. The decision is written when no more answers
    are needed; earlier it would influence people.
    """
    overlap, is_labeled = room(task, item, skip_queue=skip_queue)
    data = with_decision(task.data, item if item.is_closed and not item.wants else None)
    return _differences(task, overlap, is_labeled, data)


def room(task: Task, item: ItemView, *, skip_queue: str) -> tuple[int, bool]:
    """The overlap that the task should have, and whether it is done.

    Two counts of Label Studio matter: the annotations that take a place (its `Task.has_lock`), and the people whose
    answers complete a task when one is saved (its `is_labeled`). Skips take a place unless they are requeued for
    others; answers marked as ground truth take none.
    """
    if not item.wants:
        return max(_people(task), 1), True
    without_skips = skip_queue == REQUEUE_FOR_OTHERS
    taken = sum(not (work.is_ground_truth or (without_skips and work.is_skip)) for work in task.annotations)
    return max(taken, _people(task)) + item.wants, False


def _people(task: Task, *, with_skips: bool = False) -> int:
    """How many people answered."""
    return len({annotation.user for annotation in task.annotations if with_skips or not annotation.is_skip})


def _differences(task: Task, overlap: int, is_labeled: bool, data: dict[str, Any]) -> dict[str, Any]:
    """The fields to set; overlap and `is_labeled` together, as Label Studio computes one from the other."""
    changes: dict[str, Any] = {}
    if (overlap, is_labeled) != (task.overlap, task.is_labeled):
        changes = {"overlap": overlap, "is_labeled": is_labeled}
    return changes if data == dict(task.data) else changes | {"data": data}


def with_decision(data: Mapping[str, Any], item: ItemView | None) -> dict[str, Any]:
    """The task's data with the decision in our fields; without these fields if `item` is None."""
    rest = {name: value for name, value in data.items() if name not in FIELDS}
    if item is None:
        return rest
    confidence = None if item.confidence is None else round(item.confidence, DIGITS)
    told = (item.label, confidence, item.reason, item.num_votes)
    return rest | dict(zip(FIELDS, told, strict=True))


def original_of(task: Task) -> dict[str, Any]:
    """The original state of a task, for `plan_restore`."""
    return {
        "overlap": task.overlap,
        "is_labeled": task.is_labeled,
        "fields": {name: task.data[name] for name in FIELDS if name in task.data},
        "annotations": sorted(annotation.id for annotation in task.annotations),
    }


def plan_restore(task: Task, original: Mapping[str, Any], *, overlap: int, skip_queue: str) -> dict[str, Any]:
    """The fields to set to restore the task; if it has new annotations, to what Label Studio itself would compute."""
    is_same = sorted(annotation.id for annotation in task.annotations) == original["annotations"]
    is_done = _people(task, with_skips=skip_queue == IGNORE_SKIPPED) >= overlap
    data = with_decision(task.data, None) | dict(original["fields"])
    return _differences(task, overlap, bool(original["is_labeled"]) if is_same else is_done, data)
