"""Votes at equal error: read from the curves and stated in sentences, whichever method wins."""

import numpy as np
import pytest

from quorate.methods import method
from quorate.streams.curves import compare, equal_error
from quorate.streams.sweep import Point, curve
from quorate.workflows.demo import SETTINGS, headline_of
from quorate.workflows.demo.report import equal_error_sentence

NUM_ITEMS = 1000


def made(name, *pairs, other_items=False):
    """A curve whose items become wrong one after the other, so that two curves differ on few items, or on many."""
    wrong = np.arange(NUM_ITEMS)[:: -1 if other_items else 1] / NUM_ITEMS
    return curve([Point(method(name), cost, (wrong < error).astype(float)) for cost, error in pairs])


def compared(ours, beta, *, other_items=False):
    """quorate against beta; asking until settled costs 4 votes, so the middle budget is 2."""
    settled, everyone = made("until-settled", (4.0, 0.05)), made("ask-all", (6.0, 0.05))
    rivals = made("finexp", (0.0, 0.5), (4.0, 0.05)), made("beta", *beta, other_items=other_items)
    return compare(SETTINGS[0], (1,), [made("value", *ours), *rivals, settled, everyone])


def test_the_rule_needs_what_its_curve_says():
    comparison = compared([(0.0, 0.5), (2.0, 0.2), (4.0, 0.05)], [(0.0, 0.5), (2.0, 0.3), (4.0, 0.1)])
    found = equal_error(comparison)
    assert (found.simple, found.error_rate, found.ours) == ("beta", pytest.approx(0.2), pytest.approx(2.0))
    assert found.votes == pytest.approx(3.0)
    assert found.low < found.votes < found.high
    assert found.fewer == pytest.approx(1 / 3)
    assert found.is_clear
    assert (found.until_settled, found.settled_error_rate) == (4.0, pytest.approx(0.05))
    assert "quorate asks 33 % fewer for the same error" in equal_error_sentence(comparison)
    assert "needs 3.0 votes (quorate asks 33 % fewer" in headline_of(comparison)


def test_a_better_rule_is_said_to_be_better():
    comparison = compared([(0.0, 0.5), (2.0, 0.2), (4.0, 0.05)], [(0.0, 0.5), (1.6, 0.1), (4.0, 0.05)])
    assert equal_error(comparison).fewer < 0
    assert "% more for the same error" in equal_error_sentence(comparison)


def test_a_difference_within_the_error_of_the_run_is_none():
    comparison = compared([(0.0, 0.5), (2.0, 0.2), (4.0, 0.05)], [(0.0, 0.5), (2.0, 0.201), (4.0, 0.05)])
    assert not equal_error(comparison).is_clear
    assert "no clear difference" in equal_error_sentence(comparison)


def test_a_rule_that_never_gets_there_is_said_so():
    comparison = compared([(0.0, 0.5), (2.0, 0.2), (4.0, 0.05)], [(0.0, 0.5), (4.0, 0.3)])
    found = equal_error(comparison)
    assert (found.votes, found.fewer, found.is_clear) == (None, None, False)
    assert "no simple rule reaches" in equal_error_sentence(comparison)
    assert "no simple rule reaches quorate's error" in headline_of(comparison)


def test_a_rule_that_gets_no_lower_has_no_upper_end():
    rule = [(0.0, 0.5), (3.0, 0.2), (4.0, 0.199)]
    comparison = compared([(0.0, 0.5), (2.0, 0.2), (4.0, 0.05)], rule, other_items=True)
    found = equal_error(comparison)
    assert found.high is None
    assert found.low < found.votes == pytest.approx(3.0)
    assert f"(beta) 3.00 (at least {found.low:.2f} within two standard errors)" in equal_error_sentence(comparison)
