import numpy as np
import pytest

from quorate.errors import InvalidInput
from quorate.tables import join, read_predictions, read_votes
from tests.quorate.tables.writing import rejected, write, write_csv
from tests.refusals import refused

VOTES = [["1", "ann", "cat"], ["2", "ann", "dog"], ["3", "bob", "bird"], ["4", "bob", "cat"]]


@pytest.fixture
def votes(tmp_path):
    return read_votes(write_csv(tmp_path / "votes.csv", ["task", "worker", "label"], VOTES))


@pytest.fixture
def binary(tmp_path):
    return read_votes(write_csv(tmp_path / "votes.csv", ["task", "worker", "label"], VOTES[:2]))


def probs_of(folder, rows, header=("id", "cat", "dog", "bird"), name="probs.csv", **how):
    return write_csv(folder / name, header, rows, **how)


def test_every_rule_of_predictions_is_counted_and_names_its_row(tmp_path, votes):
    rows = [
        ["1", "0.5", "0.28", "0.2"],  # 2 sums to 0.98
        ["2", "0.5", "0.2", "0.2"],  # 3 sums to 0.9
        ["3", "1.2", "-0.2", "0"],  # 4 negative
        ["4", "0", "0.1", "0.9"],  # 5
        ["", "0.9", "0.1", "0"],  # 6
        ["4", "0.9", "0.1", "0"],  # 7 said again
        ["9", "", "", ""],  # 8 blank, and nobody voted on 9
    ]
    found = read_predictions(probs_of(tmp_path, rows))
    assert rejected(found.report, tmp_path / "rejects.csv") == [
        (3, "bad-number"),
        (4, "bad-number"),
        (6, "no-item"),
        (7, "duplicate"),
        (8, "no-answer"),
    ]
    joined = join(votes, found)
    expected = [np.array([0.5, 0.28, 0.2]) / 0.98, np.full(3, 1 / 3), np.full(3, 1 / 3), [0, 0.1, 0.9]]
    assert np.allclose(joined.predictions[0], expected, atol=1e-8)
    assert joined.predictions.min() > 0
    report = joined.report
    assert [report.count(rule) for rule in ("rounded", "unmatched")] == [1, 1]
    assert joined.unvoted == ("9",) and np.allclose(joined.unvoted_predictions, 1 / 3)


@pytest.mark.parametrize(
    ("total", "rule"),
    [(0.999, None), (1.001, None), (0.998, "rounded"), (1.04, "rounded"), (1.06, "bad-number")],
)
def test_sums_near_one_are_renormalised_and_others_set_aside(tmp_path, total, rule):
    found = read_predictions(probs_of(tmp_path, [["1", total / 2, total / 4, total / 4]]))
    assert [finding.rule for finding in found.report.findings] == ([rule] if rule else [])


def test_strict_refuses_what_would_be_renormalised(tmp_path):
    path = probs_of(tmp_path, [["1", "0.5", "0.5", "0"], ["2", "0.5", "0.28", "0.2"]])
    with pytest.raises(InvalidInput) as caught:
        read_predictions(path, strict=True)
    assert (caught.value.field, caught.value.value, caught.value.place) == ("source", "probs.csv", "row 3")
    assert "sum 0.98" in caught.value.rule


def test_several_classifiers_are_several_files_and_may_order_classes_differently(tmp_path, votes):
    first = probs_of(tmp_path, [["1", 0.7, 0.2, 0.1]], name="resnet.csv")
    second = write(tmp_path / "vit.parquet", ["bird", "item_id", "dog", "cat"], [[0.3, "1", 0.1, 0.6]])
    joined = join(votes, read_predictions([first, second]))
    assert joined.models == ("resnet", "vit") and joined.classes == ("cat", "dog", "bird")
    assert np.allclose(joined.predictions[:, 0], [[0.7, 0.2, 0.1], [0.6, 0.1, 0.3]])
    assert join(votes, read_predictions({"a": first, "b": first})).models == ("a", "b")


def test_no_classifier_is_every_class_alike(votes):
    joined = join(votes)
    assert joined.models == ("uniform",) and np.all(joined.predictions == 1 / 3)
    assert joined.report.findings == ()


