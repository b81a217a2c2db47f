"""A pilot and a goal -> the setting advised, with the forecasts of all settings that were replayed."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.commands.plan.forecast import Forecast, Goal, clearly_fewer
from quorate.commands.plan.replays import Pilot, Setting
from quorate.commands.plan.settings import Candidate, between, grid, until_settled
from quorate.methods import method
from quorate.types import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """The setting at `place` of the forecast.

    `settled` asking until the pool is settled   `fine` settings added beside the one chosen   `by_agreement` asking
    first whoever agreed most, where that was tried
    """

    forecast: Forecast
    place: int
    settled: Setting
    fine: tuple[Setting, ...]
    by_agreement: Setting | None

    @property
    def setting(self) -> Setting:
        """The setting advised."""
        return self.forecast.settings[self.place]


def advise(
    pilot: Pilot, start: Candidate, goal: Goal, *, is_fixed: bool, batch_size: int, progress: Progress | None
) -> Advice:
    """Replay the grid of the method; choose; replay settings beside the one chosen; choose again.

    `is_fixed`: `start` is the setting, and nothing is chosen.
    """
    found = grid(start, pool_size=int(pilot.sizes.max()), num_classes=len(pilot.joined.classes))
    if is_fixed:
        found = [*(each for each in found if each.value != start.value), start]
    until = [] if any(each.value is None for each in found) else [until_settled(start)]
    settings = pilot.replayed([*found, *until], progress, "replaying the pilot")
    settled = next((each for each in settings if each.candidate.method.name == "until-settled"), settings[-1])
    settings = settings[: len(found)]
    forecast = Forecast(pilot, settings, batch_size)
    if is_fixed:
        place = forecast.settings.index(settings[-1])
        return Advice(forecast, place, settled, (), None)
    place, fine = forecast.choose(goal), []
    if forecast.chances(goal)[place] >= goal.level:
        beside = place + (1 if goal.budget is not None else -1)
        if 0 <= beside < len(settings):
            near, far = (forecast.settings[each].candidate for each in (place, beside))
            fine = pilot.replayed(between(near, far), progress, "replaying settings beside the best")
            forecast = Forecast(pilot, [*settings, *fine], batch_size)
            place = forecast.choose(goal)
    advice = Advice(forecast, place, settled, tuple(fine), None)
    return _with_people(pilot, advice, goal, batch_size, progress)


def _with_people(pilot: Pilot, advice: Advice, goal: Goal, batch_size: int, progress: Progress | None) -> Advice:
    """The same setting asking first whoever agreed most, if that is clearly better: docs/plan.md has the rule."""
    plain, chances = advice.setting, advice.forecast.chances(goal)
    chosen = plain.candidate.method
    if not pilot.names_people or chosen.name != "value" or chosen.needs_people or pilot.error_costs is not None:
        return advice
    by_agreement = Candidate(method("value", **{**chosen.parameters, "choose": "agreement"}))
    (other,) = pilot.replayed([by_agreement], progress, "asking first whoever agreed most")
    forecast = Forecast(pilot, [*advice.forecast.settings, other], batch_size)
    place, error_cost = forecast.settings.index(other), float(chosen.parameters["error_cost"])
    means = [(each.paid.mean() + error_cost * each.errors[:, pilot.is_scored].mean()) for each in (plain, other)]
    is_better = (
        clearly_fewer(plain, other, level=goal.level, seed=pilot.seed)
        and means[1] < means[0]
        and forecast.chances(goal)[place] >= min(chances[advice.place], goal.level)
    )
    if is_better:
        return Advice(forecast, place, advice.settled, advice.fine, other)
    return Advice(advice.forecast, advice.place, advice.settled, advice.fine, other)
