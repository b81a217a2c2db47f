"""An upper bound of the leader's chance in InfExp: within 1e-4 for nine of ten beliefs; beyond its range the duel.

With x ~ Gamma(a) for the leader and G_b the distribution function of Gamma(b), the leader wins with probability

    E[ prod_j G_bj(x) ] = E[ exp(-sum_j f_bj(x)) ],   f_b(x) = -log G_b(x)

At fixed nodes, f_b is bounded from below by a polynomial in b without a constant. So the sum over rivals needs only the
sums of their first five powers, however many there are. The expectation is a trapezoidal sum in t = log x. Takes one
item, returns one probability. Compiled, trusts its input; called by streams whose rule is a threshold: where the
bound is below it, the posterior can be skipped.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.densities import log_gamma
from quorate.exponential import exponentiate
from quorate.posterior.duel import duel
from quorate.posterior.gamma_cdf import plain_lower_probabilities
from quorate.types import FloatArray

STEP, NUM_NODES = 0.25, 40
OFFSETS = -6.0 + STEP * np.arange(NUM_NODES)  # t, and x = e^t: 0.0025 to 42
POINTS = np.exp(OFFSETS)
MOST_OF_A_RIVAL, MOST_OF_THE_LEADER, MOST_OF_ALL = 2.0, 16.0, 24.0  # larger shapes, or sums of them: `duel`
# The integrand is analytic for |Im t| < pi / 2, and at a distance d from the real line its integral is at most
# cos(d)^-MOST_OF_ALL. So the trapezoidal sum is off by at most 2 cos(d)^-24 / (e^(2 pi d / STEP) - 1) for any d: 2.2e-5
# at d = 0.8. Nodes beyond the last one add less than 1e-7.
ERROR = 3e-5


def _lower_polynomials() -> FloatArray:
    """(5, NUM_NODES) c with b sum_m c_m b^m <= f_b(x) at each node for 0 < b <= MOST_OF_A_RIVAL, within 1.5e-3 b.

    Interpolates f_b / b in Chebyshev's points, then lowers the first coefficient by the largest excess.
    """
    degree, count = 5, 60
    angles = (np.arange(degree) + 0.5) / degree, np.linspace(1e-3, 1.0, count)
    known, tried = (MOST_OF_A_RIVAL * (0.5 - 0.5 * np.cos(math.pi * angle)) for angle in angles)
    known_slopes, slopes = (
        -np.log(np.minimum(plain_lower_probabilities(b, POINTS), 1.0)) / b[:, None] for b in (known, tried)
    )
    powers = np.vander(known, degree, increasing=True)
    coefficients = np.linalg.solve(powers, known_slopes)
    excess = (np.vander(tried, degree, increasing=True) @ coefficients - slopes).max(axis=0)
    coefficients[0] -= np.maximum(excess, 0.0) + 2e-6  # covers the excess between two points tried, and rounding
    return np.asarray(coefficients)


FIRST, SECOND, THIRD, FOURTH, FIFTH = (np.ascontiguousarray(row) for row in _lower_polynomials())
_LOG_2, _LOG_STEP, _LEFT = math.log(2.0), math.log(STEP), math.exp(POINTS[0]) / STEP


@kernel
def leader_bound(beta: FloatArray, enough: float = 0.0) -> float:
    """At least every probability of `plurality_infinite` for beta (K,), K >= 2, up to 1e-10.

    A larger bound is returned if it is at most `enough` and takes less time: against a rival of shape 1, hence against
    all larger ones, the leader's chance is at most 1 - 2^-a.

    >>> from quorate.posterior.infinite import plurality_infinite
    >>> beta = np.array([2.5, 0.1, 0.1, 0.1])
    >>> gap = leader_bound(beta) - plurality_infinite(beta, [0, 0, 0, 0]).max()
    >>> bool(0.0 < gap < 1e-4), round(float(duel(beta)), 2)
    (True, 0.99)
    """
    leading = 0  # the index of the leader
    rival = 0.0
    for k in range(1, beta.size):
        if beta[k] > beta[leading]:
            rival = beta[leading]
            leading = k
        else:
            rival = max(rival, beta[k])
    leader = beta[leading]
    if rival >= 1.0:
        bound: float = 1.0 - math.exp(-_LOG_2 * leader)
        if bound <= enough:
            return bound
    first = 0.0
    second = 0.0
    third = 0.0
    fourth = 0.0
    fifth = 0.0
    for k in range(beta.size):
        if k == leading:
            continue
        b = beta[k]
        square = b * b
        first += b
        second += square
        third += square * b
        fourth += square * square
        fifth += square * (square * b)
    if rival > MOST_OF_A_RIVAL or leader > MOST_OF_THE_LEADER or leader + first > MOST_OF_ALL:
        return duel(beta)
    constant = _LOG_STEP - log_gamma(leader)
    terms = np.empty(NUM_NODES)  # logarithms, below 0
    for i in range(terms.size):
        exponent = (FIRST[i] * first + SECOND[i] * second) + (THIRD[i] * third + FOURTH[i] * fourth)
        terms[i] = constant + (leader * OFFSETS[i] - POINTS[i]) - (exponent + FIFTH[i] * fifth)
    exponentiate(terms)
    sum0 = terms[0] * (_LEFT / leader)  # nodes left of the first: at most the integral of x^leader / x there
    sum1 = 0.0
    sum2 = 0.0
    sum3 = 0.0
    for i in range(0, terms.size, 4):
        sum0 += terms[i]
        sum1 += terms[i + 1]
        sum2 += terms[i + 2]
        sum3 += terms[i + 3]
    total: float = (sum0 + sum1) + (sum2 + sum3) + ERROR
    return min(total, 1.0)
