"""The running bound: item by item equal to all at once, its limits, its monotonicity, its coverage at every time."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.audit import RunningAudit, audit_of, running_totals
from quorate.audit.running import SCALED, lambdas, log_terms, solve_total, worst_log_terms
from tests.quorate.audit.scenarios import SCENARIOS, totals
from tests.refusals import refused

ITEM = st.tuples(
    st.floats(0, 0.8), st.floats(0.1, 1), st.booleans(), st.sampled_from([0.0, 0.0, 0.5, 1.0, None]), st.booleans()
)


def folded(items, *, min_rate=0.1):
    state = RunningAudit(min_rate=min_rate)
    for u, q, audited, loss, settled in items:
        state = state.settle() if settled else state.update(expected_loss=u, rate=q, audited=audited, loss=loss)
    return state


@given(st.lists(ITEM, min_size=1, max_size=30), st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=60, deadline=None)
def test_one_by_one_gives_what_all_at_once_gives(items, alpha):
    u, q, audited, loss, settled = (np.array(column) for column in zip(*items, strict=True))
    loss = np.where(settled, 0.0, loss.astype(float))
    totals = running_totals(u, q, audited, loss, settled=settled, min_rate=0.1, alpha=alpha)
    one_by_one = [folded(items[: t + 1]).bound(alpha).total for t in range(len(items))]
    assert totals == pytest.approx(one_by_one, rel=1e-9, abs=1e-9)


def test_the_bound_is_the_formula_in_forty_digits_with_settled_items_beside():
    rng = np.random.default_rng(4)
    u, q = rng.beta(0.5, 8, 500), np.full(500, 0.2)
    audited, loss = rng.random(500) < q, 1.0 * (rng.random(500) < 0.05)
    state = RunningAudit(min_rate=0.2)
    for row in zip(u, q, audited, loss, strict=True):
        state = state.settle().update(expected_loss=row[0], rate=row[1], audited=row[2], loss=row[3])
    expected = brute_force_total(u, q, audited, loss, min_rate=0.2, alpha=0.05)
    bound = state.bound(0.05)
    assert bound.total == pytest.approx(expected, rel=1e-10)
    assert bound.mean == pytest.approx(expected / 1000)  # settled items count among the items, without a loss
    assert bound.estimate == pytest.approx((u + np.where(audited, (loss - u) / q, 0)).sum())


@given(st.lists(ITEM, min_size=1, max_size=30), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 1))
@settings(max_examples=60, deadline=None)
def test_a_panel_still_missing_never_gives_a_lower_bound_than_its_outcome(items, u, loss, q):
    """So that a report written while panels are missing remains valid, uniformly in time, when they arrive."""
    pending = folded([*items, (u, q, True, None, False)]).bound(0.05)
    complete = folded([*items, (u, q, True, loss, False)]).bound(0.05)
    assert pending.total >= complete.total - 1e-9


def test_what_the_panel_would_have_said_of_an_unaudited_item_is_not_used():
    items = [(0.1, 0.3, number % 3 == 0, 0.0, False) for number in range(90)]
    peeked = [(u, q, audited, loss if audited else 1.0, s) for u, q, audited, loss, s in items]
    assert folded(items) == folded(peeked)


def test_not_enough_audits_yet_is_said_until_the_bound_says_something():
    state = RunningAudit(min_rate=0.1)
    assert not state.bound().is_informative
    assert state.bound().mean == 1
    for _ in range(20):
        state = state.update(expected_loss=0.01, rate=0.1, audited=False)
    assert not state.bound().is_informative
    assert state.bound().total == 20
    state = state.update(expected_loss=0.01, rate=0.1, audited=True, loss=0.0)
    assert not state.bound().is_informative  # an audit, but the bound still allows every other item to be wrong
    for number in range(400):
        state = state.update(expected_loss=0.01, rate=0.1, audited=number % 10 == 0, loss=0.0)
    assert state.bound().is_informative
    assert state.bound().mean < 0.2


def test_without_audits_no_confidence_however_high_makes_a_bound():
    state = RunningAudit(min_rate=0.5)
    for _ in range(3000):
        state = state.update(expected_loss=0.0, rate=0.5, audited=False)
    assert not state.bound().is_informative


def test_a_full_audit_is_exact():
    state = folded([(0.1, 1.0, True, loss, False) for loss in (0.0, 1.0, 0.0, 0.5)])
    assert state.bound().total == 1.5


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: RunningAudit(min_rate=0), "min_rate"),
        (lambda: RunningAudit(min_rate=0.2).update(expected_loss=0.1, rate=0.1, audited=True), "rate"),
        (lambda: RunningAudit(min_rate=0.2).update(expected_loss=1.1, rate=0.2, audited=False), "expected_loss"),
        (lambda: RunningAudit(min_rate=0.2).update(expected_loss=0.1, rate=0.2, audited=True, loss=2), "loss"),
        (lambda: RunningAudit(min_rate=0.2).settle(-1), "loss"),
        (lambda: RunningAudit(min_rate=0.2).bound(0), "alpha"),
        (lambda: RunningAudit(min_rate=0.2).bound(1), "alpha"),
    ],
)
def test_values_outside_their_range_are_refused(call, field):
    with refused(field):
        call()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"expected_loss": [0.1, np.nan]}, "expected_loss"),
        ({"rate": [0.05, 0.1]}, "rate"),
        ({"loss": [2.0, 0.0]}, "loss"),
        ({"loss": [0.0, -1.0], "settled": [False, True]}, "loss"),
        ({"loss": [0.0]}, "expected_loss"),
    ],
)
def test_arrays_with_impossible_entries_are_refused(change, field):
    arrays = {"expected_loss": [0.1, 0.1], "rate": [0.1, 0.1], "audited": [True, False], "loss": [0.0, 0.0]} | change
    with refused(field):
        running_totals(**{name: np.array(values) for name, values in arrays.items()}, min_rate=0.1)


def violations(streams, alpha):
    """The share of streams whose sum of losses exceeded the bound at any time."""
    return float((totals(streams, alpha) < streams.loss.cumsum(axis=-1) - 1e-9).any(axis=-1).mean())


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_bound_covers_at_every_time(name):
    """2000 streams of 160 items: violated at any time in at most alpha, plus 3 standard errors."""
    streams = SCENARIOS[name](np.random.default_rng(20), (2000, 160))
    for alpha in (0.05, 0.2):
        assert violations(streams, alpha) <= alpha + 3 * (alpha * (1 - alpha) / 2000) ** 0.5


def test_the_check_of_coverage_can_fail():
    """Items drawn at a quarter of the rate that is claimed: the bound is violated far more often than alpha."""
    rng = np.random.default_rng(8)
    honest = SCENARIOS["sure and often wrong"](rng, (2000, 400))
    lying = honest.__class__(
        honest.expected_loss,
        honest.rate,
        honest.audited & (rng.random(honest.audited.shape) < 0.25),
        honest.loss,
        honest.settled,
        honest.min_rate,
    )
    assert violations(lying, 0.2) > 0.5


@given(st.lists(ITEM, max_size=20), st.lists(ITEM, max_size=20))
@settings(max_examples=40, deadline=None)
def test_two_parts_of_a_stream_add_up_to_the_whole(first, second):
    both, whole = folded(first, min_rate=0.01) + folded(second, min_rate=0.01), folded(first + second, min_rate=0.01)
    assert (both.num_items, both.num_audited, both.num_incomplete) == (
        whole.num_items, whole.num_audited, whole.num_incomplete,
    )  # fmt: skip
    assert both.bound(0.05).total == pytest.approx(whole.bound(0.05).total, abs=1e-9)
    assert both.estimate == pytest.approx(whole.estimate, abs=1e-9)


def test_parts_with_other_lowest_rates_do_not_add_up():
    with refused("min_rate"):
        RunningAudit(min_rate=0.1) + RunningAudit(min_rate=0.2)


def test_a_whole_stream_at_once_is_the_stream_item_by_item():
    rng = np.random.default_rng(4)
    u, q = rng.random(200) * 0.3, rng.uniform(0.1, 1.0, 200)
    settled, audited = rng.random(200) < 0.3, rng.random(200) < q
    loss = np.where(rng.random(200) < 0.1, np.nan, rng.choice([0.0, 0.5, 1.0], 200))
    loss[settled] = 0.5
    one_by_one = RunningAudit(min_rate=0.1)
    for index in range(200):
        if settled[index]:
            one_by_one = one_by_one.settle(0.5)
            continue
        seen = None if np.isnan(loss[index]) else loss[index]
        one_by_one = one_by_one.update(
            expected_loss=u[index], rate=q[index], audited=bool(audited[index]), loss=seen if audited[index] else None
        )
    at_once = audit_of(u, q, audited, loss, settled=settled, min_rate=0.1)
    for name in ("num_items", "num_settled", "num_audited", "num_incomplete", "known_loss", "settled_loss"):
        assert getattr(at_once, name) == getattr(one_by_one, name)
    assert at_once.sums == pytest.approx(one_by_one.sums)
    assert at_once.bound(0.05).total == pytest.approx(one_by_one.bound(0.05).total)
    assert at_once.estimate == pytest.approx(one_by_one.estimate)


UNIT = st.floats(0, 1)
RATE = st.floats(0.01, 1)


def brute_force_total(u, q, audited, loss, *, min_rate, alpha):
    """The formula itself in 40 digits: solve mean_j exp(lambda_j (L - sum X) - psi_j V) = 1/alpha."""
    with mpmath.workdps(40):
        c = 1 / mpmath.mpf(min_rate)
        total_x, variation = mpmath.mpf(0), mpmath.mpf(0)
        for u_i, q_i, a_i, l_i in zip(u, q, audited, loss, strict=True):
            x_i = mpmath.mpf(u_i) + ((mpmath.mpf(l_i) - u_i) / mpmath.mpf(q_i) if a_i else 0)
            total_x, variation = total_x + x_i, variation + (x_i - u_i) ** 2
        lam = [mpmath.mpf(s) / c for s in SCALED]

        def excess(total):
            terms = [
                mpmath.exp(x * (total - total_x) - (-mpmath.log(1 - c * x) - c * x) / c**2 * variation) for x in lam
            ]
            return mpmath.log(mpmath.fsum(terms) / len(terms)) + mpmath.log(alpha)

        low, high = total_x - 1, total_x + 1
        while excess(high) < 0:
            high = total_x + 2 * (high - total_x)
        while excess(low) > 0:
            low = total_x - 2 * (total_x - low)
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        return float(low)


@pytest.mark.parametrize("seed", range(12))
def test_the_solution_agrees_with_forty_digits(seed):
    rng = np.random.default_rng(seed)
    size, min_rate = int(rng.integers(1, 400)), float(rng.choice([0.02, 0.1, 0.5, 1.0]))
    u, q = rng.beta(0.5, 3, size), np.maximum(min_rate, rng.random(size))
    audited, loss = rng.random(size) < q, 1.0 * (rng.random(size) < rng.random())
    for alpha in (0.001, 0.05, 0.5):
        terms = log_terms(u, np.where(audited, (loss - u) / q, 0), min_rate=min_rate)
        solved = solve_total(terms.sum(axis=0), min_rate=min_rate, alpha=alpha)
        expected = brute_force_total(u, q, audited, loss, min_rate=min_rate, alpha=alpha)
        assert solved == pytest.approx(expected, rel=1e-11, abs=1e-9)


def test_a_hand_worked_case_one_term_at_a_time():
    """One audited item, u = 0.1, q = 0.5, wrong: X = 0.1 + 0.9 / 0.5 = 1.9, (X - u)^2 = 3.24."""
    psi = (-np.log(1 - 0.9) - 0.9) * 0.25
    term = log_terms(0.1, 0.9 / 0.5, min_rate=0.5)[-1]
    assert term == pytest.approx(-0.45 * 1.9 - psi * 3.24)


@given(u=UNIT, loss=UNIT, q=RATE, ratio=UNIT)
def test_each_item_is_fair_at_best_whatever_its_loss_and_rate(u, loss, q, ratio):
    """E over the draw of exp(lambda (l - X) - psi (X - u)^2) <= 1: the guarantee depends on this inequality."""
    min_rate = max(q * ratio, 1e-3)
    idle = lambdas(min_rate) * loss + log_terms(u, 0.0, min_rate=min_rate)
    checked = lambdas(min_rate) * loss + log_terms(u, (loss - u) / q, min_rate=min_rate)
    assert np.all((1 - q) * np.exp(idle) + q * np.exp(checked) <= 1 + 1e-12)


@given(u=UNIT, loss=UNIT, q=RATE)
def test_an_unknown_loss_adds_no_more_than_any_loss_would(u, loss, q):
    worst = worst_log_terms(u, q, min_rate=0.01)
    assert np.all(worst <= log_terms(u, (loss - u) / q, min_rate=0.01) + 1e-12)
