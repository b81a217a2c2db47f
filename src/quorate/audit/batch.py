"""The audit results of a finished batch -> an exact upper bound on the number of errors in it.

Valid for one look, at the end. Called by `workflows.audit` and by anyone who closes a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate import validate
from quorate.audit.running import level_in_range
from quorate.numerics import hypergeometric_cdf


@dataclass(frozen=True, slots=True)
class BatchBound:
    """With confidence 1 - alpha: at most `most_errors` of the `num_unsettled` items are wrong.

    `num_audited` of them were checked, `num_wrong` found wrong. Settled items are not included.
    """

    alpha: float
    num_unsettled: int
    num_audited: int
    num_wrong: int
    most_errors: int


def most_errors(num_unsettled: int, num_audited: int, num_wrong: int, *, alpha: float = 0.05) -> int:
    """max{M : P(Hypergeometric(U, M, n) <= x) > alpha}: the most errors among U items, given x among n checked.

    n of the U items were drawn without replacement and checked, x were wrong. The probability falls as M rises, so M is
    found by bisection between x and U - n + x. Exact: over all draws, the true M exceeds it with probability <= alpha.

    >>> most_errors(2400, 240, 0, alpha=0.05)
    28
    """
    level = level_in_range(alpha)
    whole = validate.whole(num_unsettled, where="num_unsettled", least=0)
    checked = validate.whole(num_audited, where="num_audited", least=0, most=whole)
    wrong = validate.whole(num_wrong, where="num_wrong", least=0, most=checked)
    possible, refuted = wrong, whole - checked + wrong + 1
    while refuted - possible > 1:
        middle = (possible + refuted) // 2
        if hypergeometric_cdf(wrong, whole, middle, checked) > level:
            possible = middle
        else:
            refuted = middle
    return possible


def end_of_batch(
    rates: Sequence[float], audited: Sequence[bool], losses: Sequence[float | None], *, alpha: float = 0.05
) -> BatchBound:
    """The exact bound from the draws of the batch's unsettled items; `losses` are used where audited.

    A panel that was not completed (None) and a shared tie (a loss between 0 and 1) count as errors. With equal rates,
    all sets of audited items of the same size are equally likely: a sample without replacement. Different rates are
    refused: use the running bound. The decisions must not depend on this batch's draws: do not feed audits back before
    its end.

    >>> end_of_batch([0.5] * 6, [True, True, True, False, False, False], [0, 0, 1, None, None, None]).most_errors
    4
    """
    chances = validate.as_floats(rates, where="rates")
    if not len(chances) == len(audited) == len(losses):
        lengths = f"`rates`, `audited` and `losses` have {len(chances)}, {len(audited)} and {len(losses)} entries"
        rule = f"one entry for each unsettled item, and {lengths}"
        raise validate.broken("rates", chances.tolist(), rule, "pass as many of each, in the same order.")
    if chances.size and np.ptp(chances) > 0:
        rule = (
            f"one rate for all items, not {chances.min():g} to {chances.max():g}: only then is the audit a draw "
            "without replacement, as the exact end-of-batch statement needs"
        )
        raise validate.broken("rates", chances.tolist(), rule, "use the running bound.")
    found = [loss for is_audited, loss in zip(audited, losses, strict=True) if is_audited]
    wrong = sum(loss is None or validate.fraction(loss, where="losses") > 0 for loss in found)
    most = most_errors(len(chances), len(found), wrong, alpha=alpha)
    return BatchBound(level_in_range(alpha), len(chances), len(found), wrong, most)
