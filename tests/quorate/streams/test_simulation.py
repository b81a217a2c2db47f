"""The compiled stream decides like a session; the most reliable people are asked first where that is asked for."""

import numpy as np
import pytest

from quorate import MemoryJournal, Session
from quorate.datasets import load_npz, synthetic, vote_dataset
from quorate.methods import ANONYMOUS, method, with_costs, with_learning
from quorate.model.decision.quota import RandomQuota
from quorate.model.decision.threshold import Threshold
from quorate.streams import prepare, simulate
from quorate.streams.runs import StreamOptions
from quorate.streams.session_run import SessionRun
from quorate.streams.simulation import simulate_stream
from quorate.tables.error_cost import read_error_cost
from tests.refusals import refused

SPECS = [*ANONYMOUS]
PARAMETERS = {
    "value": {"error_cost": 100},
    "quorum": {"votes": 3},
    "unanimous-then-cap": {"first": 2, "cap": 4},
    "beta": {"threshold": 0.8},
}


def agree(dataset, chosen, *, pool_size, model, seed, window=1000, refit_every=20, limits=(0, None), free_after=None):
    chosen = with_learning(chosen, window=window, refit_every=refit_every)
    fast = simulate(
        dataset,
        chosen,
        pool_size=pool_size,
        model=model,
        seed=seed,
        min_votes=limits[0],
        max_votes=limits[1],
        query_free_after=free_after,
    )
    stream = prepare(dataset, pool_size, model, seed, "shuffled")
    live = SessionRun(
        stream, chosen, StreamOptions(*limits, free_after), seed=seed, keep_probs=False
    )  # fmt: skip
    live.advance(0, len(stream.items))
    assert np.array_equal(fast.costs, live.outputs.costs)
    assert np.array_equal(fast.predictions, live.outputs.labels)
    assert fast.reasons == live.reasons
    np.testing.assert_allclose(fast.confidence, live.outputs.confidence, atol=1e-12)
    assert fast.fitted_after.tolist() == live.fitted_after.tolist()
    np.testing.assert_allclose(fast.fits, live.fits, rtol=1e-9, atol=1e-9)
    return fast


ALWAYS = ("value", "finexp", "infexp", "fixed-ask-finexp", "mp")  # others in slow tests


@pytest.mark.no_cover  # the short stream below is traced
@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.slow) for name in SPECS]
)
def test_the_compiled_stream_agrees_with_the_session_on_the_whole_shift_stream(data_dir, name, seed):
    dataset = load_npz(data_dir / "imagenet16h_shift.npz")
    result = agree(dataset, method(name, **PARAMETERS.get(name, {})), pool_size=6, model=seed % 5, seed=seed)
    assert len(result.costs) == 2400


TABLE = {"class-1": {"class-0": 900, "class-3": 20}, "class-2": {"class-0": 0}}


@pytest.mark.parametrize("name", ["value", "finexp", "quorum"])
def test_the_compiled_stream_agrees_with_the_session_on_a_table_of_error_costs(name):
    dataset = synthetic(num_items=300, num_classes=4, pool_size=7, accuracy=0.6, num_models=2, seed=2)
    chosen = method(name, **{key: value for key, value in PARAMETERS.get(name, {}).items() if key != "error_cost"})
    costly = with_costs(chosen, read_error_cost(TABLE, dataset.classes))
    found = agree(dataset, costly, pool_size=7, model="all", seed=5, window=40, refit_every=7, free_after=280)
    assert not np.array_equal(
        found.predictions, simulate(dataset, chosen, pool_size=7, model="all", seed=5).predictions
    )
    journal = MemoryJournal()
    live = Session(name, classes=dataset.classes, pool_size=7, error_cost=TABLE, journal=journal, num_classifiers=2)
    for t in range(5):
        live.open(f"i{t}", dataset.predictions[:, t])
        live.vote(f"i{t}", "class-0")
    again = Session.resume(journal, verify=True)
    assert again.method == live.method and again.settings["error_cost"] == live.settings["error_cost"] == TABLE


