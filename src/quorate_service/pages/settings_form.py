"""Settings as a form: its fields, their texts and their values, all from the declarations in `ProjectSettings`.

Forms have percentages where settings have shares, and one text field for each class's name. Errors name the labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, get_args

from pydantic.fields import FieldInfo

from quorate.validate import invalid
from quorate_service.domain.projects import Project
from quorate_service.domain.settings import ProjectSettings
from quorate_service.pages.formats import decimal, in_words_of_the_form, lines, number, share, whole_number
from quorate_service.problems import Outdated

Kind = Literal["whole", "number", "%", "lines", "text", "line"]
DISPLAY_NAME = "display_name_"  # prefix of a class's field; the number of the class follows
LIMIT = re.compile(r"(equal to|at least) ([\d.e-]+)")


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of the form. `is_optional`: it may be empty, which means None."""

    name: str
    label: str
    hint: str
    kind: Kind
    is_required: bool
    is_optional: bool


def _field(name: str, info: FieldInfo) -> FormField:
    unit = info.json_schema_extra.get("unit", "") if isinstance(info.json_schema_extra, dict) else ""
    kinds = get_args(info.annotation) or (info.annotation,)
    by_type: Kind = "whole" if int in kinds else "number" if float in kinds else "line"
    kind = unit if unit in get_args(Kind) else by_type
    label = f"{info.title}, {unit}" if unit in ("%", "s") else str(info.title)
    return FormField(name, label, info.description or "", kind, info.is_required(), type(None) in kinds)  # type: ignore[arg-type]


def _text(value: object, kind: Kind) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "\n".join(value)
    if isinstance(value, float):
        return decimal(100 * value if kind == "%" else value, 6)
    return str(value)


def as_text(name: str, value: object) -> str:
    """A setting's value as its field shows it; empty: "none"."""
    text = _text(tuple(value) if isinstance(value, list) else value, FORM[name].kind if name in FORM else "line")
    return text.replace("\n", ", ") or "none"


FORM = {name: _field(name, info) for name, info in ProjectSettings.model_fields.items() if name != "display_names"}
LABELS = {name: field.label for name, field in FORM.items()} | {"name": "Name", "state": "State"}
LABELS["display_names"] = str(ProjectSettings.model_fields["display_names"].title)
BLANK = dict.fromkeys(FORM, "") | {
    name: _text(info.default, FORM[name].kind)
    for name, info in ProjectSettings.model_fields.items()
    if name in FORM and not info.is_required()
}


def as_form(project: Project) -> dict[str, str]:
    """What can change in a project, as texts for the form."""
    settings = project.settings
    texts = {name: _text(getattr(settings, name), field.kind) for name, field in FORM.items()}
    names = {f"{DISPLAY_NAME}{n}": settings.display_names.get(name, "") for n, name in enumerate(settings.classes)}
    return texts | names | {"name": project.name, "state": project.state}


def new_settings(fields: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a filled-in form for a new project; empty fields that may not be empty are left out.

    >>> new_settings({"pool_size": "5", "target_error": "2", "budget": ""})
    {'pool_size': 5, 'budget': None, 'target_error': 0.02}
    """
    typed = {name: (field, _value(fields, field)) for name, field in FORM.items() if name in fields}
    return {name: value for name, (field, value) in typed.items() if value is not None or field.is_optional}


def changes_of(fields: Mapping[str, str], project: Project) -> dict[str, Any]:
    """What the visitor changed in the form of a project: arguments of `Projects.change`.

    Refused if somebody else has changed one of these fields since the form was shown.
    """
    now, changes = as_form(project), dict[str, Any]()
    typed, seen = touched(fields, now), _seen(fields)
    for name in typed:
        if _mark(now[name]) not in (_mark(typed[name]), seen.get(name, _mark(now[name]))):
            rule = f"what this page showed; somebody has changed it to {now[name].strip() or 'empty'}"
            raise invalid(name, typed[name], rule, "save again to replace that.", error=Outdated)
        if name in FORM:
            changes[name] = _value(fields, FORM[name])
            if changes[name] is None and not FORM[name].is_optional:
                raise invalid(name, "", "a number", "write one.")
    if any(name.startswith(DISPLAY_NAME) for name in typed):
        names = ((name, (now | typed)[f"{DISPLAY_NAME}{n}"].strip()) for n, name in enumerate(project.settings.classes))
        changes["display_names"] = {name: text for name, text in names if text}
    return changes | {name: typed[name] for name in ("name", "state") if name in typed}


def touched(fields: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The fields that the visitor changed. One that is as it was shown is not, as forms may show fewer digits."""
    shown = {name: _mark(text) for name, text in now.items()} | _seen(fields)
    return {name: text for name, text in fields.items() if name in now and _mark(text) != shown[name]}


def marks(form: Mapping[str, str]) -> str:
    """What a form shows, as the value of its hidden field `shown`: a digest of each field."""
    return json.dumps({name: _mark(text) for name, text in form.items()})


def _seen(fields: Mapping[str, str]) -> dict[str, str]:
    """`marks` as they were sent back; nothing if they are missing or not JSON."""
    try:
        seen = json.loads(fields.get("shown", ""))
    except (ValueError, RecursionError):
        return {}
    return seen if isinstance(seen, dict) else {}


def _mark(text: str) -> str:
    return sha256(_plain(text).encode("utf-8", "replace")).hexdigest()[:16]


def in_form_words(problem: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The problem with labels instead of names of settings, and percentages instead of shares."""
    field = FORM.get(str(problem.get("field")))
    if field is not None and field.kind == "%":
        rule = LIMIT.sub(lambda found: f"{found[1]} {100 * float(found[2].rstrip('.')):g} %", str(problem["rule"]))
        problem = {**problem, "rule": rule}
    return in_words_of_the_form(problem, fields, LABELS)


def _value(fields: Mapping[str, str], field: FormField) -> object:
    """The value of a field; None if it is empty."""
    if field.kind == "lines":
        return lines(fields, field.name)
    if field.kind in ("text", "line"):
        return _plain(fields[field.name])
    if field.kind == "whole":
        return whole_number(fields, field.name)
    return share(fields, field.name) if field.kind == "%" else number(fields, field.name)


def _plain(text: str) -> str:
    """The text with normalised line ends, as a form would show it."""
    return text.replace("\r\n", "\n").strip()
