"""What the form of a project's settings calls them, and a refusal in those words. Called by `projects`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LABELS = {
    "name": "Name",
    "state": "State",
    "classes": "What voters choose from",
    "models": "Classifiers",
    "instructions": "Instructions for voters",
    "pool_size": "Experts in the pool",
    "min_votes": "Fewest votes per item",
    "max_votes": "Most votes per item",
    "audit_rate": "Audited share, %",
    "lease_seconds": "Item kept for a voter, s",
    "undo_seconds": "Undo possible for, s",
    "price": "Price of one vote",
    "currency": "Currency",
    "error_price": "Ask while another vote is worth it; a wrong answer costs as much as so many votes",
    "threshold": "Close an item as soon as its answer is this sure",
    "budget": "Spend so many votes per item on average, where they help most",
    "target_error": "Let at most this share of answers be wrong, held by the audit",
}
PERCENT = ("threshold", "target_error", "audit_rate")
SETTING = re.compile(rf"\b({'|'.join(name for name in LABELS if '_' in name)})\b")  # no everyday word among them


def in_words_of_the_form(problem: Mapping[str, Any], typed: Mapping[str, str]) -> dict[str, Any]:
    """The problem with the labels of the form for the names of settings, and what was `typed` for the value.

    >>> said = {"field": "pool_size", "detail": "pool_size=0; expected at least 1; raise pool_size."}
    >>> in_words_of_the_form(said, {"pool_size": "0"})["detail"]
    '“Experts in the pool”: 0; expected at least 1; raise “Experts in the pool”.'
    """
    field, detail = problem.get("field"), str(problem["detail"])
    if field not in LABELS:
        return dict(problem)
    subject, rest = _split(field, detail)
    told = f"“{LABELS[field]}”{_typed(field, typed) if subject else ''}{SETTING.sub(_label, rest)}"
    return {**problem, "detail": told + (" (1 is 100 %.)" if field in PERCENT and subject else "")}


def _split(field: str, detail: str) -> tuple[str, str]:
    """What the message begins with, "pool_size=0" or nothing but the name, and the rest."""
    found = re.match(rf"{field}=('[^']*'|\"[^\"]*\"|\[[^\]]*\]|[^\s;:]*)", detail)
    if found:
        return found[0], detail[found.end() :]
    return "", detail.removeprefix(field) if detail.startswith(field) else f": {detail}"


def _typed(field: str, typed: Mapping[str, str]) -> str:
    text = typed.get(field, "").strip()
    if not text:
        return ": empty"
    return f": {text[:80]}{' %' if field in PERCENT else ''}"


def _label(found: re.Match[str]) -> str:
    return f"“{LABELS[found[0]]}”"
