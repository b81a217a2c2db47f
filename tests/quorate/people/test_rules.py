"""Rules about people: typed values that a journal stores as data. And people with impossible values are refused."""

import pytest

from quorate import CountAtMost, DailyLimit, Expert, MustConfirm, NeverTogether
from quorate.errors import InvalidInput
from quorate.people.rules import rule_data, rule_from
from tests.refusals import refused

RULES = [
    MustConfirm("senior"),
    MustConfirm("senior", "malignant"),
    CountAtMost("trainee", 2),
    NeverTogether("ann", "bob"),
    DailyLimit("trainee", 9, is_rank=True),
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_read_back_from_its_data(rule):
    assert rule_from(rule_data(rule)) == rule


@pytest.mark.parametrize(
    "given",
    ["ann is nice", None, {}, {"rule": "daily_limit"}, {"rule": "daily_limit", "who": "ann", "most": 1, "more": 2},
     {"rule": "daily_limit", "who": "ann", "most": -1}, {"rule": "never_together", "first": "ann", "second": "ann"}],
)  # fmt: skip
def test_what_is_no_rule_is_refused(given):
    with pytest.raises(InvalidInput):
        rule_from(given)


@pytest.mark.parametrize(
    ("field", "values"),
    [("name", {"name": ""}), ("name", {"name": " ann"}), ("cost", {"cost": 0}), ("cost", {"cost": float("nan")}),
     ("rank", {"rank": 3}), ("daily_limit", {"daily_limit": 1.5}), ("name", {"name": "\ud800"})],
)  # fmt: skip
def test_an_expert_with_impossible_values_is_refused(field, values):
    with refused(field):
        Expert(**({"name": "ann"} | values))
