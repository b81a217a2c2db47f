"""What a stopping rule certainly decides, by bounds of FinExp's probabilities p that need no posterior.

Takes the rule, alpha and the votes seen; returns SURELY_ASKS, the answer if the rule certainly stops, or UNSURE: then
the posterior has to decide. For finite pools and errors of equal cost. Called by `streams.stream`.

With R votes remaining and beta = alpha + votes:

- `q_k <= p_k`: class k wins at least if no other class can have as many votes (`wins_alone`).
- Order: a class with at least the votes and the beta of another has at least its p. Hence class a, which leads in both,
  is the most probable, and b, which leads the others in both, the second.
- V is at least V with q_k instead of p_k, and at most (1 - q_a) / d, d the votes that the next class needs to lead.
- G is what the best plan gains, which depends on p only through which classes are a and b (`order_decides`), or what
  asking everybody gains: at most (1 - q_a) / R, at least the sum of the other q_k over R.
- Rounding: every comparison of probabilities leaves MARGIN. p_b - p_k >= q_b (beta_b - beta_k) / (beta_b + R):
  exchanging what b and k get makes every outcome in which b wins alone less likely by at least this share, or lets b
  win still. Plans need no margin: to the bit, none has more left at a higher price.
"""

from __future__ import annotations

import numpy as np

from quorate.compiled import kernel, shared_kernel
from quorate.decision.belief import TIE_WIDTH
from quorate.decision.blended import expected_needed
from quorate.decision.look_ahead import order_decides, plan_of_two_gains
from quorate.decision.rules import BLENDED, THRESHOLD
from quorate.decision.value import optimistic_gain
from quorate.posterior.wins_alone import MOST_REMAINING, wins_alone
from quorate.types import FloatArray, IntArray

SURELY_ASKS, UNSURE = -2, -1  # else `choice_by_bounds` is a class
MARGIN = 4.0 * TIE_WIDTH  # margin for rounding; wider than a tie, so that classes apart by it are never tied
_FEW_REMAINING = 4  # with so many remaining votes or fewer a belief takes as little time


@shared_kernel
def choice_by_bounds(
    rule_kind: int, parameter: float, alpha: FloatArray, votes: IntArray, num_remaining: int, may_stop: bool
) -> int:
    """SURELY_ASKS; or the answer, if the rule certainly stops and `may_stop`; or UNSURE. The cheapest bound is first.

    alpha, votes (K,), at least one vote remaining; `parameter` is the threshold or `min_gain`. Bounds of the blended
    rule are tried only where they take much less time than a belief.
    """
    if num_remaining > MOST_REMAINING:
        return UNSURE
    choice = UNSURE
    if may_stop:
        choice = certain_answer(rule_kind, parameter, alpha, votes, num_remaining)
    if choice != UNSURE or rule_kind != BLENDED:
        return choice
    if num_remaining > _FEW_REMAINING and (parameter == 0.0 or order_decides(votes.size, num_remaining)):
        choice = blended_choice(parameter, alpha, votes, num_remaining)
    return choice if choice == SURELY_ASKS or may_stop else UNSURE


@kernel
def certain_answer(rule_kind: int, parameter: float, alpha: FloatArray, votes: IntArray, num_remaining: int) -> int:
    """The answer, if it is certain that THRESHOLD or BLENDED stops and which class is the most probable; else UNSURE.

    a is the class with the most votes to be expected. If it leads in votes and beta, p_a >= 1 / K, too; if not, it is
    the most probable if q_a > 1/2.
    """
    total = 0.0
    for k in range(votes.size):
        total += alpha[k] + votes[k]
    top, most, runner_up = 0, -1.0, 0
    for k in range(votes.size):
        expected = votes[k] + num_remaining * ((alpha[k] + votes[k]) / total)
        if expected > most:
            top, most = k, expected
    sure = wins_alone(top, alpha, votes, num_remaining)
    own, leads = alpha[top] + votes[top], True
    for k in range(votes.size):
        if k != top:
            runner_up = max(runner_up, votes[k])
            ahead = own - alpha[k] - votes[k]
            leads = leads and votes[top] >= votes[k] and sure * ahead > MARGIN * (own + num_remaining)
    if leads:
        sure = max(sure, 1.0 / votes.size)
    elif sure <= 0.5 + MARGIN:
        return UNSURE
    sure -= MARGIN
    if rule_kind == THRESHOLD:
        return top if sure > parameter else UNSURE
    needed = max(1, votes[top] - runner_up + 1)
    return top if (1.0 - sure) / needed <= parameter else UNSURE


@kernel
def blended_choice(min_gain: float, alpha: FloatArray, votes: IntArray, num_remaining: int) -> int:
    """What `blended_asks` certainly decides: SURELY_ASKS, the answer if it stops, or UNSURE."""
    first, second, third = -1, -1, -1  # by votes, then by alpha
    for k in range(votes.size):
        if first < 0 or votes[k] > votes[first] or (votes[k] == votes[first] and alpha[k] > alpha[first]):
            first, second = k, first
        elif second < 0 or votes[k] > votes[second] or (votes[k] == votes[second] and alpha[k] > alpha[second]):
            second = k
    if second < 0 or votes[first] - votes[second] + 1 > num_remaining:
        return UNSURE
    least = wins_alone(second, alpha, votes, num_remaining)
    if least <= MARGIN:
        return UNSURE
    most = wins_alone(first, alpha, votes, num_remaining)
    if min_gain == 0.0:  # whoever leads, the first or the second can take the lead
        return SURELY_ASKS if most > MARGIN else UNSURE
    if not order_decides(votes.size, num_remaining):
        return UNSURE
    for k in range(votes.size):
        if k not in (first, second) and (third < 0 or alpha[k] + votes[k] > alpha[third] + votes[third]):
            third = k
    own, next_own = alpha[first] + votes[first], alpha[second] + votes[second]
    ahead, clear = own - next_own, next_own - alpha[third] - votes[third]
    if most * ahead <= MARGIN * (own + num_remaining) or least * clear <= MARGIN * (next_own + num_remaining):
        return UNSURE
    bounds, doubt = np.empty(votes.size), 0.0
    for k in range(votes.size):
        bounds[k] = wins_alone(k, alpha, votes, num_remaining) if k not in (first, second) else least
        doubt += bounds[k] if k != first else 0.0
    bounds[first] = 2.0  # it leads
    lowest = optimistic_gain(bounds, votes, num_remaining) - MARGIN
    highest = (1.0 - most) / (votes[first] - votes[second] + 1) + MARGIN
    if highest <= min_gain:
        return first
    if lowest > min_gain:
        enough = expected_needed(min_gain, lowest)
        by_all = doubt / num_remaining - MARGIN
        if by_all > enough or plan_of_two_gains(enough, alpha, votes, num_remaining, first, second):
            return SURELY_ASKS
    too_little = expected_needed(min_gain, highest)
    if (1.0 - most) / num_remaining + MARGIN >= too_little:
        return UNSURE
    return UNSURE if plan_of_two_gains(too_little, alpha, votes, num_remaining, first, second) else first