def test_a_hard_label_has_nine_tenths_and_shares_the_rest(tmp_path, votes):
    path = probs_of(tmp_path, [["1", "cat"], ["2", "dog"], ["3", " dog"], ["4", ""]], ["id", "prediction"])
    found = read_predictions(path)
    joined = join(votes, found)
    by_name = dict(zip(joined.classes, joined.predictions[0, 0], strict=True))
    assert by_name == pytest.approx({"cat": 0.9, "dog": 0.05, "bird": 0.05})
    assert np.allclose(joined.predictions[0, 3], 1 / 3)
    assert found.report.count("spelling") == 1 and found.report.count("no-answer") == 1


def test_a_label_with_its_score_shares_the_rest(tmp_path, votes):
    path = probs_of(
        tmp_path, [["1", "cat", "0.6"], ["2", "fish", "0.9"], ["3", "dog", "1.3"]], ["id", "label", "score"]
    )
    joined = join(votes, read_predictions(path, classes=["cat", "dog", "bird"]), classes=["cat", "dog", "bird"])
    assert np.allclose(joined.predictions[0, 0], [0.6, 0.2, 0.2])
    assert np.allclose(joined.predictions[0, 1:], 1 / 3)
    assert rejected(joined.report, tmp_path / "r.csv") == [(3, "unknown-label"), (4, "bad-number")]


def test_one_score_is_that_of_the_second_class_or_of_the_class_it_is_named_after(tmp_path, binary):
    scores = probs_of(tmp_path, [["1", "0.2"], ["2", "0.7"]], ["id", "score"])
    joined = join(binary, read_predictions(scores, classes=["cat", "dog"]))
    assert np.allclose(joined.predictions[0, :, joined.classes.index("dog")], [0.2, 0.7])
    by_class = probs_of(tmp_path, [["1", "0.2"], ["2", "0.7"]], ["id", "cat"], name="named.csv")
    named = join(binary, read_predictions(by_class))
    assert np.allclose(named.predictions[0, :, named.classes.index("cat")], [0.2, 0.7])
    assert np.allclose(named.predictions.sum(axis=-1), 1)
    with refused("source") as caught:
        read_predictions(scores)
    assert "`classes=" in caught.value.fix


def test_arrays_take_their_names_from_the_file(tmp_path, votes):
    array = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    np.savez(tmp_path / "probs.npz", probs=array[None], ids=np.array([2, 1]), classes=np.array(["bird", "cat", "dog"]))
    named = join(votes, read_predictions(tmp_path / "probs.npz"))
    assert named.classes == ("bird", "cat", "dog") and np.allclose(named.predictions[0, :2], array[::-1])
    assert read_predictions(array).classes == ("0", "1", "2")
    np.savez(tmp_path / "short.npz", probs=array, ids=np.array([1, 2, 3]))
    with refused("ids", value=[1, 2, 3]):
        read_predictions(tmp_path / "short.npz")


def test_pickles_are_not_read(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match="Pickles are not read"):
        read_predictions(tmp_path / "bad.npy")


def test_numeric_classes_meet_numeric_columns(tmp_path):
    votes = read_votes(write(tmp_path / "v.parquet", ["task", "worker", "label"], [[7.0, 1, 1], [8.0, 1, 0]]))
    path = write(tmp_path / "p.csv", ["id", "1", "0"], [["7", 0.9, 0.1], ["8", 0.2, 0.8]])
    joined = join(votes, read_predictions(path))
    assert joined.items == ("7", "8") and joined.classes == ("1", "0")
    assert list(joined.label) == [0, 1] and np.allclose(joined.predictions[0], [[0.9, 0.1], [0.2, 0.8]])


def test_decimal_commas_and_prefixes_are_read(tmp_path, binary):
    path = probs_of(tmp_path, [["1", "0,9", "0,1"], ["2", "0,2", "0,8"]], ["id", "prob_dog", "prob_cat"], delimiter=";")
    joined = join(binary, read_predictions(path))
    assert joined.classes == ("dog", "cat") and joined.report.count("spelling") == 4
    assert np.allclose(joined.predictions[0], [[0.9, 0.1], [0.2, 0.8]])


def test_columns_that_are_no_class_are_left_out_and_counted(tmp_path, votes):
    header = ["id", "width", "cat", "dog", "bird", "note"]
    path = probs_of(tmp_path, [["1", "640", "0.7", "0.2", "0.1", "fine"]], header)
    found = read_predictions(path, classes=["cat", "dog", "bird"])
    assert found.classes == ("cat", "dog", "bird") and found.report.count("ignored-column") == 2


