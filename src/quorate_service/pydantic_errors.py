"""Pydantic's errors about a request as complaints with field, value, rule and fix. Called by `problems`.

Values that may be secret (headers, cookies, tokens) are never sent back; long ones are cut.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from typing import Any

MOST = 20  # complaints listed per request
LONGEST = 120  # characters quoted of a value or a name
LONGEST_RULE = 500
SECRET = {"authorization", "token", "secret", "key", "password"}
FIXES = {"missing": "Send {field}.", "extra_forbidden": "Leave {field} out, or correct its name."}
CHANGE = "Change {field} so that it follows the rule."


def complaints(errors: Sequence[Any]) -> list[dict[str, Any]]:
    """One complaint for each error, at most MOST, with pydantic's own message as the rule.

    >>> complaints([{"type": "missing", "loc": ("body", "label"), "msg": "Field required", "input": {}}])
    [{'field': 'label', 'rule': 'Field required', 'fix': 'Send label.'}]
    """
    return [_complaint(error) for error in errors[:MOST]]


def _complaint(error: dict[str, Any]) -> dict[str, Any]:
    kind, location = error["type"], tuple(error["loc"])
    if kind == "json_invalid":
        return {"field": "body", "rule": f"not valid JSON: {error['ctx']['error']}", "fix": "Send valid JSON."}
    if location == ("body",) and isinstance(error["input"], bytes):
        fix = "Send Content-Type: application/json."
        return {"field": "body", "rule": "the body was not sent as JSON", "fix": fix}
    field = (_joined(location[1:]) or str(location[0]))[:LONGEST]
    value = {"value": quoted(error["input"])} if kind != "missing" and _may_be_quoted(location) else {}
    return {
        "field": field,
        **value,
        "rule": error["msg"][:LONGEST_RULE],
        "fix": FIXES.get(kind, CHANGE).format(field=field),
    }


def _joined(place: Sequence[object]) -> str:
    """A location in the request as one name.

    >>> _joined(("items", 0, "text"))
    'items[0].text'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def _may_be_quoted(place: Sequence[object]) -> bool:
    """False for headers, cookies, whole bodies and fields named like a secret."""
    return (
        place[0] not in ("header", "cookie") and len(place) > 1 and not {str(part).lower() for part in place} & SECRET
    )


def quoted(value: object) -> str | int | float | bool | None:
    """A value to send back: small plain values unchanged, everything else as text, truncated."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    words = value if isinstance(value, str) else reprlib.repr(value)
    return words if len(words) <= LONGEST else words[:LONGEST] + "…"
