"""Replays of a pilot -> votes and errors of the next batch, with intervals, and the setting to use.

The items are resampled (a Bayesian bootstrap), the luck of a batch is drawn, and both are widened by how much another
order of the same items changes the result, because all items of a batch share what was learned.

    o = n (variance of the means of the R orders) / (variance between items)
    votes ~ bootstrap, sqrt(1 + 2 o) times as wide     errors ~ bootstrap, sqrt(1 + o) times as wide
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from quorate.commands.plan.replays import Pilot, Setting
from quorate.rng import stream
from quorate.types import FloatArray

DRAWS = 1000
UNSEEN_ERRORS = 0.5  # wrong answers that the pilot happened not to show
FEW = 10  # items of a class: with fewer nothing is said about its recall
AS_SAFE, AS_GOOD = 0.01, 0.001  # chances, and errors, closer than this are called equal
TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Range:
    """What the pilot shows, and the interval in which the next batch will be."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Recall:
    """Of the `items` of a class in the pilot, `found` got its name; the `share` of the next batch that will.

    `share` None: fewer than ten items, too few to say.
    """

    name: str
    items: float
    found: float
    share: Range | None


@dataclass(frozen=True, slots=True)
class Goal:
    """What the next batch must keep with probability `level`: errors, votes per item, recall of classes."""

    target_error: float | None = None
    budget: float | None = None
    recall: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.9

    @property
    def is_given(self) -> bool:
        """Whether there is one."""
        return self.target_error is not None or self.budget is not None or bool(self.recall)


class Forecast:
    """Draws of the next batch of `batch_size` items for settings by rising votes: `votes`, `errors` (S, DRAWS).

    `mean_votes`, `mean_errors` (S,) what the pilot shows   `worst` an item can cost: 1 without a table of error costs
    """

    def __init__(self, pilot: Pilot, settings: Sequence[Setting], batch_size: int) -> None:
        self.pilot, self.batch_size = pilot, batch_size
        self.settings = sorted(settings, key=lambda each: (float(each.votes.mean()), each.candidate.reach))
        self.share = share = position_weights(len(pilot.is_scored), batch_size)[pilot.places]  # (R, n)
        alike: dict[bytes, int] = {}  # settings that do the same on the pilot have the same draws
        kinds = [each.votes.tobytes() + each.answers.tobytes() for each in self.settings]
        self.kind = np.array([alike.setdefault(kind, len(alike)) for kind in kinds])  # (S,)
        distinct = [self.settings[kinds.index(kind)] for kind in alike]
        rng = stream(pilot.seed, "plan-draws")
        weights = rng.standard_exponential((share.shape[1], DRAWS), dtype=np.float32)
        noise = rng.standard_normal(DRAWS)
        votes, spread, wide = _by_item([each.votes for each in distinct], share, learning=2.0)
        self.mean_votes = votes.mean(axis=1)[self.kind]
        luck = wide[:, None] * np.sqrt(spread[:, None] / batch_size) * noise
        self.votes = np.maximum(_around(votes, weights, wide) + luck, 0.0)[self.kind]

        scored = pilot.is_scored
        self.worst = worst = 1.0 if pilot.error_costs is None else float(pilot.error_costs.votes.max())
        errors, spread, wide = _by_item(
            [each.errors[:, scored] / worst for each in distinct], share[:, scored], learning=1.0
        )
        number = errors.shape[1]
        self.mean_errors = worst * errors.mean(axis=1)[self.kind]
        unseen = rng.gamma(UNSEEN_ERRORS, size=DRAWS) / number
        rates = np.clip((_around(errors, weights[scored], wide) + unseen) / (1 + unseen), 0, 1)
        plain = errors.mean(axis=1) * (1 - errors.mean(axis=1))
        halves = np.clip((number * spread + 0.25) / (number * plain + 0.25), 0.3, 1.0)  # below 1: ties are half errors
        size = np.maximum(batch_size / (halves * wide**2), 1).round().astype(int)
        drawn = [
            stream(pilot.seed, "plan-batch").binomial(most, each) / most for most, each in zip(size, rates, strict=True)
        ]
        self.errors = worst * np.stack(drawn)[self.kind]

    def chances(self, goal: Goal) -> FloatArray:
        """(S,) the probability that the next batch keeps the goal."""
        found = np.ones(len(self.settings))
        if goal.target_error is not None:
            found = (self.errors <= goal.target_error + TINY).mean(axis=1)
        if goal.budget is not None:
            found = np.minimum(found, (self.votes <= goal.budget + TINY).mean(axis=1))
        for name, least in goal.recall.items():
            number = self.pilot.joined.classes.index(name)
            kept = [float((self._recalls(each, number) >= least - TINY).mean()) for each in self.settings]
            found = np.minimum(found, kept)
        return np.asarray(found)

    def choose(self, goal: Goal) -> int:
        """The cheapest setting that keeps the goal, for a budget the most expensive; else the cheapest of the safest.

        Where none has a chance: for a budget the cheapest, else the cheapest of those with the fewest errors. Of
        settings that do the same: the smallest error cost.
        """
        chances = self.chances(goal)
        if chances.max() < AS_SAFE and goal.budget is None:
            chances = -self.mean_errors / self.worst * AS_SAFE / AS_GOOD
        sure = np.flatnonzero(chances >= goal.level)
        if len(sure):
            best = sure[0] if goal.budget is None else sure[-1]
            return int(np.flatnonzero(self.kind == self.kind[best])[0])
        return int(np.flatnonzero(chances >= chances.max() - AS_SAFE)[0])

    def votes_of(self, place: int, level: float) -> Range:
        """Votes per item with a setting."""
        return _range(float(self.mean_votes[place]), self.votes[place], level)

    def errors_of(self, place: int, level: float) -> Range:
        """The share of wrong answers, or their cost per item, with a setting."""
        return _range(float(self.mean_errors[place]), self.errors[place], level)

    def error_seen(self, setting: Setting) -> float:
        """The share of wrong answers, or their cost per item, that the pilot shows with any setting."""
        scored = self.pilot.is_scored
        errors, _, _ = _by_item([setting.errors[:, scored]], self.share[:, scored], learning=1.0)
        return float(errors.mean())

    def recall_of(self, place: int, level: float) -> tuple[Recall, ...]:
        """Recall of every class with a setting."""
        setting, found = self.settings[place], []
        for number, name in enumerate(self.pilot.joined.classes):
            items, hits = (float(each.mean()) for each in self._hits(setting, number))
            draws = self._recalls(setting, number) if items >= FEW else None
            share = None if draws is None else _range(hits / items, draws, level)
            found.append(Recall(name, items, hits, share))
        return tuple(found)

    def _hits(self, setting: Setting, number: int) -> tuple[FloatArray, FloatArray]:
        """(R,) items of a class, and how many of them got its name; ties are shared."""
        share = self.pilot.truth[:, :, number]
        return share.sum(axis=1), (share * (setting.answers == number)).sum(axis=1)

    def _recalls(self, setting: Setting, number: int) -> FloatArray:
        """(DRAWS,) recall of a class in the next batch: one of the orders, as what is learned early decides."""
        rng = stream(self.pilot.seed, "plan-recall", number)
        items, hits = self._hits(setting, number)
        order = rng.integers(len(items), size=DRAWS)
        coming = max(round(float(items.mean()) * self.batch_size / int(self.pilot.is_scored.sum())), 1)
        rate = rng.beta(hits[order] + 0.5, np.maximum(items - hits, 0.0)[order] + 0.5)
        return np.asarray(rng.binomial(coming, rate) / coming)


