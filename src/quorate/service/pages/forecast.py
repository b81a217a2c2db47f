"""The numbers of a dashboard -> pace and forecast: votes per hour now, votes left to ask, hours left. Pure.

A forecast is a rule of three on what closed items needed so far; it is left out while too little is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HOUR, SHORTEST = 3600.0, 60.0  # seconds; a pace is measured over a minute at least
FEWEST = 5  # closed items a forecast needs


@dataclass(frozen=True, slots=True)
class Forecast:
    """`pace` votes per hour, in the last hour if somebody voted in it; `votes_left`, `hours_left`: None if unknown."""

    pace: float
    is_recent: bool
    votes_left: float | None
    hours_left: float | None


def forecast(numbers: Mapping[str, Any]) -> Forecast:
    """What the numbers of `deciding.stats` lead one to expect.

    >>> hours = [{"votes": 10.0, "seconds": 3600.0}, {"votes": 20.0, "seconds": 1800.0}]
    >>> forecast({"hours": hours, "num_open": 10, "num_closed": 10, "votes_per_closed": 3.0, "num_votes": 35,
    ...           "votes_on_closed": 30, "num_abstained": 0})
    Forecast(pace=40.0, is_recent=True, votes_left=25.0, hours_left=0.625)
    """
    hours = [hour["votes"] for hour in numbers["hours"]]
    busy = [votes for votes in hours if votes > 0]
    last = hours[-1] * HOUR / max(numbers["hours"][-1]["seconds"], SHORTEST) if hours else 0.0
    pace = last or (sum(busy) / len(busy) if busy else 0.0)
    if numbers["num_closed"] < FEWEST:
        return Forecast(pace, bool(last), None, None)
    given = numbers["num_votes"] - numbers["votes_on_closed"]
    least = float(numbers["num_open"])  # each open item needs one more
    left = max(numbers["num_open"] * numbers["votes_per_closed"] - given, least)
    return Forecast(pace, bool(last), left, left / pace if pace else None)
