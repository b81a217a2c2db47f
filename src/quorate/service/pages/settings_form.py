"""The form of a project's settings <-> `ProjectSettings`: percent for people, shares for the method; one goal of four.

Pure. Called by the pages of a new project and of its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.service.deciding.settings import ProjectSettings
from quorate.service.pages.form_fields import lines, number, whole_number
from quorate.service.pages.words import decimal

DEFAULT_METHOD = "quorate"
GOALS = ("value", "threshold", "budget", "target_error")


def changes_of(fields: Mapping[str, str], *, method: str = DEFAULT_METHOD) -> dict[str, Any]:
    """The settings a filled-in form asks for; `method` is the project's.

    >>> form = {"pool_size": "5", "goal": "threshold", "threshold": "95", "price": "", "audit_rate": "5"}
    >>> changes = changes_of(form)
    >>> changes["threshold"], changes["audit_rate"], changes["price"]
    (0.95, 0.05, 0.0)
    """
    found: dict[str, Any] = {"threshold": None, "budget": None, "target_error": None}
    goal = fields.get("goal", "value")
    if goal in ("threshold", "target_error"):
        found[goal] = _needed(fields, goal, per=100)
    elif goal == "budget":
        found[goal] = _needed(fields, goal)
    if method.partition(":")[0].strip() == DEFAULT_METHOD:
        found["method"] = _valued(fields) if goal == "value" else DEFAULT_METHOD
    found["max_votes"] = whole_number(fields, "max_votes")
    wanted = {
        "pool_size": whole_number(fields, "pool_size"),
        "min_votes": whole_number(fields, "min_votes") or 0,
        "price": number(fields, "price") or 0.0,
        "audit_rate": number(fields, "audit_rate", per=100),
        "lease_seconds": number(fields, "lease_seconds"),
        "undo_seconds": number(fields, "undo_seconds"),
        "currency": fields.get("currency", "").strip(),
        "instructions": fields.get("instructions", "").replace("\r\n", "\n").strip(),
    }
    return found | {name: value for name, value in wanted.items() if value is not None}


def new_settings(fields: Mapping[str, str]) -> ProjectSettings:
    """The settings of a new project."""
    models = lines(fields, "models")
    fixed = {"classes": lines(fields, "classes"), **({"models": models} if models else {})}
    return ProjectSettings.from_json(changes_of(fields) | fixed)


def as_form(settings: ProjectSettings) -> dict[str, str]:
    """The settings as a form shows them."""
    goal = next((name for name in GOALS[1:] if getattr(settings, name) is not None), "value")
    gain = settings.chosen_method().knobs.get("min_gain")
    shown = {
        "goal": goal,
        "error_price": decimal(1 / gain, 0) if gain else "",
        "threshold": "" if settings.threshold is None else decimal(100 * settings.threshold, 3),
        "budget": "" if settings.budget is None else decimal(settings.budget, 3),
        "target_error": "" if settings.target_error is None else decimal(100 * settings.target_error, 3),
        "audit_rate": decimal(100 * settings.audit_rate, 3),
        "classes": "\n".join(settings.classes),
        "models": "\n".join(settings.models),
        "max_votes": "" if settings.max_votes is None else str(settings.max_votes),
    }
    plain = ("pool_size", "min_votes", "currency", "instructions")
    timed = ("price", "lease_seconds", "undo_seconds")
    told = {name: str(getattr(settings, name)) for name in plain}
    return shown | told | {name: decimal(getattr(settings, name), 4) for name in timed}


def _valued(fields: Mapping[str, str]) -> str:
    """The default method; an error that costs `error_price` votes makes a vote worth one part in as many."""
    price = number(fields, "error_price")
    return DEFAULT_METHOD if not price or price <= 0 else f"{DEFAULT_METHOD}:min_gain={1 / price:.12g}"


def _needed(fields: Mapping[str, str], name: str, *, per: float = 1.0) -> float | None:
    found = number(fields, name, per=per)
    return -1.0 if found is None else found  # refused by the settings, which say what is expected
