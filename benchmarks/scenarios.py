"""The synthetic streams of the benchmarks: that of `quorate demo`, and three that are hard for a method like ours."""

from __future__ import annotations

from quorate.commands.demo import SCENARIO
from quorate.datasets import Scenario

SETTINGS = (
    SCENARIO,
    Scenario(
        "shift",
        "The classifier breaks half-way",
        "From the middle on the classifier is right on one item in four, and as confident as before.",
        1000,
        10,
        {**SCENARIO.dials, "shift_accuracy": 0.25},
    ),
    Scenario(
        "useless",
        "A useless, overconfident classifier",
        "The classifier is right on 12 % of the items, with a mean confidence of one half.",
        1000,
        10,
        {**SCENARIO.dials, "accuracy": 0.12, "calibration": 15.0, "unevenness": 0.0},
    ),
    Scenario("small-pool", "A pool of three", "Two equal votes settle an item.", 1200, 3, SCENARIO.dials),
)
