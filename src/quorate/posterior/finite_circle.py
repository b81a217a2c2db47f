"""Takes a range of levels m; adds to each class the probability that it wins the pool at one of them. For large pools.

`finite_levels` multiplies polynomials; this module evaluates them at M points of a circle: the coefficient of z^R of a
product is the mean of its values times z^-R. Coefficients M apart are added up (aliases); `finite_bounds.circle_of`
chooses M so large that they do not matter. One level costs K M / 2 products instead of K R^2 / 4.
Compiled; input is trusted; contenders are in descending order of votes. Called by `finite`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.posterior.finite_weights import gauss_into, most_tied, weights_into
from quorate.types import FloatArray, IntArray

WIDTH = 32  # points processed together; a row has their real parts, then their imaginary parts
_ROW = 2 * WIDTH
_CUT = 1e-13  # allowed error from ties of more classes than the nodes cover
_DEEP = 9  # ties of more classes use a weaker bound, and so do all if weights exceed e^_TOO_LARGE
_TOO_LARGE = 60.0
_EXACT_POWER = 64  # every so many levels z^m is computed from its angle
_Index = np.uint64


@kernel
def add_levels_on_circle(
    first: int,
    last: int,
    beta: FloatArray,
    others_beta: float,
    total_beta: float,
    votes: IntArray,
    remaining: int,
    size: int,
    shrink: float,
    win: FloatArray,
) -> None:
    """win[k] += what `finite_levels.add_level` adds, for all levels m in first..last.

    Every series is multiplied by z^v_j, so that z^m is the last power in each; the coefficient is then that of
    z^(R + sum v). Series are scaled to at most 1 on the circle.
    """
    num = votes.size
    radius = remaining / (remaining + shrink * total_beta)
    steps, whole = np.empty(remaining + 1), np.empty(remaining + 1)
    for x in range(remaining + 1):
        steps[x] = radius / (x + 1)
    shift = weights_into(total_beta, steps, whole, 0, remaining)
    mantissa, exponent = math.frexp(1.0 / whole[remaining])
    exponent -= shift
    stride = last - votes[num - 1] + 2
    weights, totals = np.zeros(num * stride), np.empty(num)
    power = remaining
    for i in range(num):
        power += votes[i]
        needed = min(last - votes[i], remaining)
        more = weights_into(beta[i], steps, weights, i * stride, needed)
        exponent += more
        total = 0.0
        for x in range(needed + 1):
            total += weights[i * stride + x]
        for x in range(needed + 1):
            weights[i * stride + x] /= total
        totals[i] = math.ldexp(total, int(min(more, 500)))
        mantissa, more = math.frexp(mantissa * total)
        exponent += more
    if others_beta > 0.0:
        log_others = -others_beta * math.log1p(-radius) / math.log(2.0)
        whole_power = math.floor(log_others)
        exponent += whole_power
        mantissa *= 2.0 ** (log_others - whole_power)
    scale = math.ldexp(mantissa, int(exponent)) / size

    ties = np.empty(last - first + 1, np.int64)
    most_ties = _tie_rules(
        first, votes, total_beta, remaining, radius, weights, stride, totals, whole, scale * size, ties
    )
    rules = np.empty((2 * (most_ties + 1), most_ties))
    for count in range(1, most_ties + 1):
        gauss_into(count, rules[2 * count], rules[2 * count + 1])
    found = np.zeros(num * WIDTH)
    places = np.empty((2, num), np.int64)  # precomputed: counting down in the loop would prevent its vectorisation
    for i in range(num):
        places[0, i], places[1, i] = _BLOCKS + i * _BLOCK, i * WIDTH
    work = np.empty(_BLOCKS + (num + 1) * _BLOCK)
    half = size // 2 + 1
    for begin in range(0, half, WIDTH):
        _start_block(begin, half, size, first, power, radius, others_beta, votes, weights, stride, work)
        for level in range(first, last + 1):
            count = ties[level - first]
            for n in range(count):
                node, share = rules[2 * count, n], rules[2 * count + 1, n] * scale
                _add_products(level, node, share, votes, weights, stride, places, work, found)
            _next_level(level, votes, weights, stride, begin, half, size, work)
    for i in range(num):
        for c in range(WIDTH):
            win[i] += found[i * WIDTH + c]


@kernel
def _tie_rules(
    first: int,
    votes: IntArray,
    total_beta: float,
    remaining: int,
    radius: float,
    weights: FloatArray,
    stride: int,
    totals: FloatArray,
    whole: FloatArray,
    scale: float,
    ties: IntArray,
) -> int:
    """Fill ties (levels,) with the number of Gauss nodes for the ties of each level; returns the largest.

    n nodes are exact for a class tied with up to 2n - 1 others. With 2n others their relative error is
    (n!)^4 / ((2n + 1) (2n)!^2). The probability that s = 2n + 1 classes tie is at most
    e_s(w) w_all(R - s m) / w_all(R), e_s the sum of all products of s weights; and at most scale (sum w)^s / s!.
    """
    num, most, deep = votes.size, 1, _DEEP
    products, lift = np.zeros(_DEEP + 1), np.empty(num)
    for i in range(num):
        log_lift = math.log(totals[i]) - math.log(radius) * (votes[0] - votes[i])
        if log_lift > _TOO_LARGE:
            deep = 0
        lift[i] = math.exp(min(log_lift, _TOO_LARGE))
    for place in range(ties.size):
        level = first + place
        exact = (most_tied(level, votes, remaining) + 1) // 2
        together = 0.0
        products[:] = 0.0
        products[0] = 1.0
        for i in range(num):
            weight = weights[i * stride + level - votes[i]]
            together += weight
            for s in range(min(i + 1, deep), 0, -1):
                products[s] += products[s - 1] * weight * lift[i]
        part, crowd, count = 1.0 / 12.0, scale * together**3 / 6.0, 1
        while count < exact:
            s = 2 * count + 1
            chance = crowd
            left = remaining - s * (level - votes[0])
            if left < 0:
                break
            if s <= deep:
                rest = max(whole[left], 1.0) if total_beta < 1.0 else whole[left]
                chance = min(chance, products[s] * rest / whole[remaining])
            if part * s * chance * ties.size < _CUT:
                break
            count += 1
            crowd *= together * together / ((s + 1) * (s + 2))
            part *= count**4 / ((s + 2.0) / s * (2.0 * count * (2.0 * count - 1.0)) ** 2)
        ties[place] = count
        most = max(most, count)
    return most


# Rows of `work`: the step z, the power z^m, the phase z^-(R + sum v) times each point's share, the product of the
# factors of all later classes, the factor of all classes that cannot win. Then a block for each class: the product of
# the factors before it, its series A_j, its factor A_j + u T_j. The last block has the product of all factors.
_POINT, _POWER, _PHASE, _AFTER, _OTHERS, _BLOCKS = 0, _ROW, 2 * _ROW, 3 * _ROW, 4 * _ROW, 5 * _ROW
_SERIES, _FACTOR, _BLOCK = _ROW, 2 * _ROW, 3 * _ROW


@kernel
def _start_block(
    begin: int,
    half: int,
    size: int,
    first: int,
    power: int,
    radius: float,
    others_beta: float,
    votes: IntArray,
    weights: FloatArray,
    stride: int,
    work: FloatArray,
) -> None:
    """Fill the rows of the points begin..begin + WIDTH - 1 for the level `first`; points from `half` on get share 0."""
    unit = 2.0 * math.pi / size
    for c in range(WIDTH):
        point = min(begin + c, half - 1)
        share = 0.0 if begin + c >= half else (1.0 if point == 0 else 2.0)
        angle = unit * point
        work[_POINT + c], work[_POINT + WIDTH + c] = math.cos(angle), math.sin(angle)
        angle = unit * (power * point % size)
        work[_PHASE + c], work[_PHASE + WIDTH + c] = share * math.cos(angle), -share * math.sin(angle)
        work[_OTHERS + c], work[_OTHERS + WIDTH + c] = 1.0, 0.0
        if others_beta > 0.0:
            angle = unit * point
            sine = math.sin(0.5 * angle)
            distance = 2.0 * sine * math.sqrt(radius) / (1.0 - radius)
            modulus = math.exp(-0.5 * others_beta * math.log1p(distance * distance))
            turn = others_beta * math.atan2(radius * math.sin(angle), 1.0 - radius * math.cos(angle))
            work[_OTHERS + c] = modulus * math.cos(turn)
            work[_OTHERS + WIDTH + c] = modulus * math.sin(turn)
    for i in range(votes.size):
        for c in range(_ROW):
            work[_BLOCKS + i * _BLOCK + _SERIES + c] = 0.0
    _set_power(votes[votes.size - 1], begin, half, size, work)
    for level in range(votes[votes.size - 1], first):
        _next_level(level, votes, weights, stride, begin, half, size, work)


@kernel
def _set_power(level: int, begin: int, half: int, size: int, work: FloatArray) -> None:
    """z^level at the points from `begin` on, from exact angles: repeated products lose a digit every ten levels."""
    unit = 2.0 * math.pi / size
    for c in range(WIDTH):
        angle = unit * (level * min(begin + c, half - 1) % size)
        work[_POWER + c], work[_POWER + WIDTH + c] = math.cos(angle), math.sin(angle)


@kernel
def _next_level(
    level: int, votes: IntArray, weights: FloatArray, stride: int, begin: int, half: int, size: int, work: FloatArray
) -> None:
    """A_j += w_j z^m for all classes, then z^m becomes z^(m + 1)."""
    for i in range(votes.size):
        if level < votes[i]:
            continue
        weight = weights[i * stride + level - votes[i]]
        series = _Index(_BLOCKS + i * _BLOCK + _SERIES)
        for c in range(_Index(_ROW)):
            work[series + c] += weight * work[_Index(_POWER) + c]
    if (level + 1) % _EXACT_POWER == 0:
        _set_power(level + 1, begin, half, size, work)
        return
    for c in range(_Index(WIDTH)):
        real, imag = work[_Index(_POWER) + c], work[_Index(_POWER + WIDTH) + c]
        step, turn = work[_Index(_POINT) + c], work[_Index(_POINT + WIDTH) + c]
        work[_Index(_POWER) + c] = real * step - imag * turn
        work[_Index(_POWER + WIDTH) + c] = real * turn + imag * step


@kernel
def _add_products(
    level: int,
    node: float,
    share: float,
    votes: IntArray,
    weights: FloatArray,
    stride: int,
    places: IntArray,
    work: FloatArray,
    found: FloatArray,
) -> None:
    """found[k] += share Re T_k prod_{j != k} (A_j + node T_j) at every point."""
    num, wide = votes.size, _Index(WIDTH)
    power, after, phase, others = _Index(_POWER), _Index(_AFTER), _Index(_PHASE), _Index(_OTHERS)
    for c in range(_Index(_ROW)):
        work[_Index(_BLOCKS) + c] = work[others + c]
    for c in range(wide):
        real, imag = share * work[phase + c], share * work[phase + wide + c]
        step, turn = work[power + c], work[power + wide + c]
        work[after + c] = real * step - imag * turn
        work[after + wide + c] = real * turn + imag * step
    for i in range(num):
        weight = node * weights[i * stride + level - votes[i]]
        before = _Index(_BLOCKS + i * _BLOCK)
        series, factor, following = before + _Index(_SERIES), before + _Index(_FACTOR), before + _Index(_BLOCK)
        for c in range(wide):
            real = work[series + c] + weight * work[power + c]
            imag = work[series + wide + c] + weight * work[power + wide + c]
            step, turn = work[before + c], work[before + wide + c]
            work[factor + c] = real
            work[factor + wide + c] = imag
            work[following + c] = real * step - imag * turn
            work[following + wide + c] = real * turn + imag * step
    for i in range(num - 1, -1, -1):
        own = weights[i * stride + level - votes[i]]
        before, mine = _Index(places[0, i]), _Index(places[1, i])
        factor = before + _Index(_FACTOR)
        for c in range(wide):
            found[mine + c] += own * (
                work[before + c] * work[after + c] - work[before + wide + c] * work[after + wide + c]
            )
        for c in range(wide):  # a separate loop: a joint one would not be vectorised
            step, turn = work[after + c], work[after + wide + c]
            real, imag = work[factor + c], work[factor + wide + c]
            work[after + c] = real * step - imag * turn
            work[after + wide + c] = real * turn + imag * step