def position_weights(num_items: int, batch_size: int) -> FloatArray:
    """(n,) what each place of an order counts; their mean is 1.

    A shorter batch is the pilot's first items; in a longer one the items beyond go as the pilot's last half.

    >>> position_weights(4, 2).tolist(), position_weights(4, 8).tolist()
    ([2.0, 2.0, 0.0, 0.0], [0.5, 0.5, 1.5, 1.5])
    """
    weights = np.zeros(num_items)
    weights[:batch_size] = 1.0
    late = num_items // 2
    weights[late:] += max(batch_size - num_items, 0) / (num_items - late)
    return np.asarray(weights * num_items / weights.sum())


def clearly_fewer(plain: Setting, other: Setting, *, level: float, seed: int) -> bool:
    """Whether the votes of `other` cost less than those of `plain` in a share `level` of resampled pilots."""
    paid = plain.paid - other.paid
    saved, _, wide = _by_item([paid], np.ones(paid.shape), learning=1.0)
    weights = stream(seed, "plan-people").standard_exponential((paid.shape[1], DRAWS), dtype=np.float32)
    return bool((_around(saved, weights, wide) > 0).mean() >= level)


def _by_item(
    values: Sequence[FloatArray], share: FloatArray, *, learning: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(S, n) of each item, mean over orders; (S,) variance between items in one run; (S,) width factor.

    What another order of the same items changes is added `learning` times: other items teach other things, too.
    """
    runs = np.stack(values)  # (S, R, n)
    spread = runs.var(axis=2, ddof=1).mean(axis=1)
    by_order = runs.mean(axis=2).var(axis=1, ddof=1) * runs.shape[2]
    wide = np.sqrt(1 + learning * _smooth(by_order) / np.maximum(_smooth(spread), TINY))
    if share.mean(axis=1).all():  # else a batch so short that nothing in it is scored
        runs = runs * (share / share.mean(axis=1, keepdims=True))
    return runs.mean(axis=1), spread, wide


def _around(items: FloatArray, weights: np.ndarray, wide: FloatArray) -> FloatArray:
    """(S, DRAWS) means of resampled items, `wide` times as far from the mean seen."""
    seen = items.mean(axis=1, keepdims=True)
    means = items.astype(weights.dtype) @ weights / weights.sum(axis=0)
    return np.asarray(seen + (means - seen) * wide[:, None])


def _smooth(values: FloatArray) -> FloatArray:
    return np.convolve(np.pad(values, 1, mode="edge"), np.ones(3) / 3, "valid")


def _range(expected: float, draws: FloatArray, level: float) -> Range:
    low, high = (float(end) for end in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]))
    return Range(expected, min(low, expected), max(high, expected))
