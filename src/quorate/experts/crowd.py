"""An online model of a crowd: the true class behind the votes, and how good and how careful each person is.

Dawid and Skene's confusion matrices, shrunk towards those of the whole crowd, with types of careless voters. O(K^2)
per vote; an item is never judged by what was learned from its own votes (that is removed first).

    pooled row   Q[k,j] ~ 20 pi[k,j] + P[k,j],   pi[k,k] = 1/K + .75 (1 - 1/K), the rest even
    centre       a = sigma(logit Q[k,k] + s_e);  cen[k,k] = a,  cen[k,j] = (1 - a) Q[k,j] / (1 - Q[k,k])
    row          q_e[k,j] = (4 cen[k,j] + C_e[k,j]) / (4 + n_e[k])
    skill s_e    one Newton step, at most 1 long, on sum_k C_kk log a_k + (n_k - C_kk) log(1 - a_k) - s^2 / .6
    types        careful; uniform: 1/K; own habit: (.3 + m_e[y]) / (.3 K + m_e); copies the classifier:
                 .9 [y = argmax f] + .1/K;  prior .90 .05 .03 .02;  w_e ~ prior * exp(evidence)
    likelihood   l(z) = w_e,careful q_e[z,y] + sum over the other types w_e,t p_t(y)
    prior        softmax(tau log f + b), see `crowd_prior`; without a classifier (2 + sum r_z) / (2 K + items)
    vote         r(z) ~ r(z) l(z)
    evidence     of a closed item's vote: log p_t(y); for careful log sum_z r'(z) q_e[z,y], r' = r without this vote
    learning     from a closed item's vote: C_e[z,y] += c(z), P[z,y] += g c(z), where c(z) ~ r'(z) q_e[z,y] is the
                 class if this person is careful, and g = w_e,careful sum_z r'(z) q_e[z,y] / sum_z r'(z) l(z) how
                 probable that is after this vote; the only vote of an item with a prediction adds g c(z), z != y,
                 evenly to all P[z,j], j != z

C_e[k,j] expected votes j of person e on items of class k, n_e[k] their row sums, m_e[j] all votes j, P their sum over
careful people. Learning from r instead of c lets the careless types blur the rows of everybody: where items have a
single vote, nothing in the votes speaks against that. For the same reason an only vote beside a prediction says how
often people miss a class, but not which one they take it for: the mistakes of a classifier that prefers some classes
would be taken for confusions of the people. Votes are weighted by this evidence. People are judged by a
second one, in which a careful person's rows are cen with s_e at least -1: a random voter's own rows become uniform, and
explain the votes as well as chance does. With a prediction these rows are .9 cen[z,y] + .1 prior(y): people and
classifiers mistake the same items, so one vote for the classifier's mistake must not name a copier.
Kernels trust their input; they change `CrowdState` and `CrowdItems` in place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.compiled import kernel, shared_kernel
from quorate.types import FloatArray, IntArray

TYPES = ("careful", "uniform", "habit", "copier")
TYPE_PRIOR = (0.90, 0.05, 0.03, 0.02)
POOLED_VOTES, OWN_VOTES = 20.0, 4.0  # votes that the prior of the crowd's rows counts for, and that of a person's rows
DIAGONAL = 0.75
HABIT_VOTES = 0.3
SKILL_VARIANCE, LEAST_SKILL = 0.3, -1.0  # lower skills are not those of a careful person
COPIES = 0.9
ALIKE = 0.1  # share of careful votes that follow the prediction whatever the class, when people are judged
PREVALENCE_VOTES = 2.0
CLOSE_TO_ZERO = 1e-12


class CrowdState(NamedTuple):
    """What is learned. E people, K classes.

    `confusion` (E, K, K) C   `labels` (E, K) m   `skill` (E,) s   `evidence` (E, 2, 4) log evidence of each
    type, for weighting votes and for judging people
    `pooled` (K, K) P   `prevalence` (K,) sum of r over closed items
    `tau` (1,), the same for all classes, and `bias` (K,) of the prediction
    """

    confusion: FloatArray
    labels: FloatArray
    skill: FloatArray
    evidence: FloatArray
    pooled: FloatArray
    prevalence: FloatArray
    tau: FloatArray
    bias: FloatArray


class CrowdItems(NamedTuple):
    """Items and their votes; closed items are kept so that they can be revised. n items, V votes.

    `start` (n + 1,) where the votes of an item begin   `person`, `label` (V,)   `log_f` (n, K) log prediction
    `belief` (n, K) r   `careful` (V,) weight with which a vote was added to P   `gained` (V, 2, 4) evidence it added
    `if_careful` (V, K) c, the class if the vote's person is careful
    """

    start: IntArray
    person: IntArray
    label: IntArray
    log_f: FloatArray
    belief: FloatArray
    careful: FloatArray
    gained: FloatArray
    if_careful: FloatArray


def new_state(num_people: int, num_classes: int) -> CrowdState:
    """The state before anything is learned."""
    E, K = num_people, num_classes
    return CrowdState(
        np.zeros((E, K, K)), np.zeros((E, K)), np.zeros(E), np.zeros((E, 2, len(TYPES))), np.zeros((K, K)), np.zeros(K),
        np.ones(1), np.zeros(K),
    )  # fmt: skip


def rows_of(state: CrowdState, e: int) -> FloatArray:
    """(K, K) q_e: how person e answers items of each class."""
    K = len(state.pooled)
    rows, column = np.empty((K, K)), np.empty(K)
    for y in range(K):
        careful_likelihood(state, e, y, column)
        rows[:, y] = column
    return rows


@kernel
def pooled_cell(pooled: FloatArray, k: int, y: int) -> tuple[float, float]:
    """Q[k,k] and Q[k,y]."""
    K = pooled.shape[0]
    own = 1.0 / K + DIAGONAL * (1.0 - 1.0 / K)
    total = POOLED_VOTES
    for j in range(K):
        total += pooled[k, j]
    guess = own if y == k else (1.0 - own) / (K - 1)
    return (POOLED_VOTES * own + pooled[k, k]) / total, (POOLED_VOTES * guess + pooled[k, y]) / total


@kernel
def hit_rate(diagonal: float, skill: float) -> float:
    """a = sigma(logit Q[k,k] + s)."""
    odds = diagonal / (1.0 - diagonal) * math.exp(skill)
    return odds / (1.0 + odds)


@kernel
def centre_likelihood(state: CrowdState, skill: float, y: int, out: FloatArray) -> None:
    """Write cen[z,y] of a person with that skill for every class z to out (K,)."""
    for z in range(out.size):
        diagonal, cell = pooled_cell(state.pooled, z, y)
        a = hit_rate(diagonal, skill)
        out[z] = a if y == z else (1.0 - a) * cell / (1.0 - diagonal)


@kernel
def careful_likelihood(state: CrowdState, e: int, y: int, out: FloatArray) -> None:
    """Write q_e[z,y] for every class z to out (K,)."""
    K = out.size
    centre_likelihood(state, state.skill[e], y, out)
    for z in range(K):
        votes = 0.0
        for j in range(K):
            votes += state.confusion[e, z, j]
        out[z] = (OWN_VOTES * out[z] + state.confusion[e, z, y]) / (OWN_VOTES + votes)


@kernel
def top_of(log_f: FloatArray) -> int:
    """The most probable class of the prediction, or -1 without a prediction (all classes equal)."""
    top, alike = 0, True
    for k in range(log_f.size):
        if log_f[k] != log_f[0]:
            alike = False
        if log_f[k] > log_f[top]:
            top = k
    return -1 if alike else top


@kernel
def careless_likelihoods(labels: FloatArray, y: int, top: int, out: FloatArray) -> None:
    """Write the probability of label y under each careless type to out (4,); labels (K,) are the person's own.

    Without a prediction nobody can copy it: a copier then votes like a careful person, which is written as nan.
    """
    K = labels.size
    votes = 0.0
    for j in range(K):
        votes += labels[j]
    out[0] = math.nan
    out[1] = 1.0 / K
    out[2] = (HABIT_VOTES + labels[y]) / (HABIT_VOTES * K + votes)
    out[3] = math.nan
    if top >= 0:
        out[3] = (COPIES if y == top else 0.0) + (1.0 - COPIES) / K


@kernel
def type_weights(evidence: FloatArray, out: FloatArray) -> None:
    """Write w ~ prior * exp(evidence) to out (4,)."""
    most = -math.inf
    for t in range(evidence.size):
        most = max(most, evidence[t])
    total = 0.0
    for t in range(evidence.size):
        out[t] = TYPE_PRIOR[t] * math.exp(evidence[t] - most)
        total += out[t]
    for t in range(evidence.size):
        out[t] /= total


@shared_kernel
def prior_into(state: CrowdState, log_f: FloatArray, out: FloatArray) -> None:
    """Write the class probabilities of an item before its votes to out (K,)."""
    K = out.size
    if top_of(log_f) < 0:
        total = 0.0
        for k in range(K):
            out[k] = PREVALENCE_VOTES + state.prevalence[k]
            total += out[k]
        for k in range(K):
            out[k] /= total
        return
    most = -math.inf
    for k in range(K):
        out[k] = state.tau[0] * log_f[k] + state.bias[k]
        most = max(most, out[k])
    total = 0.0
    for k in range(K):
        out[k] = math.exp(out[k] - most)
        total += out[k]
    for k in range(K):
        out[k] /= total


@kernel
def careful_and_careless(work: FloatArray) -> tuple[float, float]:
    """Weight of the careful type, and the label's probability by careless types; work (2, 4) as `vote_likelihood`."""
    careful, careless = 0.0, 0.0
    for t in range(4):
        if math.isnan(work[0, t]):
            careful += work[1, t]
        else:
            careless += work[1, t] * work[0, t]
    return careful, careless


