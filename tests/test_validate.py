from fractions import Fraction

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
    with pytest.raises(InvalidPrediction) as caught:
        validate.probabilities(raw)
    assert (caught.value.field, caught.value.value) == ("prediction", value)
    assert rule in caught.value.rule


def test_text_in_an_array_of_objects_is_no_probability():
    with pytest.raises(InvalidPrediction) as caught:
        validate.probabilities(np.array(["0.5", 0.5], dtype=object))
    assert caught.value.rule == "numbers"


def test_the_row_with_the_bad_prediction_is_named():
    with pytest.raises(InvalidPrediction) as caught:
        validate.probabilities([[0.5, 0.5], [0.9, 0.9]])
    assert caught.value.place == "row 1"


@pytest.mark.parametrize("votes", [[1.5, 0], [-1, 2], [np.nan, 1], [3], "ab", ["1", "2"]])
def test_bad_counts_are_refused(votes):
    with pytest.raises(InvalidInput) as caught:
        validate.counts(votes)
    assert caught.value.field == "votes"


@pytest.mark.parametrize("huge", [validate.MOST_VOTES + 1, 1e19, 1e300, 10**400])
def test_counts_no_array_holds_are_refused_and_do_not_wrap(huge):
    with pytest.raises(InvalidInput) as caught:
        validate.counts([huge, 0])
    assert caught.value.field == "votes"
    assert validate.counts([validate.MOST_VOTES, 0]).tolist() == [validate.MOST_VOTES, 0]


@pytest.mark.parametrize("alpha", [[0.0, 1], [np.inf, 1], [-1, 1], [2.0]])
def test_bad_concentrations_are_refused(alpha):
    with pytest.raises(InvalidInput) as caught:
        validate.concentrations(alpha)
    assert caught.value.field == "alpha"


@pytest.mark.parametrize(
    ("value", "fine"),
    [(3, True), (3.0, True), (np.int64(2), True), (True, False), (2.5, False), ("3", False), (0, False), (11, False)],
)
def test_whole_numbers_are_whole(value, fine):
    if fine:
        assert validate.whole(value, where="n", most=10) == int(value)
    else:
        with pytest.raises(InvalidInput) as caught:
            validate.whole(value, where="n", most=10)
        assert caught.value.field == "n"


@pytest.mark.parametrize("value", [pytest.param(10**5000, id="digits"), 10.0**300, validate.MOST_WHOLE + 1])
def test_whole_numbers_have_an_upper_bound_that_the_message_states(value):
    with pytest.raises(InvalidInput) as caught:
        validate.whole(value, where="n")
    assert caught.value.rule.endswith("<= 4294967295")
    assert caught.value.fix == "lower it."


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int8(1), np.array(0.25), Fraction(1, 4)])
def test_numbers_of_any_kind_come_back_as_python_floats(value):
    assert type(validate.fraction(value, where="threshold")) is float
    assert validate.fraction(value, where="threshold") == float(value)


@pytest.mark.parametrize(
    "value", [-0.1, 1.1, np.nan, "x", "0.9", b"1", np.str_("0.5"), True, np.True_, None, [0.5], 1j, 10**400, -(10**400)]
)
def test_fractions_lie_between_0_and_1(value):
    with pytest.raises(InvalidInput) as caught:
        validate.fraction(value, where="threshold")
    assert caught.value.field == "threshold"
    assert caught.value.rule == "a number in [0, 1]"


@pytest.mark.parametrize(
    "classes", ["cat", ["cat"], ["cat", "cat"], ["cat", ""], ["cat", 3], 3, None, [["cat"], "dog"], np.array(3)]
)
def test_class_names_are_different_strings(classes):
    with pytest.raises(InvalidInput) as caught:
        validate.class_names(classes)
    assert caught.value.field == "classes"


@pytest.mark.parametrize(
    ("check", "fix"),
    [
        (lambda: validate.whole(0, where="n"), "raise it"),
        (lambda: validate.whole(11, where="n", most=10), "lower it"),
        (lambda: validate.whole("3", where="n"), "pass e.g. `n=1`."),
        (lambda: validate.fraction(1.5, where="x"), "lower it"),
        (lambda: validate.fraction(-1, where="x"), "raise it"),
        (lambda: validate.fraction("0.9", where="x"), "pass a number, e.g. `x=0`."),
        (lambda: validate.counts([0.5, 1]), "pass how many votes"),
        (lambda: validate.counts([3]), "pass one count per class"),
        (lambda: validate.counts([1e300, 0]), "pass the votes of one item"),
        (lambda: validate.concentrations([1.0]), "pass one concentration"),
        (lambda: validate.concentrations([0.0, 1.0]), "pass numbers above 0"),
        (lambda: validate.class_names(["cat", "cat"]), "name every class once"),
        (lambda: validate.class_names(["cat", 3]), "give each class a name"),
        (lambda: validate.class_names(None), "pass e.g."),
    ],
)
def test_every_message_says_what_to_do(check, fix):
    with pytest.raises(InvalidInput) as caught:
        check()
    assert caught.value.fix.startswith(fix)


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