@pytest.mark.parametrize("name", SPECS)
def test_the_compiled_stream_agrees_with_the_session_on_a_synthetic_stream(name):
    dataset = synthetic(num_items=150, num_classes=4, pool_size=7, accuracy=0.6, num_models=2, seed=2)
    agree(dataset, method(name, **PARAMETERS.get(name, {})), pool_size=7, model="all", seed=5, window=40, refit_every=7)


@pytest.mark.parametrize(("error_cost", "accuracy"), [(2.5, 0.6), (3.0, 0.9), (4.0, 0.6)])
def test_they_agree_on_answers_without_votes(error_cost, accuracy):
    """Those of the classifier at first, later of what was learned, also where nobody is asked any more."""
    data = synthetic(num_items=300, num_classes=4, pool_size=7, accuracy=accuracy, unevenness=0.8, seed=2)
    found = agree(data, method("value", error_cost=error_cost), pool_size=7, model=0, seed=5, free_after=250)
    alone = data.predictions[0, found.items].argmax(axis=1)
    assert 0.2 < (found.costs == 0).mean() < 1
    assert (found.predictions == alone)[found.costs == 0][:10].all()


@pytest.mark.parametrize("name", ["value", "infexp", "fixed-ask-finexp", "mp", "beta"])
def test_they_agree_with_limits_pools_of_several_sizes_and_a_query_free_phase(name):
    full = synthetic(num_items=120, num_classes=4, pool_size=7, accuracy=0.6, seed=2)
    votes = np.array(full.votes)
    votes[::3, 2:] = -1
    dataset = vote_dataset(votes, full.predictions, classes=full.classes)
    chosen = method(name, **PARAMETERS.get(name, {}))
    agree(dataset, chosen, pool_size=7, model=0, seed=5, window=40, refit_every=7, limits=(1, 4), free_after=80)


@pytest.mark.parametrize(("num_classes", "pool_size"), [(2, 25), (3, 60), (9, 12)])
def test_they_agree_where_the_look_ahead_groups_classes_or_ends_before_the_pool(num_classes, pool_size):
    dataset = synthetic(num_items=40, num_classes=num_classes, pool_size=pool_size, agreement=0.5, seed=2)
    agree(dataset, method("value", error_cost=250), pool_size=pool_size, model=0, seed=5, window=20, refit_every=7)


def test_a_subclass_of_our_policy_is_asked_itself():
    class Never(Threshold):
        def ask(self, item):
            return False

    class Two(RandomQuota):
        def quota(self, item, rng):
            return 2

    dataset = synthetic(num_items=30, pool_size=5, seed=1)
    assert simulate(dataset, method(Never(1.0)), seed=1).mean_cost == 0
    assert simulate(dataset, method(Two(1.0)), seed=1).costs.max() == 2


def test_fused_classifiers_agree_on_the_real_stream(data_dir):
    dataset = load_npz(data_dir / "imagenet16h_shift.npz")
    few = vote_dataset(dataset.votes[:300], dataset.predictions[:, :300], classes=dataset.classes)
    agree(few, method("value"), pool_size=6, model="all", seed=3, window=100)


