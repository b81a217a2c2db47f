"""Reads the single-choice question from a project's labelling configuration (XML).

Everything other than a single choice is refused, with the reason. Called when a project is connected and whenever its
tasks are read, because configurations can change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from quorate.errors import InvalidInput
from quorate.validate import broken, class_names

FIELD = "label_config"
SINGLE = ("single", "single-radio")
MOST_LETTERS = 200_000
CHOOSE = 'name the question with `choices = "..."` in connect.toml, or use a project that asks one single choice.'
DECLARED = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)  # entities can grow without bound


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
    shown = next((each for each in root.iter() if each.get("name") == about), None)
    value = "" if shown is None else shown.get("value", "")
    source = value[1:] if re.fullmatch(r"\$\w+", value) else None
    return SingleChoice(tag.get("name", ""), about, _classes(tag), source)


def _parsed(config: str) -> ElementTree.Element:
    if len(config) > MOST_LETTERS or DECLARED.search(config):
        raise broken(FIELD, config[:60], "a labelling configuration without declarations", "simplify it.")
    try:
        return ElementTree.fromstring(config)
    except ElementTree.ParseError as cause:
        raise broken(FIELD, config[:60], f"XML that can be read ({cause})", "correct it in Label Studio.") from cause


def _chosen(controls: list[ElementTree.Element], choices: str | None) -> ElementTree.Element:
    """The tag of the question."""
    if choices is not None:
        for tag in controls:
            if tag.get("name") == choices:
                return tag
        names = ", ".join(tag.get("name", "") for tag in controls) or "none"
        raise broken("choices", choices, f"the name of a control tag of the project: {names}", "correct it.")
    if len(controls) != 1:
        told = ", ".join(f"{tag.tag} {tag.get('name', '')}" for tag in controls) or "no question"
        raise broken(FIELD, told, "one question, a single choice", CHOOSE)
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
    return broken(FIELD, value, rule, CHOOSE)


def _classes(tag: ElementTree.Element) -> tuple[str, ...]:
    """The values that annotations use: the alias of a choice if it has one."""
    names = [choice.get("alias") or choice.get("value") or "" for choice in tag.iter("Choice")]
    try:
        return class_names(names)
    except InvalidInput as cause:
        raise _refused(", ".join(names), "at least 2 different classes") from cause
