"""Second derivatives of the objective from the traces of `objective.evaluate`, without exponentials.

For one item, with s = softmax, d_k and e_k the first two derivatives of ln Gamma(alpha_k + h_k) - ln Gamma(alpha_k),
D = sum d_k s_k, E = sum e_k s_k, F = sum e_k s_k^2 and w_k = theta s_k (d_k + theta e_k s_k), zero where nobody voted:

    d2 log likelihood / dz dz     = diag(w - theta D s) + kappa s s' - s w' - w s',   kappa = 2 theta D + theta^2 F > 0
    d2 log likelihood / dtheta dz = w / theta - (D + theta F) s
    d2 log likelihood / dphi dz   = theta (e s - E s)

and kappa s s' - s w' - w s' = kappa y y' - w w' / kappa with y = s - w / kappa: ONE dense rank-one term per item.
Takes the window, returns the Hessian, its diagonal or its product with a vector. Called by `fit` and `newton`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel, kernel_or
from quorate.learning.hyperprior_terms import bias_curvature, chain_rule_diagonal, from_mean
from quorate.learning.problem import Evidence, HyperpriorNumbers, Traces
from quorate.types import FloatArray, IntArray

_BATCH = 4  # items whose rank-one terms are added in one pass over the Hessian


@kernel
def hessian(
    packed: FloatArray,
    evidence: Evidence,
    hyperprior: HyperpriorNumbers,
    traces: Traces,
    gradient: FloatArray,
    out: FloatArray,
) -> None:
    """The whole Hessian -> out (P, P), in x = [log theta, log phi, log tau, bias]."""
    log_predictions, first, classes = evidence[:3]
    share, slopes, bends, sums = traces
    num_classifiers, num_classes = log_predictions.shape[1:]
    blocks = (packed.size - 2) // num_classes  # one for each classifier, one for the bias
    size = blocks * num_classes
    theta = packed[0]
    by_class = np.zeros((blocks, blocks, num_classes))  # the diag(w - theta D s) terms
    lower = np.zeros((size + 2, size))  # the other terms (lower triangle); the last two rows: theta and phi
    inputs = np.ones((blocks, num_classes))  # dz_k / d(tau_mk, bias_k): log f_mk and 1
    # sqrt(kappa) y, times the inputs; then its multiples in the rows theta and phi, except for classes with votes
    batch = np.zeros((_BATCH, size + 2))
    filled = 0
    pulls = np.empty(num_classes)  # w / sqrt(kappa) of the classes with votes
    for t in range(first.size - 1):
        kappa = 2.0 * theta * sums[t, 0] + theta * theta * sums[t, 2]
        if not kappa > 0.0:
            continue
        s = share[t]
        root = math.sqrt(kappa)
        inverse = 1.0 / root
        level = -theta * sums[t, 0] * inverse
        theta_scale = -(sums[t, 0] + theta * sums[t, 2]) * inverse
        phi_scale = -theta * sums[t, 1] * inverse
        batch[filled, size] = theta_scale
        batch[filled, size + 1] = phi_scale
        if blocks == 1:
            _add_alone(
                theta, root, level, s, log_predictions[t, 0], classes[first[t] : first[t + 1]],
                slopes[first[t] : first[t + 1]], bends[first[t] : first[t + 1]], batch[filled], by_class[0, 0], pulls,
                lower,
            )  # fmt: skip
        else:
            for m in range(blocks):
                row = inputs[m]
                if m < num_classifiers:
                    spoken = log_predictions[t, m]
                    for k in range(num_classes):
                        row[k] = spoken[k]
                target = batch[filled, m * num_classes : (m + 1) * num_classes]
                for k in range(num_classes):
                    target[k] = root * s[k] * row[k]
                for n in range(m + 1):
                    pair = by_class[m, n]
                    other = inputs[n]
                    for k in range(num_classes):
                        pair[k] += level * target[k] * other[k]
            for entry in range(first[t], first[t + 1]):
                k = classes[entry]
                bend = theta * bends[entry] * s[k]
                from_theta = s[k] * (slopes[entry] + bend)  # w / theta
                own = theta * from_theta
                pull = own * inverse
                pulls[entry - first[t]] = pull
                theta_part = from_theta + theta_scale * pull
                phi_part = bend + phi_scale * pull
                for m in range(blocks):
                    x = inputs[m, k]
                    batch[filled, m * num_classes + k] -= pull * x
                    lower[size, m * num_classes + k] += theta_part * x
                    lower[size + 1, m * num_classes + k] += phi_part * x
                    for n in range(m + 1):
                        by_class[m, n, k] += (own - pull * pull) * x * inputs[n, k]
                for before in range(first[t], entry):
                    _subtract_pair(lower, inputs, k, classes[before], pull * pulls[before - first[t]])
        filled += 1
        if filled == _BATCH:
            _add_outer(lower, batch)
            filled = 0
    batch[filled:] = 0.0
    _add_outer(lower, batch)
    for m in range(blocks):
        for n in range(m + 1):
            for k in range(num_classes):
                lower[m * num_classes + k, n * num_classes + k] += by_class[m, n, k]
    for a in range(size):
        out[2 + a, 0] = lower[size, a]
        out[2 + a, 1] = lower[size + 1, a]
        for b in range(a + 1):
            out[2 + a, 2 + b] = lower[a, b]
    out[0, 0], out[1, 0], out[1, 1] = _scalars(packed, evidence, traces)
    _to_log_scale(packed, num_classifiers, 2 + num_classifiers * num_classes, hyperprior, gradient, out)


@kernel
def _add_alone(
    theta: float,
    root: float,
    level: float,
    share: FloatArray,
    spoken: FloatArray,
    classes: IntArray,
    slopes: FloatArray,
    bends: FloatArray,
    target: FloatArray,
    pair: FloatArray,
    pulls: FloatArray,
    lower: FloatArray,
) -> None:
    """The terms of one item for a single classifier without a class bias, to the bit what `hessian` adds for several.

    This is the case of finexp and infexp with one classifier; `value` learns a bias. Without the loops over blocks
    and the copy of the inputs it takes two thirds. `classes` must rise, as in `Evidence`: entries are added below the
    diagonal only.
    """
    inverse = 1.0 / root
    theta_scale = target[share.size]
    phi_scale = target[share.size + 1]
    theta_row = lower[share.size]
    phi_row = lower[share.size + 1]
    for k in range(share.size):
        pushed = root * share[k] * spoken[k]
        target[k] = pushed
        pair[k] += level * pushed * spoken[k]
    for entry in range(classes.size):
        k = classes[entry]
        x = spoken[k]
        bend = theta * bends[entry] * share[k]
        from_theta = share[k] * (slopes[entry] + bend)
        own = theta * from_theta
        pull = own * inverse
        pulls[entry] = pull
        target[k] -= pull * x
        theta_row[k] += (from_theta + theta_scale * pull) * x
        phi_row[k] += (bend + phi_scale * pull) * x
        pair[k] += (own - pull * pull) * x * x
        for before in range(entry):
            j = classes[before]
            lower[k, j] -= pull * pulls[before] * x * spoken[j]


def _plain_add_outer(lower: FloatArray, batch: FloatArray) -> None:
    """`_add_outer` by NumPy; entries above the diagonal are never read."""
    row0, row1, row2, row3 = batch[:, : lower.shape[1]]
    c0, c1, c2, c3 = batch[:, :, None]
    lower += (c0 * row0 + c1 * row1) + (c2 * row2 + c3 * row3)


@kernel_or(_plain_add_outer)
def _add_outer(lower: FloatArray, batch: FloatArray) -> None:
    """lower[a, b] += sum_i batch[i, a] batch[i, b]: (P, P - 2) and (_BATCH, P), for b <= a."""
    row0 = batch[0]
    row1 = batch[1]
    row2 = batch[2]
    row3 = batch[3]
    num_rows, size = lower.shape
    for a in range(num_rows):
        c0, c1, c2, c3 = row0[a], row1[a], row2[a], row3[a]
        target = lower[a]
        for b in range(min(size, (a | 7) + 1)):  # whole vectors; entries above the diagonal are never read
            target[b] += (c0 * row0[b] + c1 * row1[b]) + (c2 * row2[b] + c3 * row3[b])


@kernel
def _subtract_pair(lower: FloatArray, inputs: FloatArray, k: int, j: int, product: float) -> None:
    """Subtract product * (inputs of class k)(inputs of class j)' and its transpose, j < k, from the lower triangle."""
    num_classes = inputs.shape[1]
    for m in range(inputs.shape[0]):
        multiple = product * inputs[m, k]
        for n in range(inputs.shape[0]):
            a = m * num_classes + k
            b = n * num_classes + j
            lower[max(a, b), min(a, b)] -= multiple * inputs[n, j]


