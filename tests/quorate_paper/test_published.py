"""The printed figures: all cells are there, under names the package knows, and a handful is as printed."""

import pytest

from quorate.methods import METHODS, method
from quorate_paper import published
from quorate_paper.settings import BUDGETS, FINEXP, INFEXP, PHASES, REFIT_EVERY, WINDOW, WITHIN


def test_every_cell_of_the_shift_table_is_there():
    methods = ("random", "entropy", "mp", "fixed-finexp", "finexp", "infexp")
    cells = [published.shift_error(name, budget, phase) for name in methods for budget in BUDGETS for phase in PHASES]
    assert len(published.tables()["shift_table"]) == len(cells) == 48
    assert all(cell is not None and 1.0 < cell.value < 50.0 and 0.0 < cell.se < 3.0 for cell in cells)


def test_every_cell_of_the_two_phase_table_is_there():
    rows = published.tables()["two_phase"]
    assert len(rows) == 3 * 4 * 3
    assert {row["accuracy"] for row in rows} == {50, 70, 85}
    assert sum(row["gain"] for row in rows) == pytest.approx(30.74)


def test_blank_correlations_are_none():
    rows = published.tables()["tau_correlations"]
    blank = [row for row in rows if row["correlation"] is None]
    assert (len(rows), len(blank)) == (3 * 4 * 4, 8)
    assert all(published.tau_correlation(row["accuracy"], row["method"], row["budget"]) is None for row in blank)


@pytest.mark.parametrize(
    ("cell", "value", "se"),
    [
        (published.shift_error("random", 0.5, "post"), 47.55, 2.34),
        (published.shift_error("mp", 0.5, "pre"), 11.26, 0.35),
        (published.shift_error("fixed-finexp", 2, "post"), 8.25, 0.16),
        (published.shift_error("finexp", 3, "post"), 7.24, 0.13),
        (published.two_phase_gain(85, "fixed-ask-infexp", 2), 0.09, 0.0),
        (published.tau_correlation(70, "infexp", 2), 0.712, 0.006),
    ],
)
def test_a_handful_of_cells_is_as_printed(cell, value, se):
    assert cell == published.Printed(value, se)


def test_methods_have_our_names():
    named = {row["method"] for table in ("shift_table", "two_phase", "tau_correlations")
             for row in published.tables()[table]}  # fmt: skip
    assert named <= set(METHODS)


def test_floors_are_as_printed():
    assert published.tie_floor("imagenet16h", 3) == (10.03, False)
    assert published.tie_floor("cifar10h", 50) == (0.50, True)
    assert published.tie_floor("chaosnli", 100) is None


def test_the_papers_settings():
    assert (FINEXP.shape, FINEXP.rate, INFEXP.shape, INFEXP.rate) == (1.1, 1.0, 3.0, 2.0)
    assert (WINDOW, REFIT_EVERY, BUDGETS, WITHIN) == (500, 20, (0.5, 1.0, 2.0, 3.0), 0.1)
    for name, prior in (("finexp", FINEXP), ("infexp", INFEXP)):
        learner = method(name).learner
        assert (learner.hyperprior, learner.window, learner.refit_every) == (prior, WINDOW, REFIT_EVERY)
