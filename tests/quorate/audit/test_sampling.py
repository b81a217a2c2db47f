"""Draws: by item id alone, at the promised rate, and refused where they would prove nothing."""

from collections import Counter
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.audit import AuditDraw, draw, end_of_batch, most_errors
from quorate.errors import InvalidInput
from tests.refusals import refused

IDS = [f"item-{number}" for number in range(4000)]


def test_a_longer_list_and_another_order_give_the_same_draws():
    first = draw(IDS[:100], 0.3, seed=5)
    again = {one.item: one for one in draw(IDS[::-1], 0.3, seed=5)}
    assert all(again[one.item] == one for one in first)


def test_draws_of_neighbouring_ids_are_independent():
    draws = [one.audited for one in draw(IDS, 0.5, seed=2)]
    both = sum(a and b for a, b in pairwise(draws))
    assert abs(both - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 * 1.3  # overlapping pairs: a little more variance


def test_each_item_may_have_its_own_rate_and_a_higher_one_only_adds_audits():
    low, high = draw(IDS, 0.1, seed=3), draw(IDS, [0.1, 0.4] * 2000, seed=3)
    assert high[0] == AuditDraw(IDS[0], 0.1, low[0].audited)
    assert all(b.audited for a, b in zip(low, high, strict=True) if a.audited)
    assert sum(one.audited for one in high) > sum(one.audited for one in low)


@given(st.lists(st.text(min_size=1), unique=True, max_size=20), st.randoms())
@settings(max_examples=50, deadline=None)
def test_any_text_is_an_id_and_order_never_matters(ids, random):
    shuffled = random.sample(ids, len(ids))
    assert set(draw(ids, 0.5, seed=9)) == set(draw(shuffled, 0.5, seed=9))


@pytest.mark.parametrize(
    ("items", "rates", "field"),
    [
        ("abc", 0.1, "items"),
        (["a", ""], 0.1, "items"),
        (["a", 3], 0.1, "items"),
        (["a", "b", "a"], 0.1, "items"),
        (["a"], 0, "rates"),
        (["a"], 1.5, "rates"),
        (["a", "b"], [0.1], "rates"),
        (["a", "b"], [0.5, 0.01], "rates"),
    ],
)
def test_what_would_prove_nothing_is_refused(items, rates, field):
    with refused(field):
        draw(items, rates, seed=0, min_rate=0.05)


def probability_of_at_most(x, U, M, n):
    """Exact in whole numbers: the share of all samples of n that hold at most x of the M errors."""
    return sum(comb(M, k) * comb(U - M, n - k) for k in range(min(x, M, n) + 1) if n - k <= U - M) / comb(U, n)


def test_the_published_figure():
    assert most_errors(2400, 240, 0, alpha=0.05) == 28
    assert probability_of_at_most(0, 2400, 28, 240) > 0.05 >= probability_of_at_most(0, 2400, 29, 240)


@pytest.mark.parametrize("alpha", [0.051, 0.21, 0.45])
@pytest.mark.parametrize("U", [1, 2, 7, 12])
def test_it_is_the_largest_number_not_refuted(U, alpha):
    """Uses levels that no probability equals, where the last digit of a float would decide."""
    for n in range(U + 1):
        for x in range(n + 1):
            possible = [M for M in range(x, U - n + x + 1) if probability_of_at_most(x, U, M, n) > alpha]
            assert most_errors(U, n, x, alpha=alpha) == max(possible)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_it_covers_whatever_the_number_of_errors_over_all_samples_there_are(alpha):
    U, n = 10, 4
    for M in range(U + 1):
        samples = list(combinations(range(U), n))
        missed = sum(most_errors(U, n, sum(item < M for item in sample), alpha=alpha) < M for sample in samples)
        assert missed / len(samples) <= alpha


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_it_covers_with_draws_as_well(alpha):
    """The number audited is random with independent draws; the statement holds given each number, hence overall."""
    rng, U, trials = np.random.default_rng(2), 60, 2000
    for M in (3, 10, 40):
        draws = rng.random((trials, U)) < 0.15
        seen = Counter(zip(draws.sum(axis=1).tolist(), draws[:, :M].sum(axis=1).tolist(), strict=True))
        missed = sum(times for (n, x), times in seen.items() if most_errors(U, n, x, alpha=alpha) < M)
        assert missed / trials <= alpha + 3 * (alpha * (1 - alpha) / trials) ** 0.5


def test_incomplete_panels_and_ties_count_as_errors():
    audited = [True] * 4 + [False] * 16
    unknown = [None] * 16
    found = end_of_batch([0.2] * 20, audited, [0, 0.5, None, 0, *unknown])
    assert (found.num_unsettled, found.num_audited, found.num_wrong) == (20, 4, 2)
    assert found.most_errors == most_errors(20, 4, 2)


def test_different_rates_are_refused_and_the_message_says_why():
    with refused("rates") as caught:
        end_of_batch([0.1, 0.2], [True, False], [0, None])
    assert "0.1 to 0.2" in caught.value.rule
    assert "running bound" in caught.value.fix


@pytest.mark.parametrize("numbers", [(10, 11, 0), (10, 5, 6), (-1, 0, 0), (10, 5.5, 1)])
def test_impossible_counts_are_refused(numbers):
    with pytest.raises(InvalidInput) as caught:
        most_errors(*numbers)
    assert caught.value.rule.startswith("a whole number")