def test_a_table_without_an_id_column_or_rows_is_refused(tmp_path):
    for rows, header in (([], ["id", "cat", "dog"]), ([["0.7", "0.3"]], ["cat", "dog"])):
        with refused("source", value="probs.csv"):
            read_predictions(probs_of(tmp_path, rows, header))


def probabilities(extra, *cells, count=40):
    """A header and rows of cat, dog and bird that sum to 1, with one more column of `cells`, again and again."""
    rows = [[f"i{t}", 0.7, 0.2, 0.1, cells[t % len(cells)]] for t in range(count)]
    return ["id", "cat", "dog", "bird", extra], rows


def votes_on(folder, count=40, labels=("cat", "dog", "bird", "cat", "cat")):
    rows = [[f"i{t}", f"w{k}", labels[(t * 2 + k) % len(labels)]] for t in range(count) for k in range(3)]
    return read_votes(write_csv(folder / "votes.csv", ["task", "worker", "label"], rows))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("epoch", (12,)),
        ("entropy", (0.8, 0.3)),
        ("loss", (0.012,)),
        ("is_test", (0,)),
        ("fold", (0, 1)),
        ("logit", (-0.1,)),
    ],
)
def test_a_column_of_numbers_beside_the_voted_classes_is_no_class(tmp_path, name, cells):
    path = probs_of(tmp_path, probabilities(name, *cells)[1], probabilities(name, *cells)[0])
    joined = join(votes_on(tmp_path), read_predictions(path))
    assert joined.classes == ("cat", "dog", "bird")
    assert np.allclose(joined.predictions[0], [0.7, 0.2, 0.1])
    found = {finding.rule: finding for finding in joined.report.findings}
    assert list(found) == ["ignored-column"] and found["ignored-column"].samples[0].value == name
    assert joined.report.usable == {"probs": 40}


@pytest.mark.parametrize("name", ["", "Unnamed: 0", " "])
def test_the_index_that_pandas_writes_is_no_class(tmp_path, name):
    header, rows = probabilities("note", "x")
    path = probs_of(tmp_path, [[t, *row] for t, row in enumerate(rows)], [name, *header])
    found = read_predictions(path, strict=True)
    assert found.classes == ("cat", "dog", "bird") and found.report.count("ignored-column") == 2


def test_a_class_nobody_voted_for_stays(tmp_path):
    votes = votes_on(tmp_path, labels=("cat", "dog"))
    joined = join(votes, read_predictions(probs_of(tmp_path, *reversed(probabilities("note", "x")))))
    assert joined.classes == ("cat", "dog", "bird") and joined.report.classes["bird"] == 0


def test_a_rare_class_of_labels_written_as_zeros_and_ones_stays(tmp_path):
    rows = [[f"i{t}", 1, 0, 0] for t in range(20)] + [[f"i{t}", 0, 1, 0] for t in range(20, 40)]
    joined = join(votes_on(tmp_path, labels=("cat", "dog")), read_predictions(probs_of(tmp_path, rows)))
    assert joined.classes == ("cat", "dog", "bird")


def test_columns_with_a_prefix_are_the_classes_where_they_alone_sum_to_one(tmp_path):
    rows = [[f"i{t}", 0.7, 0.3, 12] for t in range(40)]
    found = read_predictions(probs_of(tmp_path, rows, ["id", "prob_cat", "prob_dog", "epoch"]), strict=True)
    assert found.classes == ("cat", "dog") and found.report.count("ignored-column") == 1


def test_rows_that_do_not_sum_name_the_columns_read_as_classes(tmp_path):
    rows = [[f"i{t}", 2.5, 0.3, 12] for t in range(40)]
    path = probs_of(tmp_path, rows, ["id", "cat", "dog", "epoch"])
    with pytest.raises(InvalidInput) as loose:
        join(votes_on(tmp_path), read_predictions(path))
    with pytest.raises(InvalidInput) as strict:
        read_predictions(path, strict=True)
    assert (loose.value.field, strict.value.field) == ("predictions", "source")
    for caught in (loose, strict):
        assert "'cat', 'dog', 'epoch'" in caught.value.fix and "`classes=[...]`" in caught.value.fix
