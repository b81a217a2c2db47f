"""For levels m that at most two classes can reach together: subtracts from each class what it loses there to a rival.

`add_pair_levels` sums level by level, for small pools. `add_pairs` adds one vote at a time: what a class loses to the
other of its pair among t votes follows from t - 1, so that all levels cost O(R). Compiled; input is trusted;
contenders are in descending order of votes. Called by `finite`.
"""

from __future__ import annotations

import math

from quorate.compiled import kernel
from quorate.posterior.finite_levels import PAD
from quorate.posterior.finite_weights import weights_into
from quorate.types import FloatArray, IntArray


@kernel
def sums_around(i: int, beta: FloatArray, others_beta: float, work: FloatArray) -> float:
    """Write sums of beta over j, j + 1, ... to work[j] for j > i; returns the sum over the others and all before i."""
    work[beta.size] = 0.0
    for j in range(beta.size - 1, i, -1):
        work[j] = work[j + 1] + beta[j]
    before = others_beta
    for j in range(i):
        before += beta[j]
    return before


@kernel
def add_pair_levels(
    first: int,
    last: int,
    beta: FloatArray,
    others_beta: float,
    votes: IntArray,
    remaining: int,
    weights: FloatArray,
    shifts: IntArray,
    reached: FloatArray,
    total: float,
    total_shift: int,
    steps: FloatArray,
    work: FloatArray,
    win: FloatArray,
) -> None:
    """For levels m in first..last: win[k] -= sum_m sum_{j != k} P(H_k = m, H_j > m) + P(H_k = m, H_j = m) / 2.

    With P(H_k = m), which the caller adds, this is P(k wins at m): no third class can reach m. `reached` (C,) is
    P(class k reaches `first`); pairs of negligible probability are skipped. Workspace: work of C + R + 2.
    """
    num, stride = beta.size, remaining + 1 + PAD
    rest = num + 1  # work: sums of beta over the classes after j, then the weights of all classes but i and j
    for i in range(num):
        before = sums_around(i, beta, others_beta, work)
        for j in range(i + 1, num):
            rest_beta = before + work[j + 1]  # summed, because a difference would lose 1e-6 next to 1e6
            before += beta[j]
            most_left = remaining - (2 * first - votes[i] - votes[j])
            if most_left < 0:
                break
            if reached[i] * reached[j] < 1e-22:
                continue
            shift = weights_into(rest_beta, steps, work, rest, most_left) + shifts[i] + shifts[j] - total_shift
            loss_i, loss_j = 0.0, 0.0
            for level in range(first, last + 1):
                at_i, at_j = i * stride + level - votes[i], j * stride + level - votes[j]
                left = remaining - (2 * level - votes[i] - votes[j])
                if left < 0:
                    break
                above_i, above_j = 0.0, 0.0
                for extra in range(1, left + 1):
                    above_i += weights[at_i + extra] * work[rest + left - extra]
                    above_j += weights[at_j + extra] * work[rest + left - extra]
                even = 0.5 * weights[at_i] * weights[at_j] * work[rest + left]
                loss_i += (even + weights[at_i] * above_j) / total
                loss_j += (even + weights[at_j] * above_i) / total
            win[i] -= math.ldexp(loss_i, int(shift))
            win[j] -= math.ldexp(loss_j, int(shift))


@kernel
def add_pairs(
    first: int,
    beta: FloatArray,
    others_beta: float,
    votes: IntArray,
    remaining: int,
    weights: FloatArray,
    shifts: IntArray,
    reached: FloatArray,
    total: float,
    total_shift: int,
    steps: FloatArray,
    work: FloatArray,
    win: FloatArray,
) -> None:
    """win[k] -= sum_{j != k} P(H_j > H_k >= first) + P(H_j = H_k >= first) / 2: `add_pair_levels`, all levels at once.

    Let W_i(t) be the weight w_i(x) w_j(y), summed over x + y = t, of H_j > H_i >= first. One more vote:

    (t + 1) W_i(t + 1) / tilt = (beta_i + beta_j + t) W_i(t) + (what enters) - (what becomes a tie)

    and the pair's loss is sum_t (W_i(t) + tie(t) / 2) w_rest(R - t) / total. Workspace: work of C + R + 2.
    """
    num, stride = beta.size, remaining + 1 + PAD
    rest = num + 1  # work: sums of beta over the classes after j, then the weights of all classes but i and j
    for i in range(num):
        before = sums_around(i, beta, others_beta, work)
        for j in range(i + 1, num):
            rest_beta = before + work[j + 1]  # summed, because a difference would lose 1e-6 next to 1e6
            before += beta[j]
            needed_i, needed_j = first - votes[i], first - votes[j]
            most_left = remaining - needed_i - needed_j
            if most_left < 0:
                break
            if reached[i] * reached[j] < 1e-22:
                continue
            shift = weights_into(rest_beta, steps, work, rest, most_left) + shifts[i] + shifts[j] - total_shift
            row_i, row_j = i * stride, j * stride
            both = beta[i] + beta[j]
            edge_i, edge_j = 0.0, 0.0
            if needed_i > 0:
                edge_i = (beta[i] + needed_i - 1.0) * weights[row_i + needed_i - 1]
            if needed_j > 0:
                edge_j = (beta[j] + needed_j - 1.0) * weights[row_j + needed_j - 1]
            x, y = needed_i, needed_j
            behind_i, behind_j, loss_i, loss_j = 0.0, 0.0, 0.0, 0.0
            for left in range(most_left, -1, -1):
                t = remaining - left
                own_i, own_j = weights[row_i + x], weights[row_j + y]
                grow = both + t
                enter_i = edge_i * weights[row_j + t - needed_i + 1]
                enter_j = edge_j * weights[row_i + t - needed_j + 1]
                if (most_left - left) % 2 == 0:
                    tie = 0.5 * own_i * own_j
                    loss_i += (behind_i + tie) * work[rest + left]
                    loss_j += (behind_j + tie) * work[rest + left]
                    behind_i = (grow * behind_i + enter_i + (beta[j] + y) * own_i * own_j) * steps[t]
                    behind_j = (grow * behind_j + enter_j + (beta[i] + x) * own_i * own_j) * steps[t]
                else:
                    loss_i += behind_i * work[rest + left]
                    loss_j += behind_j * work[rest + left]
                    leave_i = (beta[i] + x) * own_i * weights[row_j + y + 1]
                    leave_j = (beta[j] + y) * own_j * weights[row_i + x + 1]
                    behind_i = (grow * behind_i + enter_i - leave_i) * steps[t]
                    behind_j = (grow * behind_j + enter_j - leave_j) * steps[t]
                    x += 1
                    y += 1
            win[i] -= math.ldexp(loss_i / total, int(shift))
            win[j] -= math.ldexp(loss_j / total, int(shift))
