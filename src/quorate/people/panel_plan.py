"""Which member of a panel to ask next, or whether to stop: exact dynamic programming over all possible votes.

A state s is the vote of each remaining member: none yet, or one of K classes: (K + 1)^m states for m members.
mass(s) is its probability, W_k(s) the probability of s and of class k winning the plurality of the whole panel, and

    mass(s) = sum_j mass(s, e = j),  W_k likewise;  all have voted: W_k = mass * share of k in the tie
    U(s)    = max( max_k W_k(s),  max_e [ -lambda c_e mass(s) + sum_j U(s, e = j) ] )
    lambda  = min_gain * min(1, (1 + votes learned from) / 20)

so U(now) is the best P(right answer) - lambda * expected cost of any plan. A member who is away is left out of the
inner maximum but stays in the pool; one who abstained or left is in neither. `advise` checks its input, `quorate.core`
computes the plan (core/panel.cpp).

A plan has at most MOST_STATES states. While more votes are missing, the cheapest member is asked. Half of a panel
cannot settle an item, so that is no needless vote as long as half the members are few enough to plan: `is_panel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from quorate import core
from quorate.people.panel import UNSEEN, VOTES, PanelState, arrays_of
from quorate.people.panel_learning import latent
from quorate.types import FloatArray, IntArray
from quorate.validate import as_floats, bounded, invalid

MOST_STATES = 65_536  # K + 2 numbers each: 5 MB and a few milliseconds at K = 8
WARM_UP = 20  # votes before the model is fully trusted: until then lambda is lower. Better than 60 on four panels


@dataclass(frozen=True, slots=True, eq=False)
class PanelAdvice:
    """Whom to ask next, and why.

    `expert` the member's number, or -1: stop   `gain` expected rise of the probability of a right answer, if this
    member is asked and the best plan followed from there; 0 at a stop   `cost` expected cost of that plan; if too many
    votes are missing for a plan, the most that can be gained, and the cost of this member
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

    >>> from quorate.people.panel import new_panel
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
    least = bounded(min_gain, where="min_gain", least=0.0)
    price = least * min(1.0, (1.0 + int(state.counts[VOTES])) / WARM_UP)
    logs = np.array(log_f, dtype=np.float64).reshape(len(state.tau), K)
    if not has_plan(int((cast == UNSEEN).sum()), K):
        return _cheapest(state, logs, cast, np.where(present & (cast == UNSEEN), prices, np.inf))
    probs, net_gains, plan = np.empty(K), np.empty(N), np.empty(3)
    core.panel_advise(*arrays_of(state), logs, cast, present, prices, probs, net_gains, plan, price)
    return PanelAdvice(int(plan[0]), float(plan[1]), float(plan[2]), probs, net_gains)


def _cheapest(state: PanelState, logs: FloatArray, cast: IntArray, prices: FloatArray) -> PanelAdvice:
    """Before a plan is possible; `probs` of the class that most would see instead of the plurality. Infinite: away."""
    probs = latent(state, logs[None], cast[None])[1][0].sum(axis=0)
    unknown = np.full(len(prices), np.nan)
    if np.isinf(prices).all():
        return PanelAdvice(-1, 0.0, 0.0, probs, unknown)
    return PanelAdvice(int(prices.argmin()), 1.0 - float(probs.max()), float(prices.min()), probs, unknown)


def has_plan(num_missing: int, num_classes: int) -> bool:
    """Whether the plan for so many missing votes has at most MOST_STATES states."""
    return bool((num_classes + 1) ** num_missing <= MOST_STATES)


def is_panel(num_members: int, num_classes: int) -> bool:
    """Whether there is a plan once half of the members have voted."""
    return has_plan(num_members - num_members // 2, num_classes)


def check_panel_size(num_members: int, num_classes: int, *, where: str = "experts") -> None:
    """Refuse a panel that is too large."""
    if not is_panel(num_members, num_classes):
        most = next(m for m in count() if not is_panel(m + 1, num_classes))
        rule = f"at most {most} members of a panel with {num_classes} classes"
        raise invalid(where, num_members, rule, "use `quorate.method('value', choose='agreement')`.")
