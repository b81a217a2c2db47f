"""Areas and dominance on curves whose areas are known."""

import math

import pytest

from quorate.paper.shift.claims import (
    area_of,
    area_ratios,
    best_single_finexp,
    common_range,
    dominance,
    excess_ratio,
    fused_ratios,
)
from quorate.paper.shift.streams import Streams
from tests.paper.made_streams import END, MODELS, SEEDS, made, outcome, straight


def test_the_area_of_a_straight_line_is_its_mean_times_the_range():
    line = straight("finexp", "m", 3)  # 50 % to 5 % over the whole stream
    assert area_of(line, 0.0, END) == pytest.approx(27.5 * END)


def test_the_common_range_is_what_all_curves_reach():
    short = outcome("finexp", "m", 3, [[1, 1], [2, 2]], [[0.1, 0.1]] * 2)
    assert common_range((short, straight("finexp", "m", 3))) == (1.0, 2.0)


def test_ratios_compare_each_stream_with_its_own():
    streams = made(quorate=(0.2, 0.3), quorate_all=(0.1, 0.1))  # means 0.25 and 0.1 at no cost
    assert area_ratios(streams, "value", "finexp") == pytest.approx((15.0 / 27.5, 0.0))
    assert area_ratios(streams, "value-all", "value")[0] == pytest.approx(7.5 / 15.0)


def test_fused_is_set_against_the_best_single_one_of_each_seed():
    streams = made(quorate=(0.4, 0.6), quorate_all=(0.1, 0.1))
    best = straight("value", "densenet", 4, start=(0.2, 0.3))
    singles = (*streams.outcomes["value"][:3], best)
    first, second = fused_ratios(Streams(MODELS, SEEDS, dict(streams.outcomes) | {"value": singles}))
    assert (first.seed, first.ratio) == (3, pytest.approx(7.5 / 27.5))
    assert (second.seed, second.best, second.ratio) == (4, "densenet", pytest.approx(7.5 / 15.0))
    middle = (0.05 + 0.90) / 2  # of the until-settled cost: where a straight line has its mean
    assert second.inner_ratio == pytest.approx((0.10 - 0.05 * middle) / (0.25 - 0.20 * middle))


def test_above_the_floor_more_is_gained():
    streams = made(quorate=(0.2, 0.3), quorate_all=(0.1, 0.1), finexp=(0.4, 0.6))
    assert excess_ratio(streams, fused_ratios(streams)) == pytest.approx((7.5 - 5.0) / (15.0 - 5.0))
    assert best_single_finexp(streams) == pytest.approx(7.5 / 27.5)


def test_a_method_below_its_baseline_is_below_everywhere_and_the_other_way_round():
    streams = made(finexp=(0.2, 0.3))
    below, above = dominance(streams, "finexp", "random"), dominance(streams, "random", "finexp")
    assert below.worst < -2.0 < 2.0 < above.worst
    assert below.area_ratio < 1.0
    assert below.area_ratio * above.area_ratio == pytest.approx(1.0)


def test_equal_curves_are_level():
    assert dominance(made(), "infexp", "mp").worst == 0.0


def test_one_stream_has_no_standard_error():
    one = Streams(("m",), (3,), {name: each[:1] for name, each in made().outcomes.items()})
    assert math.isnan(dominance(one, "infexp", "mp").worst)