@kernel
def _scalars(packed: FloatArray, evidence: Evidence, traces: Traces) -> tuple[float, float, float]:
    """d2 log likelihood / dtheta dtheta, dphi dtheta, dphi dphi."""
    first, more_than, bends, sums = evidence.first, evidence.more_than, traces.bends, traces.sums
    num_classes = traces.share.shape[1]
    theta_theta = 0.0
    phi_theta = 0.0
    phi_phi = 0.0
    for t in range(first.size - 1):
        theta_theta += sums[t, 2]
        phi_theta += sums[t, 1]
    for entry in range(bends.size):
        phi_phi += bends[entry]
    total = packed[0] + num_classes * packed[1]
    for s in range(more_than.size):
        inverse = 1.0 / (total + s)
        theta_theta += more_than[s] * inverse * inverse
        phi_theta += num_classes * (more_than[s] * inverse * inverse)
        phi_phi += num_classes * (num_classes * (more_than[s] * inverse * inverse))
    return theta_theta, phi_theta, phi_phi


@kernel
def _to_log_scale(
    packed: FloatArray,
    num_classifiers: int,
    num_logs: int,
    hyperprior: HyperpriorNumbers,
    gradient: FloatArray,
    out: FloatArray,
) -> None:
    """From second derivatives of the log likelihood in Theta (lower triangle) to those of the objective in x."""
    for a in range(packed.size):
        scale = packed[a] if a < num_logs else 1.0
        for b in range(a + 1):
            out[a, b] *= -scale * (packed[b] if b < num_logs else 1.0)
            out[b, a] = out[a, b]
    own = chain_rule_diagonal(packed, num_classifiers, num_logs, hyperprior, gradient)
    for a in range(num_logs):
        out[a, a] += own[a]
    if hyperprior.tau_sd > 0.0:
        num_classes = (num_logs - 2) // num_classifiers
        precision = 1.0 / (hyperprior.tau_sd * hyperprior.tau_sd)
        for a in range(2, num_logs):
            out[a, a] += precision
            first = a - (a - 2) % num_classes  # the first class of the same classifier
            for b in range(first, first + num_classes):
                out[a, b] -= precision / num_classes
    bend, turn = bias_curvature(packed, num_logs, hyperprior)
    for a in range(num_logs, packed.size):
        out[a, a] += bend
        if turn > 0.0:
            for b in range(num_logs, packed.size):
                out[a, b] -= turn * (packed[a] * packed[b])


