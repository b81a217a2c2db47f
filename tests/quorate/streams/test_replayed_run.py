"""A replay is a session: the same answers vote by vote, with tuning, audits and learning; and it holds a budget."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from quorate import Session, method, rng, simulate
from quorate.audit import draw
from quorate.commands.run.replay import proved_error
from quorate.datasets import synthetic
from quorate.methods import as_method, with_learning
from quorate.methods import with_costs as with_table
from quorate.model.decision.error_costs import ErrorCosts
from quorate.model.posterior.settled import plurality_shares
from quorate.streams import prepare
from quorate.streams.control import BudgetControl
from quorate.streams.prepared_stream import Stream, recorded_stream
from quorate.streams.replayed_run import replay
from quorate.streams.target_error import TargetErrorControl
from quorate_paper.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from tests.quorate.streams.replay_oracle import replay_slowly
from tests.refusals import refused

DATA = synthetic(num_items=300, pool_size=7, num_classes=4, accuracy=0.8, seed=1)


@dataclass(frozen=True)
class AskTwice:
    name = "ask-twice"

    def ask(self, item):
        return item.num_votes < 2


def stream_of(dataset, *, pool_size=None, model=0, seed=3, head=None):
    whole = prepare(dataset, pool_size, model, seed)
    values = {name: getattr(whole, name) for name in Stream.__slots__}
    return Stream(**{n: None if each is None else np.ascontiguousarray(each[:head]) for n, each in values.items()})


def by_session(stream, chosen, *, control=None, seed, audit_rate=0.0, **settings):
    """The replay with a live session: tune before an item opens, late votes for an audit."""
    classes = [str(k) for k in range(stream.counts.shape[1])]
    session = Session(
        chosen,
        classes=classes,
        pool_size=int(stream.pool_sizes.max()),
        num_classifiers=stream.predictions.shape[1],
        seed=seed,
        **settings,
    )
    decisions, audit_votes = [], []
    for t, pool_size in enumerate(stream.pool_sizes.tolist()):
        name, votes = str(t), [str(label) for label in stream.votes[t, : stream.recorded[t]]]
        if control is not None:
            session.tune(**control.parameters)
        decision = session.open(name, stream.predictions[t], pool_size=pool_size)
        while decision.ask and decision.num_votes < len(votes):
            decision = session.vote(name, votes[decision.num_votes])
        if decision.ask:
            decision = session.close(name)
        decisions.append(decision)
        settled = decision.reason in ("settled", "exhausted")
        rate = max(audit_rate, control.audit_rate_of(decision.confidence) if control is not None else 0.0)
        error, late = (known_loss(votes[: decision.num_votes], decision.label) if settled else None), 0
        if not settled and rate > 0 and rng.stream(seed, "replay-audit", name).random() < rate:
            error, late = complete(session, name, votes, decision, pool_size, classes)
        audit_votes.append(late)
        if control is not None:
            control = control.closed(
                num_votes=decision.num_votes + late,
                confidence=decision.confidence,
                settled=settled,
                audited_error=error,
            )
    return session, decisions, audit_votes


def known_loss(votes, label):
    """Error of the answer by a pool that is settled, ties shared."""
    tied = [name for name in set(votes) if votes.count(name) == max(map(votes.count, votes))]
    return 1.0 - (label in tied) / len(tied)


def complete(session, name, votes, decision, pool_size, classes):
    """Ask until the missing votes cannot change the winner; the error of the answer, and the votes asked."""
    counts = dict.fromkeys(classes, 0)
    for label in votes[: decision.num_votes]:
        counts[label] += 1
    late = 0
    for label in votes[decision.num_votes :]:
        first, second = sorted(counts.values())[:-3:-1]
        if first - second > pool_size - sum(counts.values()):
            break
        session.vote(name, label)
        counts[label] += 1
        late += 1
    top = max(counts.values())
    tied = [label for label, count in counts.items() if count == top]
    return 1.0 - (decision.label in tied) / len(tied), late


def assert_same(run, session, decisions, audit_votes):
    """Equal except for round-off: a session normalises predictions that are already normalised."""
    assert run.labels.tolist() == [int(decision.label) for decision in decisions]
    assert run.num_votes.tolist() == [decision.num_votes for decision in decisions]
    assert run.reasons == tuple(decision.reason for decision in decisions)
    assert run.audit_votes.tolist() == audit_votes
    close = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(run.confidence, [decision.confidence for decision in decisions], **close)
    np.testing.assert_allclose(run.probs, [decision.probs for decision in decisions], **close)
    np.testing.assert_allclose(np.atleast_2d(run.params.tau), np.atleast_2d(session.params.tau), **close)
    assert run.params.theta == pytest.approx(session.params.theta, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "control", "audit_rate"),
    [
        ("value", BudgetControl(2.0, pool_size=7), 0.0),
        ("value", TargetErrorControl(0.03, audit_rate=0.2), 0.0),
        ("value", BudgetControl(2.5, pool_size=7), 0.3),
        ("finexp", BudgetControl(2.0, pool_size=7, rule="threshold"), 0.0),
        ("fixed-ask-infexp", TargetErrorControl(0.05, rule="threshold"), 0.0),
        ("mp", None, 0.2),
        ("random", None, 0.0),
        (AskTwice(), None, 0.3),
    ],
)
def test_a_replay_is_a_session_that_is_tuned_before_every_item(name, control, audit_rate):
    stream = stream_of(DATA)
    name = with_learning(as_method(name), window=60, refit_every=10)
    options = {"seed": 3, "audit_rate": audit_rate}
    run = replay(stream, name, control=control, **options)
    session, decisions, audit_votes = by_session(stream, name, control=control, **options)
    assert_same(run, session, decisions, audit_votes)
    if control is not None:
        assert len(set(run.parameter)) > 200
    if audit_rate:
        assert sum(audit_votes) > 0


STREAMS = {
    "four classes": lambda folder: stream_of(
        synthetic(num_items=400, pool_size=7, num_classes=4, accuracy=0.8, seed=1)
    ),
    "two classifiers": lambda folder: stream_of(
        synthetic(num_items=400, pool_size=11, num_classes=3, accuracy=0.6, num_models=2, seed=5), model="all"
    ),
    "shift": lambda folder: stream_of(imagenet16h_shift.load(folder), model=3, head=400),
}
GOALS = {
    "budget": lambda size, k: {"control": BudgetControl(2.0, pool_size=size)},
    "target": lambda size, k: {"control": TargetErrorControl(0.05, pool_size=size)},
    "audits": lambda size, k: {"audit_rate": 0.2},
    "costs": lambda size, k: {
        "control": BudgetControl(2.0, pool_size=size), "audit_rate": 0.1,
        "error_costs": np.where(np.eye(k), 0.0, 1.0 + 7.0 * (np.arange(k)[:, None] == 1)),
    },
}  # fmt: skip


def assert_equal_to_the_bit(run, slow, *, costs=False):
    """Every array of the run; with error costs the slow loop applies them only at the end, so no audited error."""
    skipped = ("confidence", "audited_error") if costs else ()
    for name in ("labels", "confidence", "probs", "num_votes", "audit_votes", "parameter", "audit_rates", "truth"):
        if name not in skipped:
            assert np.array_equal(getattr(run, name), getattr(slow, name), equal_nan=True), name
    assert run.is_audited.tolist() == slow.audited.tolist()
    assert run.reasons == slow.reasons
    assert run.num_fits == slow.num_fits
    assert (run.params.theta, run.params.phi) == (slow.params.theta, slow.params.phi)
    assert np.array_equal(run.params.tau, slow.params.tau)
    if slow.control is not None:
        assert run.control.final == slow.control
        plan = slow.control.asked_for * np.arange(1, len(slow.labels) + 1)
        assert np.array_equal(run.control.gap, slow.ahead / plan)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("name", STREAMS)
def test_a_replay_is_the_slow_replay_to_the_last_bit(data_dir, name, goal):
    stream = STREAMS[name](data_dir)
    options = GOALS[goal](int(stream.pool_sizes.max()), stream.counts.shape[1]) | {"seed": 3}
    costs, chosen = options.pop("error_costs", None), method("value", window=150)
    run = replay(stream, chosen if costs is None else with_table(chosen, ErrorCosts.of(200 * costs)), **options)
    slow = replay_slowly(stream, chosen, error_costs=costs, **options)
    assert_equal_to_the_bit(run, slow, costs=costs is not None)


@pytest.mark.parametrize(
    ("name", "control"),
    [
        ("finexp", BudgetControl(2.0, rule="threshold")),
        ("infexp", TargetErrorControl(0.08, rule="threshold")),
        ("fixed-ask-infexp", TargetErrorControl(0.05, rule="threshold")),
        ("beta", BudgetControl(3.0, rule="threshold")),
        ("mp", None),
        ("random", None),
        ("until-settled", None),
    ],
)
def test_every_kind_of_method_is_the_slow_replay_to_the_last_bit(name, control):
    """With records that end too early, limits, a short window and audits of items without votes."""
    votes = np.where(np.arange(7) < 5 + np.arange(300)[:, None] % 3, prepare(DATA, None, 0, 3).votes, -1)
    stream = recorded_stream(votes, prepare(DATA, None, 0, 3).predictions, pool_sizes=7, seed=3)
    name = with_learning(as_method(name), window=30, refit_every=7)
    options = {"control": control, "seed": 3, "max_votes": 6, "audit_rate": 0.3}
    assert_equal_to_the_bit(replay(stream, name, **options), replay_slowly(stream, name, **options))


@pytest.mark.parametrize("name", ["value", "finexp", "infexp", "until-settled", "ask-all", "mp", "entropy", "beta"])
def test_without_a_control_and_audits_a_replay_is_a_simulation(name):
    run = replay(stream_of(DATA), name, seed=3, min_votes=1, max_votes=6)
    same = simulate(DATA, name, seed=3, min_votes=1, max_votes=6)
    assert run.labels.tolist() == same.predictions.tolist()
    assert run.num_votes.tolist() == same.costs.tolist()
    assert run.confidence.tolist() == same.confidence.tolist()
    assert run.reasons == same.reasons
    assert run.num_fits == len(same.fits)
    assert run.control is None
    assert not run.is_audited.any()


def test_several_classifiers_and_pools_of_different_size_replay_too():
    rng = np.random.default_rng(4)
    votes = rng.integers(0, 3, (80, 6))
    votes[::3, 4:] = -1
    probs = rng.dirichlet(np.ones(3), (80, 2))
    stream = recorded_stream(votes, probs, seed=1)
    assert set(stream.pool_sizes) == {4, 6}
    run = replay(stream, "value", seed=1, ids=[f"x{t}" for t in range(80)])
    session, decisions, audits = by_session(stream, "value", seed=1)
    assert_same(run, session, decisions, audits)


def test_an_item_whose_record_ends_is_answered_with_what_there_is():
    stream = recorded_stream([[0, -1, -1], [-1, -1, -1]], [[0.5, 0.5], [0.5, 0.5]], pool_sizes=9, seed=1)
    run = replay(stream, "until-settled", seed=1, audit_rate=1.0)
    assert run.reasons == ("closed", "closed")
    assert run.num_votes.tolist() == [1, 0]
    assert run.is_audited.all()
    assert np.isnan(run.audited_error).all(), "a panel that cannot be completed tells nothing"


def test_an_audit_stops_when_the_pool_is_settled_and_its_votes_are_in_the_cost():
    stream = recorded_stream([[0, 0, 0, 0, 1]], [[0.9, 0.1]], seed=1)
    run = replay(stream, method("value", error_cost=1.11111), seed=1, audit_rate=1.0)
    assert (run.num_votes[0], run.audit_votes[0], run.mean_cost) == (0, 3, 3.0)
    assert run.audited_error[0] == 0.0


def test_no_vote_is_seen_that_was_not_asked_for():
    stream = stream_of(DATA)
    options = {"seed": 3, "control": TargetErrorControl(0.05, audit_rate=0.1)}
    run = replay(stream, "value", **options)
    votes, asked = stream.votes.copy(), (run.num_votes + run.audit_votes)[:, None]
    votes[np.arange(votes.shape[1]) >= asked] = 3 - votes[np.arange(votes.shape[1]) >= asked]
    other = replay(replace(stream, votes=votes), "value", **options)
    assert (votes != stream.votes).any()
    assert other.labels.tolist() == run.labels.tolist()
    assert other.parameter.tolist() == run.parameter.tolist()


def test_the_report_says_what_was_asked_reached_and_overshot():
    calls = []
    run = replay(
        stream_of(DATA),
        "value",
        control=BudgetControl(2.0, pool_size=7),
        seed=3,
        progress=lambda done, total: calls.append((done, total)),
    )
    spent, plan = run.num_votes.cumsum(), 2.0 * np.arange(1, 301)
    assert run.control.gap == pytest.approx(spent / plan - 1)
    assert run.control.overshoot == pytest.approx(max((spent - plan).max() / 600, 0))
    assert run.control.reached == pytest.approx(run.mean_cost)
    assert run.control.final_gap == run.control.gap[-1]
    assert calls == [(200, 300), (300, 300)]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"audit_rate": 2}, "audit_rate"),
        ({"min_votes": 3, "max_votes": 2}, "max_votes"),
        ({"ids": ["a", "b"]}, "ids"),
        ({"ids": ["a", "b", "a"]}, "ids"),
        ({"seed": -1}, "seed"),
        ({"method": "quorum", "control": BudgetControl(2.0)}, "method"),
        ({"control": BudgetControl(2.0, rule="threshold")}, "control"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_the_reason(wrong, field):
    options = {"method": "value", "seed": 1} | wrong
    with refused(field):
        replay(recorded_stream([[0, 1]] * 3, [[0.5, 0.5]] * 3, seed=1), options.pop("method"), **options)


@pytest.mark.parametrize(
    ("votes", "predictions", "pool_sizes", "field"),
    [
        ([[0, 1]], [[0.5, 0.5]], 0, "pool_sizes"),
        ([[0, 2]], [[0.5, 0.5]], None, "votes"),
        ([[-1, 1]], [[0.5, 0.5]], None, "votes"),
        ([[0.5, 1]], [[0.5, 0.5]], None, "votes"),
        ([[0, 1]], [0.5, 0.5], None, "predictions"),
        ([[0, 1]], [[0.5, 0.5], [0.5, 0.5]], None, "predictions"),
        ([[0, 1]], [[0.5, 0.7]], None, "predictions"),
        ([[0, 1]], [[-0.5, 1.5]], None, "predictions"),
        ([[0, 1]], [[float("nan"), 0.5]], None, "predictions"),
        ([[0, 1]], [[[0.5, 0.5], [5, 5]]], None, "predictions"),
        (3, [[0.5, 0.5]], None, "votes"),
        ([0, 1], [[0.5, 0.5]], None, "votes"),
    ],
)
def test_what_is_not_a_table_of_votes_is_refused(votes, predictions, pool_sizes, field):
    with refused(field):
        recorded_stream(votes, predictions, pool_sizes=pool_sizes, seed=1)


@pytest.mark.parametrize(
    ("load", "pool_size", "model", "name", "shares"),
    [
        (cifar10h.load, 10, 0, "value", (0.2, 0.6)),
        (cifar10h.load, 10, 3, "finexp", (0.8,)),
        (imagenet16h.load, None, "resnet152_baseline", "value", (0.4,)),
        (imagenet16h_shift.load, None, 0, "value", (0.2, 0.8)),
        (imagenet16h_shift.load, None, 3, "value", (0.6,)),
        pytest.param(chaosnli.load, None, 2, "value", (0.4,), marks=pytest.mark.slow),
        pytest.param(cifar10h.load, 10, 0, "value", (0.4, 0.8), marks=pytest.mark.slow),
        pytest.param(cifar10h.load, 10, 3, "finexp", (0.2,), marks=pytest.mark.slow),
        pytest.param(imagenet16h.load, None, "resnet152_baseline", "value", (0.2, 0.6, 0.8), marks=pytest.mark.slow),
        pytest.param(imagenet16h_shift.load, None, 0, "value", (0.4, 0.6), marks=pytest.mark.slow),
        pytest.param(chaosnli.load, None, 2, "value", (0.2, 0.8), marks=pytest.mark.slow),
        pytest.param(cifar10h.load, 50, 0, "value", (0.2, 0.4, 0.6, 0.8), marks=pytest.mark.slow),
        pytest.param(cifar10h.load, 50, 3, "value", (0.2, 0.4, 0.6, 0.8), marks=pytest.mark.slow),
    ],
)
def test_budgets_are_met_within_five_per_cent_on_real_data(data_dir, load, pool_size, model, name, shares):
    stream = stream_of(load(data_dir), pool_size=pool_size, model=model, head=2000)
    settled = replay(stream, "until-settled", seed=3).mean_cost
    rule = "error_cost" if name == "value" else "threshold"
    for share in shares:
        control = BudgetControl(share * settled, pool_size=int(stream.pool_sizes.max()), rule=rule)
        run = replay(stream, name, control=control, seed=3)
        assert abs(run.mean_cost / (share * settled) - 1) < 0.05, share


@pytest.mark.parametrize(
    ("load", "pool_size", "target"), [(cifar10h.load, 10, 0.05), (imagenet16h_shift.load, None, 0.06)]
)
def test_a_target_error_keeps_real_streams_within_their_targets(data_dir, load, pool_size, target):
    """On seeds that chose nothing; at 90 % confidence two of three would be exceeded with probability 3 %."""
    dataset, exceeded = load(data_dir), []
    for seed in (11, 12, 13):
        stream = stream_of(dataset, pool_size=pool_size, model=0, seed=seed, head=1500)
        control = TargetErrorControl(target, pool_size=int(stream.pool_sizes.max()))
        run = replay(stream, "value", control=control, seed=seed)
        error = 1.0 - plurality_shares(stream.counts)[np.arange(1500), run.labels].mean()
        exceeded.append(error > target)
        assert error <= proved_error(run, run.control.final)
    assert sum(exceeded) <= 1


def test_a_target_below_the_ties_is_called_unreachable_from_where_it_is_known(data_dir):
    stream = stream_of(imagenet16h_shift.load(data_dir), model=3, head=600)
    run = replay(stream, "value", control=TargetErrorControl(0.002, pool_size=6), seed=3)
    since = run.control.unreachable_from
    known = np.cumsum(np.where(np.isin(run.reasons, ("settled", "exhausted")), 1 - run.confidence, 0.0))
    above = known > 0.002 * np.arange(1, 601)
    assert 1 <= since <= 600
    assert above[since - 1 :].all()
    assert since == 1 or not above[since - 2]
    assert run.control.final.is_unreachable
    held = replay(stream, "value", control=TargetErrorControl(0.2, pool_size=6), seed=3)
    assert held.control.unreachable_from is None


def test_the_audits_of_a_replay_are_not_those_of_a_later_audit_with_the_same_seed():
    run = replay(stream_of(DATA), "value", seed=3, audit_rate=0.5)
    drawn = np.flatnonzero(run.audit_rates)
    later = [each.audited for each in draw([str(t) for t in drawn], 0.5, seed=3)]
    assert 0.3 < np.mean(run.is_audited[drawn] == later) < 0.7


def test_audits_that_the_record_cannot_complete_count_as_errors_to_the_controller():
    """Two of nine votes are recorded: no panel is ever settled, so every audit is an error and the error cost rises."""
    votes = np.zeros((200, 2), dtype=np.int64)
    stream = recorded_stream(votes, np.full((200, 2), [0.9, 0.1]), pool_sizes=9, seed=1)
    control = TargetErrorControl(0.05, audit_rate=0.5)
    run = replay(stream, "value", control=control, seed=1)
    assert run.num_incomplete == run.is_audited.sum() == run.control.final.num_audited > 20
    assert np.isnan(run.audited_error).all()
    assert run.control.final.factor > 1
    assert run.parameter[-1] > run.parameter[0]
