"""The crowd model while people join and leave: it grows, forgets, undoes; the gain of a vote equals enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.people.crowd import CrowdState
from quorate.people.crowd_online import OnlineCrowd
from tests.quorate.people.crowd_oracle import Oracle


def filled(seed, *, num_people=40, num_items=30, K=3, window=None):
    rng, crowd = np.random.default_rng(seed), OnlineCrowd(K, window=window)
    for number in range(num_items):
        log_f = np.log(rng.dirichlet(np.ones(K)) * 0.9 + 0.1 / K) if number % 3 else np.zeros(K)
        voters = rng.choice(num_people, size=rng.integers(0, 5), replace=False)
        votes = [(f"p{e}", int(rng.integers(K)) if e % 4 == 0 else number % K) for e in voters]
        for person, _ in votes:
            crowd.enter(person)
        crowd.close(str(number), log_f, votes, crowd.judge(log_f, votes), rng.random(2).tolist())
    return crowd


def bits(crowd):
    people = {name: [getattr(crowd.state, each)[row].tolist() for each in ("confusion", "labels", "skill", "evidence")]
              for name, row in crowd.rows.items()}  # fmt: skip
    return people, [getattr(crowd.state, each).tolist() for each in ("pooled", "prevalence", "tau", "bias")]


def test_looking_changes_nothing():
    crowd = filled(3)
    before = bits(crowd)
    belief = crowd.judge(np.zeros(3), [("p1", 0)], without="4")
    crowd.gains(["p1", "a stranger"], np.zeros(3), belief)
    assert bits(crowd) == before


def test_an_item_taken_back_leaves_what_was_there_before():
    crowd = filled(4, num_items=5)
    before = [each.copy() for each in crowd.state]
    votes = [("p1", 0), ("p2", 1)]
    for person, _ in votes:
        crowd.enter(person)
    skill = crowd.state.skill.copy()
    crowd.close("new", np.zeros(3), votes, crowd.judge(np.zeros(3), votes), [])
    crowd.change("new", None)
    for name, old in zip(CrowdState._fields, before, strict=True):
        if name != "skill":  # a Newton step is not taken back, as when items are revised
            assert np.allclose(getattr(crowd.state, name), old, atol=1e-12), name
    assert crowd.state.skill.shape == skill.shape


def test_a_late_vote_counts_as_if_it_had_been_there():
    votes = [("p1", 0), ("p2", 0), ("p3", 1)]
    late, whole = filled(5, num_items=8), filled(5, num_items=8)
    for crowd, at_first in ((late, votes[:2]), (whole, votes)):
        for person, _ in votes:
            crowd.enter(person)
        crowd.close("x", np.zeros(3), at_first, crowd.judge(np.zeros(3), at_first), [])
    late.change("x", votes)
    assert np.allclose(late.state.labels, whole.state.labels)
    assert np.allclose(late.state.confusion, whole.state.confusion, atol=0.02)  # the Newton steps of skill differ


def test_only_the_window_is_revised_and_a_forgotten_item_stays_as_it_is():
    crowd = filled(6, window=5)
    beliefs = {item: kept.belief.copy() for item, kept in crowd._closed.items()}
    votes = [(person, 0) for person in crowd.rows]
    crowd.close("new", np.zeros(3), votes, np.array([0.9, 0.05, 0.05]), np.linspace(0.0, 0.999, 50).tolist())
    revised = [item for item, old in beliefs.items() if not np.array_equal(crowd._closed[item].belief, old)]
    assert revised and set(revised) <= {str(number) for number in range(25, 30)}
    before = bits(crowd)
    crowd.forget("3")
    crowd.change("3", [("p1", 0)])
    assert bits(crowd) == before and "3" not in crowd._order


def gain_by_enumeration(crowd, person, log_f, belief):
    oracle, e = Oracle(1, belief.size, log_f[None]), crowd.row(person)
    oracle.C, oracle.m, oracle.s, oracle.L, oracle.P = crowd.state[:5]
    joint = [belief * oracle.likelihood(e, y, 0) for y in range(belief.size)]
    joint = np.array(joint)  # (y, z)
    seen = joint.sum(axis=1, keepdims=True)
    information = (joint * np.log(joint / (seen * belief))).sum()
    return joint.max(axis=1).sum() - belief.max(), information


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_worth_of_a_vote_is_what_enumerating_its_labels_gives(seed, has_prediction):
    rng, crowd = np.random.default_rng(seed), FILLED
    log_f = np.log(rng.dirichlet(np.ones(3)) * 0.9 + 0.1 / 3) if has_prediction else np.zeros(3)
    belief = rng.dirichlet(np.ones(3) * 0.5) * 0.999 + 0.001 / 3
    people = [f"p{e}" for e in rng.integers(0, 60, size=4)]
    for person, (gain, information) in zip(people, crowd.gains(people, log_f, belief), strict=True):
        expected = gain_by_enumeration(crowd, person, log_f, belief)
        assert gain == pytest.approx(max(expected[0], 0.0), abs=1e-12)
        assert information == pytest.approx(expected[1], abs=1e-10)
        assert gain <= 1 - belief.max() + 1e-12


FILLED = filled(7)
