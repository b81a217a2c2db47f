"""The names of columns decide the layout; columns that are no person's votes; cells that hold all votes of an item."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from quorate.errors import InvalidInput
from quorate.tables import read_votes
from tests.quorate.tables.writing import write_csv, write_jsonl
from tests.refusals import refused

RNG = np.random.default_rng(5)
TRUTH = RNG.integers(0, 3, 120)
SAID = np.where(RNG.random((120, 5)) < 0.6, TRUTH[:, None], RNG.integers(0, 3, (120, 5)))
COUNTS = np.stack([(k == SAID).sum(axis=1) for k in range(3)], axis=1)
NAMES = np.array(["e", "n", "c"])
WIDE = {"item": [f"i{t}" for t in range(120)]} | {f"p{k}": NAMES[SAID[:, k]].tolist() for k in range(5)}
TOP = NAMES[COUNTS.argmax(axis=1)].tolist()


def test_the_names_of_columns_decide_the_layout(tmp_path):
    rows = [["1", "2", "0"], ["2", "1", "1"]]
    header = ["id", "cat", "dog"]
    with pytest.raises(InvalidInput) as caught:
        read_votes(write_csv(tmp_path / "v.csv", header, rows))
    assert all(f"`format={name!r}`" in caught.value.fix for name in ("wide", "counts"))
    assert read_votes(tmp_path / "v.csv", format="counts").num_votes == 4
    assert read_votes(tmp_path / "v.csv", classes=["cat", "dog"]).num_votes == 4
    wide = read_votes(tmp_path / "v.csv", format="wide")
    assert wide.raw.worker.names.to_pylist() == ["cat", "dog"] and wide.classes == ("2", "0", "1")
    numbered = read_votes(write_csv(tmp_path / "n.csv", ["id", "annotator_1", "annotator_2"], rows))
    assert numbered.raw.worker.names.to_pylist() == ["annotator_1", "annotator_2"]


def test_a_final_answer_beside_numbered_people_is_not_read_as_the_votes():
    table = pa.table({"image": ["a", "b"], "reader_1": ["x", "y"], "reader_2": ["x", "x"], "diagnosis": ["x", "y"]})
    assert read_votes(table).num_votes == 4


@pytest.mark.parametrize("name", ["majority_label", "old_label", "adjudicated", "gold", "Ground Truth"])
@pytest.mark.parametrize("classes", [None, ["e", "n", "c"]])
def test_a_column_called_after_a_summary_is_no_voter(name, classes):
    votes = read_votes(pa.table(WIDE | {name: TOP}), format="wide", classes=classes)
    assert votes.num_votes == 600 and votes.report.count("ignored-column") == 1


def test_a_column_that_shares_no_label_is_no_voter():
    remarks = {"comment": [f"text {t}" for t in range(120)]}
    votes = read_votes(pa.table(WIDE | remarks), format="wide")
    assert votes.num_votes == 600 and votes.report.count("ignored-column") == 1


def test_a_column_that_is_the_majority_of_the_others_is_doubted_until_it_is_settled():
    truth = RNG.integers(0, 2, (200, 1))
    said = np.where(RNG.random((200, 5)) < 0.75, truth, 1 - truth)
    people = {f"p{k}": said[:, k].astype(str) for k in range(5)}
    table = pa.table(
        {"item": [f"i{t}" for t in range(200)]} | people | {"last": (said.sum(axis=1) > 2).astype(int).astype(str)}
    )
    (warning,) = read_votes(table, format="wide").warnings
    assert "'last'" in warning and "`ignore_columns='last'`" in warning
    settled = read_votes(table, format="wide", ignore_columns="last")
    assert settled.num_votes == 1000 and settled.warnings == ()
    assert read_votes(table, worker=["p0", "p1", "last"]).warnings == ()


@pytest.mark.skipif("QUORATE_DATA" not in os.environ, reason="needs QUORATE_DATA with kelly_nih.npz")
def test_radiologists_are_people():
    with np.load(Path(os.environ["QUORATE_DATA"]) / "kelly_nih.npz", allow_pickle=False) as data:
        votes = data["votes"]
    people = {f"p{k}": votes[:, k].astype(str) for k in range(votes.shape[1])}
    found = read_votes(pa.table({"item": [f"i{t}" for t in range(len(votes))]} | people), format="wide")
    assert found.num_votes == votes.size and found.warnings == ()


def test_a_total_beside_counts_is_refused():
    table = pa.table({"item": WIDE["item"], "e": COUNTS[:, 0], "n": COUNTS[:, 1], "c": COUNTS[:, 2], "seen": [5] * 120})
    with pytest.raises(InvalidInput) as problem:
        read_votes(table, format="counts")
    assert problem.value.value == ["seen"]
    votes = read_votes(table, format="counts", ignore_columns=["seen"])
    assert votes.num_votes == 600 and votes.classes == ("e", "n", "c")


def test_an_ignored_column_must_be_there():
    with refused("ignore_columns") as problem:
        read_votes(pa.table(WIDE), ignore_columns="golt")
    assert problem.value.value == "golt"


def test_lists_are_not_read_as_labels():
    table = pa.table({"item": ["a", "a"], "label": ['["x", "y"]', '["x"]']})
    assert read_votes(table).num_votes == 3
    with pytest.raises(InvalidInput) as caught:
        read_votes(table, format="long")
    assert "`format='cells'`" in caught.value.fix


@pytest.mark.parametrize("as_text", [True, False])
def test_lists_of_labels_and_mappings_of_counts_are_read(as_text):
    lists = [["e", "n", "n"], ["c", "c"], []]
    counts = [{"e": 1, "n": 2, "c": 0}, {"e": 0, "n": 0, "c": 2}, {"e": 0, "n": 1, "c": 0}]
    cells = [json.dumps(each) for each in lists] if as_text else lists
    votes = read_votes(pa.table({"id": ["a", "b", "d"], "labels": cells}))
    assert votes.num_votes == 5 and votes.report.count("no-answer") == 1
    cells = [json.dumps(each) for each in counts] if as_text else counts
    votes = read_votes(pa.table({"id": ["a", "b", "d"], "label_counts": cells, "gold": ["n", "c", "n"]}))
    assert votes.num_votes == 6 and votes.classes == ("e", "n", "c")


@pytest.mark.parametrize("cell", ["[" * 200_000, '{"a": 1' + "0" * 400 + "}"])
def test_a_cell_that_python_cannot_hold_is_set_aside(cell):
    table = pa.table(
        {"id": [f"i{t}" for t in range(121)], "label_counts": [*['{"a": 2, "b": 1}'] * 110, cell] + ["{}"] * 10}
    )
    votes = read_votes(table)
    assert votes.report.count("unreadable") == 1 and votes.num_votes == 330


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


def test_counts_beside_a_text_a_url_and_the_winner_are_counts():
    columns = {"a": [3, 0, 1, 0], "b": [0, 4, 1, 0], "c": [1, 0, 2, 4]}
    others = {"text": ["say", "it", "in", "words"], "url": ["http://x/1"] * 4, "winner": list("abcc"), "total": [4] * 4}
    table = pa.table({"id": list("wxyz")} | others | columns)
    with refused("votes"):
        read_votes(table)
    found = read_votes(table, format="counts")
    assert (found.classes, found.num_votes) == (("a", "b", "c"), 16)


def test_outcomes_beside_annotators_are_no_annotators():
    votes = {name: list("abbabaab") for name in ("alice", "bob", "gpt4_pred")}
    names = ("final_dx", "model_pred", "gold_label", "predicted_class", "true_answer")
    outcomes = {name: list("abbabaab") for name in names}
    found = read_votes(pa.table({"id": list("rstuvwxy")} | votes | outcomes), format="wide")
    assert set(found.raw.worker.names.to_pylist()) == set(votes)


@pytest.mark.parametrize(
    ("column", "cells", "people"),
    [
        ("votes", ["a|b|a", "b", "a | b"], ()),
        ("votes", ['["a", "b", "a"]', '["b"]', '["a", "b"]'], ()),
        ("labels", ["['a', 'b', 'a']", "['b']", "['a', 'b']"], ()),
        ("counts", ['{"a": 2, "b": 1}', '{"b": 1}', "{'a': 1, 'b': 1}"], ()),
        ("votes", ['{"x": "a", "y": "b", "z": "a"}', '{"x": "b"}', '{"x": "a", "y": "b"}'], ("x", "y", "z")),
    ],
)
def test_lists_mappings_and_bars_in_cells(tmp_path, column, cells, people):
    rows = [[f"i{k}", cell] for k, cell in enumerate(cells)]
    for write, name in ((write_csv, "cells.csv"), (write_jsonl, "lines.json")):
        path = write(tmp_path / name, ["item", column], rows)
        found = read_votes(path)
        assert (found.num_votes, sorted(found.classes)) == (6, ["a", "b"])
        assert tuple(found.raw.worker.names.to_pylist()) == people and not found.report.num_set_aside
