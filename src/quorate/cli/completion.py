"""What a shell offers behind an option with a fixed set of values: names here, so that Tab need not import the library.

Used as `autocompletion=` of the options; a test holds each list to what the library takes.
"""

from __future__ import annotations

from collections.abc import Callable

METHODS = (
    "quorate", "finexp", "infexp", "fixed-finexp", "fixed-infexp", "fixed-ask-finexp", "fixed-ask-infexp", "random",
    "entropy", "mp", "mp-released", "ask-all", "until-settled", "quorum", "unanimous-then-cap", "beta",
)  # fmt: skip
ORDERS = ("time", "given", "shuffled")
PARTLY_VOTED = ("exclude", "own-pool", "worst-case")
PARTLY_VOTED_PILOT = ("complete", "own-pool", "drop")
SPEEDS = ("normal", "slow")
FORMATS = ("auto", "long", "wide", "counts", "cells", "label-studio")
ITEMS = ("votes", "votes-and-predictions")
MATCHES = ("auto", "order", "id")


def one_of(*values: str) -> Callable[[str], list[str]]:
    """What completes to one of the values.

    >>> one_of("time", "given", "shuffled")("t")
    ['time']
    """

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete
