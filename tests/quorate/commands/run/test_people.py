"""Runs by who voted: targets, true classes and costs of people."""

import csv
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.datasets import vote_dataset
from tests.refusals import refused

PEOPLE = ["ann", "bob", "eve"]


def crowd(num_items=60, seed=1):
    """Votes of three people, the last one guessing, and the true classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, num_items)
    rows = {"task": [], "worker": [], "label": []}
    for item in range(num_items):
        for person, skill in zip(PEOPLE, (0.95, 0.9, 0.5), strict=True):
            right = rng.random() < skill
            rows["task"].append(f"i{item}")
            rows["worker"].append(person)
            rows["label"].append("yes" if truth[item] == right else "no")
    known = pa.table({"task": [f"i{item}" for item in range(num_items)], "truth": np.where(truth, "yes", "no")})
    return pa.table(rows), known


def test_the_target_truth_is_answered_by_crowd_and_scored_by_the_true_classes():
    votes, truth = crowd()
    result = quorate.run(votes, target="truth", truth=truth.slice(0, 50))
    assert result.method.name == "crowd"
    assert result.summary()["settings"]["target"] == "truth"
    assert result.summary()["error"]["scored_items"] == 50
    answers = dict(zip(result.items, result.table.column("consensus_label").to_pylist(), strict=True))
    known = zip(*(truth.slice(0, 50).column(name).to_pylist() for name in ("task", "truth")), strict=True)
    assert result.summary()["error"]["rate"] == np.mean([answers[item] != label for item, label in known])


def test_without_true_classes_the_error_is_not_known_and_the_confidence_is_called_a_score():
    votes, truth = crowd()
    alone, calibrated = quorate.run(votes, target="truth"), quorate.run(votes, target="truth", truth=truth)
    kinds = calibrated.table.column("confidence_is").to_pylist()
    assert kinds[0] == "score" and kinds[-1] == "probability" and kinds == sorted(kinds, reverse=True)
    assert "confidence_is" not in quorate.run(votes).table.column_names
    assert alone.summary()["error"]["rate"] is None
    assert (alone.summary()["confidence_is"], calibrated.summary()["confidence_is"]) == ("score", "probability")


@pytest.mark.parametrize("method", ["crowd", "panel:error_cost=10"])
def test_what_is_learned_of_people_is_not_written_as_parameters(method, tmp_path):
    quorate.run(crowd(20)[0], method=method, out=tmp_path / "out")
    assert not (tmp_path / "out" / "params.json").exists()
    assert "params.json" not in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("method", ["value", "value:choose=agreement"])
def test_costs_of_people_are_what_is_spent(method):
    votes, _ = crowd()
    costs = {"ann": 5.0, "eve": 0.5}
    result = quorate.run(votes, method=method, costs=costs, price=2.0, order="given")
    money, stream = result.summary()["votes"]["money"], result.pools.stream
    by_number = np.array([costs.get(name, 1.0) for name in result.people])
    asked = np.arange(stream.votes.shape[1]) < result.outcome.num_votes[:, None]
    assert money["spent"] == pytest.approx(2 * by_number[stream.voters[asked]].sum())
    assert money["ask_all"] == pytest.approx(2 * 60 * (5.0 + 1.0 + 0.5))
    assert sum(result.table.column("cost").to_pylist()) == pytest.approx(money["spent"])


def test_the_agreement_of_an_answer_counts_the_votes_that_were_asked():
    votes, _ = crowd()
    result = quorate.run(votes, method="value:choose=agreement", order="given")
    stream, table = result.pools.stream, result.table
    for t, share in enumerate(table.column("agreement").to_pylist()):
        asked = stream.votes[t, : result.outcome.num_votes[t]]
        assert share is None or share == (asked == result.outcome.labels[t]).mean()


def test_audits_complete_the_panel_with_whoever_was_not_asked():
    votes, _ = crowd()
    result = quorate.run(votes, method="value:choose=agreement,error_cost=5", audit_rate=1.0, order="given")
    outcome = result.outcome
    assert outcome.is_audited.any()
    assert (outcome.audited_error[outcome.is_audited] >= 0).all()
    assert outcome.paid.sum() == (outcome.num_votes + outcome.audit_votes).sum()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"target": "truth", "method": "finexp"}, "target"),
        ({"target": "beauty"}, "target"),
        ({"target": "truth", "target_error": 0.1}, "method"),
        ({"target": "truth", "audit_rate": 0.1}, "method"),
        ({"costs": {"nobody": 1.0}}, "costs"),
        ({"truth": crowd()[1]}, "truth"),
    ],
)
def test_what_does_not_go_together_is_named(options, field):
    with refused(field):
        quorate.run(crowd()[0], **options)


def test_votes_without_voters_cannot_be_weighed():
    votes, _ = crowd()
    with refused("votes"):
        quorate.run(votes.drop_columns(["worker"]), target="truth")


def test_the_true_classes_of_a_data_set_may_come_in_a_table():
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=60)
    votes = np.where(rng.random((60, 3)) < (0.95, 0.9, 0.5), truth[:, None], 1 - truth[:, None])
    voters = np.tile(np.arange(3), (60, 1))
    data = vote_dataset(votes, np.full((1, 60, 2), 0.5), classes=["n", "y"], voters=voters)
    known = np.where(np.arange(60) < 40, truth, -1)
    own = quorate.run(replace(data, truth=known), target="truth").summary()["error"]
    order = rng.permutation(40)
    names = {"task": [str(t) for t in order], "truth": ["ny"[truth[t]] for t in order]}
    given = quorate.run(data, target="truth", truth=pa.table(names)).summary()["error"]
    assert given == own and given["scored_items"] == 40


@pytest.mark.parametrize("method", ["value", "value:choose=agreement", "panel:error_cost=10", "crowd"])
def test_each_item_names_the_voters_asked_in_order(method):
    votes, _ = crowd()
    result = quorate.run(votes, method=method, order="given")
    cast = {(row["task"], row["worker"]): row["label"] for row in votes.to_pylist()}
    for row in result.table.to_pylist():
        asked = row["voters"].split(";") if row["voters"] else []
        assert len(asked) == len(set(asked)) == row["num_votes"]
        if asked:
            agreeing = [cast[row["item"], name] == row["consensus_label"] for name in asked]
            assert row["agreement"] == pytest.approx(np.mean(agreeing))
    if method == "value":  # in recorded order
        assert all("ann;bob;eve".startswith(each) for each in result.table.column("voters").to_pylist())


def test_names_of_voters_can_be_told_apart_and_anonymous_votes_name_nobody(tmp_path):
    votes, _ = crowd(20)
    odd = votes.set_column(1, "worker", pa.array([f"{name}; MD" for name in votes.column("worker").to_pylist()]))
    named = quorate.run(odd, method="ask-all", order="given", out=tmp_path / "out")
    (cell,) = set(named.table.column("voters").to_pylist())
    assert next(csv.reader([cell], delimiter=";")) == ["ann; MD", "bob; MD", "eve; MD"]
    with (tmp_path / "out" / "decisions.csv").open(newline="") as file:
        assert {row["voters"] for row in csv.DictReader(file)} == {cell}
    nobody = quorate.run(votes.drop_columns(["worker"]))
    assert set(nobody.table.column("voters").to_pylist()) == {None}
    assert nobody.summary()["people"] is None


def test_the_summary_lists_how_often_each_person_was_asked_and_at_what_cost():
    votes, _ = crowd()
    options = {"audit_rate": 0.3, "costs": {"ann": 5.0}, "price": 2.0, "order": "given"}
    result = quorate.run(votes, method="value:error_cost=5", **options)
    people, summary = result.summary()["people"], result.summary()
    assert people["num_people"] == people["num_asked"] == 3
    assert sum(row["asked"] for row in people["rows"]) == summary["votes"]["total"]
    assert sum(row["cost"] for row in people["rows"]) == pytest.approx(summary["votes"]["money"]["spent"])
    assert [row["asked"] for row in people["rows"]] == sorted((row["asked"] for row in people["rows"]), reverse=True)
    assert all(row["agreement"] == row["agreed"] / row["asked"] for row in people["rows"])


def test_a_run_for_the_truth_reports_accuracy_only_where_true_classes_were_given():
    votes, truth = crowd()
    alone = quorate.run(votes, target="truth", order="given")
    labels = {row["task"]: [] for row in votes.to_pylist()}
    for row in votes.to_pylist():
        labels[row["task"]].append(row["label"])
    answers = dict(zip(alone.items, alone.table.column("consensus_label").to_pylist(), strict=True))
    agreed = np.mean([labels[item].count(answer) >= 2 for item, answer in answers.items()])
    assert alone.summary()["pool_agreement"] == {"items": 60, "rate": pytest.approx(agreed)}
    given = quorate.run(votes, target="truth", truth=truth.slice(0, 50), order="given")
    right = 1 - given.summary()["error"]["rate"]
    assert f"{100 * right:.1f} %" in given.headline and "50 items" in given.headline
    assert quorate.run(votes).summary()["pool_agreement"] is None


def test_people_who_all_come_in_one_order_are_told_of():
    votes, _ = crowd()

    def is_told(*args, **options):
        return any("one and the same order" in note for note in quorate.run(*args, **options).summary()["notes"])

    assert is_told(votes) and not is_told(votes, order="shuffled")
    assert not is_told(votes, method="value:choose=agreement"), "it chooses whom to ask"
    mixed = votes.take(np.random.default_rng(0).permutation(votes.num_rows))
    assert not is_told(mixed)


@pytest.mark.parametrize(
    "options",
    [{"method": "value"}, {"method": "value:choose=agreement"}, {"method": "panel:error_cost=10"}, {"target": "truth"}],
    ids=str,
)
def test_a_data_set_names_its_voters_as_a_table_does(options, tmp_path):
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=60)
    votes = np.where(rng.random((60, 3)) < (0.95, 0.8, 0.6), truth[:, None], 1 - truth[:, None])
    voters = rng.permuted(np.tile(np.arange(3), (60, 1)), axis=1)
    said = np.take_along_axis(votes, voters, axis=1)
    data = vote_dataset(said, np.full((1, 60, 2), 0.5), classes=["n", "y"], voters=voters, truth=truth)
    rows = [(str(t), str(voters[t, n]), "ny"[said[t, n]]) for t in range(60) for n in range(3)]
    table = pa.table(dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)))
    known = pa.table({"task": [str(t) for t in range(60)], "truth": ["ny"[k] for k in truth]})
    more = {"truth": known} if "target" in options else {}
    costs = {"0": 5.0, "2": 0.5}
    library = quorate.run(data, costs=costs, order="given", **options)
    command = quorate.run(table, costs=costs, order="given", classes=["n", "y"], **options, **more)
    for column in ("item", "consensus_label", "num_votes", "cost", "voters"):
        assert library.table.column(column).to_pylist() == command.table.column(column).to_pylist(), column
    assert library.summary()["people"] == command.summary()["people"]
    assert library.summary()["error"] == command.summary()["error"]


def test_too_few_classes_for_a_data_set_with_true_classes_are_refused():
    votes, truth = np.array([[0, 1, 1]] * 5), np.array([0, 1, 0, 1, 1])
    voters = np.tile(np.arange(3), (5, 1))
    data = vote_dataset(votes, np.full((1, 5, 2), 0.5), classes=["n", "y"], voters=voters, truth=truth)
    with refused("classes"):
        quorate.run(data, target="truth", classes=["n"])


def test_a_person_of_a_data_set_votes_once_on_an_item_and_nobody_is_no_person():
    votes = np.array([[0, 0, 1], [1, 0, 0], [1, 1, 0], [0, 1, 1]])
    voters = np.array([[0, 1, 1], [-1, -1, 2], [0, 0, 2], [2, 1, 0]])
    data = vote_dataset(votes, np.full((1, 4, 2), 0.5), classes=["n", "y"])
    result = quorate.run(replace(data, voters=voters), method="ask-all", order="given")
    assert result.table.column("num_votes").to_pylist() == [2, 3, 2, 3], "votes of nobody are all different people"
    assert {each["rule"]: each["count"] for each in result.summary()["data"]["findings"]} == {
        "duplicate": 2, "no-worker": 2
    }  # fmt: skip
    assert result.people == ("0", "1", "2")
    first = result.table.column("agreement").to_pylist()[0]
    assert first == 0.5, "of person 1 the last vote counts, which is another than that of person 0"