@kernel
def hessian_diagonal(
    packed: FloatArray,
    evidence: Evidence,
    hyperprior: HyperpriorNumbers,
    traces: Traces,
    gradient: FloatArray,
    out: FloatArray,
) -> None:
    """The diagonal of `hessian` -> out (P,): the preconditioner of the conjugate gradients."""
    log_predictions, first, classes = evidence[:3]
    share, slopes, bends, sums = traces
    num_classifiers, num_classes = log_predictions.shape[1:]
    num_logs = 2 + num_classifiers * num_classes
    with_bias = packed.size > num_logs
    theta = packed[0]
    out[:] = 0.0
    weights = np.empty(num_classes)
    for t in range(first.size - 1):
        s = share[t]
        kappa = 2.0 * theta * sums[t, 0] + theta * theta * sums[t, 2]
        for k in range(num_classes):
            weights[k] = (kappa * s[k] - theta * sums[t, 0]) * s[k]
        for entry in range(first[t], first[t + 1]):
            k = classes[entry]
            weights[k] += theta * s[k] * (slopes[entry] + theta * bends[entry] * s[k]) * (1.0 - 2.0 * s[k])
        for m in range(num_classifiers):
            row = out[2 + m * num_classes : 2 + (m + 1) * num_classes]
            spoken = log_predictions[t, m]
            for k in range(num_classes):
                row[k] += weights[k] * spoken[k] * spoken[k]
        if with_bias:
            for k in range(num_classes):
                out[num_logs + k] += weights[k]
    out[0], _, out[1] = _scalars(packed, evidence, traces)
    own = chain_rule_diagonal(packed, num_classifiers, num_logs, hyperprior, gradient)
    for a in range(num_logs):
        out[a] = own[a] - out[a] * packed[a] * packed[a]
    if hyperprior.tau_sd > 0.0:
        precision = 1.0 / (hyperprior.tau_sd * hyperprior.tau_sd)
        for a in range(2, num_logs):
            out[a] += precision * (1.0 - 1.0 / num_classes)
    bend, turn = bias_curvature(packed, num_logs, hyperprior)
    for a in range(num_logs, packed.size):
        out[a] = bend - turn * packed[a] * packed[a] - out[a]


