"""Claims of the shift experiment hold when they should and fail when they should."""

import numpy as np
import pytest

from quorate_paper.settings import BUDGETS
from quorate_paper.shift.claims import claims
from quorate_paper.shift.near import GROUPINGS
from quorate_paper.shift.streams import LABELS, Course
from quorate_paper.shift.table import cells
from tests.quorate_paper.made_streams import END, MODELS, made

LOWER = {"finexp": (0.2, 0.3), "infexp": (0.2, 0.3), "fixed_finexp": (0.25, 0.35), "value_all": (0.1, 0.1)}


def course(name, model, budget, *, pre=2.0, post=2.0, error=10.0):
    costs = np.repeat([[pre] * 8 + [post] * 8], 2, axis=0)
    errors = np.full((2, 16), error) + np.array([[0.1], [-0.1]])
    return Course(name, model, budget, errors, costs)


REFITS = {(name, every): (2.0, 6.0) for name in ("finexp", "infexp") for every in (20, 1)}


def claimed(pre=None, refits=None, **starts):
    streams = made(**(LOWER | starts))
    table = tuple(each for grouping in GROUPINGS for each in cells(streams, None, grouping))
    over_time = {(name, model, budget): course(name, model, budget, pre=(pre or {}).get(name, 2.0),
                                               post=4.0 - (pre or {}).get(name, 2.0))
                 for name in LABELS for model in MODELS for budget in BUDGETS}  # fmt: skip
    time = {name: over_time[name, MODELS[0], 2.0] for name in LABELS}
    return {claim.text[:25]: claim for claim in claims(streams, table, over_time, time, MODELS[0], refits or REFITS)}


def test_a_quotation_names_its_section_and_our_own_checks_have_none():
    found = claimed().values()
    assert all(claim.source.startswith(("section", "appendix")) for claim in list(found)[:-2])
    assert [claim.source for claim in list(found)[-2:]] == ["", ""]
    assert BUDGETS[-1] < END


@pytest.mark.parametrize("start", ["our proposed methods possess"[:25], "Both before and after distribution"[:25]])
def test_a_method_above_a_baseline_is_found(start):
    assert claimed()[start].holds is True
    worse = claimed(infexp=(0.5, 0.7))[start]
    assert worse.holds is False
    assert "InfExp against RANDOM" in worse.measured


def test_the_lowest_cost_before_and_the_highest_after_must_be_those_of_infexp():
    text = "though InfExp and Fixed maintain"[:25]
    assert claimed(pre={"infexp": 1.0})[text].holds is True
    assert claimed(pre={"infexp": 1.0, "finexp": 0.5})[text].holds is False


def test_equal_costs_before_and_after_are_no_under_query():
    found = claimed()["our methods tend to under-query"[:25]]
    assert found.holds is False and "0 of" in found.measured


def test_a_fit_after_every_item_must_change_next_to_nothing():
    text = "we learn them at a fixed interval"[:25]
    assert claimed()[text].holds is True
    assert claimed(refits=REFITS | {("finexp", 1): (2.0, 7.6)})[text].holds is False
