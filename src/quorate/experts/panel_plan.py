"""Which member of a panel to ask next, or whether to stop: exact dynamic programming over all possible votes.

A state s is the vote of each remaining member: none yet, or one of K classes: (K + 1)^m states for m members.
mass(s) is its probability, W_k(s) the probability of s and of class k winning the plurality of the whole panel, and

    mass(s) = sum_j mass(s, e = j),  W_k likewise;  all have voted: W_k = mass * share of k in the tie
    U(s)    = max( max_k W_k(s),  max_e [ -lambda c_e mass(s) + sum_j U(s, e = j) ] )
    lambda  = min_gain * min(1, (1 + votes learned from) / 20)

so U(now) is the best P(right answer) - lambda * expected cost of any plan. A member who is away is left out of the
inner maximum but stays in the pool; one who abstained or left is in neither. `advise` checks its input, the rest are
kernels. A panel
has at most MOST_STATES states: `check_panel_size`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.compiled import kernel, shared_kernel
from quorate.experts.panel import (
    UNSEEN,
    VOTES,
    Beliefs,
    PanelState,
    beliefs_of,
)
from quorate.posterior.settled import plurality_share_into
from quorate.types import FloatArray, IntArray
from quorate.validate import as_floats, bounded, invalid

MOST_STATES = 65_536  # K + 2 numbers each: 5 MB and a few milliseconds at K = 8
WARM_UP = 20  # votes before the model is fully trusted: until then lambda is lower. Better than 60 on four panels
ROUND_OFF = 1e-12  # smaller gains count as 0
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PanelAdvice:
    """Whom to ask next, and why.

    `expert` the member's number, or -1: stop   `gain` expected rise of the probability of a right answer, if this
    member is asked and the best plan followed from there; 0 at a stop   `cost` expected cost of that plan
    `probs` (K,) current probability of each class to win the plurality of the whole panel
    `net_gains` (N,) for each member who can be asked: gain less lambda times cost of asking this member next, worth it
    if positive; nan for the others
    """

    expert: int
    gain: float
    cost: float
    probs: FloatArray
    net_gains: FloatArray

    @property
    def gain_per_cost(self) -> float:
        """Gain per unit of cost; infinite if asking is free, 0 at a stop."""
        if self.expert < 0:
            return 0.0
        return self.gain / self.cost if self.cost > 0.0 else np.inf


def advise(
    state: PanelState,
    log_f: ArrayLike,
    votes: ArrayLike,
    *,
    available: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    min_gain: float,
) -> PanelAdvice:
    """Whom to ask next on an item with prediction log_f (M, K) or (K,) and votes (N,): classes, UNSEEN or GONE.

    `available` (N,) who can be asked now (None: everybody who has not voted)   `costs` (N,) of one vote of each (None:
    1)   `min_gain` required gain in probability of a right answer per unit of cost

    >>> from quorate.experts.panel import new_panel
    >>> found = advise(new_panel(3, 2), np.log([0.8, 0.2]), [-1, -1, -1], min_gain=0.01, available=[True, False, True])
    >>> found.expert, found.probs.round(2).tolist()
    (0, [0.68, 0.32])
    """
    N, K = len(state.rows), len(state.bias)
    cast = np.array(votes, dtype=np.int64)
    if cast.shape != (N,) or cast.max() >= K:
        rule = f"{N} class numbers below {K}, {UNSEEN} for a member who was not asked, -2 for one not in the pool"
        raise invalid("votes", cast.tolist(), rule, "pass one number per member.")
    present = np.ones(N, dtype=bool) if available is None else np.array(available, dtype=bool)
    if present.shape != (N,):
        raise invalid("available", present.tolist(), f"{N} times true or false", "pass one value per member.")
    prices = np.ones(N) if costs is None else np.array(as_floats(costs, where="costs"))
    if prices.shape != (N,) or not np.all(np.isfinite(prices) & (prices >= 0)):
        raise invalid("costs", prices.tolist(), f"{N} numbers >= 0", "pass the cost of one vote of each member.")
    check_panel_size(int((cast == UNSEEN).sum()), K, where="votes")
    least = bounded(min_gain, where="min_gain", least=0.0)
    logs = np.array(log_f, dtype=np.float64).reshape(len(state.tau), K)
    probs, net_gains = np.empty(K), np.empty(N)
    expert, gain, cost = advise_into(
        state,
        logs,
        cast,
        present,
        prices,
        least,
        probs,
        net_gains,
    )
    return PanelAdvice(int(expert), float(gain), float(cost), probs, net_gains)


def is_panel(num_members: int, num_classes: int) -> bool:
    """Whether the plan of so many members has at most MOST_STATES states."""
    return bool((num_classes + 1) ** num_members <= MOST_STATES)


def check_panel_size(num_members: int, num_classes: int, *, where: str = "experts") -> None:
    """Refuse a panel whose plan would have more than MOST_STATES states."""
    if not is_panel(num_members, num_classes):
        most = int(np.log(MOST_STATES) / np.log(num_classes + 1) + ROUND_OFF)
        rule = f"at most {most} members of a panel with {num_classes} classes"
        raise invalid(where, num_members, rule, "use `quorate.method('value', choose='agreement')`.")


@shared_kernel
def advise_into(
    state: PanelState,
    log_f: FloatArray,
    votes: IntArray,
    available: BoolArray,
    costs: FloatArray,
    min_gain: float,
    probs: FloatArray,
    net_gains: FloatArray,
) -> tuple[int, float, float]:
    """`advise` without checks: writes probs (K,) and net_gains (N,); returns expert, gain and cost."""
    beliefs = beliefs_of(state, log_f, votes)
    price = min_gain * min(1.0, (1.0 + state.counts[VOTES]) / WARM_UP)
    m = beliefs.rows.shape[0]
    who, place = np.empty(m, np.int64), 0
    can_ask, cost_of, values = np.empty(m, np.bool_), np.empty(m), np.empty(m)
    for e in range(votes.size):
        net_gains[e] = np.nan
        if votes[e] == UNSEEN:
            who[place], can_ask[place], cost_of[place] = e, available[e], costs[e]
            place += 1
    best, gain, cost = plan(beliefs, can_ask, cost_of, price, probs, values)
    for place in range(m):
        net_gains[who[place]] = values[place]
    return (who[best] if best >= 0 else -1), gain, cost


@kernel
def num_states(num_classes: int, num_remaining: int) -> int:
    """(K + 1)^m, or a number above MOST_STATES if it is more than that.

    >>> num_states(2, 5), num_states(3, 8), num_states(1000, 3) > MOST_STATES
    (243, 65536, True)
    """
    total = 1
    for _ in range(num_remaining):
        total *= num_classes + 1
        if total > MOST_STATES:
            break
    return total


@kernel
def plan(
    beliefs: Beliefs, can_ask: BoolArray, costs: FloatArray, price: float, probs: FloatArray, values: FloatArray
) -> tuple[int, float, float]:
    """The dynamic program over the m remaining members; can_ask, costs, values (m,).

    Writes the probabilities of the winner to probs (K,), and the net gain of asking each member next to values; nan for
    those who cannot be asked. Returns the best member (-1: stop), the gain and the cost of the plan.
    """
    m, S, K = beliefs.rows.shape
    total = num_states(K, m)
    mass, best, spent = np.empty(total), np.empty(total), np.zeros(total)
    wins = np.empty((total, K))
    digits, strides = np.full(m, K), np.empty(m, np.int64)  # the last member's digit changes fastest
    stride = 1
    for e in range(m - 1, -1, -1):
        strides[e] = stride
        stride *= K + 1
    head, counts, share = np.empty(S), np.empty(K, np.int64), np.empty(K)
    asked, gain, cost = -1, 0.0, 0.0
    for s in range(total - 1, -1, -1):  # a vote always leads to a state with a larger number
        first = -1
        for e in range(m):
            if digits[e] == 0:
                first = e
                break
        if first < 0:
            mass[s] = _probability(beliefs, digits, head, counts)
            plurality_share_into(counts, share)
            for k in range(K):
                wins[s, k] = mass[s] * share[k]
        else:
            mass[s] = 0.0
            wins[s, :] = 0.0
            for j in range(1, K + 1):
                after = s + j * strides[first]
                mass[s] += mass[after]
                for k in range(K):
                    wins[s, k] += wins[after, k]
        stop = wins[s, 0]
        for k in range(1, K):
            stop = max(stop, wins[s, k])
        best[s] = stop
        margin = ROUND_OFF * mass[s]
        for e in range(m):
            if digits[e] > 0 or not can_ask[e]:
                if s == 0:
                    values[e] = np.nan
                continue
            value, paid = -price * costs[e] * mass[s], costs[e] * mass[s]
            for j in range(1, K + 1):
                value += best[s + j * strides[e]]
                paid += spent[s + j * strides[e]]
            if s == 0:
                values[e] = (value - stop) / mass[0]
            if value > best[s] + margin:
                best[s], spent[s] = value, paid
                if s == 0:
                    asked, cost = e, paid / mass[0]
                    gain = (value + price * paid - stop) / mass[0]
        for e in range(m - 1, -1, -1):
            digits[e] -= 1
            if digits[e] >= 0:
                break
            digits[e] = K
    for k in range(K):
        probs[k] = wins[0, k] / mass[0]
    return asked, gain, cost


@kernel
def _probability(beliefs: Beliefs, digits: IntArray, head: FloatArray, counts: IntArray) -> float:
    """Probability of the votes digits - 1 (m,) of all remaining members; writes all votes of the panel to counts (K,).

    head (S,) is kept between calls: the part of all but the last member, which is new when the last digit is K.
    """
    m, S, K = beliefs.rows.shape
    total, ordered = 0.0, 1.0
    for k in range(K):
        counts[k] = beliefs.seen[k]
        total += beliefs.beta[k]
    for e in range(m):
        y = digits[e] - 1
        ordered *= (beliefs.beta[y] + (counts[y] - beliefs.seen[y])) / (total + e)
        counts[y] += 1
    if m == 0:
        return 1.0
    y = digits[m - 1] - 1
    if y == K - 1:
        for s in range(S):
            head[s] = beliefs.latent[s]
            for e in range(m - 1):
                head[s] *= beliefs.rows[e, s, digits[e] - 1]
    known = 0.0
    for s in range(S):
        known += head[s] * beliefs.rows[m - 1, s, y]
    return beliefs.members * known + (1.0 - beliefs.members) * ordered
