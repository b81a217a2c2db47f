"""Columns that are no person's votes, cells that hold all votes of an item, and people under unusual names."""

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from quorate.errors import InvalidInput
from quorate.tables import read_votes
from quorate.tables.votes.people import only_people
from tests.tables.writing import write_csv

RNG = np.random.default_rng(5)
TRUTH = RNG.integers(0, 3, 120)
SAID = np.where(RNG.random((120, 5)) < 0.6, TRUTH[:, None], RNG.integers(0, 3, (120, 5)))
COUNTS = np.stack([(k == SAID).sum(axis=1) for k in range(3)], axis=1)
NAMES = np.array(["e", "n", "c"])
WIDE = {"item": [f"i{t}" for t in range(120)]} | {f"p{k}": NAMES[SAID[:, k]].tolist() for k in range(5)}
TOP = NAMES[COUNTS.argmax(axis=1)].tolist()


@pytest.mark.parametrize("name", ["majority_label", "old_label", "adjudicated", "gold", "Ground Truth"])
@pytest.mark.parametrize("classes", [None, ["e", "n", "c"]])
def test_a_column_called_after_a_summary_is_no_voter(name, classes):
    votes = read_votes(pa.table(WIDE | {name: TOP}), classes=classes)
    assert votes.num_votes == 600 and votes.report.count("ignored-column") == 1


def test_a_column_that_is_the_plurality_of_the_others_is_refused_until_it_is_settled():
    table = pa.table(WIDE | {"outcome": TOP})
    with pytest.raises(InvalidInput) as problem:
        read_votes(table)
    assert problem.value.value == ["outcome"] and "ignore_columns" in problem.value.fix
    assert read_votes(table, ignore_columns="outcome").num_votes == 600
    assert read_votes(table, worker=[*list(WIDE)[1:], "outcome"]).num_votes == 720
    assert read_votes(pa.table(WIDE)).num_votes == 600


@pytest.mark.parametrize("name", ["Dr Gold", "reader_gold"])
def test_a_person_whose_name_holds_a_word_for_a_summary_is_not_dropped(name):
    table = pa.table(WIDE | {name: NAMES[np.roll(TRUTH, 7)].tolist()})
    with pytest.raises(InvalidInput) as problem:
        read_votes(table)
    assert problem.value.value == [name] and name in problem.value.fix
    assert read_votes(table, worker=[*list(WIDE)[1:], name]).num_votes == 720
    assert read_votes(table, ignore_columns=name).num_votes == 600


def test_a_word_for_a_summary_is_enough_where_the_content_agrees():
    votes = read_votes(pa.table(WIDE | {"our majority": TOP}))
    assert votes.num_votes == 600 and votes.report.count("ignored-column") == 1


def test_many_annotators_and_labels_are_compared_one_at_a_time():
    """300 columns of 60 labels on 500 rows: 72 MB if the counts of the others were held for all of them."""
    votes = np.random.default_rng(1).integers(0, 60, (500, 300))
    table = said_by_each(votes)
    tracemalloc.start()
    only_people(table, "votes", table.column_names[1:])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def said_by_each(votes, **more):
    columns = {f"p{k}": votes[:, k].astype(str) for k in range(votes.shape[1])}
    return pa.table({"item": [f"i{t}" for t in range(len(votes))]} | columns | more)


@pytest.mark.skipif("QUORATE_DATA" not in os.environ, reason="needs QUORATE_DATA with kelly_nih.npz")
def test_radiologists_are_people_on_any_part_of_their_readings_and_their_plurality_is_not():
    with np.load(Path(os.environ["QUORATE_DATA"]) / "kelly_nih.npz", allow_pickle=False) as data:
        votes, rng = data["votes"], np.random.default_rng(2)
    for rows in [*([20, 50, 200] * 10), len(votes)]:
        part = votes[rng.choice(len(votes), rows, replace=False)]
        assert read_votes(said_by_each(part), format="wide").num_votes == part.size
    with pytest.raises(InvalidInput) as problem:
        read_votes(said_by_each(votes, outcome=(votes.mean(axis=1) > 0.5).astype(int).astype(str)), format="wide")
    assert problem.value.value == ["outcome"]


@pytest.mark.parametrize(("people", "better"), [(3, 0.95), (5, 0.95), (8, 0.95), (5, 0.9)])
def test_a_person_who_is_better_than_the_others_is_not_taken_for_their_plurality(people, better):
    rng, refused = np.random.default_rng(6), 0
    for rows in [10, 15, 30, 60, 120] * 8:
        truth = rng.integers(0, 2, (rows, 1))
        right = rng.random((rows, people)) < np.r_[better, np.full(people - 1, 0.9)]
        try:
            read_votes(said_by_each(np.where(right, truth, 1 - truth)), format="wide")
        except InvalidInput:
            refused += 1
    assert refused == 0


def test_a_total_beside_counts_is_refused():
    table = pa.table({"item": WIDE["item"], "e": COUNTS[:, 0], "n": COUNTS[:, 1], "c": COUNTS[:, 2], "seen": [5] * 120})
    with pytest.raises(InvalidInput) as problem:
        read_votes(table)
    assert problem.value.value == ["seen"]
    votes = read_votes(table, ignore_columns=["seen"])
    assert votes.num_votes == 600 and votes.classes == ("e", "n", "c")


