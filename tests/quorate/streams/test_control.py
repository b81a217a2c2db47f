"""Controllers: pure states that adjust one parameter until the votes, or the errors, per item reach the plan."""

import math

import numpy as np
import pytest

from quorate.methods import method
from quorate.streams.control import BudgetControl, at_deepest, rule_parameter
from quorate.streams.target_error import TargetErrorControl
from tests.refusals import refused


def play(control, cost_of, count, rng):
    """Items whose cost is Poisson with a mean that depends on the parameter."""
    for _ in range(count):
        control = control.closed(num_votes=int(rng.poisson(cost_of(control.parameter))), confidence=0.9, settled=False)
    return control


def by_depth(scale):
    """Votes per item as in real streams: growing with the logarithm of the error cost."""
    return lambda parameter: scale * math.log(parameter)


@pytest.mark.parametrize("scale", [0.4, 0.8, 3.0])
@pytest.mark.parametrize("budget", [0.4, 2.0, 20.0])
def test_a_budget_is_met_wherever_the_parameter_that_meets_it_lies(scale, budget):
    rng = np.random.default_rng(7)
    control = play(BudgetControl(budget), by_depth(scale), 2000, rng)
    assert abs(control.reached / budget - 1) < 0.05


def test_after_a_shift_the_budget_is_met_again():
    rng = np.random.default_rng(7)
    control = play(BudgetControl(3.0), by_depth(0.5), 1000, rng)
    control = play(control, by_depth(1.5), 1000, rng)
    assert abs(control.reached / 3.0 - 1) < 0.05


def test_a_budget_that_cannot_be_spent_does_not_wind_the_integral_up():
    control = BudgetControl(5.0, pool_size=6)
    for _ in range(5000):
        control = control.closed(num_votes=1, confidence=1.0, settled=True)
    assert control.parameter == pytest.approx(math.exp(60))
    assert control.log_depth <= math.log(60) + 1e-12


def test_states_are_values_and_the_law_is_the_one_in_the_docstring():
    first = BudgetControl(2.0, start=100)
    after = first.closed(num_votes=5, confidence=0.8, settled=False)
    assert (first.spent, first.num_items, after.spent, after.num_items) == (0, 0, 5, 1)
    integral = math.log(-math.log(0.01)) - 0.2 * (5 - 2) / 2
    assert after.log_depth == pytest.approx(max(integral, math.log(-math.log(0.01)) - 0.5))
    assert math.log(after.parameter) == pytest.approx(math.exp(after.log_depth - (5 - 2) / (100 * 2)))
    assert after.ahead == 3.0


def test_thresholds_are_one_minus_the_inverse_of_the_error_cost():
    gain, threshold = BudgetControl(2.0, pool_size=6), BudgetControl(2.0, pool_size=6, rule="threshold")
    assert threshold.parameters == {"threshold": pytest.approx(1.0 - 1.0 / gain.parameter)}
    assert gain.parameters == {"error_cost": gain.parameter}


def test_only_methods_with_a_gain_or_a_threshold_can_be_controlled():
    assert rule_parameter(method("finexp")) == "threshold"
    for name in ("quorum", "crowd"):
        with refused("method"):
            rule_parameter(method(name))


@pytest.mark.parametrize(
    "wrong",
    [{"budget": 0}, {"budget": -1}, {"rule": "votes"}, {"start": 0}],
)
def test_a_wrong_setting_of_a_budget_is_named(wrong):
    with refused(next(iter(wrong))):
        BudgetControl(**{"budget": 2.0, **wrong})


@pytest.mark.parametrize("wrong", [{"target": 0}, {"target": 2}, {"audit_rate": 0}, {"rule": "votes"}])
def test_a_wrong_setting_of_a_target_is_named(wrong):
    with refused(next(iter(wrong))):
        TargetErrorControl(**{"target": 0.02, **wrong})


def honest_stream(control, factor, count, rng):
    """Items whose doubt is about 5 times the parameter, with `factor` times as many errors; random audits."""
    errors = 0.0
    for _ in range(count):
        doubt = min(0.5, 5 / control.parameter * rng.exponential())
        error = float(rng.random() < factor * doubt)
        errors += error
        audited = rng.random() < control.audit_rate_of(1 - doubt)
        told = error if audited else None
        control = control.closed(num_votes=3, confidence=1 - doubt, settled=False, audited_error=told)
    return control, errors / count


