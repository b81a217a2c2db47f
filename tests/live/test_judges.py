"""Judges and juries: names, prices and the order in which they are asked."""

import pytest

from quorate.errors import InvalidInput
from quorate.live import Judge, Jury


def names(jury, item, acted=()):
    return [judge.name for judge in jury.line(item, acted)]


JUDGES = [Judge(name, str, cost=cost) for name, cost in [("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 1.0)]]


def test_the_random_order_depends_on_seed_and_item_only():
    jury = Jury(JUDGES, seed=5)
    orders = {item: names(jury, item) for item in map(str, range(40))}
    assert orders == {item: names(Jury(JUDGES, seed=5), item) for item in orders}
    assert {order[0] for order in orders.values()} == {"a", "b", "c", "d"}
    assert orders != {item: names(Jury(JUDGES, seed=6), item) for item in orders}


def test_those_who_acted_are_left_out_and_the_rest_keep_their_order():
    whole = names(Jury(JUDGES), "x")
    assert names(Jury(JUDGES), "x", acted={whole[1]}) == [whole[0], *whole[2:]]


def test_the_cheapest_come_first_and_equals_as_given():
    assert names(Jury(JUDGES, order="cheapest"), "x") == ["b", "d", "c", "a"]


def test_the_whole_jury_costs_the_sum_of_its_judges():
    assert Jury(JUDGES).full_cost(4) == 7 and Jury(JUDGES).price_of("a") == 3 and Jury(JUDGES).price_of("z") == 0


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Judge("", str), "name"),
        (lambda: Judge("a", "gpt"), "ask"),
        (lambda: Judge("a", str, cost=-1), "cost"),
        (lambda: Judge("a", str, failure_cost="free"), "failure_cost"),
        (lambda: Jury([]), "judges"),
        (lambda: Jury([JUDGES[0], JUDGES[0]]), "judges"),
        (lambda: Jury([str]), "judges"),
        (lambda: Jury([Judge(None, str)]), "judges"),
        (lambda: Jury(JUDGES, order="best"), "order"),
        (lambda: Jury(JUDGES, seed=-1), "seed"),
    ],
)
def test_what_is_wrong_is_named(make, field):
    with pytest.raises(InvalidInput) as caught:
        make()
    assert caught.value.field == field
