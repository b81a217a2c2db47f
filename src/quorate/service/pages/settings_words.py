"""What the form of a project's settings calls them; a refusal in the words of a form. Called by pages with forms."""

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
LONGEST = 80  # characters of what was typed that are told
SETTING = re.compile(rf"\b({'|'.join(name for name in LABELS if '_' in name)})\b")  # no everyday word among them


def in_words_of_the_form(
    problem: Mapping[str, Any], typed: Mapping[str, str], labels: Mapping[str, str] = LABELS
) -> dict[str, Any]:
    """The problem with the form's `labels` for the names of fields, and what was `typed` for the value.

    >>> said = {"field": "pool_size", "rule": "at least min_votes, which is 3", "fix": "raise pool_size."}
    >>> in_words_of_the_form(said, {"pool_size": "0"})["detail"]
    '“Experts in the pool”: 0; expected at least “Fewest votes per item”, which is 3; raise “Experts in the pool”.'
    """
    field = str(problem.get("field"))
    if field not in labels:
        return dict(problem)
    rule, fix = (
        SETTING.sub(lambda found: f"“{labels.get(found[0], found[0])}”", problem[name]) for name in ("rule", "fix")
    )
    told = typed.get(field, "").strip()[:LONGEST] or "empty"
    return {**problem, "detail": f"“{labels[field]}”: {told}; expected {rule}; {fix}"}