def test_the_same_seed_gives_the_same_answer_and_another_seed_another_stream():
    dataset = synthetic(num_items=200, seed=1)
    one, two, other = (simulate(dataset, "finexp", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.costs, two.costs)
    assert np.array_equal(one.confidence, two.confidence)
    assert not np.array_equal(one.items, other.items)


def test_all_methods_meet_the_same_items_voters_and_ties():
    dataset = synthetic(num_items=100, pool_size=4, seed=1)
    runs = [simulate(dataset, name, seed=9) for name in ("finexp", "random", "ask-all")]
    for run in runs[1:]:
        assert np.array_equal(run.items, runs[0].items)
        assert np.array_equal(run.consensus, runs[0].consensus)


def test_the_voter_stays_with_the_vote_when_pools_are_drawn():
    rng = np.random.default_rng(2)
    voters = rng.permuted(np.tile(np.arange(8), (30, 1)), axis=1)
    data = vote_dataset(voters % 3, np.full((30, 3), 1 / 3), classes=["a", "b", "c"], voters=voters)
    stream = prepare(data, 5, 0, 4)
    assert (stream.voters % 3 == stream.votes).all()
    assert {len(set(row)) for row in stream.voters.tolist()} == {5}


def test_ask_all_finds_the_consensus_up_to_ties():
    dataset = synthetic(num_items=500, pool_size=6, agreement=0.6, seed=1)
    run = simulate(dataset, "ask-all", seed=1)
    assert np.all(run.costs == 6)
    counts = (dataset.votes[run.items][:, :, None] == np.arange(10)).sum(axis=1)
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1)
    np.testing.assert_allclose(run.expected_errors, 1 - 1 / tied)
    assert not run.errors[tied == 1].any()
    assert 0.2 < run.errors[tied == 2].mean() < 0.8


def test_until_settled_is_never_wrong_where_ask_all_is_right_and_never_dearer():
    dataset = synthetic(num_items=500, pool_size=7, seed=1)
    everyone, settled = simulate(dataset, "ask-all", seed=1), simulate(dataset, "until-settled", seed=1)
    np.testing.assert_allclose(everyone.expected_errors, settled.expected_errors)
    assert settled.mean_cost < everyone.mean_cost


def test_every_method_but_ask_all_stops_when_the_pool_is_settled():
    dataset = synthetic(num_items=300, pool_size=5, agreement=0.95, accuracy=0.3, seed=1)
    settled = simulate(dataset, "until-settled", seed=1)
    strictest = {"threshold": 1.0, "query_rate": 1.0, "scale": 1e9, "error_cost": 1e9}
    strictest |= dict.fromkeys(("votes", "first", "cap"), 99)
    for name in ANONYMOUS:
        parameters = {each: value for each, value in strictest.items() if each in method(name).parameters}
        run = simulate(dataset, method(name, **parameters), seed=1)
        if name == "ask-all":
            assert np.all(run.costs == 5)
        else:
            assert np.all(run.costs <= settled.costs), name


def test_a_pool_smaller_than_the_votes_at_hand_is_drawn_by_seed_and_defines_the_consensus():
    dataset = synthetic(num_items=200, pool_size=9, agreement=0.5, seed=1)
    run = simulate(dataset, "ask-all", pool_size=3, seed=4)
    stream = prepare(dataset, 3, 0, 4, "shuffled")
    assert np.all(run.costs == 3)
    counts = (stream.votes[:, :, None] == np.arange(10)).sum(axis=1)
    assert np.all(counts[np.arange(200), run.consensus] == counts.max(axis=1))


def test_blocks_are_shuffled_apart():
    dataset = synthetic(num_items=100, shift_accuracy=0.2, seed=1)
    run = simulate(dataset, "random", seed=3)
    assert set(run.items[:50]) == set(range(50))
    assert not np.array_equal(run.items[:50], np.arange(50))
    given = simulate(dataset, "random", seed=3, order="given")
    assert np.array_equal(given.items, np.arange(100))


def test_given_items_and_votes_stay_in_their_order():
    votes = [[0, 0, -1, 1], [1, 0, 1, 1], [-1, 1, 0, 0]] * 20
    dataset = vote_dataset(votes, [[0.6, 0.4]] * 60, classes=["a", "b"])
    stream = prepare(dataset, 3, "all", 5, "given")
    assert stream.votes.tolist() == [[0, 0, 1], [1, 0, 1], [1, 0, 0]] * 20
    first = [simulate(dataset, "quorum:votes=1", seed=5, order=order).predictions for order in ("given", "shuffled")]
    assert first[0].tolist() == [0, 1, 1] * 20 != first[1].tolist()


