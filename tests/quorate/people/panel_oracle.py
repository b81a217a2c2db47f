"""Slow, obvious versions of the panel's model: every vector of votes, every plan."""

from itertools import product

import numpy as np

from quorate.model.densities import log_dirichlet_multinomial
from quorate.model.learning.problem import unpack
from quorate.model.posterior.settled import plurality_shares
from quorate.model.prior import concentration
from quorate.people.panel import new_panel


def random_panel(num_experts, num_classes, rng):
    """A panel with arbitrary parameters."""
    state = new_panel(num_experts, num_classes)
    favours = 3 * np.eye(num_classes)
    for e, d, z in np.ndindex(state.rows.shape[:3]):
        state.rows[e, d, z] = rng.dirichlet(1 + favours[z])
    state.difficulty[:] = rng.dirichlet(np.ones(3), size=4)
    state.tau[:] = rng.gamma(3, 0.5, state.tau.shape)
    state.bias[:] = rng.normal(0, 0.5, num_classes)
    state.exchangeable[:-num_classes] = rng.gamma(3, 0.5, state.exchangeable.size - num_classes)
    state.evidence[:] = rng.normal(0, 2, 2)
    state.counts[2] = rng.integers(100)
    return state


def joint(state, log_f, votes):
    """P(votes of everybody who is in the pool | f) by vector, restricted to those that agree with `votes`."""
    inside = np.flatnonzero(votes >= -1)
    K = len(state.bias)
    logits = (state.tau * log_f).sum(axis=0) + state.bias
    pi = np.exp(logits - logits.max())
    pi /= pi.sum()
    bins = np.searchsorted([0.3, 0.7, 0.95], pi)
    prior = pi[:, None] * state.difficulty[bins]
    weight = np.exp(state.evidence - state.evidence.max())
    weight /= weight.sum()
    alpha = concentration(unpack(state.exchangeable, state.tau.shape), np.exp(log_f))
    found = {}
    for vector in product(range(K), repeat=len(inside)):
        if any(votes[e] >= 0 and votes[e] != y for e, y in zip(inside, vector, strict=True)):
            continue
        known = 0.0
        for z, d in product(range(K), range(3)):
            known += prior[z, d] * np.prod([state.rows[e, d, z, y] for e, y in zip(inside, vector, strict=True)])
        counts = np.bincount(np.array(vector, dtype=int), minlength=K)
        exchangeable = np.exp(log_sequence(counts, alpha)) if len(vector) else 1.0
        found[vector] = weight[0] * known + weight[1] * exchangeable
    return found


def log_sequence(counts, alpha):
    """Log probability of one order of the votes under a Dirichlet-multinomial."""
    orders = np.sum(np.log(np.arange(1, counts.sum() + 1)))
    orders -= sum(np.sum(np.log(np.arange(1, count + 1))) for count in counts)
    return float(log_dirichlet_multinomial(counts, alpha)) - orders


def best_plan(vectors, votes, available, costs, price, num_classes):
    """Who wins, what the best plan is worth, and what asking each member first gains net."""
    inside = [int(e) for e in np.flatnonzero(np.asarray(votes) >= -1)]
    total = sum(vectors.values())

    def restricted(said):
        return {v: p for v, p in vectors.items() if all(v[inside.index(e)] == y for e, y in said.items())}

    def winners(said):
        wins = np.zeros(num_classes)
        for vector, probability in restricted(said).items():
            wins += probability * plurality_shares(np.bincount(np.array(vector, dtype=int), minlength=num_classes))
        return wins / total

    def asking(e, said):
        mass = sum(restricted(said).values()) / total
        return -price * costs[e] * mass + sum(worth({**said, e: y}) for y in range(num_classes))

    def worth(said):
        can = [e for e in inside if votes[e] == -1 and available[e] and e not in said]
        return max([winners(said).max(), *(asking(e, said) for e in can)])

    probs = winners({})
    nets = np.full(len(votes), np.nan)
    for e in inside:
        if votes[e] == -1 and available[e]:
            nets[e] = asking(e, {}) - probs.max()
    return probs, worth({}), nets
