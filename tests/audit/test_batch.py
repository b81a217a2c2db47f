"""The exact statement at the end of a batch, against enumeration."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest

from quorate.audit import end_of_batch, most_errors
from quorate.errors import InvalidInput


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


def test_limits():
    assert most_errors(50, 0, 0) == 50
    assert most_errors(50, 50, 3) == 3
    assert most_errors(0, 0, 0) == 0
    assert most_errors(10, 5, 5) == 10


def test_more_errors_found_allow_more_and_more_audits_allow_fewer():
    assert [most_errors(300, 60, x) for x in range(5)] == sorted({most_errors(300, 60, x) for x in range(5)})
    assert most_errors(300, 120, 0) < most_errors(300, 60, 0)


def test_incomplete_panels_and_ties_count_as_errors():
    audited = [True] * 4 + [False] * 16
    unknown = [None] * 16
    found = end_of_batch([0.2] * 20, audited, [0, 0.5, None, 0, *unknown])
    assert (found.num_unsettled, found.num_audited, found.num_wrong) == (20, 4, 2)
    assert found.most_errors == most_errors(20, 4, 2)


def test_different_rates_are_refused_and_the_message_says_why():
    with pytest.raises(InvalidInput) as caught:
        end_of_batch([0.1, 0.2], [True, False], [0, None])
    assert caught.value.field == "rates"
    assert "0.1 to 0.2" in caught.value.rule
    assert "running bound" in caught.value.fix


@pytest.mark.parametrize("numbers", [(10, 11, 0), (10, 5, 6), (-1, 0, 0), (10, 5.5, 1)])
def test_impossible_counts_are_refused(numbers):
    with pytest.raises(InvalidInput) as caught:
        most_errors(*numbers)
    assert caught.value.rule.startswith("a whole number")


def test_columns_of_different_length_are_refused():
    with pytest.raises(InvalidInput) as caught:
        end_of_batch([0.1, 0.1], [True], [0, 0])
    assert "2, 1 and 2 entries" in caught.value.rule
