"""Why asking stopped: one vocabulary, with one sentence each, for library, commands, reports and pages.

`Reason` itself is in `types`. To add a reason: see ARCHITECTURE.md. Tests hold these tables to `Reason`.
"""

from __future__ import annotations

from typing import get_args

from quorate.types import Reason

REASONS: tuple[Reason, ...] = get_args(Reason)
CERTAIN: tuple[Reason, ...] = ("settled", "exhausted")  # the pool's verdict is known: such an answer needs no audit

SENTENCES: dict[Reason, str] = {
    "ask": "a further vote is worth asking for",
    "confident": "the answer is surer than the threshold",
    "not_worth_it": "no further vote is worth its price",
    "rule": "the method's rule is met",
    "quota": "the number of votes allowed is used up",
    "settled": "the missing votes cannot change the winner",
    "exhausted": "the whole pool has voted",
    "closed": "it was closed by hand, or no further vote was available",
    "nobody_left": "nobody who may be asked is left",
    "unconfirmed": "it needs a confirmation that nobody who may be asked can give",
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