def test_an_ignored_column_must_be_there():
    with pytest.raises(InvalidInput) as problem:
        read_votes(pa.table(WIDE), ignore_columns="golt")
    assert problem.value.field == "ignore_columns" and problem.value.value == "golt"


@pytest.mark.parametrize("as_text", [True, False])
def test_lists_of_labels_and_mappings_of_counts_are_read(as_text):
    lists = [["e", "n", "n"], ["c", "c"], []]
    counts = [{"e": 1, "n": 2, "c": 0}, {"e": 0, "n": 0, "c": 2}, {"e": 0, "n": 1, "c": 0}]
    cells = [json.dumps(each) for each in lists] if as_text else lists
    votes = read_votes(pa.table({"id": ["a", "b", "d"], "labels": cells}))
    assert votes.num_votes == 5 and votes.report.count("blank-label") == 1
    cells = [json.dumps(each) for each in counts] if as_text else counts
    votes = read_votes(pa.table({"id": ["a", "b", "d"], "label_counts": cells, "gold": ["n", "c", "n"]}))
    assert votes.num_votes == 6 and votes.classes == ("e", "n", "c")


@pytest.mark.parametrize("cell", ["[" * 200_000, '{"a": 1' + "0" * 400 + "}"])
@pytest.mark.parametrize("place", [0, 110])
def test_a_cell_that_python_cannot_hold_is_set_aside(cell, place):
    good = ['{"a": 2, "b": 1}'] * 120
    table = pa.table({"id": [f"i{t}" for t in range(121)], "label_counts": [*good[:place], cell, *good[place:]]})
    if place < 100:  # among the cells that tell what a column holds
        with pytest.raises(InvalidInput):
            read_votes(table, format="cells")
        return
    votes = read_votes(table)
    assert votes.report.count("bad-cell") == 1 and votes.num_votes == 360


def chaos_records(uids, counts):
    for uid, row in zip(uids, counts.tolist(), strict=True):
        counter = {name: count for name, count in zip("enc", row, strict=True) if count}
        top = max(counter, key=counter.get)
        share = np.array(row) / sum(row)
        entropy = float(-(share[share > 0] * np.log(share[share > 0])).sum())
        yield {
            "uid": str(uid), "label_counter": counter, "majority_label": top, "label_dist": share.tolist(),
            "label_count": row, "entropy": entropy, "example": {"premise": "x", "hypothesis": "y", "uid": str(uid)},
            "old_label": top, "old_labels": [top, "n", "e", top, "c"],
        }  # fmt: skip


def check_chaos(path, uids, counts):
    path.write_text("".join(json.dumps(each) + "\n" for each in chaos_records(uids, counts)), encoding="utf-8")
    votes = read_votes(path)
    task, label = (np.array(each.names.to_pylist())[each.codes] for each in (votes.raw.task, votes.raw.label))
    for uid, row in list(zip(uids, counts.tolist(), strict=True))[:50]:
        assert [int((label[task == str(uid)] == name).sum()) for name in "enc"] == row
    assert votes.num_votes == counts.sum() and set(votes.classes) == set("enc")


def test_records_like_those_of_chaosnli_are_read_by_their_counter(tmp_path):
    check_chaos(tmp_path / "made_up.jsonl", [f"u{t}" for t in range(120)], COUNTS * 20)


@pytest.mark.skipif("QUORATE_DATA" not in os.environ, reason="needs QUORATE_DATA with chaosnli_snli.npz")
def test_chaosnli_itself_is_read_by_its_counter(tmp_path):
    with np.load(Path(os.environ["QUORATE_DATA"]) / "chaosnli_snli.npz", allow_pickle=False) as data:
        check_chaos(tmp_path / "chaosnli.jsonl", data["uid"], data["counts"])


PEOPLE = ["Reader ID", "reader", "rater", "coder", "annotator-id", "user", "completed_by", "Judge", "labeler", "doctor"]


@pytest.mark.parametrize("name", [*PEOPLE, "participant", "worker", "radiologist", "Physician Name"])
def test_people_are_found_under_their_usual_names(tmp_path, name):
    path = write_csv(tmp_path / "v.csv", ["item", name, "label"], [["1", "a", "x"], ["1", "b", "y"], ["2", "a", "x"]])
    votes = read_votes(path)
    assert votes.raw.has_workers and set(votes.raw.worker.names.to_pylist()) == {"a", "b"}


def test_people_under_an_unusual_name_are_pointed_out():
    rows = {"item": np.repeat(WIDE["item"], 5), "label": NAMES[SAID.ravel()], "sitting": np.tile(list("vwxyz"), 120)}
    votes = read_votes(pa.table(rows))
    (found,) = (each for each in votes.report.findings if each.rule == "unread-people")
    assert found.samples[0]["value"] == "sitting" and not votes.raw.has_workers
    assert len([line for line in votes.report.understood() if "'sitting'" in line]) == 1
    with pytest.raises(InvalidInput) as problem:
        read_votes(pa.table(rows | {"user": np.repeat(["owner"], 600)}))
    assert problem.value.field == "worker" and problem.value.value == "user" and "sitting" in problem.value.fix
    assert read_votes(pa.table(rows | {"user": np.repeat(["owner"], 600)}), worker="sitting").num_votes == 600
