"""Draws: by item id alone, at the promised rate, and refused where they would prove nothing."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.audit import AuditDraw, draw
from quorate.errors import InvalidInput

IDS = [f"item-{number}" for number in range(4000)]


def test_a_longer_list_and_another_order_give_the_same_draws():
    first = draw(IDS[:100], 0.3, seed=5)
    again = {one.item: one for one in draw(IDS[::-1], 0.3, seed=5)}
    assert all(again[one.item] == one for one in first)


def test_another_seed_gives_other_draws():
    assert draw(IDS[:200], 0.3, seed=5) != draw(IDS[:200], 0.3, seed=6)


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_the_share_audited_is_the_rate(rate):
    audited = sum(one.audited for one in draw(IDS, rate, seed=1))
    assert abs(audited - 4000 * rate) < 4 * (4000 * rate * (1 - rate)) ** 0.5


def test_draws_of_neighbouring_ids_are_independent():
    draws = [one.audited for one in draw(IDS, 0.5, seed=2)]
    both = sum(a and b for a, b in pairwise(draws))
    assert abs(both - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 * 1.3  # overlapping pairs: a little more variance


def test_rate_one_audits_everything():
    assert all(one.audited for one in draw(IDS[:50], 1, seed=0))


def test_each_item_may_have_its_own_rate_and_a_higher_one_only_adds_audits():
    low, high = draw(IDS, 0.1, seed=3), draw(IDS, [0.1, 0.4] * 2000, seed=3)
    assert high[0] == AuditDraw(IDS[0], 0.1, low[0].audited)
    assert all(b.audited for a, b in zip(low, high, strict=True) if a.audited)
    assert sum(one.audited for one in high) > sum(one.audited for one in low)


@given(st.lists(st.text(min_size=1), unique=True, max_size=20), st.randoms())
@settings(max_examples=50, deadline=None)
def test_any_text_is_an_id_and_order_never_matters(ids, random):
    shuffled = random.sample(ids, len(ids))
    assert set(draw(ids, 0.5, seed=9)) == set(draw(shuffled, 0.5, seed=9))


@pytest.mark.parametrize(
    ("items", "rates", "field"),
    [
        ("abc", 0.1, "items"),
        (["a", ""], 0.1, "items"),
        (["a", 3], 0.1, "items"),
        (["a", "b", "a"], 0.1, "items"),
        (["a"], 0, "rates"),
        (["a"], 1.5, "rates"),
        (["a", "b"], [0.1], "rates"),
        (["a", "b"], [0.5, 0.01], "rates"),
    ],
)
def test_what_would_prove_nothing_is_refused(items, rates, field):
    with pytest.raises(InvalidInput) as caught:
        draw(items, rates, seed=0, min_rate=0.05)
    assert caught.value.field == field


def test_a_negative_seed_is_refused():
    with pytest.raises(InvalidInput) as caught:
        draw(["a"], 0.1, seed=-1)
    assert (caught.value.field, caught.value.value) == ("seed", -1)
