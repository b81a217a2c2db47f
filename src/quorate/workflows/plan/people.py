"""What knowing the experts is worth on a pilot: votes at equal error, with a method that knows people and without.

`quorate` and a method that knows people each run over the pilot once, in the same random order. The second is the
method advised, or `quorate` with `order="agreement"`. A few values of its parameter make a curve, which is read at the
error of the run without names. An error is against the target: the plurality of the pool, or the true class where it
is known. Called by `plan`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from quorate.methods import DEFAULT_MIN_GAIN, Method, Target, method
from quorate.rng import stream
from quorate.streams.prepare import prepare
from quorate.streams.runs import StreamOptions
from quorate.streams.simulate import simulate_stream
from quorate.types import FloatArray, VoteDataset
from quorate.workflows.plan.curves import Progress
from quorate.workflows.plan.pools import known_first

MOST_ITEMS = 400  # of the pilot: people are asked through a session, which takes about a millisecond a vote
FEWEST_ITEMS = 100
SCALES = (0.25, 1.0, 4.0)  # of the parameter, with people
DRAWS = 400  # of the bootstrap
BY_AGREEMENT = "quorate:order=agreement"


@dataclass(frozen=True, slots=True)
class PeopleWorth:
    """Cost per item at the error of the run without names: votes, or what these cost where people differ in cost.

    `without` names   `with_names` by `method`, which knows people   `saves` their difference, from `low` to `high` at
    `level`   `is_priced`: in costs of people, not in votes   `num_scored` items, by which the errors are counted
    """

    num_items: int
    num_people: int
    error: float
    without: float
    with_names: float
    saves: float
    low: float
    high: float
    level: float
    is_priced: bool
    method: str
    num_scored: int

    def describe(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"sentence": self.sentence()}

    def sentence(self) -> str:
        """In words."""
        what = "costs" if self.is_priced else "takes"
        unit = "per item" if self.is_priced else "votes per item"
        by = "asking first whoever agreed most" if self.method == BY_AGREEMENT else f"the method {self.method}"
        scored = "" if self.num_scored == self.num_items else f", {self.num_scored} of them of known class"
        said = (
            f"Knowing the {self.num_people} experts by name: {by} {what} {self.with_names:.2f} {unit} instead of "
            f"{self.without:.2f} at the same error ({100 * self.error:.1f} %), on {self.num_items} items of the "
            f"pilot{scored}; the difference is {-self.saves:+.2f} ({self.level:.0%} interval {-self.high:+.2f} to "
            f"{-self.low:+.2f})"
        )
        if self.low > 0:
            return f"{said}. To use it: --method {self.method}."
        return f"{said}, which may be chance." if self.high > 0 else f"{said}: do not use it here."


def people_worth(
    dataset: VoteDataset,
    advised: Method,
    *,
    pool_size: int | None,
    voter_costs: tuple[float, ...] | None = None,
    target: Target = "plurality",
    level: float,
    seed: int,
    progress: Progress | None = None,
) -> PeopleWorth | None:
    """What names are worth; None if some votes do not name their voters, or too few items can be scored."""
    voters = dataset.voters
    if voters is None or np.any((dataset.votes >= 0) & (voters < 0)) or _num_scored(dataset, target) < FEWEST_ITEMS:
        return None
    few = known_first(dataset, stream(seed, "plan-people").permutation(dataset.num_items), target)[:MOST_ITEMS]
    met = prepare(dataset.rows(np.sort(few)), pool_size, "all", seed)
    named = _named(advised)
    runs = []
    for done, chosen in enumerate([_alone(advised), *named]):
        if progress is not None:
            progress(done, len(named) + 1, "what knowing the experts is worth")
        runs.append(simulate_stream(met, chosen, StreamOptions(voter_costs=voter_costs), seed=seed, target=target))
    costs = np.stack([run.paid for run in runs])  # (1 + S, n)
    errors = np.stack([run.expected_errors for run in runs])
    scored = ~np.isnan(errors[0])
    draws = stream(seed, "plan-people-bootstrap").integers(0, costs.shape[1], (DRAWS, costs.shape[1]))
    saved = np.array([_saving(costs[:, rows].mean(axis=1), np.nanmean(errors[:, rows], axis=1)) for rows in draws])
    low, high = np.quantile(saved, [(1 - level) / 2, (1 + level) / 2])
    means, wrong = costs.mean(axis=1), np.nanmean(errors, axis=1)
    saves = _saving(means, wrong)
    return PeopleWorth(
        num_items=costs.shape[1],
        num_people=len(np.unique(voters[voters >= 0])),
        error=float(wrong[0]),
        without=float(means[0]),
        with_names=float(means[0]) - saves,
        saves=saves,
        low=float(low),
        high=float(high),
        level=level,
        is_priced=voter_costs is not None,
        method=BY_AGREEMENT if named[0].order else named[0].name,
        num_scored=int(scored.sum()),
    )


def _num_scored(dataset: VoteDataset, target: Target) -> int:
    """The items whose errors can be counted."""
    if target == "plurality" or dataset.truth is None:
        return dataset.num_items
    return int((dataset.truth >= 0).sum())


def _alone(advised: Method) -> Method:
    """`quorate` without names, at the parameter advised if that is its own."""
    return method("quorate", min_gain=float(advised.knobs.get("min_gain", DEFAULT_MIN_GAIN)))


def _named(advised: Method) -> list[Method]:
    """A method that knows people, at a few values of its parameter."""
    if advised.name == "crowd":
        return [method("crowd", doubt=min(_scaled(advised.knobs["doubt"], scale), 1.0)) for scale in SCALES]
    gains = [min(_scaled(advised.knobs.get("min_gain", DEFAULT_MIN_GAIN), scale), 1.0) for scale in SCALES]
    if advised.name == "panel":
        return [method("panel", min_gain=gain) for gain in gains]
    return [method("quorate", min_gain=gain, order="agreement") for gain in gains]


def _scaled(value: float, scale: float) -> float:
    """The value times `scale`; 0, which asks for everything, counts as 0.001."""
    return scale * (value or 0.001)


def _saving(costs: FloatArray, errors: FloatArray) -> float:
    """What the curve (the rows after the first) costs less than the first row at its error.

    >>> _saving(np.array([3.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.0]))
    0.0
    """
    order = np.argsort(costs[1:])
    rising, falling = costs[1:][order], np.minimum.accumulate(errors[1:][order])
    enough = np.flatnonzero(falling <= errors[0] + 1e-12)
    if not len(enough):
        return min(float(costs[0] - rising[-1]), 0.0)  # no setting is good enough: nothing is saved at this error
    at = int(enough[0])
    if at == 0:
        return float(costs[0] - rising[0])
    share = (falling[at - 1] - errors[0]) / (falling[at - 1] - falling[at])
    return float(costs[0] - (rising[at - 1] + share * (rising[at] - rising[at - 1])))
