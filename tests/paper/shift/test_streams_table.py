"""The table of the shift experiment on curves that can be read by hand."""

import json

import pytest

from quorate.paper.published import shift_error
from quorate.paper.shift.streams import LABELS, Streams, as_row, cells, count, errors_at
from tests.paper.made_streams import made, outcome, straight


def cell(table, method, budget, phase):
    (found,) = (each for each in table if (each.method, each.budget, each.phase) == (method, budget, phase))
    return found


def test_the_grouping_says_which_cost_the_budget_means():
    dear_later = straight(
        "finexp", "m", 3, costs=(0.4, 1.0)
    )  # costs 0.4 x before the shift: whole = 0.7 x END x parameter
    pre = errors_at([dear_later], 1.0, "pre-shift cost", "post")  # parameter 0.5
    whole = errors_at([dear_later], 1.75, "whole-stream cost", "post")  # parameter 0.5
    assert pre == pytest.approx([34.0])
    assert whole == pytest.approx([34.0])


def test_cells_are_means_over_streams_with_their_standard_error():
    streams = made()
    two = (outcome("finexp", "a", 3, [[0, 0], [4, 4]], [[0.4, 0.4], [0.0, 0.0]]),
           outcome("finexp", "b", 3, [[0, 0], [4, 4]], [[0.2, 0.2], [0.0, 0.0]]))  # fmt: skip
    table = cells(Streams(("a", "b"), (3,), dict(streams.outcomes) | {"finexp": two}), "pre-shift cost")
    found = cell(table, "finexp", 2.0, "pre")
    assert (found.ours, found.se) == pytest.approx((15.0, 5.0))
    assert (found.paper, found.paper_se) == shift_error("finexp", 2.0, "pre")


def test_the_bin_counts_runs_within_a_tenth():
    near = outcome("finexp", "a", 3, [[0, 0], [0.92, 1], [1.05, 1], [1.2, 1], [4, 4]], [[v, v] for v in
                   (0.4, 0.3, 0.2, 0.1, 0.0)])  # fmt: skip
    table = cells(Streams(("a",), (3,), dict(made().outcomes) | {"finexp": (near,)}), "pre-shift cost")
    found = cell(table, "finexp", 1.0, "pre")
    assert (found.num_runs, found.binned) == (2, pytest.approx(25.0))
    assert cell(table, "finexp", 2.0, "pre").binned is None


def test_the_whole_table_has_a_cell_for_each_method_budget_and_phase():
    table = cells(made(), "whole-stream cost")
    assert len(table) == len(LABELS) * 4 * 2
    assert {each.method for each in table if each.paper is None} == {"fixed-infexp", "value", "value-all"}
    assert count(table, LABELS, ("agrees", "better", "not reproduced"))[1] == 7 * 8  # MP stands beside two rows


def test_both_readings_of_model_picker_stand_beside_the_printed_one():
    table = cells(made(), "pre-shift cost")
    assert cell(table, "mp", 1.0, "pre").paper == cell(table, "mp-released", 1.0, "pre").paper == 9.06


def test_rows_are_plain_json_and_a_budget_out_of_reach_is_not_reproduced():
    short = (outcome("finexp", "a", 3, [[0, 0], [1, 1]], [[0.4, 0.4], [0.0, 0.0]]),)
    table = cells(Streams(("a",), (3,), dict(made().outcomes) | {"finexp": short}), "pre-shift cost")
    row = as_row(cell(table, "finexp", 2.0, "pre"))
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert (row["ours"], row["se"], row["verdict"]) == (None, None, "not reproduced")
    assert set(row) == {
        "method", "budget", "grouping", "phase", "ours", "se", "streams_se", "paper", "paper_se", "verdict", "binned",
        "num_runs", "difference_se",
    }  # fmt: skip


def test_how_far_classifiers_lie_apart_is_no_standard_error():
    far = tuple(
        outcome("random", model, seed, [[0, 0], [4, 4]], [[high, high], [0.0, 0.0]])
        for model, high in (("a", 0.2), ("b", 0.8)) for seed in (3, 4)
    )  # fmt: skip
    one = cell(cells(Streams(("a", "b"), (3, 4), dict(made().outcomes) | {"random": far}), "pre-shift cost"),
               "random", 2.0, "pre")  # fmt: skip
    assert one.ours == pytest.approx(25.0)
    assert one.se == pytest.approx(0.0, abs=1e-9)
    assert one.streams_se > 5


def test_the_paper_stands_beside_both_groupings():
    assert cell(cells(made(), "whole-stream cost"), "random", 2.0, "pre").verdict is not None