@kernel
def vote_likelihood(state: CrowdState, e: int, y: int, top: int, work: FloatArray, out: FloatArray) -> None:
    """Write l(z) of a vote to out (K,), and the probabilities and weights of the types to work (2, 4)."""
    careful_likelihood(state, e, y, out)
    careless_likelihoods(state.labels[e], y, top, work[0])
    type_weights(state.evidence[e, 0], work[1])
    careful, careless = careful_and_careless(work)
    for z in range(out.size):
        out[z] = careful * out[z] + careless


@shared_kernel
def count_vote(state: CrowdState, e: int, y: int, top: int, belief: FloatArray) -> None:
    """Update the belief (K,) of an open item by one vote: r(z) ~ r(z) l(z)."""
    likelihood = np.empty(belief.size)
    vote_likelihood(state, e, y, top, np.empty((2, 4)), likelihood)
    total = 0.0
    for z in range(belief.size):
        belief[z] *= likelihood[z]
        total += belief[z]
    for z in range(belief.size):
        belief[z] /= total


@kernel
def gains_into(state: CrowdState, people: IntArray, top: int, belief: FloatArray, out: FloatArray) -> None:
    """Write the value of one vote of each person (n,) on an item with belief (K,) to out (n, 2).

    First sum_y max_z r(z) l_y(z) - max_z r(z), the expected rise of the top belief; then the information in nats,
    sum_y,z r(z) l_y(z) log(l_y(z) / p(y)), which ranks people if no single vote can change the answer.
    """
    K = belief.size
    diagonal, cells = np.empty(K), np.empty((K, K))
    for z in range(K):
        for y in range(K):
            diagonal[z], cells[z, y] = pooled_cell(state.pooled, z, y)
    work, hits, votes = np.empty((2, 4)), np.empty(K), np.empty(K)
    for n in range(people.size):
        e = people[n]
        type_weights(state.evidence[e, 0], work[1])
        for z in range(K):
            hits[z] = hit_rate(diagonal[z], state.skill[e])
            votes[z] = 0.0
            for j in range(K):
                votes[z] += state.confusion[e, z, j]
        expected, information = 0.0, 0.0
        for y in range(K):
            careless_likelihoods(state.labels[e], y, top, work[0])
            careful, careless = careful_and_careless(work)
            best, seen, entropy = 0.0, 0.0, 0.0
            for z in range(K):
                centre = hits[z] if y == z else (1.0 - hits[z]) * cells[z, y] / (1.0 - diagonal[z])
                own = (OWN_VOTES * centre + state.confusion[e, z, y]) / (OWN_VOTES + votes[z])
                likelihood = max(careful * own + careless, CLOSE_TO_ZERO)
                joint = belief[z] * likelihood
                best = max(best, joint)
                seen += joint
                entropy += joint * math.log(likelihood)
            expected += best
            information += entropy - seen * math.log(max(seen, CLOSE_TO_ZERO))
        out[n, 0] = max(expected - belief.max(), 0.0)
        out[n, 1] = max(information, 0.0)


