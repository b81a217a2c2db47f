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
    prior        softmax(tau log f + b); without a classifier (2 + sum r_z) / (2 K + items)
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

How far the prior trusts the classifier is fitted on the beliefs about closed items: one tau for all classes, Gamma(3,
2), at most 1; b N(0, .25) for each class. The beliefs contain the prediction, so a classifier confirms itself to some
extent, most where items have a single vote that could contradict it. Therefore it is never taken to be surer than it
says (tau <= 1), and there is only one tau: with one per class the votes of 500 items do not decide them.

`quorate.core` computes all this (core/crowd.hpp) and changes `CrowdState` and `CrowdItems` in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate import core
from quorate.types import FloatArray, IntArray

TYPES = ("careful", "uniform", "habit", "copier")
CLOSE_TO_ZERO = 1e-12
OWN_VOTES = 4.0  # votes that the prior of a person's rows counts for
REFIT_EVERY, WINDOW = 20, 500  # closed items after which the prior is fitted, and the last ones it is fitted on


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


def some(items: CrowdItems, first: int, end: int) -> CrowdItems:
    """Items first .. end - 1, sharing their memory."""
    start, log_f, belief = items.start[first : end + 1], items.log_f[first:end], items.belief[first:end]
    return items._replace(start=start, log_f=log_f, belief=belief)


def person(state: CrowdState, e: int) -> tuple[FloatArray, FloatArray]:
    """Of person e: q_e (K, K), how they answer items of each class, and the probability (4,) of each of `TYPES`."""
    K = len(state.pooled)
    rows, weights = np.empty((K, K)), np.empty((2, len(TYPES)))
    core.crowd_person(*state, rows, weights, e)
    return rows, weights[1]
