"""How far the crowd model trusts a classifier: softmax(tau log f + b), fitted on the beliefs about closed items.

    tau   one for all classes, Gamma(3, 2), at most 1;   b   one of each class, N(0, .25)

The beliefs contain the prediction, so a classifier confirms itself to some extent, most where items have a single vote
that could contradict it. Therefore it is never taken to be surer than it says (tau <= 1), and there is only one tau:
with one per class the votes of 500 items do not decide them.
"""

from __future__ import annotations

import numpy as np

from quorate.compiled import kernel
from quorate.experts.crowd import CrowdItems, CrowdState, prior_into, top_of

TAU_SHAPE, TAU_RATE, MOST_TAU, BIAS_VARIANCE = 3.0, 2.0, 1.0, 0.25
REFIT_EVERY, WINDOW, STEP = 20, 500, 0.5


@kernel
def refit_prior(state: CrowdState, items: CrowdItems, first: int, end: int) -> None:
    """Two damped Newton steps of tau and of each bias on the beliefs of items first .. end - 1."""
    K = state.bias.size
    gradients, curvatures, prior = np.empty(K), np.empty(K), np.empty(K)
    for _ in range(2):
        tau = state.tau[0]
        slope = (TAU_SHAPE - 1.0) / tau - TAU_RATE
        bend = (TAU_SHAPE - 1.0) / tau**2
        for k in range(K):
            gradients[k] = -state.bias[k] / BIAS_VARIANCE
            curvatures[k] = 1.0 / BIAS_VARIANCE
        for i in range(first, end):
            if top_of(items.log_f[i]) < 0:
                continue
            prior_into(state, items.log_f[i], prior)
            mean, square = 0.0, 0.0
            for k in range(K):
                surplus, log_f = items.belief[i, k] - prior[k], items.log_f[i, k]
                slope += surplus * log_f
                mean += prior[k] * log_f
                square += prior[k] * log_f**2
                gradients[k] += surplus
                curvatures[k] += prior[k] * (1.0 - prior[k])
            bend += square - mean**2
        tau += min(0.5 * tau, max(-0.5 * tau, STEP * slope / bend))
        state.tau[0] = min(tau, MOST_TAU)
        for k in range(K):
            state.bias[k] += STEP * gradients[k] / curvatures[k]