@kernel
def is_only_vote(items: CrowdItems, i: int, end: int) -> bool:
    """Whether item i, whose votes are start[i] .. end - 1, has a prediction and a single vote."""
    return end - items.start[i] == 1 and top_of(items.log_f[i]) >= 0


@shared_kernel
def add_item(state: CrowdState, items: CrowdItems, i: int, end: int) -> None:
    """Learn from item i, which closes: its votes are start[i] .. end - 1, and its belief is up to date."""
    K = items.belief.shape[1]
    top = top_of(items.log_f[i])
    work, likelihood, rows, prior = np.empty((2, 4)), np.empty(K), np.empty((2, K)), np.empty(K)
    without, seen = np.empty(K), np.empty(2)
    belief = items.belief[i]
    prior_into(state, items.log_f[i], prior)
    for v in range(items.start[i], end):
        e, y = items.person[v], items.label[v]
        vote_likelihood(state, e, y, top, work, likelihood)
        careful_likelihood(state, e, y, rows[0])
        centre_likelihood(state, max(state.skill[e], LEAST_SKILL), y, rows[1])
        if top >= 0:
            for z in range(K):
                rows[1, z] = (1.0 - ALIKE) * rows[1, z] + ALIKE * prior[y]
        others, total = 0.0, 0.0
        for z in range(K):
            without[z] = belief[z] / max(likelihood[z], CLOSE_TO_ZERO)  # the belief of the others: r without e
            others += without[z]
            total += without[z] * likelihood[z]
        for way in range(2):
            seen[way] = 0.0
            for z in range(K):
                seen[way] += without[z] * rows[way, z]
            for t in range(4):
                probability = seen[way] / others if math.isnan(work[0, t]) else work[0, t]
                items.gained[v, way, t] = math.log(max(probability, CLOSE_TO_ZERO))
        for z in range(K):
            items.if_careful[v, z] = without[z] * rows[0, z] / seen[0]
        careful, _ = careful_and_careless(work)
        items.careful[v] = careful * seen[0] / total
    is_alone = is_only_vote(items, i, end)
    for v in range(items.start[i], end):
        change_by_vote(state, items, v, 1.0, is_alone)
        improve_skill(state, items.person[v])
    for k in range(K):
        state.prevalence[k] += belief[k]


