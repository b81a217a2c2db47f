"""Rules in words: a sentence becomes a value, the value writes the sentence, and nonsense is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import CostOf, CountAtMost, DailyLimit, Expert, MustConfirm, NeverTogether, PairsOnce, parse_rule
from quorate.errors import InvalidInput
from quorate.experts.rules import EXAMPLES, parse_rules

names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(
    lambda each: each == each.strip()
)
numbers = st.integers(0, 10**6)
rules = st.one_of(
    st.builds(MustConfirm, names, st.none() | names),
    st.builds(CountAtMost, names, numbers),
    st.tuples(names, names).filter(lambda two: two[0] != two[1]).map(lambda two: NeverTogether(*two)),
    st.just(PairsOnce()),
    st.builds(CostOf, names, st.floats(1e-6, 1e9), st.booleans()),
    st.builds(DailyLimit, names, numbers, st.booleans()),
)


@given(rules)
def test_a_rule_is_read_back_from_its_own_sentence(rule):
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("A senior must confirm before an item closes as malignant.", MustConfirm("senior", "malignant")),
        ('an "on call" must confirm before an item closes', MustConfirm("on call")),
        ("at most 2 votes by trainees count towards the stop", CountAtMost("trainee", 2)),
        ("at most 1 vote by any boss counts towards the stop", CountAtMost("boss", 1)),
        ("never ann and bob on the same item", NeverTogether("ann", "bob")),
        ("never the same two people on one item", PairsOnce()),
        ("ann costs 2.5", CostOf("ann", 2.5)),
        ("every senior costs 5", CostOf("senior", 5, is_rank=True)),
        ("each trainee answers at most 50 votes per day", DailyLimit("trainee", 50, is_rank=True)),
        ("ann answers at most 20 a day", DailyLimit("ann", 20)),
    ],
)
def test_plain_sentences_are_understood(sentence, rule):
    assert parse_rule(sentence) == rule


def test_the_examples_in_the_error_are_sentences_it_understands():
    assert len({type(rule) for rule in parse_rules(EXAMPLES)}) == len(EXAMPLES)


@pytest.mark.parametrize(
    "said",
    [
        "ann is nice",
        "",
        "ann costs nothing",
        "ann costs 1e99",
        "never ann and ann on one item",
        7,
        None,
        "ann costs -1",
    ],
)
def test_what_is_no_rule_is_refused(said):
    with pytest.raises(InvalidInput):
        parse_rule(said)


def test_one_sentence_is_not_a_list_of_them():
    with pytest.raises(InvalidInput) as caught:
        parse_rules("ann costs 2")
    assert caught.value.field == "rules"


@pytest.mark.parametrize(
    ("field", "values"),
    [("name", {"name": ""}), ("name", {"name": " ann"}), ("cost", {"cost": 0}), ("cost", {"cost": float("nan")}),
     ("rank", {"rank": 3}), ("daily_limit", {"daily_limit": 1.5}), ("name", {"name": "\ud800"})],
)  # fmt: skip
def test_an_expert_with_impossible_values_is_refused(field, values):
    with pytest.raises(InvalidInput) as caught:
        Expert(**({"name": "ann"} | values))
    assert caught.value.field == field
