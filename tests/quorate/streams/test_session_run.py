"""Recorded streams with methods that use who voted."""

import numpy as np
import pytest

from quorate.datasets import vote_dataset
from quorate.methods import method
from quorate.people.panel_stream import run_panel
from quorate.streams import prepare, simulate
from quorate.streams.runs import StreamOptions
from quorate.streams.session_run import SessionRun
from tests.refusals import refused

METHODS = ("value:choose=agreement", "crowd", "panel")
NUM_PEOPLE, NUM_ITEMS = 5, 40


def recorded(*, named=True, missing=0.0, predicted=False, seed=0):
    """Votes of five people of rising skill, some of them missing; with a classifier or without."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, NUM_ITEMS)
    is_right = rng.random((NUM_ITEMS, NUM_PEOPLE)) < np.linspace(0.5, 0.95, NUM_PEOPLE)
    votes = np.where(is_right, truth[:, None], 1 - truth[:, None])
    votes[:, 1:][rng.random((NUM_ITEMS, NUM_PEOPLE - 1)) < missing] = -1
    voters = np.tile(np.arange(NUM_PEOPLE), (NUM_ITEMS, 1)) if named else None
    probs = rng.dirichlet([1, 1], NUM_ITEMS) * 0.98 + 0.01 if predicted else np.full((NUM_ITEMS, 2), 0.5)
    return vote_dataset(votes, probs, classes=["a", "b"], voters=voters, truth=truth)


def run_of(spec, data, **options):
    stream = prepare(data, None, 0, 3)
    run = SessionRun(stream, method(spec), StreamOptions(**options), seed=3, keep_probs=True)
    run.advance(0, len(stream.items))
    return stream, run


@pytest.mark.parametrize("spec", METHODS)
def test_people_are_asked_once_and_their_votes_come_first_in_the_order_asked(spec):
    stream, run = run_of(spec, recorded(missing=0.3))
    for t in range(NUM_ITEMS):
        before = list(zip(stream.voters[t].tolist(), stream.votes[t].tolist(), strict=True))
        after = list(zip(run.stream.voters[t].tolist(), run.stream.votes[t].tolist(), strict=True))
        assert sorted(before) == sorted(after)
        asked = after[: run.outputs.costs[t]]
        assert len({who for who, _ in asked}) == len(asked)
        assert all(vote >= 0 for _, vote in asked)
    assert run.asked.sum() == run.outputs.costs.sum()


@pytest.mark.parametrize("spec", METHODS)
def test_the_same_seed_asks_the_same_people(spec):
    (_, one), (_, other) = (run_of(spec, recorded()) for _ in range(2))
    assert (one.stream.voters == other.stream.voters).all()
    assert (one.outputs.labels == other.outputs.labels).all()


def test_what_is_paid_is_what_the_people_asked_cost():
    costs = (1.0, 2.0, 3.0, 4.0, 10.0)
    _, run = run_of("value:choose=agreement", recorded(), voter_costs=costs)
    asked = [run.stream.voters[t, : run.outputs.costs[t]] for t in range(NUM_ITEMS)]
    assert run.paid.tolist() == [float(np.array(costs)[who].sum()) for who in asked]
    assert run.paid.sum() == (run.asked * np.array(costs)).sum()


def test_somebody_who_costs_far_more_is_asked_less():
    _, alike = run_of("value:choose=agreement", recorded())
    _, dear = run_of("value:choose=agreement", recorded(), voter_costs=(1.0, 1.0, 1.0, 1.0, 1000.0))
    assert dear.asked[4] < alike.asked[4]


def test_the_most_reliable_person_is_asked_most():
    _, run = run_of("value:choose=agreement", recorded(seed=5))
    assert run.asked.argmax() > run.asked.argmin()


@pytest.mark.parametrize("spec", METHODS)
def test_a_method_that_needs_people_refuses_anonymous_votes(spec):
    with refused("votes"):
        simulate(recorded(named=False), method(spec), seed=1)


def test_a_method_that_seeks_the_truth_is_scored_by_it_where_it_is_known():
    data = recorded()
    some = data.truth.copy()
    some[::2] = -1
    known = vote_dataset(data.votes, data.predictions, classes=data.classes, voters=data.voters, truth=some)
    done = simulate(known, "crowd", seed=2, order="given")
    assert np.isnan(done.expected_errors).tolist() == (some < 0).tolist()
    assert done.error_rate == (done.predictions != some)[some >= 0].mean()


def test_a_method_that_seeks_the_truth_needs_some_of_it():
    data = recorded()
    nothing = vote_dataset(data.votes, data.predictions, classes=data.classes, voters=data.voters)
    with refused("truth"):
        simulate(nothing, "crowd", seed=2)


def test_members_of_a_panel_who_did_not_vote_leave_its_pool():
    _, run = run_of("panel:error_cost=1e9", recorded(missing=0.6))
    alone = run.stream.recorded == 1
    assert alone.any()
    assert (run.outputs.costs[alone] <= 1).all()
    assert (run.outputs.labels[alone] == run.stream.votes[alone, 0]).all()


def test_every_method_is_scored_by_the_target_that_is_asked_for_and_paid_by_costs():
    data = recorded()
    costs = (1.0, 2.0, 3.0, 4.0, 10.0)
    done = simulate(data, "ask-all", seed=2, order="given", target="truth", voter_costs=costs)
    assert done.error_rate == (done.predictions != data.truth).mean()
    assert done.paid.tolist() == [sum(costs)] * NUM_ITEMS


def test_a_panel_with_missing_votes_asks_and_answers_as_the_recorded_panel_does():
    stream, run = run_of("panel:error_cost=10", recorded(missing=0.6, predicted=True))
    table = np.full((NUM_ITEMS, NUM_PEOPLE), -1)
    for t in range(NUM_ITEMS):
        count = stream.recorded[t]
        table[t, stream.voters[t, :count]] = stream.votes[t, :count]
    oracle = run_panel(table, stream.predictions, min_gain=0.1)
    assert run.outputs.costs.tolist() == oracle.num_votes.tolist()
    sure = np.abs(oracle.probs[:, 0] - 0.5) > 1e-9  # a tie is drawn
    assert sure.any() and (run.outputs.labels == oracle.labels)[sure].all()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"target": "beauty"}, "target"),
        ({"voter_costs": (1.0,)}, "voter_costs"),
        ({"voter_costs": (0.0,) * NUM_PEOPLE}, "voter_costs"),
    ],
)
def test_targets_and_costs_that_do_not_fit_are_named(options, field):
    with refused(field):
        simulate(recorded(), "ask-all", seed=1, **options)
