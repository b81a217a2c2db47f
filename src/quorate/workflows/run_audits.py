"""The audits of a run that held a target error -> what they prove: the share of its answers that can be wrong at most.

Takes a `Replay` and its control as they ended; called by `run_replay` for the control's summary.
"""

from __future__ import annotations

import numpy as np

from quorate.audit import audit_of
from quorate.audit.statement import rounded_up
from quorate.workflows.control import TargetErrorControl
from quorate.workflows.replay import Replay

ALPHA = 0.05
KNOWN = ("settled", "exhausted")  # stop reasons of items whose error needs no audit


def proved_error(run: Replay, final: TargetErrorControl) -> float | None:
    """With probability 1 - `ALPHA` no larger share of the answers is wrong, ties included; None if nothing is proved.

    The bound of `quorate.audit` on the items closed unsettled, whose coins the run has tossed, plus the errors of the
    settled ones, which are known. It holds whatever the confidence is worth; the control's estimate does not.
    """
    is_open = ~np.isin(run.reasons, KNOWN)
    if not is_open.any():
        return final.settled_errors / final.num_items
    audit = audit_of(
        np.clip(1.0 - run.confidence[is_open], 0.0, 1.0),
        np.clip(run.audit_rates[is_open], final.audit_rate, 1.0),
        run.audited[is_open],
        run.audited_error[is_open],
        min_rate=final.audit_rate,
    )
    bound = audit.bound(ALPHA)
    return min((bound.total + final.settled_errors) / final.num_items, 1.0) if bound.is_informative else None


def proved_words(share: float | None) -> str:
    """The end of a sentence about the audits.

    >>> proved_words(0.04061), proved_words(None)
    ('at most 4.07 % is proved (95 % confidence)', 'they are too few to prove a bound')
    """
    if share is None:
        return "they are too few to prove a bound"
    return f"at most {rounded_up(100 * share):.2f} % is proved ({100 * (1 - ALPHA):g} % confidence)"
