"""Turns pydantic's errors about a request into complaints with field, value, rule and fix. Called by `problems`.

Values that may be secret (headers, cookies, tokens) are never sent back; long ones are cut.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

MOST = 20  # complaints listed per request
LONGEST = 120  # characters quoted of a value
SECRET = {"authorization", "token", "secret", "csrf", "key", "password"}
OF_CLASS = re.compile(r" or (instance of \w+|object to extract fields from)")
PLAIN = {
    "a valid dictionary": "a JSON object, {...}",
    "a valid list": "a list, [...]",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}
SHOULD = "Input should be "
WHY = re.compile(r", (?:unable to parse|got a number)")  # what was sent is in `value`
PREFIX = re.compile(r"^(Value error|Assertion failed), ")
NOT_JSON = {
    "field": "body",
    "rule": "the body was not sent as JSON",
    "fix": "Send Content-Type: application/json.",
}
LENGTHS = {  # kinds of complaints -> words, name of the limit
    "too_long": ("at most", "max_length"),
    "too_short": ("at least", "min_length"),
}
FIXES = {
    "missing": "Send {field}.",
    "extra_forbidden": "Leave {field} out, or correct its name.",
    "greater_than_equal": "Send {field} of at least {ge}.",
    "less_than_equal": "Send {field} of at most {le}.",
    "greater_than": "Send {field} above {gt}.",
    "less_than": "Send {field} below {lt}.",
    "json_invalid": "Send valid JSON.",
    "string_unicode": "Send {field} as valid Unicode, without lone surrogates.",
}


def complaints(errors: Sequence[Any], sent: object = None, model: object = None) -> list[dict[str, Any]]:
    """One complaint for each invalid field, at most MOST; `sent` is the body they are about.

    `model` is the expected type of the body, which gives the valid names.

    For a field of several allowed types, pydantic reports an error for each type and adds the type's name to the
    location. Here the type names are left out, and each field gives one complaint.

    >>> complaints([{"type": "missing", "loc": ("body", "label"), "msg": "Field required", "input": {}}])
    [{'field': 'label', 'rule': 'it is required', 'fix': 'Send label.'}]
    >>> loc = ("body", "prediction", "constrained-str"), ("body", "prediction", "list[float]")
    >>> words = "Input should be a valid string", "Input should be a valid list"
    >>> each = [{"type": "x", "loc": loc[k], "msg": words[k], "input": 5} for k in (0, 1)]
    >>> complaints(each, {"prediction": 5})[0]["rule"]
    'Input should be a valid string, or a list, [...]'
    """
    if isinstance(sent, bytes) and sent and any(tuple(error.get("loc", ())) == ("body",) for error in errors):
        return [dict(NOT_JSON)]
    by_place: dict[tuple[str | int, ...], list[Any]] = {}
    for error in errors:
        by_place.setdefault(_place(error, sent), []).append(_worded(error, sent, model))
    found = [_complaint(place, together) for place, together in by_place.items() if not _is_vague(place, by_place)]
    return found[:MOST] or [{"field": "request", "rule": "valid", "fix": "Change it."}]


def _place(error: dict[str, Any], sent: object) -> tuple[str | int, ...]:
    """The location in the request without type names: parts that are neither keys nor indices of the body."""
    loc = tuple(error.get("loc", ()))
    if error.get("type") == "json_invalid":
        return ("body",)
    if sent is None or loc[:1] != ("body",):
        return loc
    place: list[str | int] = ["body"]
    here = sent
    for number, part in enumerate(loc[1:], start=1):
        is_key = isinstance(here, Mapping) and part in here
        is_index = isinstance(here, Sequence) and isinstance(part, int) and 0 <= part < len(here)
        is_missing = number == len(loc) - 1 and isinstance(here, Mapping) and error.get("type") == "missing"
        if is_key or is_index:
            here = here[part]  # type: ignore[index]
        if is_key or is_index or is_missing:
            place.append(part)
    return tuple(place)


def _worded(error: dict[str, Any], sent: object, model: object) -> dict[str, Any]:
    """The error with a message for the sender of the request."""
    kind, message = str(error.get("type", "")), PREFIX.sub("", str(error.get("msg", "not valid")))
    if kind == "extra_forbidden":
        names = known_names(model, error.get("loc", ())[1:-1])
        message = f"there is no such field; valid names: {', '.join(names)}" if names else "there is no such field"
    if kind in LENGTHS and isinstance(error.get("input"), str):
        message = _of_length(error)
    if kind == "missing":
        message = "it is required"
    if kind == "json_invalid":
        message = f"not valid JSON: {error.get('ctx', {}).get('error', message)}{_position(error, sent)}"
    for theirs, ours in PLAIN.items():
        message = message.replace(theirs, ours)
    message = WHY.split(message)[0]
    return error | {"msg": message}


def _of_length(error: dict[str, Any]) -> str:
    """The rule for the length of a text: pydantic says "items" instead of characters after one of our validators."""
    words, limit = LENGTHS[error["type"]]
    number = error["ctx"][limit]
    return f"Text should have {words} {number} {'character' if number == 1 else 'characters'}"


def _position(error: dict[str, Any], sent: object) -> str:
    at = error.get("loc", ())[-1:]
    if not isinstance(sent, str) or not at or not isinstance(at[0], int):
        return ""
    before = sent[: at[0]]
    return f" at line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"


def known_names(model: object, place: Sequence[object]) -> list[str]:
    """The names of the fields at a place within a model.

    >>> from pydantic import create_model
    >>> inner = create_model("Inner", label=str)
    >>> known_names(create_model("Outer", items=list[inner]), ("items", 0))
    ['label']
    """
    here = list(_models(model))
    for part in place:
        fields = [each.model_fields[str(part)] for each in here if str(part) in each.model_fields]
        if fields:  # a list index or a type name is not a field
            here = [inner for field in fields for inner in _models(field.annotation)]
    return list(dict.fromkeys(field.alias or name for each in here for name, field in each.model_fields.items()))


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models within a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for part in get_args(annotation):
        yield from _models(part)


def _is_vague(place: tuple[str | int, ...], all_: Mapping[tuple[str | int, ...], list[Any]]) -> bool:
    """Whether the complaint only says that a field is not of another allowed type, while another names its content."""
    is_union = any(len(error.get("loc", ())) > len(place) for error in all_[place])
    return is_union and any(other[: len(place)] == place and len(other) > len(place) for other in all_)


def _complaint(place: tuple[str | int, ...], errors: Sequence[dict[str, Any]]) -> dict[str, Any]:
    field = _joined(place[1:]) or (str(place[0]) if place else "request")
    kind = str(errors[0].get("type", ""))
    rule = _rule(errors)[: 4 * LONGEST]
    known = FIXES.get(kind) if len(errors) == 1 else None
    if known is not None:
        fix = known.format(**errors[0].get("ctx", {}) | {"field": field})
    elif rule.startswith(SHOULD):
        fix = f"Send {field} as {rule.removeprefix(SHOULD)}."
    else:
        fix = f"Change {field} so that it follows the rule."
    found: dict[str, Any] = {"field": field[:LONGEST]}
    if kind not in ("missing", "json_invalid") and _may_be_quoted(list(place)):
        found["value"] = quoted(errors[0].get("input"))
    return found | {"rule": rule, "fix": fix[: 2 * LONGEST]}


def _joined(place: Sequence[str | int]) -> str:
    """A location in the request as one name.

    >>> _joined(("items", 0, "text"))
    'items[0].text'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def _rule(errors: Sequence[dict[str, Any]]) -> str:
    """Pydantic's message without class names."""
    rules = [OF_CLASS.sub("", str(error.get("msg", "not valid"))) for error in errors]
    first, *more = dict.fromkeys(rules)
    return ", or ".join([first, *(each.removeprefix(SHOULD) for each in more)])


def _may_be_quoted(place: list[str | int]) -> bool:
    """False for headers, cookies, whole bodies and fields named like a secret."""
    return not (
        place[:1] in (["header"], ["cookie"]) or len(place) < 2 or {str(part).lower() for part in place} & SECRET
    )


def quoted(value: object) -> str | int | float | bool | None:
    """A value to send back: small plain values unchanged, everything else as text, truncated."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    words = value if isinstance(value, str) else repr(value)
    return words if len(words) <= LONGEST else words[:LONGEST] + "…"
