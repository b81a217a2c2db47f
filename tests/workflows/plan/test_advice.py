"""What a plan promises: intervals for the next batch, the choice of a setting, and what the choice costs."""

import numpy as np
import pytest

from quorate.methods import method
from quorate.workflows.plan.advice import Goal, advise, needed_pilot, rivals
from quorate.workflows.plan.curves import Measured, PilotCurve, PilotSetting
from quorate.workflows.plan.forecast import Forecast, Inflation, resampled


def measured(items, orderings=4):
    items = np.asarray(items, dtype=float)
    return Measured(items, np.full(orderings, items.mean()), float(items.var(ddof=1)), 0.0)


def made_up(rng, num_items, errors):
    """A curve with true error rates `errors`, at 0, 1, 2, ... votes; each item is wrong up to some setting."""
    luck = rng.random(num_items)
    settings = [
        PilotSetting(
            method("quorum", votes=k),
            votes := measured(np.full(num_items, float(k)) + (luck < 0.5)),
            measured(luck < rate),
            votes,
        )
        for k, rate in enumerate(errors)
    ]
    return PilotCurve("quorum", tuple(settings))


def plain(curve):
    table = np.tile([1.0, 0.0], (len(curve.settings), 1))
    return Inflation(table, table, np.zeros((0, 2 * len(table))))


def advised(curve, goal, *, batch_size, seed=0):
    (drawn,) = resampled([curve], [plain(curve)], draws=200, seed=seed)
    return advise(curve, drawn, plain(curve), goal, batch_size=batch_size)


@pytest.mark.parametrize(("num_items", "rate"), [(300, 0.01), (300, 0.1), (1000, 0.02)])
def test_intervals_for_counts_of_errors_cover_the_next_batch_at_their_level(num_items, rate):
    rng, covered, trials = np.random.default_rng(1), 0, 600
    for _ in range(trials):
        seen, coming = rng.binomial(num_items, rate, size=2) / num_items
        spread = seen * (1 - seen)
        low, high = Forecast(seen, spread / num_items, spread, 1.0, num_items, num_items, True).interval(0.9)
        covered += low - 1e-9 <= coming <= high + 1e-9
    error = 3 * np.sqrt(0.09 / trials)
    assert 0.9 - error <= covered / trials <= 0.96 + error  # counts are discrete: a little above is normal


def test_a_pilot_without_errors_still_leaves_room_for_some():
    low, high = Forecast(0.0, 0.0, 0.0, 1.0, 200, 200, True).interval(0.9)
    assert low == 0.0
    assert 1 / 200 < high < 8 / 200


def test_the_probability_at_the_ends_of_an_interval_is_that_of_its_tails():
    for forecast in (
        Forecast(0.03, 1e-4, 0.03, 1.5, 300, 600, True),
        Forecast(2.0, 0.01, 1.2, 3.0, 300, 600),
    ):
        low, high = forecast.interval(0.8)
        assert forecast.at_most(low) == pytest.approx(0.1, abs=1e-6)
        assert forecast.at_most(high) == pytest.approx(0.9, abs=1e-6)


def test_a_longer_next_batch_has_a_narrower_interval():
    widths = [np.diff(Forecast(0.03, 1e-4, 0.03, 1.0, 300, m, True).interval())[0] for m in (100, 300, 3000)]
    assert widths[0] > widths[1] > widths[2]


def test_the_cheapest_setting_that_surely_meets_the_target_is_chosen():
    curve = made_up(np.random.default_rng(2), 4000, [0.5, 0.2, 0.05, 0.01, 0.0])
    advice = advised(curve, Goal("target-error", 0.08), batch_size=4000)
    assert (advice.status, advice.setting.method.parameters["votes"]) == ("sure", 2)
    assert advice.chance > 0.9


def test_a_target_at_the_error_itself_is_not_promised():
    curve = made_up(np.random.default_rng(3), 200, [0.5, 0.06, 0.052])
    goal = Goal("target-error", curve.errors[-1] + 0.004)
    advice = advised(curve, goal, batch_size=200)
    assert advice.status == "likely"
    assert 0.3 < advice.chance < 0.9


