"""Converts the responses of Label Studio's API to values: `RemoteProject`, `SingleChoice`, `Task`, `RemoteAnnotation`.

A field that is missing or of another type raises `UnexpectedAnswer`, so that changes of the API are not misread. A
project's question is read from its labelling configuration (XML) whenever tasks are read, because it can change;
everything other than a single choice is refused, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from xml.etree import ElementTree

from quorate.errors import InvalidInput, QuorateError
from quorate.tables import HARD_LABEL_ACCURACY
from quorate.types import PredictionValue
from quorate.validate import class_names, invalid

Kind = TypeVar("Kind")
FIELD = "label_config"
SINGLE = ("single", "single-radio")
MOST_LETTERS = 200_000
CHOOSE = 'name the question with `choices = "..."` in connect.toml, or use a project that asks one single choice.'
DECLARED = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)  # entities can grow without bound


class UnexpectedAnswer(QuorateError):
    """A response of Label Studio that this version does not know."""


@dataclass(frozen=True, slots=True)
class RemoteProject:
    """The settings of a project that matter here. `skip_queue`: what happens to skipped tasks."""

    id: int
    title: str
    label_config: str
    maximum_annotations: int
    skip_queue: str
    model_version: str


@dataclass(frozen=True, slots=True)
class RemoteAnnotation:
    """Who answered, and what: `label` is None for a skip or an answer that is not one of the classes (`unusable`).

    `user` is None if the account was deleted.
    """

    id: int
    user: int | None
    email: str
    label: str | None
    updated: str
    is_skip: bool = False
    is_ground_truth: bool = False
    unusable: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A task."""

    id: int
    overlap: int
    is_labeled: bool
    data: Mapping[str, Any] = field(repr=False)
    annotations: tuple[RemoteAnnotation, ...] = ()
    prediction: PredictionValue = None


def as_project(answer: object) -> RemoteProject:
    """The project in the response of `GET /api/projects/ID/`."""
    told = _mapping(answer, "project")
    return RemoteProject(
        id=_int(told, "id"),
        title=_text(told, "title"),
        label_config=_text(told, "label_config"),
        maximum_annotations=_int(told, "maximum_annotations"),
        skip_queue=str(told.get("skip_queue") or ""),
        model_version=str(told.get("model_version") or ""),
    )


def as_task(answer: object, question: SingleChoice, model_version: str = "") -> Task:
    """A task of `GET /api/tasks`; annotations in the order of their ids."""
    told = _mapping(answer, "task")
    annotations = [_annotation(annotation, question) for annotation in _list(told, "annotations")]
    return Task(
        id=_int(told, "id"),
        overlap=_int(told, "overlap"),
        is_labeled=_bool(told, "is_labeled"),
        data=_mapping(told.get("data"), "data"),
        annotations=tuple(sorted(annotations, key=lambda annotation: annotation.id)),
        prediction=_prediction(_list(told, "predictions"), question, model_version),
    )


def _annotation(answer: object, question: SingleChoice) -> RemoteAnnotation:
    told = _mapping(answer, "annotation")
    who = told.get("completed_by")
    person = who if isinstance(who, Mapping) else {"id": who}
    is_skip = _bool(told, "was_cancelled")
    label, unusable = (None, None) if is_skip else _label(told.get("result"), question)
    return RemoteAnnotation(
        id=_int(told, "id"),
        user=None if person.get("id") is None else _int(person, "id"),
        email=str(person.get("email") or ""),
        label=label,
        updated=str(told.get("updated_at") or ""),
        is_skip=is_skip,
        is_ground_truth=bool(told.get("ground_truth")),
        unusable=unusable,
    )


def _label(result: object, question: SingleChoice) -> tuple[str | None, str | None]:
    """The class of an answer, or why it has none."""
    named = _choices(result, question)
    if len(named) == 1 and named[0] in question.classes:
        return named[0], None
    return None, "no answer" if not named else ", ".join(named)[:100]


def _choices(result: object, question: SingleChoice) -> list[str]:
    """All choices for the question in a result."""
    named: list[str] = []
    for part in result if isinstance(result, list) else []:
        if isinstance(part, Mapping) and part.get("from_name") == question.name:
            value = part.get("value")
            chosen = value.get("choices") if isinstance(value, Mapping) else None
            named += [str(choice) for choice in chosen] if isinstance(chosen, list) else []
    return named


def _prediction(answers: list[Any], question: SingleChoice, model_version: str) -> PredictionValue:
    """Probabilities of the classes: the newest prediction, preferably of the project's model version."""
    usable = []
    for answer in answers:
        if not isinstance(answer, Mapping):
            continue
        named = _choices(answer.get("result"), question)
        if len(named) == 1 and named[0] in question.classes:
            is_chosen = bool(model_version) and answer.get("model_version") == model_version
            usable.append((is_chosen, _int(answer, "id"), named[0], answer.get("score")))
    if not usable:
        return None
    *_, label, score = max(usable, key=lambda each: each[:2])
    sure = float(score) if isinstance(score, (int, float)) and 0 < score <= 1 else HARD_LABEL_ACCURACY
    rest = (1.0 - sure) / (len(question.classes) - 1)
    return {name: sure if name == label else rest for name in question.classes}


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise unexpected(what, value, "an object")
    return value


