import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import validate
from quorate.errors import InvalidInput, InvalidPrediction


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20).filter(lambda values: sum(values) > 1e-6))
def test_probabilities_come_out_on_the_simplex_with_finite_logs(values):
    given_probs = np.array(values) / np.sum(values)
    probs = validate.probabilities(given_probs)
    assert probs.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.isfinite(np.log(probs)))
    np.testing.assert_allclose(probs, given_probs, atol=1e-7)


def test_a_sum_slightly_off_is_renormalised_and_the_input_is_left_alone():
    raw = np.array([0.5, 0.4995])
    assert validate.probabilities(raw).sum() == pytest.approx(1.0, abs=1e-15)
    assert raw.tolist() == [0.5, 0.4995]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([0.5, 0.3], "sums to 0.8; expected 1"),
        ([[0.5, 0.5], [0.9, 0.9]], "sums to 1.8"),
        ([np.inf, 0.0], "contains inf"),
        ([3.2, -1.0], "logits"),
        ([1.0], "at least 2 classes"),
        (0.4, "at least 2 classes"),
        (["a", "b"], "not numeric"),
        ([[0.5, 0.5], [1.0]], "rectangular"),
    ],
)
def test_bad_probabilities_say_what_is_wrong(raw, words):
    with pytest.raises(InvalidPrediction, match=words):
        validate.probabilities(raw)


@pytest.mark.parametrize("votes", [[1.5, 0], [-1, 2], [np.nan, 1], [3], "ab"])
def test_bad_counts_are_refused(votes):
    with pytest.raises(InvalidInput, match="votes"):
        validate.counts(votes)


@pytest.mark.parametrize("alpha", [[0.0, 1], [np.inf, 1], [-1, 1], [2.0]])
def test_bad_concentrations_are_refused(alpha):
    with pytest.raises(InvalidInput, match="alpha"):
        validate.concentrations(alpha)


@pytest.mark.parametrize(
    ("value", "fine"),
    [(3, True), (3.0, True), (np.int64(2), True), (True, False), (2.5, False), ("3", False), (0, False), (11, False)],
)
def test_whole_numbers_are_whole(value, fine):
    if fine:
        assert validate.whole(value, where="n", most=10) == int(value)
    else:
        with pytest.raises(InvalidInput, match="n="):
            validate.whole(value, where="n", most=10)


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, "x", True, None])
def test_fractions_lie_between_0_and_1(value):
    with pytest.raises(InvalidInput, match=r"in \[0, 1\]"):
        validate.fraction(value, where="threshold")


@pytest.mark.parametrize("classes", ["cat", ["cat"], ["cat", "cat"], ["cat", ""], ["cat", 3]])
def test_class_names_are_different_strings(classes):
    with pytest.raises(InvalidInput, match="classes"):
        validate.class_names(classes)
