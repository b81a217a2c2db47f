"""An open item -> how many experts can be asked at once without asking one that the rule would not have asked.

Exact: every way the answers can fall, abstentions included, is decided by the session's own `decide`. Called by the
asyncio loop when it may ask ahead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quorate.session import Session
from quorate.session.decide import decide
from quorate.session.items import ItemState

MOST_STATES = 500  # ways the answers can fall that are looked at; beyond them we do not ask ahead


def safe_ahead(session: Session, item_id: str, most: int) -> int:
    """The largest m <= `most` such that after any m - 1 answers the session, as it is now, still asks; at least 1.

    m experts asked at once are then the very experts who would have been asked one by one. Parameters learned, or a
    knob tuned, while the questions are out are not foreseen.

    >>> from quorate.methods import method
    >>> session = Session(method("quorum", votes=3), classes=["cat", "dog"], pool_size=9)
    >>> decision = session.open("x1")
    >>> safe_ahead(session, "x1", 8)
    3
    """
    state = session._state  # read only: one item, one method, one set of parameters, as `decide` wants them
    item, method, prior, policy_state = state.open.get(item_id), state.method, state.prior, state.policy_state
    if item is None:
        return 1
    level = {_key(item): item}
    for ahead in range(1, most):
        level = {_key(after): after for before in level.values() for after in _answers(before)}
        if len(level) > MOST_STATES:
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