@kernel
def hessian_product(
    packed: FloatArray,
    evidence: Evidence,
    hyperprior: HyperpriorNumbers,
    traces: Traces,
    gradient: FloatArray,
    direction: FloatArray,
    out: FloatArray,
) -> None:
    """`hessian` times direction (P,) -> out (P,) in O(T M K), without forming the matrix."""
    log_predictions, first, classes = evidence[:3]
    share, slopes, bends, sums = traces
    num_classifiers, num_classes = log_predictions.shape[1:]
    num_logs = 2 + num_classifiers * num_classes
    with_bias = packed.size > num_logs
    theta = packed[0]
    moved = direction.copy()  # the direction in Theta
    for a in range(num_logs):
        moved[a] *= packed[a]
    out[:] = 0.0
    push = np.empty(num_classes)
    pull = np.empty(num_classes)
    for t in range(first.size - 1):
        s = share[t]
        for k in range(num_classes):
            push[k] = moved[num_logs + k] if with_bias else 0.0
        for m in range(num_classifiers):
            step = moved[2 + m * num_classes : 2 + (m + 1) * num_classes]
            spoken = log_predictions[t, m]
            for k in range(num_classes):
                push[k] += step[k] * spoken[k]
        along = 0.0  # s' push
        for k in range(num_classes):
            along += s[k] * push[k]
        own_along = 0.0  # w' push
        theta_out = 0.0
        phi_out = 0.0
        for entry in range(first[t], first[t + 1]):
            k = classes[entry]
            own = theta * s[k] * (slopes[entry] + theta * bends[entry] * s[k])
            own_along += own * push[k]
            theta_out += own / theta * push[k]
            phi_out += theta * bends[entry] * s[k] * push[k]
        theta_s = -(sums[t, 0] + theta * sums[t, 2])
        phi_s = -theta * sums[t, 1]
        out[0] += theta_out + theta_s * along
        out[1] += phi_out + phi_s * along
        kappa = 2.0 * theta * sums[t, 0] + theta * theta * sums[t, 2]
        level = kappa * along - own_along + theta_s * moved[0] + phi_s * moved[1]
        for k in range(num_classes):
            pull[k] = s[k] * (level - theta * sums[t, 0] * push[k])
        for entry in range(first[t], first[t + 1]):
            k = classes[entry]
            own = theta * s[k] * (slopes[entry] + theta * bends[entry] * s[k])
            pull[k] += own * (push[k] - along + moved[0] / theta) + theta * bends[entry] * s[k] * moved[1]
        for m in range(num_classifiers):
            row = out[2 + m * num_classes : 2 + (m + 1) * num_classes]
            spoken = log_predictions[t, m]
            for k in range(num_classes):
                row[k] += pull[k] * spoken[k]
        if with_bias:
            for k in range(num_classes):
                out[num_logs + k] += pull[k]
    theta_theta, phi_theta, phi_phi = _scalars(packed, evidence, traces)
    out[0] += theta_theta * moved[0] + phi_theta * moved[1]
    out[1] += phi_theta * moved[0] + phi_phi * moved[1]
    own = chain_rule_diagonal(packed, num_classifiers, num_logs, hyperprior, gradient)
    for a in range(num_logs):
        out[a] = own[a] * direction[a] - packed[a] * out[a]
    if hyperprior.tau_sd > 0.0:
        away = from_mean(direction, num_classifiers, num_logs)
        precision = 1.0 / (hyperprior.tau_sd * hyperprior.tau_sd)
        for a in range(2, num_logs):
            out[a] += precision * away[a]
    bend, turn = bias_curvature(packed, num_logs, hyperprior)
    across = 0.0  # bias' direction
    for a in range(num_logs, packed.size):
        across += packed[a] * direction[a]
    for a in range(num_logs, packed.size):
        out[a] = direction[a] * bend - turn * across * packed[a] - out[a]
