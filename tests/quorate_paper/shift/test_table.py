"""The shift table on curves that can be read by hand: what a cell is, which cells count, and what has no runs."""

import json
import math

import pytest

from quorate_paper.published import Printed, shift_error
from quorate_paper.shift.near import GROUPINGS
from quorate_paper.shift.stored import SAMPLED, Stored
from quorate_paper.shift.streams import Streams, costs_at, errors_at
from quorate_paper.shift.table import COLUMNS, ROWS, SAMPLED_ROW, as_table, cells, counts, reading
from tests.quorate_paper.made_streams import made, outcome, straight


def cell(table, method, budget, phase):
    (found,) = (each for each in table if (each.method, each.budget, each.phase) == (method, budget, phase))
    return found


def stored(error=0.1):
    """Runs as published at the budgets only; FinExp with importance samples on one classifier."""

    def runs(model):
        return tuple(outcome("finexp", model, seed, [[b, b] for b in (0.5, 1, 2, 3)], [[error, error]] * 4)
                     for seed in (3, 4))  # fmt: skip

    every = (*runs("alexnet"), *runs("densenet"))
    kinds = ("as-published", "finexp"), ("as-published", "infexp"), ("as-released", "finexp")
    return Stored({}, dict.fromkeys(kinds, every) | {(SAMPLED, "finexp"): runs("densenet")})


def test_the_grouping_says_which_cost_the_budget_means():
    dear_later = straight("finexp", "m", 3, costs=(0.4, 1.0))  # before the shift 0.4 x, whole 0.7 x END x parameter
    assert errors_at([dear_later], 1.0, "pre-shift cost", "post") == pytest.approx([34.0])  # parameter 0.5
    assert errors_at([dear_later], 1.75, "whole-stream cost", "post") == pytest.approx([34.0])
    assert costs_at([dear_later], 1.75, "pre") == pytest.approx([1.0])


def test_a_budget_without_a_run_within_a_tenth_has_no_runs():
    jumps = outcome("finexp", "a", 3, [[0, 0], [0.73, 0.73], [1.62, 1.62], [2.3, 2.3]], [[0.4, 0.4]] * 4)
    assert reading([jumps], 1.0, "whole-stream cost", "pre").text == "no runs"
    near = outcome("finexp", "b", 3, [[0, 0], [0.95, 0.95], [4, 4]], [[0.3, 0.3]] * 3)
    found = reading([jumps, near], 1.0, "whole-stream cost", "pre")
    assert (found.value, found.is_whole, found.text) == (pytest.approx(30.0), False, "30.00 (1 of 2 classifiers)")


def test_cells_are_means_over_classifiers_with_the_standard_error_over_seeds():
    far = tuple(outcome("random", model, seed, [[0, 0], [2, 2]], [[high, high], [high / 2, high / 2]])
                for model, high in (("a", 0.2), ("b", 0.8)) for seed in (3, 4))  # fmt: skip
    found = reading(far, 2.0, "pre-shift cost", "pre")
    assert (found.value, found.se) == (pytest.approx(25.0), pytest.approx(0.0, abs=1e-9))


def test_every_printed_cell_has_its_columns_side_by_side():
    table = cells(made(), stored(), "pre-shift cost")
    assert len(table) == len(ROWS) * 4 * 2 + 2
    assert set(cell(table, "finexp", 1.0, "pre").read) == set(COLUMNS)
    assert set(cell(table, "infexp", 1.0, "pre").read) == {"as_published", "as_released", "exact", "value"}
    assert set(cell(table, "mp", 1.0, "pre").read) == {
        "as_released",
        "exact",
        "value",
    }  # its released rule is exact, too
    assert cell(table, "mp", 1.0, "pre").printed == shift_error("mp", 1.0, "pre")
    sampled = cell(table, SAMPLED_ROW, 2.0, "post")
    assert {reading.num_models for reading in sampled.read.values()} == {1}  # like with like: one classifier everywhere
    shown = as_table(table, "pre-shift cost")
    assert shown.heads[3:] == ("printed", *(head for name, head in COLUMNS.items() if name != "value"))
    assert [row[0] for row in shown.rows].count("value") == 8, "once for each budget and phase"
    assert None not in {cell for row in shown.rows for cell in row}
    assert {len(row) for row in shown.rows} == {len(shown.heads)}


def test_without_stored_runs_the_columns_are_empty():
    table = cells(made(), None, "pre-shift cost")
    assert not any({"as_published"} & set(each.read) for each in table)
    assert SAMPLED_ROW not in {each.method for each in table}


def test_both_counts_leave_out_what_some_classifier_does_not_reach():
    assert shift_error("finexp", 2, "pre") == Printed(2.18, 0.11)
    table = [each for grouping in GROUPINGS for each in cells(made(), stored(0.0218), grouping)]
    found = {(each.column, each.grouping): each for each in counts(table)}
    mine = found["as_published", "pre-shift cost"]
    assert (mine.total, mine.close) == (16, 1)  # FinExp and InfExp; FinExp at 2 votes before the shift alone
    assert mine.near > mine.close
    some = made()
    short = tuple(straight("finexp", "alexnet", seed) for seed in (3, 4)) + tuple(
        outcome("finexp", "densenet", seed, [[0, 0], [0.2, 0.2]], [[0.4, 0.4]] * 2) for seed in (3, 4)
    )
    fewer = Streams(some.models, some.seeds, dict(some.outcomes) | {"finexp": short})
    whole, less = (counts(cells(streams, None, "pre-shift cost"))[2].total for streams in (some, fewer))
    assert whole - less > 0


def test_rows_are_plain_json():
    row = cell(cells(made(), stored(), "pre-shift cost"), "finexp", 2.0, "pre").row()
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert not math.isnan(row["exact"]) and {"printed", "as_published", "as_released", "finexp_32", "value"} <= set(row)
