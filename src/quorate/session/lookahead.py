"""An open item -> how many experts can be asked at once without asking one that the rule would not have asked.

Exact: every way the answers can fall, abstentions included, is decided by the session's own `decide`. Called by
`Session.askable_at_once`, for loops and services that have several experts waiting.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from quorate.methods import Method
from quorate.session.decide import decide
from quorate.session.items import ItemState, Prior

MOST_STATES = 500  # ways the answers can fall that are looked at; beyond them we do not ask ahead


def safe_ahead(
    method: Method,
    prior: Prior,
    policy_state: Any,  # noqa: ANN401
    item: ItemState,
    *,
    most: int,
    most_states: int = MOST_STATES,
) -> int:
    """The largest m <= `most` such that after any m - 1 answers the item would still be asked about; at least 1.

    Looks at up to `most_states` ways the m - 1 answers can fall; if there are more, m - 1 answers are not foreseen.
    """
    level = {_key(item): item}
    for ahead in range(1, most):
        level = {_key(after): after for before in level.values() for after in _answers(before)}
        if len(level) > most_states:
            return ahead
        if not all(decide(method, prior, policy_state, after).ask for after in level.values()):
            return ahead
    return most


def _answers(item: ItemState) -> list[ItemState]:
    """The item after a vote for each class, and after an abstention."""
    steps = np.eye(len(item.votes), dtype=np.int64)
    return [replace(item, votes=item.votes + step) for step in steps] + [
        replace(item, abstentions=item.abstentions + 1)
    ]


def _key(item: ItemState) -> tuple[int, ...]:
    return (*item.votes.tolist(), item.abstentions)
