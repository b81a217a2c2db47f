"""Verdicts: what they mean on worked cells, and what holds for all cells."""

import math

from hypothesis import given
from hypothesis import strategies as st

from quorate.paper.published import at_least_as_good, combined_se, difference_se, verdict

ERRORS = st.floats(0.0, 100.0)
SES = st.floats(0.0, 5.0) | st.just(math.nan)


def test_two_points_agree_whatever_the_standard_errors():
    assert verdict(13.5, 0.0, 11.52, 0.01) == "agrees"


def test_three_combined_standard_errors_agree_whatever_the_points():
    assert verdict(17.5, 1.2, 11.52, 1.6) == "agrees"
    assert verdict(17.6, 1.2, 11.52, 1.6) == "not reproduced"


def test_higher_can_be_the_good_side():
    assert verdict(9.0, 0.1, 1.0, 0.1, lower_is_better=False) == "better"
    assert verdict(1.0, 0.1, 9.0, 0.1, lower_is_better=False) == "not reproduced"


def test_below_the_floor_the_floor_is_the_aim():
    assert verdict(9.5, 0.0, 7.24, 0.1) == "not reproduced"
    assert verdict(9.5, 0.0, 7.24, 0.1, floor=7.63) == "agrees"
    assert verdict(9.5, 0.0, 8.24, 0.1, floor=3.0) == verdict(9.5, 0.0, 8.24, 0.1)


def test_what_is_not_known_is_not_reproduced():
    assert verdict(math.nan, math.nan, 7.24, 0.1) == "not reproduced"
    assert not at_least_as_good(math.nan, math.nan, 7.24, 0.1, floor=1.0)
    assert not at_least_as_good(math.nan, math.nan, 0.24, 0.1, floor=1.0)


def test_a_cell_below_the_floor_must_be_met_within_three_tenths_of_the_floor():
    assert at_least_as_good(7.92, 0.0, 7.24, 0.13, floor=7.63)
    assert not at_least_as_good(7.94, 9.0, 7.24, 0.13, floor=7.63)


@given(ERRORS, SES, ERRORS, SES)
def test_a_verdict_turns_with_the_good_side(ours, se, paper, paper_se):
    low, high = (verdict(ours, se, paper, paper_se, lower_is_better=side) for side in (True, False))
    turned = {"agrees": "agrees", "better": "not reproduced", "not reproduced": "better"}
    assert high == turned[low]


@given(ERRORS, SES, ERRORS, SES, st.floats(0.0, 20.0))
def test_less_error_never_makes_a_verdict_worse(ours, se, paper, paper_se, less):
    worth = {"not reproduced": 0, "agrees": 1, "better": 2}
    assert worth[verdict(ours - less, se, paper, paper_se)] >= worth[verdict(ours, se, paper, paper_se)]
    if at_least_as_good(ours, se, paper, paper_se, floor=0.0):
        assert at_least_as_good(ours - less, se, paper, paper_se, floor=0.0)


@given(ERRORS, SES, ERRORS, SES)
def test_the_difference_is_odd_and_its_size_is_the_error_combined(ours, se, paper, paper_se):
    there, back = difference_se(ours, se, paper, paper_se), difference_se(paper, paper_se, ours, se)
    assert there == -back
    if combined_se(se, paper_se) > 1e-3:
        assert math.isclose(there * combined_se(se, paper_se), ours - paper, abs_tol=1e-9)


@given(ERRORS, SES, SES)
def test_equal_figures_agree_exactly(error, se, paper_se):
    assert verdict(error, se, error, paper_se, points=0.0, combined=0.0) == "agrees"
    assert difference_se(error, se, error, paper_se) == 0.0