@kernel
def take_item_back(state: CrowdState, items: CrowdItems, i: int) -> None:
    """Undo `add_item`."""
    is_alone = is_only_vote(items, i, items.start[i + 1])
    for v in range(items.start[i], items.start[i + 1]):
        change_by_vote(state, items, v, -1.0, is_alone)
    for k in range(items.belief.shape[1]):
        state.prevalence[k] -= items.belief[i, k]


@kernel
def change_by_vote(state: CrowdState, items: CrowdItems, v: int, sign: float, is_alone: bool) -> None:
    """Add (sign 1) or remove (sign -1) what vote v says about its person and the crowd.

    `is_alone`: see `is_only_vote`.
    """
    e, y = items.person[v], items.label[v]
    K = items.if_careful.shape[1]
    for z in range(K):
        share = sign * items.if_careful[v, z]
        state.confusion[e, z, y] = max(state.confusion[e, z, y] + share, 0.0)
        share *= items.careful[v]
        if not is_alone or z == y:
            state.pooled[z, y] = max(state.pooled[z, y] + share, 0.0)
        else:
            for j in range(K):
                if j != z:
                    state.pooled[z, j] = max(state.pooled[z, j] + share / (K - 1), 0.0)
    state.labels[e, y] += sign
    for way in range(2):
        for t in range(4):
            state.evidence[e, way, t] += sign * items.gained[v, way, t]


@kernel
def improve_skill(state: CrowdState, e: int) -> None:
    """One Newton step of person e's skill, at most 1 long."""
    K = state.pooled.shape[0]
    gradient = -state.skill[e] / SKILL_VARIANCE
    curvature = 1.0 / SKILL_VARIANCE
    for k in range(K):
        diagonal, _ = pooled_cell(state.pooled, k, k)
        a = hit_rate(diagonal, state.skill[e])
        votes = 0.0
        for j in range(K):
            votes += state.confusion[e, k, j]
        gradient += state.confusion[e, k, k] - votes * a
        curvature += votes * a * (1.0 - a)
    state.skill[e] += min(1.0, max(-1.0, gradient / curvature))


@shared_kernel
def revise_item(state: CrowdState, items: CrowdItems, i: int) -> None:
    """Recompute the belief of a closed item from what has been learned from other items since."""
    take_item_back(state, items, i)
    belief = items.belief[i]
    prior_into(state, items.log_f[i], belief)
    top = top_of(items.log_f[i])
    for v in range(items.start[i], items.start[i + 1]):
        count_vote(state, items.person[v], items.label[v], top, belief)
    add_item(state, items, i, items.start[i + 1])