def _field(told: Mapping[str, Any], name: str, kind: type[Kind], words: str) -> Kind:
    """A field of a response, of this type; booleans are not whole numbers."""
    value = told.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise unexpected(name, value, words)
    return value


def _list(told: Mapping[str, Any], name: str) -> list[Any]:
    return _field(told, name, list, "a list")


def _int(told: Mapping[str, Any], name: str) -> int:
    return _field(told, name, int, "a whole number")


def _bool(told: Mapping[str, Any], name: str) -> bool:
    return _field(told, name, bool, "true or false")


def _text(told: Mapping[str, Any], name: str) -> str:
    return _field(told, name, str, "text")


def unexpected(name: str, value: object, rule: str) -> UnexpectedAnswer:
    """The error for an unexpected response of Label Studio."""
    fix = "check the address; tested with Label Studio 1.23."
    return invalid(name, value, f"{rule} in the response of Label Studio", fix, error=UnexpectedAnswer)


@dataclass(frozen=True, slots=True)
class SingleChoice:
    """The question: `name` of its tag, `about` the tag it refers to, the `classes` in order; `source`: the field of
    the task's data that is shown, None if there is no such field."""

    name: str
    about: str
    classes: tuple[str, ...]
    source: str | None


def single_choice(config: str, *, choices: str | None = None) -> SingleChoice:
    """The single choice of the configuration; `choices`: the name of its tag, if there are several.

    >>> single_choice('<View><Text name="t" value="$text"/><Choices name="pet" toName="t"><Choice value="cat"/>'
    ...               '<Choice value="dog"/></Choices></View>')
    SingleChoice(name='pet', about='t', classes=('cat', 'dog'), source='text')
    """
    root = _parsed(config)
    parents = {child: parent for parent in root.iter() for child in parent}
    controls = [tag for tag in root.iter() if "toName" in tag.attrib]
    tag = _chosen(controls, choices)
    _check_plain(tag, parents)
    about = tag.get("toName", "")
    shown = next((element for element in root.iter() if element.get("name") == about), None)
    value = "" if shown is None else shown.get("value", "")
    source = value[1:] if re.fullmatch(r"\$\w+", value) else None
    return SingleChoice(tag.get("name", ""), about, _classes(tag), source)


def _parsed(config: str) -> ElementTree.Element:
    if len(config) > MOST_LETTERS or DECLARED.search(config):
        raise invalid(FIELD, config[:60], "a labelling configuration without declarations", "simplify it.")
    try:
        return ElementTree.fromstring(config)
    except ElementTree.ParseError as cause:
        raise invalid(FIELD, config[:60], f"XML that can be read ({cause})", "correct it in Label Studio.") from cause


def _chosen(controls: list[ElementTree.Element], choices: str | None) -> ElementTree.Element:
    """The tag of the question."""
    if choices is not None:
        for tag in controls:
            if tag.get("name") == choices:
                return tag
        names = ", ".join(tag.get("name", "") for tag in controls) or "none"
        raise invalid("choices", choices, f"the name of a control tag of the project: {names}", "correct it.")
    if len(controls) != 1:
        told = ", ".join(f"{tag.tag} {tag.get('name', '')}" for tag in controls) or "no question"
        raise invalid(FIELD, told, "one question, a single choice", CHOOSE)
    return controls[0]


def _check_plain(tag: ElementTree.Element, parents: Mapping[ElementTree.Element, ElementTree.Element]) -> None:
    """Raise unless the tag is a single choice from a fixed list, about the whole task."""
    if tag.tag != "Choices":
        raise _refused(f"<{tag.tag}>", "<Choices>: quorate decides between classes, not on boxes, spans or texts")
    kind = tag.get("choice", "single")
    if kind not in SINGLE:
        raise _refused(f'choice="{kind}"', "a single choice: several classes are not a vote for one of them")
    for name in ("perRegion", "perItem", "visibleWhen"):
        if tag.get(name, "false").lower() != "false":
            raise _refused(f'{name}="{tag.get(name)}"', "a question about the whole task that is always asked")
    if "value" in tag.attrib:
        raise _refused(f'value="{tag.get("value")}"', "the same classes for all tasks")
    if any(parents[choice].tag == "Choice" for choice in tag.iter("Choice")):
        raise _refused("nested <Choice>", "a flat list of classes")


def _refused(value: str, rule: str) -> InvalidInput:
    return invalid(FIELD, value, rule, CHOOSE)


def _classes(tag: ElementTree.Element) -> tuple[str, ...]:
    """The values that annotations use: the alias of a choice if it has one."""
    names = [choice.get("alias") or choice.get("value") or "" for choice in tag.iter("Choice")]
    try:
        return class_names(names)
    except InvalidInput as cause:
        raise _refused(", ".join(names), "at least 2 different classes") from cause
