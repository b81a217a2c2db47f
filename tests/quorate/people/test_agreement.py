"""Agreement statistics against other libraries, published worked examples, plain counting, and their limits."""

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from quorate.people.agreement import agreement_of, item_terms, panel_statistics, sign_test
from quorate.people.ballots import from_matrix
from quorate.people.pairs import cohen_kappas
from tests.refusals import refused

FEW = 20  # bootstraps where the interval is not looked at

matrices = arrays(np.int64, st.tuples(st.integers(2, 12), st.integers(2, 5)), elements=st.integers(-1, 2)).filter(
    lambda votes: ((votes >= 0).sum(axis=1) >= 2).sum() >= 2
)


def test_krippendorff_published_example():
    """Four observers, twelve units, nominal: 0.743 (Krippendorff, Computing Krippendorff's alpha-reliability, 2011)."""
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
        [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
    ]
    found = agreement_of(from_matrix(np.array(observers).T), bootstraps=FEW)
    assert round(found.krippendorff_alpha.value, 3) == 0.743


def test_fleiss_published_example():
    """Fourteen raters, ten subjects, five categories: kappa 0.210 (the worked example of Fleiss' kappa)."""
    counts = np.array(
        [
            [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
        ]
    )  # fmt: skip
    assert round(float(panel_statistics(item_terms(counts).sum(axis=0))[1]), 3) == 0.210


@settings(max_examples=50, deadline=None)
@given(matrices)
def test_alpha_is_that_of_krippendorff_package(votes):
    used = votes[(votes >= 0).sum(axis=1) >= 2]
    if len(np.unique(used[used >= 0])) < 2:
        return
    expected = krippendorff.alpha(np.where(votes < 0, np.nan, votes).T, level_of_measurement="nominal")
    found = agreement_of(from_matrix(votes), bootstraps=FEW).krippendorff_alpha.value
    assert found == pytest.approx(expected, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(arrays(np.int64, st.tuples(st.integers(2, 15), st.integers(2, 5)), elements=st.integers(0, 2)))
def test_fleiss_and_cohen_are_those_of_statsmodels(votes):
    if len(np.unique(votes)) < 2:
        return
    counts, _ = aggregate_raters(votes)
    assert panel_statistics(item_terms(counts).sum(axis=0))[1] == pytest.approx(fleiss_kappa(counts), abs=1e-12)
    table = np.zeros((3, 3))
    np.add.at(table, (votes[:, 0], votes[:, 1]), 1)
    agreement, kappa = cohen_kappas(table)
    assert agreement == pytest.approx((votes[:, 0] == votes[:, 1]).mean())
    if np.isfinite(kappa):
        assert kappa == pytest.approx(cohens_kappa(table, return_results=False), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(matrices, st.randoms(use_true_random=False))
def test_order_of_items_people_and_classes_does_not_matter(votes, random):
    people, items, classes = (random.sample(range(n), n) for n in (votes.shape[1], len(votes), 3))
    moved = np.where(votes >= 0, np.array(classes)[votes], -1)[np.ix_(items, people)]
    one, other = (agreement_of(from_matrix(each, classes=["a", "b", "c"]), bootstraps=FEW) for each in (votes, moved))
    for name in ("pairwise", "fleiss_kappa", "krippendorff_alpha"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value, abs=1e-12, nan_ok=True)
    shares = {each.person: each.with_others.value for each in one.people}
    for each in other.people:
        assert each.with_others.value == pytest.approx(shares[str(people[int(each.person)])], nan_ok=True)


def test_with_others_and_confusion_are_counted():
    votes = np.array([[0, 0, 1], [1, 0, 1], [1, -1, -1], [0, 1, -1]])
    first = agreement_of(from_matrix(votes), bootstraps=FEW).people[0]
    # item 0: others tie, half; item 1: others tie, half; item 2: nobody else; item 3: the other differs
    assert (first.num_votes, first.num_compared) == (4, 3)
    assert first.with_others.value == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert first.confusion.tolist() == [[0.5, 0.5], [1.5, 0.5]]


@pytest.mark.parametrize(("number", "told"), [(300, True), (12, False)])
def test_who_says_a_class_more_often_than_the_others_is_told_so(number, told):
    rng = np.random.default_rng(2)
    truth = rng.random((number, 1)) < 0.4
    votes = np.where(rng.random((number, 3)) < 0.95, truth, ~truth).astype(int)
    votes[:, 2] |= rng.random(number) < 0.3  # the last sees more
    found = agreement_of(from_matrix(votes), bootstraps=FEW)
    said = [each.difference(["normal", "abnormal"], num_people=3) for each in found.people]
    if not told:
        assert said == [None, None, None]
        return
    assert (said[2].label, said[2].share) == ("abnormal", pytest.approx(votes[:, 2].mean()))
    assert said[2].share > said[2].share_of_others == pytest.approx(votes[:, :2].mean())


@pytest.mark.parametrize(("num_people", "frequent"), [(100, 0.1), (100, 0.9), (5, 0.9)])
def test_people_who_are_alike_are_hardly_ever_said_to_differ(num_people, frequent):
    """Ten classes, one of them more frequent: the plurality gives the others less often than anybody does."""
    rng, shape = np.random.default_rng(4), (300, num_people)
    truth = np.where(rng.random((300, 1)) < frequent, 0, rng.integers(10, size=(300, 1)))
    votes = np.where(rng.random(shape) < 0.7, truth, rng.integers(10, size=shape))
    found = agreement_of(from_matrix(votes), bootstraps=10)
    classes = [str(k) for k in range(10)]
    assert sum(each.difference(classes, num_people=num_people) is not None for each in found.people) <= 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_the_exact_binomial_one(first, second):
    n, few = first + second, min(first, second)
    exact = min(1.0, 2 * sum(math.comb(n, count) for count in range(few + 1)) / 2**n)
    assert sign_test(first, second) == pytest.approx(exact, rel=1e-9)
    if first >= second:
        assert sign_test(first + 0.5, second) == sign_test(first, second), "a part of a vote makes it no more uneven"


def test_limits():
    rng = np.random.default_rng(1)
    alike = np.repeat(rng.integers(3, size=(400, 1)), 4, axis=1)
    perfect = agreement_of(from_matrix(alike), bootstraps=FEW)
    assert perfect.krippendorff_alpha.value == perfect.fleiss_kappa.value == 1.0
    assert perfect.cohen_kappa.value == 1.0
    chance = agreement_of(from_matrix(rng.integers(3, size=(4000, 4))), bootstraps=100)
    assert abs(chance.krippendorff_alpha.value) < 0.03
    assert chance.krippendorff_alpha.low < 0.0 < chance.krippendorff_alpha.high
    unanimous = agreement_of(from_matrix(np.zeros((5, 3), dtype=int)), bootstraps=FEW)
    assert np.isnan(unanimous.krippendorff_alpha.value) and np.isnan(unanimous.fleiss_kappa.value)


def test_intervals_cover():
    """Of 200 panels from one population about 95 % of the intervals hold its alpha."""
    rng = np.random.default_rng(5)

    def panel(num_items):
        truth = rng.integers(2, size=(num_items, 1))
        return np.where(rng.random((num_items, 4)) < 0.8, truth, 1 - truth)

    alpha = agreement_of(from_matrix(panel(100_000)), bootstraps=FEW).krippendorff_alpha.value
    found = [agreement_of(from_matrix(panel(150)), bootstraps=200).krippendorff_alpha for _ in range(100)]
    covered = np.mean([each.low <= alpha <= each.high for each in found])
    assert 0.86 <= covered <= 1.0


def test_same_seed_same_answer():
    votes = np.random.default_rng(0).integers(2, size=(60, 3))
    one, other = (agreement_of(from_matrix(votes), seed=3) for _ in range(2))
    assert one.krippendorff_alpha == other.krippendorff_alpha and one.pairs == other.pairs
    assert one.effective_size == other.effective_size


def test_pairs_share_enough_items():
    votes = np.random.default_rng(0).integers(2, size=(60, 3))
    votes[9:, 2] = -1  # the third shares nine items with each
    found = agreement_of(from_matrix(votes, people=["a", "b", "c"]), bootstraps=FEW)
    assert [(each.first, each.second, each.num_items) for each in found.pairs] == [("a", "b", 60)]


class TestEffectiveSize:
    def independent(self, rng, num_items=3000):
        truth = rng.integers(3, size=num_items)
        right = rng.random((num_items, 5)) < np.array([0.9, 0.8, 0.7, 0.85, 0.6])
        wrong = (truth[:, None] + rng.integers(1, 3, size=(num_items, 5))) % 3
        return truth, np.where(right, truth[:, None], wrong)

    @pytest.mark.parametrize("is_known", [True, False])
    def test_independent_people_count_in_full(self, is_known):
        truth, votes = self.independent(np.random.default_rng(0))
        found = agreement_of(from_matrix(votes), truth=truth if is_known else None, bootstraps=100).effective_size
        assert found.low - 0.1 <= 5 <= found.high + 0.1

    def test_copies_of_one_person_count_once(self):
        truth, votes = self.independent(np.random.default_rng(0))
        copies = np.repeat(votes[:, :1], 4, axis=1)
        found = agreement_of(from_matrix(copies), truth=truth, bootstraps=100).effective_size
        assert found.value == pytest.approx(1.0, abs=0.05)

    def test_errors_that_never_overlap_count_no_more_than_the_people_there_are(self):
        votes = np.zeros((90, 3), dtype=int)
        votes[np.arange(90), np.arange(90) % 3] = 1  # each is wrong on a third, never two together
        found = agreement_of(from_matrix(votes), truth=np.zeros(90, dtype=int), bootstraps=100).effective_size
        assert found.low <= found.value == found.high == 3.0

    def test_nobody_wrong(self):
        assert np.isnan(agreement_of(from_matrix([[0, 0], [1, 1]]), bootstraps=FEW).effective_size.value)


@pytest.mark.parametrize("votes", [[[0, -1], [-1, 1], [0, 1]], [0, 1], [[0.5, 1], [1, 0]], [[-2, 0], [0, 1]]], ids=str)
def test_refused(votes):
    with refused("votes"):
        agreement_of(from_matrix(votes))