def test_where_none_is_sure_the_safest_is_advised():
    curve = made_up(np.random.default_rng(3), 200, [0.5, 0.07, 0.05])
    advice = advised(curve, Goal("target-error", curve.errors[1] + 0.001), batch_size=200)
    assert (advice.status, advice.setting, advice.safest) == ("likely", curve.settings[2], None)
    assert 0.5 < advice.chance < 0.9


def test_a_stricter_wish_never_gets_fewer_votes():
    curve = made_up(np.random.default_rng(3), 300, [0.5, 0.3, 0.2, 0.1, 0.07, 0.05, 0.04])
    for wishes in (
        [Goal("target-error", 0.08, sureness) for sureness in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)],
        [Goal("target-error", limit) for limit in (0.3, 0.2, 0.1, 0.08, 0.07, 0.065, 0.06)],
    ):
        votes = [advised(curve, goal, batch_size=200).setting.votes.mean for goal in wishes]
        assert votes == sorted(votes)


def test_a_setting_that_is_less_sure_than_asked_once_its_choice_is_allowed_for_comes_with_a_safer_one():
    """Twenty settings of equal error, and an expensive one without errors: one of the twenty looks good by chance."""
    rng, num_items, short = np.random.default_rng(6), 400, []
    for trial in range(8):
        settings = [
            PilotSetting(method("quorum", votes=k), measured(np.full(num_items, float(k))),
                    measured(rng.random(num_items) < (0.1 if k < 20 else 0.0)), measured(np.full(num_items, float(k))))
            for k in range(21)
        ]  # fmt: skip
        curve = PilotCurve("quorum", tuple(settings))
        advice = advised(curve, Goal("target-error", 0.1), batch_size=4000, seed=trial)
        if advice.chance < 0.9:
            short.append(advice)
    assert short
    for advice in short:
        assert (advice.status, advice.safest.setting.votes.mean) == ("sure", 20.0)
        assert advice.safest.chance > 0.9


def test_a_target_below_all_settings_is_called_unreachable_and_the_best_is_named():
    curve = made_up(np.random.default_rng(4), 500, [0.5, 0.3, 0.2])
    advice = advised(curve, Goal("target-error", 0.01), batch_size=500)
    assert (advice.status, advice.setting.method.parameters["votes"]) == ("unreachable", 2)
    assert needed_pilot(advice.errors, advice.goal) is None


def test_a_budget_takes_the_most_votes_that_surely_fit():
    curve = made_up(np.random.default_rng(5), 2000, [0.5, 0.2, 0.1, 0.05])
    advice = advised(curve, Goal("budget", 2.7), batch_size=2000)
    assert advice.setting.method.parameters["votes"] == 2
    assert advice.chance > 0.99


def test_the_winner_of_many_equal_settings_is_not_believed():
    """Twenty independent, equally bad settings: at least half of the selection bias of the best is corrected."""
    rng, truth, num_items = np.random.default_rng(6), 0.1, 400
    believed, corrected = [], []
    for trial in range(12):
        settings = [
            PilotSetting(method("quorum", votes=k), measured(np.full(num_items, float(k))),
                    measured(rng.random(num_items) < truth), measured(np.full(num_items, float(k))))
            for k in range(20)
        ]  # fmt: skip
        advice = advised(PilotCurve("quorum", tuple(settings)), Goal("target-error", 0.0), batch_size=400, seed=trial)
        believed.append(advice.setting.errors.mean)
        corrected.append(advice.errors.centre)
    assert np.mean(believed) < truth - 0.02
    assert np.mean(corrected) > truth - (truth - np.mean(believed)) / 2


def test_a_much_better_method_is_named_and_an_equal_one_is_not():
    rng = np.random.default_rng(7)
    ours = made_up(rng, 1000, [0.5, 0.3, 0.2, 0.1])
    curves = [ours, made_up(rng, 1000, [0.5, 0.15, 0.08, 0.02]), made_up(rng, 1000, [0.5, 0.3, 0.2, 0.1])]
    curves = [ours, *(PilotCurve(name, c.settings) for name, c in zip(("better", "equal"), curves[1:], strict=True))]
    drawn = resampled(curves, [plain(c) for c in curves], draws=300, seed=1)
    advice = advise(ours, drawn[0], plain(ours), Goal("budget", 2.6), batch_size=1000)
    found = {rival.name: rival.is_better for rival in rivals(advice, curves, drawn)}
    assert found == {"better": True, "equal": False}
