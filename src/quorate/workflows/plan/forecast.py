"""What a pilot shows at one setting -> what the next batch will show: an expectation, an interval, a probability.

Votes go by Student's distribution, errors by a score interval. Called by `plan_advice` and, for the bands, by `plan`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from quorate.types import FloatArray
from quorate.workflows.plan.variance import PILOTS

Numbers = float | FloatArray
KNOWN = (0.3, 20.0)  # V_pilot n / s^2: outside is noise of a few errors


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the mean of the next batch will be.

    `centre` expected   `pilot_variance` of that expectation, V_pilot   `spread` between items, s^2   `inflation` r
    `num_items` of the pilot   `batch_size` of the next batch   `most` one item can err: 1, or the
    highest of the error costs; None for votes, which have no such end
    """

    centre: float
    pilot_variance: float
    spread: float
    inflation: float
    num_items: int
    batch_size: int
    most: float | None = None

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Where the next batch's mean falls with probability `level`.

        Votes: centre -+ t sqrt(V). Errors: all x with (x - centre)^2 <= t^2 V(p), where V is scaled to the error rate p
        that pilot and batch would have together (a score interval: it has no negative end, and a width where the pilot
        shows no error at all).

        >>> seen = Forecast(0.02, 0.0196 / 500, 0.0196, 1.0, 500, 500, most=1.0)
        >>> [round(end, 4) for end in seen.interval(0.9)]
        [0.0074, 0.0382]
        """
        reach = float(stats.t.ppf(0.5 + level / 2, _freedom(self.num_items)))
        if self.most is None:
            half = reach * self.deviation(self.centre)
            return max(self.centre - half, 0.0), self.centre + half
        return self._end(0.0, -reach), self._end(self.most, reach)

    def _end(self, last: float, reach: float) -> float:
        """Where (x - centre) / sqrt(V) is `reach`, between the centre and `last`."""

        def beyond(x: float) -> float:
            return x - self.centre - reach * self.deviation(x)

        sign = float(np.sign(reach))
        first = self.centre + sign * 1e-12  # at a centre of 0 the width is 0 there, and only there
        if beyond(last) * sign <= 0:
            return last
        return float(optimize.brentq(beyond, first, last)) if beyond(first) * sign < 0 else self.centre

    def deviation(self, x: float) -> float:
        """sqrt(V) if the next batch came to `x`."""
        return float(
            deviations(
                self.centre, x, self.pilot_variance, self.spread, self.inflation, self.num_items, self.batch_size,
                self.most,
            )
        )  # fmt: skip

    def at_most(self, x: float) -> float:
        """Probability that the next batch's mean is at most `x`.

        >>> seen = Forecast(0.02, 0.0196 / 500, 0.0196, 1.0, 500, 500, most=1.0)
        >>> round(seen.at_most(seen.interval(0.9)[1]), 3)
        0.95
        """
        return float(probability((x - self.centre), self.deviation(x), self.num_items))


def deviations(
    centre: Numbers,
    x: float,
    pilot_variance: Numbers,
    spread: Numbers,
    inflation: Numbers,
    num_items: int,
    batch_size: int,
    most: float | None,
) -> FloatArray:
    """sqrt(V); for shares, the parts between items scaled from the rate seen to the rate of pilot and batch together.

    The dispersion spread / (centre (1 - centre)) is below 1 where ties are half errors. A single half error is too
    little to say so: it, and V_pilot n / spread, are drawn to 1 by one item.
    """
    if most is None:
        return np.sqrt(pilot_variance + inflation * spread / batch_size)
    centre, x, pilot_variance, spread = centre / most, x / most, pilot_variance / most**2, spread / most**2
    both = (num_items * centre + batch_size * x) / (num_items + batch_size)
    one = both * (1 - both)
    dispersion = (num_items * spread + one) / (num_items * centre * (1 - centre) + one + 1e-300)
    known = (num_items**2 * pilot_variance + one) / (num_items * spread + one + 1e-300)
    return most * np.sqrt(dispersion * one * (np.clip(known, *KNOWN) / num_items + inflation / batch_size))


def _freedom(num_items: int) -> int:
    """Degrees of freedom: r rests on `PILOTS` runs; settings beside each other hardly add to them."""
    return min(num_items - 1, PILOTS - 1)


def probability(distance: Numbers, deviation: Numbers, num_items: int) -> FloatArray:
    """P(t <= distance / deviation)."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(
        deviation > 0, stats.t.cdf(distance / safe, _freedom(num_items)), np.where(np.asarray(distance) >= 0, 1.0, 0.0)
    )
