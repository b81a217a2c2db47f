import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from quorate.datasets import vote_dataset
from quorate.tables import join, read_predictions, read_votes
from tests.quorate.tables.writing import rejected, vote_rows, write_csv
from tests.refusals import refused


def votes_of(*rows, **how):
    task, worker, label = zip(*rows, strict=True)
    return read_votes(pa.table({"task": list(task), "worker": list(worker), "label": list(label)}), **how)


def probs_of(ids, **columns):
    return read_predictions(pa.table({"id": ids, **columns}))


CAST = (("b", "x", "dog"), ("a", "x", "cat"), ("b", "y", "cat"), ("c", "y", "dog"))


def test_items_come_in_the_order_of_their_first_vote_and_votes_in_recorded_order():
    joined = join(votes_of(*CAST))
    assert joined.items == ("b", "a", "c") and joined.workers == ("x", "y")
    assert list(joined.starts) == [0, 2, 3, 4] and list(joined.item) == [0, 0, 1, 2]
    assert list(joined.order) == [0, 2, 1, 3] and list(joined.worker) == [0, 1, 0, 1]
    assert joined.label.dtype == np.int16 and joined.worker.dtype == joined.item.dtype == np.int32
    assert vote_rows(joined) == list(CAST)


def test_items_without_a_prediction_are_kept():
    probs = probs_of(["a", "b", "z"], cat=[0.9, 0.4, 0.5], dog=[0.1, 0.6, 0.5])
    every = join(votes_of(*CAST), probs)
    assert every.items == ("b", "a", "c") and np.allclose(every.predictions[0, 2], 0.5)
    assert every.report.count("unmatched") == 2 and every.unvoted == ("z",)
    with refused("predictions") as caught:
        join(votes_of(*CAST), probs, strict=True)
    assert "1 unmatched" in caught.value.rule, "the item without a prediction; predictions without votes are usual"


def test_classes_are_the_union_by_name_in_a_stated_order():
    joined = join(votes_of(*CAST, ("c", "z", "bird")), probs_of(["a", "b", "c"], fish=[0.2] * 3, dog=[0.8] * 3))
    assert joined.classes == ("fish", "dog", "cat", "bird")
    assert joined.report.count("missing-class") == 2
    assert np.allclose(joined.predictions[0, 0], [0.2, 0.8, 0, 0], atol=1e-8) and joined.predictions.min() > 0


def test_labels_meet_the_predictions_class_names_by_the_same_rules():
    votes = votes_of(("a", "x", "Cat"), ("a", "y", "cat"), ("a", "z", "owl"))
    joined = join(votes, probs_of(["a"], dog=[0.3], cat=[0.7]))
    assert joined.classes == ("dog", "cat", "owl") and joined.report.count("spelling") == 1
    assert list(joined.label) == [1, 1, 2]


def test_duplicates_are_settled_again_when_class_names_change_a_label(tmp_path):
    votes = votes_of(("a", "x", "cat"), ("a", "x", "banana"), ("a", "y", "dog"))
    assert votes.report.count("duplicate") == 1  # banana is the later vote
    joined = join(votes, classes=["dog", "cat"])  # but it is no class
    assert vote_rows(joined) == [("a", "x", "cat"), ("a", "y", "dog")]
    assert rejected(joined.report, tmp_path / "r.csv") == [(2, "unknown-label")]


def test_classes_given_leave_out_other_columns_and_say_so():
    probs = probs_of(["a", "b", "c"], cat=[0.5, 0.97, 0.2], dog=[0.3, 0.01, 0.8], bird=[0.2, 0.02, 0.0])
    joined = join(votes_of(*CAST), probs, classes=["dog", "cat"])
    assert joined.report.count("ignored-column") == 1 and joined.report.count("bad-number") == 1
    assert np.allclose(joined.predictions[0], [[0.01 / 0.98, 0.97 / 0.98], [0.5, 0.5], [0.8, 0.2]], atol=1e-8)


