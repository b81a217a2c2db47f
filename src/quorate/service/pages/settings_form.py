"""Settings as a form: its fields, their texts and their values, all from the declarations in `ProjectSettings`.

Forms have percentages where settings have shares, and one text field for each class's name. Errors name the labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic.fields import FieldInfo

from quorate.service.domain.settings import ProjectSettings
from quorate.service.pages.formats import decimal, in_words_of_the_form, lines, number, share, whole_number
from quorate.validate import invalid

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


FORM = {name: _field(name, info) for name, info in ProjectSettings.model_fields.items() if name != "display_names"}
LABELS = {name: field.label for name, field in FORM.items()} | {"name": "Name", "state": "State"}
LABELS["display_names"] = str(ProjectSettings.model_fields["display_names"].title)
BLANK = dict.fromkeys(FORM, "") | {
    name: _text(info.default, FORM[name].kind)
    for name, info in ProjectSettings.model_fields.items()
    if name in FORM and not info.is_required()
}


def as_form(settings: ProjectSettings) -> dict[str, str]:
    """The settings as texts for the form."""
    texts = {name: _text(getattr(settings, name), field.kind) for name, field in FORM.items()}
    names = enumerate(settings.classes)
    return texts | {f"{DISPLAY_NAME}{number}": settings.display_names.get(name, "") for number, name in names}


def changes_of(fields: Mapping[str, str], *, before: ProjectSettings | None = None) -> dict[str, Any]:
    """The settings of a filled-in form; with `before`, the project's settings, only those that were changed.

    A field that is as the form showed it counts as unchanged, because the form may show fewer digits than are stored.

    >>> changes_of({"pool_size": "5", "target_error": "2", "budget": ""})
    {'pool_size': 5, 'budget': None, 'target_error': 0.02}
    """
    shown = {} if before is None else as_form(before)
    touched = {name for name, text in fields.items() if before is None or _plain(text) != _plain(shown.get(name, ""))}
    found = {}
    for name, field in FORM.items():
        if name in touched:
            value = _value(fields, field)
            if value is not None or field.is_optional:
                found[name] = value
            elif before is not None:
                raise invalid(name, "", "a number", "write one.")
    if before is not None and any(name.startswith(DISPLAY_NAME) for name in touched):
        typed = [(name, fields.get(f"{DISPLAY_NAME}{n}", "").strip()) for n, name in enumerate(before.classes)]
        found["display_names"] = {name: text for name, text in typed if text}
    return found


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
