"""`quorate.run` from tables to decisions: the same as a live session, errors counted right, frames of every kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate
from quorate.commands.run import run
from quorate.commands.run.result import DECISION_COLUMNS
from quorate.errors import QuorateError
from tests.quorate.commands.run import run_data
from tests.quorate.streams.replay_oracle import with_costs
from tests.refusals import refused


@pytest.fixture(scope="module")
def data():
    return run_data.stream()


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    return run_data.write_tables(tmp_path_factory.mktemp("tables"), data)


def test_it_decides_as_a_live_session_that_asks_in_the_recorded_order(data, files):
    result = run(*files, order="given", seed=7)
    session = quorate.Session("value", classes=data.classes, pool_size=5, seed=7)
    for t, row in enumerate(result.table.to_pylist()):
        decision = session.open(row["item"], data.predictions[0, t])
        while decision.ask:
            decision = session.vote(row["item"], data.classes[data.votes[t, decision.num_votes]])
        assert (row["consensus_label"], row["num_votes"]) == (decision.label, decision.num_votes)
        assert row["stop_reason"] == decision.reason
        assert row["confidence"] == pytest.approx(decision.confidence, abs=1e-12)
        assert [row[f"prob_{name}"] for name in data.classes] == pytest.approx(decision.probs, abs=1e-12)
    assert result.params.theta == pytest.approx(session.params.theta)


def test_a_pool_larger_than_the_votes_ends_as_a_session_that_finds_nobody(data, files):
    result = run(*files, order="given", pool_size=9, seed=7)
    session = quorate.Session("value", classes=data.classes, pool_size=9, seed=7)
    for t, row in enumerate(result.table.to_pylist()):
        decision = session.open(row["item"], data.predictions[0, t])
        while decision.ask and decision.num_votes < 5:
            decision = session.vote(row["item"], data.classes[data.votes[t, decision.num_votes]])
        decision = session.close(row["item"]) if decision.ask else decision
        assert (row["consensus_label"], row["num_votes"]) == (decision.label, decision.num_votes)
        assert row["stop_reason"] == decision.reason
    assert 0 < result.summary()["pools"]["short_of_votes"] == result.summary()["stop_reasons"]["closed"]


def test_errors_votes_and_classes_agree_with_counting_by_hand(data, files):
    result = run(*files, order="given", threshold=0.6, price=0.5)
    rows, summary = result.table.to_pylist(), result.summary()
    wrong, found = 0.0, dict.fromkeys(data.classes, 0.0)
    for t, row in enumerate(rows):
        counts = np.bincount(data.votes[t], minlength=3)
        top = [data.classes[k] for k in np.flatnonzero(counts == counts.max())]
        wrong += 1 - (row["consensus_label"] in top) / len(top)
        found[row["consensus_label"]] += (row["consensus_label"] in top) / len(top)
        seen = data.votes[t][: row["num_votes"]]
        agreeing = sum(data.classes[vote] == row["consensus_label"] for vote in seen)
        assert row["agreement"] == (agreeing / len(seen) if len(seen) else None)
        assert row["cost"] == 0.5 * row["num_votes"]
    assert 0 < wrong == pytest.approx(summary["error"]["wrong"])
    assert summary["error"]["rate"] == pytest.approx(wrong / len(rows))
    assert {row["class"]: row["right"] for row in summary["per_class"]} == pytest.approx(found)
    assert np.sum(summary["confusion"]["table"]) == pytest.approx(len(rows))
    assert summary["votes"]["asked"] == sum(row["num_votes"] for row in rows)
    assert summary["votes"]["ask_all"] == 5 * len(rows)
    settled = quorate.run(*files, method="until-settled", order="given").summary()["votes"]
    assert settled["asked"] == summary["votes"]["until_settled"] == settled["until_settled"]
    assert summary["votes"]["money"]["spent"] == pytest.approx(0.5 * summary["votes"]["total"])


def test_incomplete_pools_that_are_not_settled_are_left_out_of_the_error(data, files):
    found = run(*files, order="given", pool_size=7).summary()
    assert found["pools"]["incomplete"] == data.num_items
    assert found["error"]["scored_items"] == data.num_items - found["pools"]["not_scored"] < data.num_items


def test_fewest_and_most_votes_are_kept(files):
    votes = run(*files, min_votes=2, max_votes=3, threshold=0.9).table.column("num_votes").to_numpy()
    assert votes.min() == 2
    assert votes.max() == 3


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_decisions_come_back_as_the_kind_of_table_the_votes_were(data, files, kind):
    readers = {"pandas": pd.read_csv, "polars": pl.read_csv, "pyarrow": pa.csv.read_csv}
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    votes, probs = (readers[kind](file) for file in files)
    result = run(votes, probs, order="given")
    assert isinstance(result.decisions, kinds[kind])
    assert isinstance(result.rejects, kinds[kind])
    same = run(*files, order="given")
    assert result.table.equals(same.table)
    assert result.table.column_names == [*DECISION_COLUMNS, *(f"prob_{name}" for name in data.classes), "voters"]


def test_arrays_and_data_sets_are_taken_too(data, files):
    from_arrays = run(np.array(data.votes), data.predictions[0], classes=data.classes, order="given")
    assert from_arrays.items[:2] == ("0", "1")
    from_set = run(data, order="given")
    from_files = run(*files, order="given")
    for other in (from_arrays, from_set):
        told_apart = ["item", "voters"]  # arrays number the items and name nobody
        assert other.table.drop(told_apart).equals(from_files.table.drop(told_apart))


def test_time_order_follows_the_times_and_given_order_the_rows(data):
    rows = run_data.vote_rows(data)
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame["timestamp"] = pd.date_range("2024-01-01", periods=len(rows), freq="min").astype(str)[::-1]
    by_time, by_row = (run(frame, classes=data.classes, order=order) for order in ("time", "given"))
    assert by_row.items[0] == "i0"
    assert by_time.items[0] == f"i{data.num_items - 1}"
    assert by_time.pools.stream.votes[0].tolist() == data.votes[-1][::-1].tolist()


def test_counts_have_no_order_so_their_votes_are_shuffled_and_it_says_so(data):
    counts = np.array([np.bincount(row, minlength=3) for row in data.votes])
    frame = pd.DataFrame(counts, columns=list(data.classes))
    frame.insert(0, "task", [f"i{t}" for t in range(data.num_items)])
    result = run(frame, format="counts", order="given")
    votes = result.pools.stream.votes
    assert (np.diff(votes, axis=1) < 0).any()  # not class by class, as the counts are read
    assert (result.pools.stream.counts == counts).all()
    assert result.items[:2] == ("i0", "i1")
    assert any("shuffled by the seed" in note for note in result.summary()["notes"])


def test_one_item_no_known_truth_and_many_classes_are_no_trouble():
    rng = np.random.default_rng(0)
    one = run(np.array([[0, 1]]), np.array([[0.5, 0.5]]))
    unknown = run(np.array([[0, 1], [1, 1]]), np.full((2, 2), 0.5), pool_size=9)
    many = run(rng.integers(0, 80, (50, 4)), rng.dirichlet(np.ones(80), 50))
    nobody = run(np.zeros((30, 2), dtype=int), np.array([[0.99, 0.01]] * 30), max_votes=0, price=0)
    assert unknown.summary()["error"]["rate"] is None
    assert "the error is unknown" in unknown.to_html()
    assert many.summary()["confusion"] is None
    assert nobody.table.column("agreement").null_count == 30
    for result in (one, unknown, many, nobody):
        assert result.to_html().endswith("</html>\n")
        assert len(result.plot().axes) == 4


def test_dirt_is_counted_and_set_aside_and_strict_refuses_it(data, tmp_path):
    files = run_data.write_dirty(tmp_path, data)
    result = run(*files)
    fired = {finding["rule"]: finding["count"] for finding in result.summary()["data"]["findings"]}
    assert (fired["no-item"], fired["rounded"]) == (2, 1)
    assert fired["duplicate"] >= 2
    assert fired["unmatched"] == fired["no-answer"] == 2
    assert result.rejects.num_rows == result.summary()["data"]["set_aside"] > 4
    assert len(result.items) == data.num_items + 1
    for field, tables in (("predictions", files), ("votes", files[:1])):
        with refused(field) as caught:
            run(*tables, strict=True)
        assert "`strict`" in caught.value.rule


def test_a_method_that_learns_nothing_and_one_with_quotas_run_too(files):
    assert run(*files, method="quorum:votes=2").summary()["learned"] is None
    drawn = run(*files, method="random:query_rate=0.5", seed=1).summary()
    assert drawn["stop_reasons"]["quota"] > 0


def test_no_classifier_means_all_classes_alike(files):
    result = run(files[0])
    assert result.models == ("uniform",)
    assert result.summary()["error"]["rate"] is not None


def test_several_classifiers_are_fused(data, files, tmp_path):
    twice = run(files[0], [files[1], run_data.write_tables(tmp_path, data)[1]])
    assert twice.models == ("probs", "probs-2")
    assert twice.params.tau.shape == (2, 3)


def test_a_missed_cancer_costs_fewer_false_negatives_at_no_more_votes():
    """At the same number of votes, saying that a missed cancer costs 20 finds more of them."""
    data = run_data.stream(num_items=3000, pool_size=7, num_classes=2, accuracy=0.75, agreement=0.7, seed=11)
    costs = {data.classes[1]: {data.classes[0]: 4000}}
    plain = run(data, order="given", threshold=0.8).summary()
    costly = run(data, order="given", threshold=0.25, error_cost=costs).summary()
    same_table = np.array([[0.0, 200.0], [4000.0, 0.0]])
    cost_of = lambda summary: float((np.array(summary["confusion"]["table"]) * same_table).sum() / 3000)  # noqa: E731
    assert costly["votes"]["total"] <= plain["votes"]["total"]
    assert costly["per_class"][1]["found"] > plain["per_class"][1]["found"] + 0.02
    assert cost_of(costly) < 0.7 * cost_of(plain)
    assert costly["error_cost"]["realised_per_item"] == pytest.approx(cost_of(costly))


def test_a_table_of_equal_costs_is_the_number(files):
    plain = run(*files, order="given", error_cost=50)
    assert run(*files, order="given", error_cost=50.0 * (1 - np.eye(3))).table.equals(plain.table)


def test_a_policy_of_ones_own_runs_vote_by_vote(files):
    class AskTwice:
        name = "ask-twice"

        def ask(self, item):
            return item.num_votes < 2

    result = run(*files, method=AskTwice(), order="given")
    assert set(result.outcome.num_votes.tolist()) == {2}
    assert result.params.theta != 1


@pytest.mark.parametrize("parameter", [{}, {"threshold": 0.7}])
def test_asking_by_costs_is_the_same_compiled_and_vote_by_vote(files, parameter):
    costs = np.array([[0, 1, 1], [8, 0, 2], [1, 1, 0.0]])
    chosen = quorate.method("finexp" if "threshold" in parameter else "value", **parameter)
    compiled = run(*files, method=chosen, error_cost=200 * costs, order="given")
    slow = run(*files, method=with_costs(chosen, costs), error_cost=200 * costs, order="given")
    without = run(*files, method=chosen, order="given")
    assert compiled.table.column("num_votes").equals(slow.table.column("num_votes"))
    assert compiled.table.column("consensus_label").equals(slow.table.column("consensus_label"))
    assert not compiled.table.column("num_votes").equals(without.table.column("num_votes"))


def test_error_cost_says_how_far_to_ask(files):
    chosen = run(*files, error_cost=20)
    assert chosen.table.equals(run(*files, method="value:error_cost=20").table)
    assert chosen.outcome.num_votes.sum() < run(*files).outcome.num_votes.sum()
    assert run(*files, threshold=0.9).method == quorate.method("finexp", threshold=0.9)


def test_names_are_escaped_wherever_they_are_shown(data):
    rows = pd.DataFrame(run_data.vote_rows(data), columns=["task", "worker", "label"])
    rows["label"] = rows["label"].replace(data.classes[0], "<script>alert(1)</script>")
    rows["task"] = rows["task"].replace("i0", "<b>i0</b>")
    result = run(rows)
    assert "<script>" not in result.to_html()
    assert "<b>i0" not in result._repr_html_()


def test_the_real_shift_set_costs_and_errs_as_the_simulation_says(data_dir, tmp_path):
    recorded = quorate.datasets.load_npz(data_dir / "imagenet16h_shift.npz")
    files = run_data.write_tables(tmp_path, recorded)
    result = run(*files, order="shuffled", seed=3).summary()
    runs = [quorate.simulate(recorded, "value", model=0, seed=seed) for seed in (3, 4, 5)]
    assert result["num_items"] == recorded.num_items
    assert result["votes"]["per_item"] == pytest.approx(np.mean([each.mean_cost for each in runs]), rel=0.05)
    assert result["error"]["rate"] == pytest.approx(np.mean([each.error_rate for each in runs]), abs=0.01)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": 0.9, "method": quorate.method("finexp")}, "threshold"),
        ({"error_cost": -0.1}, "error_cost"),
        ({"error_cost": 1.0}, "error_cost"),
        ({"error_cost": 10, "method": "finexp"}, "error_cost"),
        ({"error_cost": 10, "method": quorate.method("value")}, "error_cost"),
        ({"error_cost": 10, "budget": 2}, "error_cost"),
        ({"min_votes": 3, "max_votes": 1}, "max_votes"),
        ({"price": -1}, "price"),
        ({"seed": -1}, "seed"),
        ({"order": "backwards"}, "order"),
        ({"budget": 2, "threshold": 0.9}, "threshold"),
        ({"budget": 2, "method": "quorum"}, "method"),
        ({"budget": 0}, "budget"),
        ({"target_error": 2}, "target_error"),
        ({"method": "nothing"}, "method"),
        ({"task": "nobody"}, "task"),
        ({"audit_rate": 0}, "audit_rate"),
    ],
)
def test_a_mistake_is_one_clear_error(files, options, field):
    with refused(field, QuorateError):
        run(*files, **options)


def test_an_option_of_tables_that_does_not_exist_is_named_with_the_right_one():
    with refused("label_column", value="Read") as raised:
        run(np.array([[0, 1]]), None, label_column="Read")
    assert "label" in raised.value.fix
