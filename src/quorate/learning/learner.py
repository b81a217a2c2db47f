"""When a session or a loop wants new parameters: the window and the last parameters -> the next ones.

The bridge between `Window` and `fit_kernel`; no checks, because the window holds what was checked at the door.
"""

from __future__ import annotations

import numpy as np

from quorate.learning.fit import INFO_SIZE, WARM, fit_kernel, report_of
from quorate.learning.problem import pack, unpack
from quorate.learning.window import Window
from quorate.prior.hyperprior import Hyperprior
from quorate.types import FitReport, PriorParams


def refit(params: PriorParams, window: Window, hyperprior: Hyperprior) -> tuple[PriorParams, FitReport]:
    """The most probable parameters given the window, searched from `params`; a bias is learned iff `params` has one."""
    packed, info = pack(params), np.empty(INFO_SIZE)
    fit_kernel(
        packed,
        window.log_predictions,
        window.votes,
        len(window),
        hyperprior.shape,
        hyperprior.rate,
        hyperprior.bias_sd,
        WARM,
        packed,
        info,
    )
    return unpack(packed, params.tau.shape), report_of(info)
