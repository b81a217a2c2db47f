"""The settings of the paper's experiments: the only place that declares them. Everything in `paper` reads them here.

The hyperpriors, the window and the schedule are those of the methods themselves (`methods.LEARNERS`).
"""

from __future__ import annotations

from typing import Literal

from quorate.methods import LEARNERS

Phase = Literal["pre", "post"]
PHASES: tuple[Phase, Phase] = ("pre", "post")  # before and after the shift
BUDGETS = (0.5, 1.0, 2.0, 3.0)  # votes per item of the printed tables
WITHIN = 0.1  # votes: a run belongs to a budget if its cost is this close
SEEDS = (3, 4, 5)
FINEXP, INFEXP = LEARNERS["finexp"].hyperprior, LEARNERS["infexp"].hyperprior  # Gamma(1.1, 1) and Gamma(3, 2)
WINDOW = LEARNERS["finexp"].window  # 500 items with votes
REFIT_EVERY = 20  # closed items between two fits
SAMPLES = 1000  # importance samples of an item, and draws for the winner's probability
ADAM_RATE, ADAM_STEPS, ADAM_TOLERANCE, ADAM_PATIENCE = 0.1, 1000, 0.01, 10
ASKED_ITEMS = 1000  # of the first phase, in the experiments with two phases
FINEXP_32 = "finexp:hyperprior=infexp"  # FinExp under InfExp's prior Gamma(3, 2): not the paper's, so a row of its own