def test_all_classifiers_are_fused_unless_one_is_named():
    dataset = synthetic(num_items=200, num_classes=3, num_models=2, seed=1)
    runs = [simulate(dataset, "value", seed=1, **which) for which in ({}, {"model": "all"}, {"model": 0})]
    assert runs[0].costs.tolist() == runs[1].costs.tolist() != runs[2].costs.tolist()
    assert runs[0].tau_shape == (2, 3)


def test_the_belief_at_the_stop_is_kept_on_request():
    dataset = synthetic(num_items=50, num_classes=3, seed=1)
    run = simulate(dataset, "finexp", seed=1, keep_probs=True)
    np.testing.assert_allclose(run.probs.sum(axis=1), 1.0)
    np.testing.assert_array_equal(run.probs[np.arange(50), run.predictions], run.confidence)
    assert simulate(dataset, "finexp", seed=1).probs is None


def test_the_query_free_phase_asks_nobody_and_learns_nothing():
    dataset = synthetic(num_items=300, seed=1)
    run = simulate(dataset, method("finexp", threshold=0.99), seed=1, query_free_after=200)
    assert run.costs[:200].mean() > 1
    assert np.all(run.costs[200:] == 0)
    assert set(run.reasons[200:]) == {"closed"}
    assert max(at for at, _ in run.trace) < 200


@pytest.mark.parametrize(
    "arguments",
    [
        {"model": 7},
        {"model": "resnet"},
        {"pool_size": 0},
        {"order": "backwards"},
        {"seed": -1},
        {"max_votes": 1.5},
        {"max_votes": 2, "min_votes": 5},
        {"model": [0]},
        {"query_free_after": -1},
    ],
)
def test_bad_arguments_are_named(arguments):
    with refused(next(iter(arguments))):
        simulate(synthetic(num_items=10), "finexp", **({"seed": 1} | arguments))


def test_more_trust_costs_less_and_errs_more():
    dataset = synthetic(num_items=800, pool_size=9, agreement=0.7, seed=1)
    runs = [simulate(dataset, method("value", error_cost=cost), seed=1) for cost in (1000, 50, 5)]
    costs = [run.mean_cost for run in runs]
    errors_seen = [run.error_rate for run in runs]
    assert costs == sorted(costs, reverse=True)
    assert errors_seen == sorted(errors_seen)


SKILL = np.array([0.95, 0.6, 0.6, 0.6])


def data(num_items=300, *, voters=True):
    """Four people, one of whom is nearly always right; the classifier says little."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=num_items)
    wrong = (truth[:, None] + rng.integers(1, 3, size=(num_items, 4))) % 3
    votes = np.where(rng.random((num_items, 4)) < SKILL, truth[:, None], wrong)
    people = np.tile(np.arange(4), (num_items, 1))
    predictions = 0.9 / 3 + 0.1 * np.eye(3)[truth]
    return vote_dataset(votes, predictions, classes=["a", "b", "c"], voters=people if voters else None)


def test_asking_first_whoever_agreed_most_is_what_a_session_does_and_cheaper():
    stream = prepare(data(), None, 0, 1)
    chosen = method("value", error_cost=16.6667, choose="agreement")
    for costs in (None, (1.0, 1.0, 0.2, 3.0)):
        options = StreamOptions(voter_costs=costs)
        found = simulate_stream(stream, chosen, options, seed=1)
        session = SessionRun(stream, chosen, options, seed=1, keep_probs=False)
        session.advance(0, len(stream.items))
        assert np.array_equal(found.costs, session.outputs.costs)
        assert np.array_equal(found.predictions, session.outputs.labels)
        np.testing.assert_allclose(found.paid, session.paid)
    found = simulate_stream(stream, chosen, seed=1)
    plain = simulate(data(), method("value", error_cost=16.6667), seed=1)
    assert found.mean_cost + 10 * found.error_rate < plain.mean_cost + 10 * plain.error_rate


def test_a_stream_without_names_is_refused():
    with refused("votes"):
        simulate(data(20, voters=False), method("value", choose="agreement"), seed=1)
