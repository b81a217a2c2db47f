"""Why asking stopped: one vocabulary, with one sentence each, for library, commands, reports and pages.

`Reason` is defined in `types`. To add a reason: see ARCHITECTURE.md. Tests compare these tables with `Reason`.
"""

from __future__ import annotations

from typing import get_args

from quorate.types import Reason

REASONS: tuple[Reason, ...] = get_args(Reason)
CERTAIN: tuple[Reason, ...] = ("settled", "exhausted")  # the pool's verdict is known: such an answer needs no audit

BY_METHOD: tuple[Reason, ...] = ("confident", "not_worth_it", "rule", "quota")  # the method wanted no further vote


def is_answered(num_votes: int, reason: Reason) -> bool:
    """Whether an item that stopped has an answer: it has votes, or its method wanted none.

    >>> is_answered(0, "not_worth_it"), is_answered(0, "exhausted"), is_answered(1, "exhausted")
    (True, False, True)
    """
    return num_votes > 0 or reason in BY_METHOD


SENTENCES: dict[Reason, str] = {
    "ask": "a further vote is worth its cost",
    "confident": "the confidence is above the threshold",
    "not_worth_it": "no further vote is worth its cost",
    "rule": "the method's rule is met",
    "quota": "the vote limit is reached",
    "settled": "the missing votes cannot change the winner",
    "exhausted": "the whole pool has voted",
    "closed": "it was closed by hand, or no further vote was available",
    "nobody_left": "no expert is left who may be asked",
    "unconfirmed": "no expert is left who may give the required confirmation",
}

SHORT: dict[Reason, str] = {  # for tables and charts
    "ask": "still open",
    "confident": "sure enough",
    "not_worth_it": "not worth another vote",
    "rule": "rule met",
    "quota": "vote limit reached",
    "settled": "settled by votes",
    "exhausted": "whole pool voted",
    "closed": "closed by hand",
    "nobody_left": "nobody left to ask",
    "unconfirmed": "not confirmed",
}
