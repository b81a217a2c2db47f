from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import validate
from quorate.errors import InvalidInput, InvalidPrediction
from tests.refusals import refused


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
    ("raw", "value", "rule"),
    [
        ([0.5, 0.3], [0.5, 0.3], "a sum of 1"),
        ([[0.5, 0.5], [0.9, 0.9]], [0.9, 0.9], "a sum of 1"),
        ([np.inf, 0.0], [np.inf, 0.0], "finite"),
        ([3.2, -1.0], [3.2, -1.0], "between 0 and 1"),
        ([1.0], [1.0], "at least 2 classes"),
        (0.4, 0.4, "at least 2 classes"),
        (["a", "b"], ["a", "b"], "numbers"),
        (["0.5", "0.5"], ["0.5", "0.5"], "numbers"),
        ([0.5 + 0j, 0.5], [0.5 + 0j, 0.5], "numbers"),
        ([[0.5, 0.5], [1.0]], [[0.5, 0.5], [1.0]], "numbers"),
    ],
)
def test_bad_probabilities_say_what_is_wrong(raw, value, rule):
    with refused("prediction", InvalidPrediction, value=value) as caught:
        validate.probabilities(raw)
    assert rule in caught.value.rule


@pytest.mark.parametrize("votes", [[1.5, 0], [-1, 2], [np.nan, 1], [3], "ab", ["1", "2"]])
def test_bad_counts_are_refused(votes):
    with refused("votes"):
        validate.counts(votes)


@pytest.mark.parametrize("huge", [validate.MOST_VOTES + 1, 1e19, 1e300, 10**400])
def test_counts_no_array_holds_are_refused_and_do_not_wrap(huge):
    with refused("votes"):
        validate.counts([huge, 0])
    assert validate.counts([validate.MOST_VOTES, 0]).tolist() == [validate.MOST_VOTES, 0]


@pytest.mark.parametrize("alpha", [[0.0, 1], [np.inf, 1], [-1, 1], [2.0]])
def test_bad_concentrations_are_refused(alpha):
    with refused("alpha"):
        validate.concentrations(alpha)


@pytest.mark.parametrize(
    ("value", "fine"),
    [(3, True), (3.0, True), (np.int64(2), True), (True, False), (2.5, False), ("3", False), (0, False), (11, False)],
)
def test_whole_numbers_are_whole(value, fine):
    if fine:
        assert validate.whole(value, where="n", most=10) == int(value)
    else:
        with refused("n"):
            validate.whole(value, where="n", most=10)


@pytest.mark.parametrize("value", [pytest.param(10**5000, id="digits"), 10.0**300, validate.MOST_WHOLE + 1])
def test_whole_numbers_have_an_upper_bound_that_the_message_states(value):
    with pytest.raises(InvalidInput) as caught:
        validate.whole(value, where="n")
    assert "4294967295" in caught.value.rule


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int8(1), np.array(0.25), Fraction(1, 4)])
def test_numbers_of_any_kind_come_back_as_python_floats(value):
    assert type(validate.fraction(value, where="threshold")) is float
    assert validate.fraction(value, where="threshold") == float(value)


@pytest.mark.parametrize(
    "value", [-0.1, 1.1, np.nan, "x", "0.9", b"1", np.str_("0.5"), True, np.True_, None, [0.5], 1j, 10**400, -(10**400)]
)
def test_fractions_lie_between_0_and_1(value):
    with refused("threshold"):
        validate.fraction(value, where="threshold")


@pytest.mark.parametrize(
    "classes", ["cat", ["cat"], ["cat", "cat"], ["cat", ""], ["cat", 3], 3, None, [["cat"], "dog"], np.array(3)]
)
def test_class_names_are_different_strings(classes):
    with refused("classes"):
        validate.class_names(classes)


def test_a_message_is_one_line_and_does_not_go_on_for_ever():
    with pytest.raises(InvalidInput) as caught:
        validate.fraction(np.ones((100, 100)), where="x")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_value_that_cannot_be_shown_is_named_by_its_type():
    class Shy:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(InvalidInput) as caught:
        validate.fraction(Shy(), where="x")
    assert str(caught.value).startswith("x=<Shy>;")


@pytest.mark.parametrize("rounded", [[0.647, 0.001, 0.351], [0.5, 0.3, 0.201], [0.333, 0.333, 0.333]])
def test_probabilities_rounded_to_a_thousandth_are_taken(rounded):
    assert validate.probabilities(rounded, where="prediction").sum() == pytest.approx(1)