def test_ids_that_never_meet_are_refused_and_leading_zeros_count():
    with refused("predictions") as caught:
        join(votes_of(*CAST), probs_of(["1", "2"], cat=[1, 0], dog=[0, 1]))
    assert "['b', 'a', 'c']" in caught.value.rule and "['1', '2']" in caught.value.rule
    votes = votes_of(("7", "x", "cat"), ("8", "x", "dog"))
    joined = join(votes, probs_of(["007", "8"], cat=[0.5, 0.5], dog=[0.5, 0.5]))
    assert joined.report.count("unmatched") == 2


def test_one_class_or_no_vote_is_refused():
    with refused("classes", value=["cat"]):
        join(votes_of(("a", "x", "cat")))
    with refused("votes"):
        join(votes_of(("a", "x", "cat")), classes=["dog", "bird"])


def test_a_joined_table_is_a_valid_data_set():
    rng = np.random.default_rng(1)
    rows = [(f"i{t}", f"w{n}", str(rng.choice(["cat", "dog"]))) for t in range(40) for n in range(rng.integers(1, 6))]
    joined = join(votes_of(*rows))
    data = joined.to_dataset()
    assert data.votes.shape == (40, int(np.diff(joined.starts).max())) and data.classes == joined.classes
    for t in range(40):
        votes = data.votes[t][data.votes[t] >= 0]
        assert list(votes) == list(joined.votes_of(t)) and np.all(data.votes[t][len(votes) :] == -1)
    again = vote_dataset(data.votes, data.predictions, classes=data.classes, models=data.models)  # every check
    assert np.array_equal(again.votes, data.votes) and np.array_equal(again.predictions, data.predictions)


def test_nothing_can_be_written_to():
    joined = join(votes_of(*CAST))
    for array in (joined.starts, joined.item, joined.label, joined.worker, joined.order, joined.predictions):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_quorate_itself_does_not_import_the_extra():
    code = "import quorate, sys; assert not {'pyarrow', 'narwhals', 'pandas', 'polars', 'openpyxl'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


ROWS = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])


def test_rows_without_ids_do_not_join_a_table_of_votes(tmp_path):
    np.save(tmp_path / "probs.npy", ROWS)
    for source in (ROWS, tmp_path / "probs.npy"):
        with refused("predictions") as caught:
            join(votes_of(*((item, "x", "dog") for item in "012")), read_predictions(source, classes=["cat", "dog"]))
        assert ".npz" in caught.value.fix


def test_classes_that_no_vote_names_are_refused():
    votes = votes_of(("0", "x", "cat"), ("1", "x", "dog"), ("2", "x", "dog"))
    with refused("predictions") as caught:
        join(votes, probs_of(["0", "1", "2"], ant=[0.5] * 3, bee=[0.5] * 3))
    assert "['ant', 'bee']" in caught.value.rule


def test_a_voted_label_that_no_classifier_knows_is_told_with_the_class_it_resembles(tmp_path):
    labels = ["cat", "dog", "cat", "dog", "cat"]
    rows = [[f"i{t}", f"w{k}", labels[(t + k) % 5]] for t in range(20) for k in range(3)]
    rows += [["i3", "w9", "caat"], ["i4", "w9", "caat"], ["i5", "w9", "horse"]]
    votes = read_votes(write_csv(tmp_path / "v.csv", ["task", "worker", "label"], rows))
    path = write_csv(tmp_path / "p.csv", ["id", "cat", "dog"], [[f"i{t}", 0.7, 0.3] for t in range(20)])
    report = join(votes, read_predictions(path)).report
    assert "'caat' (perhaps 'cat')" in report.warnings[0]


def test_what_was_read_tells_items_without_a_prediction_and_blanks_by_table(tmp_path):
    (tmp_path / "votes.csv").write_text("task,label\n1,x\n1,\n2,y\n3,y\n")
    (tmp_path / "probs.csv").write_text("id,x,y\n1,0.9,0.1\n2,,\n")
    report = join(read_votes(tmp_path / "votes.csv"), read_predictions(tmp_path / "probs.csv")).report
    (line,) = (each for each in report.understood() if each.startswith("Read "))
    assert "1 of 3 items have a prediction" in line
    assert "no-answer 1 in votes.csv" in line and "no-answer 1 in probs.csv" in line
