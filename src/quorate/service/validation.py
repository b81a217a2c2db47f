"""What pydantic says of a request -> complaints that name field, value, rule and fix. Called by `problems`.

Values that may be secret (headers, cookies, tokens) are never sent back; long ones are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST = 20  # complaints of one request that are listed
LONGEST = 120  # characters of a value that are quoted
SECRET = {"authorization", "token", "secret", "csrf", "key", "password"}
FIXES = {
    "missing": "Send {field}.",
    "extra_forbidden": "Leave {field} out, or correct its name.",
    "json_invalid": "Send valid JSON.",
    "string_unicode": "Send {field} as valid Unicode, without lone surrogates.",
}


def complaints(errors: Sequence[Any]) -> list[dict[str, Any]]:
    """One complaint for each error, at most MOST of them.

    >>> complaints([{"type": "missing", "loc": ("body", "label"), "msg": "Field required", "input": {}}])
    [{'field': 'label', 'rule': 'Field required', 'fix': 'Send label.'}]
    """
    return [_complaint(error) for error in errors[:MOST]] or [
        {"field": "request", "rule": "valid", "fix": "Change it."}
    ]


def _complaint(error: dict[str, Any]) -> dict[str, Any]:
    place = [str(part) for part in error.get("loc", ())]
    field = ".".join(place[1:]) or (place[0] if place else "request")
    kind, rule = str(error.get("type", "")), str(error.get("msg", "not valid"))
    fix = FIXES.get(kind, "Change {field} so that it fits.").format(field=field)
    found: dict[str, Any] = {"field": field[:LONGEST]}
    if kind not in ("missing", "json_invalid") and _may_be_quoted(place):
        found["value"] = quoted(error.get("input"))
    return found | {"rule": rule[:LONGEST], "fix": fix[: 2 * LONGEST]}


def _may_be_quoted(place: list[str]) -> bool:
    """Not headers, not cookies, not a whole body, nothing that is called like a secret."""
    return not (place[:1] in (["header"], ["cookie"]) or len(place) < 2 or {part.lower() for part in place} & SECRET)


def quoted(value: object) -> str | int | float | bool | None:
    """A value to send back: small plain ones as they are, everything else as text, cut."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    words = value if isinstance(value, str) else repr(value)
    return words if len(words) <= LONGEST else words[:LONGEST] + "…"
