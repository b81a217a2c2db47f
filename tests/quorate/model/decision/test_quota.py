import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from quorate.errors import InvalidInput
from quorate.model.decision.quota import EntropyQuota, RandomQuota, binomial_quantile
from quorate.model.decision.rules import ALWAYS, Rule, rule_of
from quorate_paper.released import ReleasedModelPicker


@settings(deadline=None)
@given(st.floats(0, 0.999999), st.integers(1, 1000), st.floats(0, 1))
def test_the_quantile_inverts_the_binomial_cdf(uniform, trials, rate):
    drawn = binomial_quantile(uniform, trials, rate)
    assert 0 <= drawn <= trials
    assert binom.cdf(drawn, trials, rate) >= uniform - 1e-9
    assert drawn == 0 or binom.cdf(drawn - 1, trials, rate) <= uniform + 1e-9


def test_draws_have_the_binomial_distribution():
    rng = np.random.default_rng(1)
    draws = np.array([binomial_quantile(u, 6, 0.3) for u in rng.random(20000)])
    expected = binom.pmf(np.arange(7), 6, 0.3)
    seen = np.bincount(draws, minlength=7) / len(draws)
    assert np.all(np.abs(seen - expected) < 4 * np.sqrt(expected * (1 - expected) / len(draws)) + 1e-12)


def test_entropy_is_the_papers_with_one_over_k():
    prediction = np.array([0.5, 0.25, 0.25])
    entropy = -(0.5 * np.log(0.5) + 2 * 0.25 * np.log(0.25)) / 3
    assert EntropyQuota(2.0).rates(prediction) == pytest.approx(2 * entropy)
    assert EntropyQuota(1e9).rates(prediction) == 1.0


def test_the_released_picker_only_sees_the_largest_probability_and_runs_compiled():
    assert rule_of(ReleasedModelPicker()) == Rule(ALWAYS)
    assert ReleasedModelPicker(2.0).rates(np.array([0.8, 0.1, 0.1])) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "build", [lambda: RandomQuota(1.1), lambda: EntropyQuota(-1), lambda: ReleasedModelPicker(np.nan)]
)
def test_parameters_outside_their_range_are_refused(build):
    with pytest.raises(InvalidInput) as caught:
        build()
    assert caught.value.rule.startswith("a number")