@pytest.mark.parametrize("factor", [0.4, 1.0, 1.8])
def test_audits_correct_a_belief_that_is_too_modest_or_too_sure(factor):
    rng = np.random.default_rng(3)
    control, error = honest_stream(TargetErrorControl(0.05, audit_rate=0.2), factor, 6000, rng)
    assert control.factor == pytest.approx(factor, rel=0.25)
    assert 0.035 < error < 0.055
    assert control.upper == pytest.approx(0.05, rel=0.1)


def test_the_factor_weighs_audits_by_the_root_of_the_inverse_of_their_probability():
    control = TargetErrorControl(0.1, audit_rate=0.1)
    assert control.audit_rate_of(0.5) == pytest.approx(0.6)
    assert control.audit_rate_of(0.0) == 1.0
    after = control.closed(num_votes=2, confidence=0.5, settled=False, audited_error=1.0)
    weight = math.sqrt(0.1 / 0.6)
    assert after.factor == pytest.approx((weight + 1.0) / (weight * 0.5 + 1.0))
    assert control.closed(num_votes=2, confidence=0.5, settled=False).factor == 1.0


def test_settled_items_count_as_they_are_without_the_factor():
    control = TargetErrorControl(0.1).closed(num_votes=2, confidence=0.5, settled=False, audited_error=0.0)
    tie = control.closed(num_votes=6, confidence=0.5, settled=True)
    assert tie.factor == control.factor < 1
    assert tie.reached == pytest.approx(0.5 / 2), "of the audited item the error is known: none"
    unseen = tie.closed(num_votes=2, confidence=0.7, settled=False)
    assert unseen.reached == pytest.approx((0.5 + unseen.factor * 0.3) / 3)


def test_what_is_not_exceeded_shrinks_to_the_estimate_as_audits_come_in():
    few = TargetErrorControl(0.05)
    for _ in range(100):
        few = few.closed(num_votes=2, confidence=0.95, settled=False)
    assert few.upper > few.reached == pytest.approx(0.05)
    many = few.with_audits([(0.95, 0.0)] * 80 + [(0.95, 1.0)] * 4)
    assert many.upper - many.reached < (few.upper - few.reached) / 2


@pytest.mark.parametrize(
    "factor", [pytest.param(0.4, marks=pytest.mark.slow), pytest.param(1.0, marks=pytest.mark.slow), 1.8]
)
def test_a_target_is_exceeded_as_seldom_as_its_confidence_level_allows(factor):
    """60 streams: at most 10 % above the target is allowed; by chance 12 of them are exceeded with probability 1 %."""
    rng = np.random.default_rng(5)
    runs = [honest_stream(TargetErrorControl(0.05), factor, 800, rng) for _ in range(60)]
    assert sum(error > 0.05 for _, error in runs) <= 12
    assert sum(error > control.upper for control, error in runs) <= 12


def test_the_slow_term_follows_the_errors_that_cannot_be_ruled_out():
    """With the mean, it would fall while the bound is above the plan, and keep it there."""
    control = TargetErrorControl(0.05, start=100)
    for _ in range(2000):
        control = control.closed(num_votes=3, confidence=1 - min(0.5, 5 / control.parameter), settled=False)
    assert control.upper == pytest.approx(control.target, rel=0.1)


def test_a_settled_item_counts_the_error_that_is_known_of_it():
    control = TargetErrorControl(0.1).closed(num_votes=5, confidence=0.8, settled=True, audited_error=0.5)
    assert control.ties == control.reached == 0.5
    assert control.num_audited == 0


def test_a_target_below_the_ties_of_the_pool_ends_asking_everyone_and_says_it_is_unreachable():
    control = TargetErrorControl(0.01)
    for t in range(3000):
        control = control.closed(num_votes=6, confidence=0.5 if t % 10 == 0 else 1.0, settled=True)
    assert control.parameter == pytest.approx(math.exp(60))
    assert at_deepest("error_cost", control.parameter)
    assert control.reached == control.ties == pytest.approx(0.05)
    assert control.is_unreachable
    assert not TargetErrorControl(0.01).is_unreachable
    enough = TargetErrorControl(0.06)
    for t in range(3000):
        enough = enough.closed(num_votes=6, confidence=0.5 if t % 10 == 0 else 1.0, settled=True)
    assert not enough.is_unreachable
