"""What knowing the experts is worth on a pilot: votes at equal error, with a method that knows people and without.

`value` and methods that know people each run over the pilot once, in the same random order. The latter are the
method advised, or `value` with `choose="agreement"`; for a small panel `panel`, too. A few values of the parameter
make a curve, which is read at the error of the run without names. An error is against the target: the plurality of the
pool, or the true class where it is known. Called by `plan`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from quorate.decision.error_costs import DEFAULT_ERROR_COST
from quorate.methods import Method, Target, method
from quorate.reports.format import percent
from quorate.rng import stream
from quorate.streams.prepare import prepare
from quorate.streams.runs import StreamOptions
from quorate.streams.simulate import simulate_stream
from quorate.types import FloatArray, IntArray, VoteDataset
from quorate.workflows.plan.curves import Progress
from quorate.workflows.plan.next_steps import spec
from quorate.workflows.plan.pools import known_first

MOST_ITEMS = 400  # of the pilot: people are asked through a session, which takes about a millisecond a vote
MOST_OF_PANELS = 1000  # the same for small panels, whose sessions are faster
FEWEST_ITEMS = 100
SCALES = (0.25, 1.0, 4.0)  # of the parameter, with people
DRAWS = 2000  # of the bootstrap
SMALL_PANEL = 6  # people at most, who together cast at least `MOST_OF_IT` of the votes they could
MOST_OF_IT = 0.5
BY_AGREEMENT = "value:choose=agreement"
WORDS = {BY_AGREEMENT: "asking first whoever agreed most", "panel": "choosing the next person for each item"}


@dataclass(frozen=True, slots=True)
class Tried:
    """A method that knows people: its cost per item at the error of the run without names.

    That is read between the settings that were tried, and so is what it `saves`, from `low` to `high`. `setting` the
    cheapest that was tried with no more errors, as `--method` takes it, with the cost and error measured there; None if
    every setting made more.
    """

    method: str
    with_names: float
    saves: float
    low: float
    high: float
    setting: str | None
    setting_cost: float | None
    setting_error: float | None

    @property
    def is_clear(self) -> bool:
        """It saves something, beyond chance, and a setting that was tried makes no more errors."""
        return self.low > 0 and self.setting is not None


@dataclass(frozen=True, slots=True)
class PeopleWorth:
    """Cost per item at the error of the run without names: votes, or what these cost where people differ in cost.

    `without` names   `tried` the methods that know people: the one planned for first if it is one, then those that
    clearly save, then the best; their intervals at `level` hold together   `is_priced`: in costs of people, not in
    votes   `num_scored` items, by which the errors are counted
    """

    num_items: int
    num_people: int
    error: float
    without: float
    level: float
    is_priced: bool
    num_scored: int
    tried: tuple[Tried, ...]

    @property
    def first(self) -> Tried:
        """The method that is reported first."""
        return self.tried[0]

    @property
    def is_clear(self) -> bool:
        """Names save something, beyond chance."""
        return self.first.is_clear

    def describe(self, *, price: float | None = None, num_items: int = 0) -> dict[str, Any]:
        """For JSON: the fields, those of the method reported first, and the sentence."""
        return asdict(self) | asdict(self.first) | {"sentence": self.sentence(price=price, num_items=num_items)}

    def sentence(self, *, price: float | None = None, num_items: int = 0) -> str:
        """In words; a clear saving also in money where the `price` of a vote is known, for `num_items`."""
        what = "costs" if self.is_priced else "takes"
        unit = "per item" if self.is_priced else "votes per item"
        scored = "" if self.num_scored == self.num_items else f", {self.num_scored} of them of known class"
        best, *others = self.tried
        said = (
            f"Knowing the {self.num_people} experts by name: {_by(best)} {what} {best.with_names:.2f} {unit} instead "
            f"of {self.without:.2f} at the same error ({100 * self.error:.1f} %), in one order of {self.num_items} "
            f"items of the pilot{scored}; the difference is {-best.saves:+.2f} ({_interval(best, self.level)})"
        )
        if self.is_clear:
            if price is not None:
                said += f", which saves {price * num_items * best.saves:,.2f} on {num_items:,} items"
            took = "cost" if self.is_priced else "took"
            measured = f"{took} {best.setting_cost:.2f} {unit} and erred on {percent(best.setting_error)}"
            said += f". To use it: --method {best.setting}; that setting {measured}."
        elif best.setting is None:
            said += "; every setting that was tried makes more errors: do not use it here."
        else:
            said += ", which may be chance." if best.high > 0 else ": do not use it here."
        for other in others:
            difference = f"difference {-other.saves:+.2f}, {_interval(other, self.level)}"
            said += f" Also tried: {_by(other)} {what} {other.with_names:.2f} ({difference})."
        return said


def _by(tried: Tried) -> str:
    words = WORDS.get(tried.method)
    return f"the method {tried.method}" if words is None else f"{words} ({tried.method})"


def _interval(tried: Tried, level: float) -> str:
    return f"{100 * level:g} % interval {-tried.high:+.2f} to {-tried.low:+.2f}"


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
    is_small = target == "plurality" and is_small_panel(dataset)
    most = MOST_OF_PANELS if is_small else MOST_ITEMS
    few = known_first(dataset, stream(seed, "plan-people").permutation(dataset.num_items), target)[:most]
    met = prepare(dataset.rows(np.sort(few)), pool_size, "all", seed)
    families = _families(advised, is_small=is_small)
    chosen = [_alone(advised), *(each for family in families for each in family)]
    runs = []
    for done, each in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen), "what knowing the experts is worth")
        runs.append(simulate_stream(met, each, StreamOptions(voter_costs=voter_costs), seed=seed, target=target))
    costs = np.stack([run.paid for run in runs])  # (1 + S, n)
    errors = np.stack([run.expected_errors for run in runs])
    draws = stream(seed, "plan-people-bootstrap").integers(0, costs.shape[1], (DRAWS, costs.shape[1]))
    tried, first = [], 1
    for family in families:
        rows = [0, *range(first, first + len(family))]
        tried.append(_tried(family, costs[rows], errors[rows], draws, 1 - (1 - level) / len(families)))
        first += len(family)
    own = _name(advised) if advised.needs_people else None
    tried.sort(key=lambda one: (one.method != own, not one.is_clear, -one.saves))
    return PeopleWorth(
        num_items=costs.shape[1],
        num_people=len(np.unique(voters[voters >= 0])),
        error=float(np.nanmean(errors[0])),
        without=float(costs[0].mean()),
        level=level,
        is_priced=voter_costs is not None,
        num_scored=int((~np.isnan(errors[0])).sum()),
        tried=tuple(tried),
    )


def is_small_panel(dataset: VoteDataset) -> bool:
    """At most `SMALL_PANEL` people, known by name, who vote on most items."""
    if dataset.voters is None:
        return False
    num_people = len(np.unique(dataset.voters[dataset.voters >= 0]))
    num_votes = int((dataset.votes >= 0).sum())
    return num_people <= SMALL_PANEL and num_votes >= MOST_OF_IT * num_people * dataset.num_items


def _tried(family: list[Method], costs: FloatArray, errors: FloatArray, draws: IntArray, level: float) -> Tried:
    """What a method saves; `costs` and `errors` (1 + S, n), the run without names first; `draws` (B, n) items."""
    saved = np.array([_saving(costs[:, rows].mean(axis=1), np.nanmean(errors[:, rows], axis=1)) for rows in draws])
    low, high = np.quantile(saved, [(1 - level) / 2, (1 + level) / 2])
    means = costs.mean(axis=1)
    wrong = np.nanmean(errors, axis=1)
    saves = _saving(means, wrong)
    order, at = _by_cost(means, wrong)
    found: tuple[str | None, float | None, float | None] = (None, None, None)
    if at is not None:
        row = int(order[at])
        found = (spec(family[row - 1]), float(means[row]), float(wrong[row]))
    return Tried(_name(family[0]), float(means[0]) - saves, saves, float(low), float(high), *found)


def _by_cost(costs: FloatArray, errors: FloatArray) -> tuple[IntArray, int | None]:
    """The rows after the first by rising cost, and the place of the first with no more errors than row 0, or None.

    >>> _by_cost(np.array([3.0, 4.0, 2.0]), np.array([0.1, 0.0, 0.2]))
    (array([2, 1]), 1)
    """
    order = 1 + np.argsort(costs[1:], kind="stable")
    good = np.flatnonzero(errors[order] <= errors[0] + 1e-12)
    return order, int(good[0]) if len(good) else None


def _num_scored(dataset: VoteDataset, target: Target) -> int:
    """The items whose errors can be counted."""
    if target == "plurality" or dataset.truth is None:
        return dataset.num_items
    return int((dataset.truth >= 0).sum())


def _alone(advised: Method) -> Method:
    """`value` without names, at the parameter advised if that is its own."""
    return method("value", error_cost=float(advised.parameters.get("error_cost", DEFAULT_ERROR_COST)))


def _families(advised: Method, *, is_small: bool) -> list[list[Method]]:
    """The methods that know people, each at a few values of its parameter; for a small panel both that fit one."""
    if advised.name == "crowd":
        doubt = (1.0 - advised.parameters["threshold"]) or 0.001
        return [[method("crowd", threshold=1.0 - min(scale * doubt, 1.0)) for scale in SCALES]]
    costs = [max(advised.parameters.get("error_cost", DEFAULT_ERROR_COST) / scale, 1.0) for scale in SCALES]
    panel = [method("panel", error_cost=cost) for cost in costs]
    by_agreement = [method("value", error_cost=cost, choose="agreement") for cost in costs]
    if is_small:
        return [panel, by_agreement]
    return [panel if advised.name == "panel" else by_agreement]


def _name(chosen: Method) -> str:
    """What `--method` takes."""
    return BY_AGREEMENT if chosen.choose else chosen.name


def _saving(costs: FloatArray, errors: FloatArray) -> float:
    """What the curve (the rows after the first) costs less than the first row at its error.

    >>> _saving(np.array([3.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.0]))
    0.0
    """
    order, at = _by_cost(costs, errors)
    rising, falling = costs[order], np.minimum.accumulate(errors[order])
    if at is None:
        return min(float(costs[0] - rising[-1]), 0.0)  # no setting is good enough: nothing is saved at this error
    if at == 0:
        return float(costs[0] - rising[0])
    share = (falling[at - 1] - errors[0]) / (falling[at - 1] - falling[at])
    return float(costs[0] - (rising[at - 1] + share * (rising[at] - rising[at - 1])))
