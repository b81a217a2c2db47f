import json

import numpy as np
import pyarrow as pa
import pytest

from quorate.commands.inputs import read_inputs
from quorate.errors import InvalidInput
from quorate.tables import join, read_predictions, read_votes
from quorate.tables.options import TableOptions
from tests.quorate.tables.writing import rejected, vote_rows, write, write_csv
from tests.refusals import refused

LONG = ["task", "worker", "label"]


def csv_of(folder, rows, header=LONG, **how):
    return write_csv(folder / "votes.csv", header, rows, **how)


# --- dirt: every rule, its count, its row -------------------------------------------------------------------------


def test_every_rule_of_long_votes_is_counted_and_names_its_row(tmp_path):
    rows = [
        ["1", "ann", "cat"],  # 2
        ["1", "bob", "dog"],  # 3
        ["", "bob", "dog"],  # 4 missing task
        ["2", "ann", ""],  # 5 blank label
        ["2", "ann", "dog"],  # 6
        ["2", "", "cat"],  # 7 missing worker
        ["2", "bob", "bird"],  # 8 unknown
        ["3", "bob", " cat "],  # 9 space
        ["3.0", "ann", "Cat"],  # 10 case, and 3.0 is 3
        ["1", "ann", "cat"],  # 11 exact duplicate
        ["1", "bob", "cat"],  # 12 changes 3
        [" 4", "bob", "dog"],  # 13 id space
        ["5", "bob", " "],  # 14 blank: item 5 has no vote
        ["", "", ""],  # 15 blank row
    ]
    votes = read_votes(csv_of(tmp_path, rows), classes=["cat", "dog"])
    report = votes.report
    counts = {finding.rule: finding.count for finding in report.findings}
    assert counts == {
        "no-item": 2,
        "no-answer": 2,
        "no-worker": 1,
        "unknown-label": 1,
        "spelling": 4,
        "duplicate": 2,
        "unmatched": 1,
    }
    assert rejected(report, tmp_path / "rejects.csv") == [
        (3, "duplicate"),
        (4, "no-item"),
        (5, "no-answer"),
        (8, "unknown-label"),
        (11, "duplicate"),
        (14, "no-answer"),
        (15, "no-item"),
    ]
    assert report.num_set_aside == 7
    assert report.totals == {"rows": 14, "votes": 7, "items": 4}
    assert vote_rows(join(votes)) == [
        ("1", "ann", "cat"),
        ("2", "ann", "dog"),
        ("2", None, "cat"),
        ("3", "bob", "cat"),
        ("3", "ann", "cat"),
        ("1", "bob", "cat"),
        ("4", "bob", "dog"),
    ]
    json.dumps(report.as_dict())


def test_rows_read_are_votes_kept_and_rows_set_aside(tmp_path):
    rng = np.random.default_rng(3)
    choices = (["1", "2", "3", "3.0", ""], ["a", "b", "c", ""], ["cat", "dog", "", "Dog"])
    rows = [[str(rng.choice(each)) for each in choices] for _ in range(400)]
    report = read_votes(csv_of(tmp_path, rows)).report
    assert report.totals["rows"] == 400 == report.totals["votes"] + report.num_set_aside
    assert len(rejected(report, tmp_path / "rejects.csv")) == report.num_set_aside > 0


def test_ragged_rows_and_empty_lines_are_set_aside_under_their_own_numbers(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text('task,worker,label\n1,a,x\n\n2,b\n3,"c\nd",y\n4,e,z,w\n5,f,\n6,f,x\n\n')
    votes = read_votes(path)
    assert rejected(votes.report, tmp_path / "rejects.csv") == [
        (3, "no-item"),
        (4, "unreadable"),
        (6, "unreadable"),
        (7, "no-answer"),
        (9, "no-item"),
    ]
    assert vote_rows(join(votes)) == [("1", "a", "x"), ("3", "c\nd", "y"), ("6", "f", "x")]


def test_row_numbers_hold_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.tables.readers.delimited.BLOCK_BYTES", 256)
    rows = [[str(n), "a", "x" if n % 2 else "y"] for n in range(2, 302)]
    for bad in (40, 41, 150, 299):
        rows[bad - 2] = [str(bad), "a"]
    for blank in (39, 42, 151, 301):
        rows[blank - 2][2] = ""
    report = read_votes(csv_of(tmp_path, rows)).report
    expected = [(n, "unreadable") for n in (40, 41, 150, 299)] + [(n, "no-answer") for n in (39, 42, 151, 301)]
    assert rejected(report, tmp_path / "rejects.csv") == sorted(expected)


def test_labels_that_differ_by_case_stay_apart_unless_the_classes_say_which(tmp_path):
    path = csv_of(tmp_path, [["1", "a", "Cat"], ["1", "b", "cat"], ["1", "c", "CAT"]])
    apart = read_votes(path)
    assert apart.classes == ("Cat", "cat", "CAT")
    assert apart.report.count("doubtful-label") == 3
    both = read_votes(path, classes=["Cat", "cat"])  # CAT could be either
    assert both.num_votes == 2 and both.report.count("unknown-label") == 1 and both.report.count("spelling") == 0
    one = read_votes(path, classes=["cat", "dog"])
    assert one.num_votes == 3 and one.report.count("spelling") == 2


def test_nothing_is_joined_while_labels_differ_by_case_only(tmp_path):
    rows = [["1", "a", "Cat"], ["1", "b", "cat"], ["2", "c", "cat"], ["2", "a", "dog"]]
    with refused("votes") as problem:
        join(read_votes(csv_of(tmp_path, rows)))
    assert "classes=['cat', 'dog']" in problem.value.fix


def test_ids_are_compared_as_text_after_one_stated_step(tmp_path):
    rows = [["007", "a", "x"], ["7", "a", "y"], ["7.0", "b", "y"], ["7.50", "a", "x"], ["07.0", "a", "x"]]
    votes = read_votes(csv_of(tmp_path, rows))
    assert votes.items == ("007", "7", "7.50", "07.0")
    assert votes.report.count("spelling") == 1


def test_huge_ids_and_unicode_names_survive(tmp_path):
    long_id, number = "x" * 100_000, "123456789012345678901234567890"
    rows = [[long_id, "Zoë", "猫"], [number, "Zoë", "犬"], [number, "Åsa", "猫"]]
    for ending in (".csv", ".jsonl", ".parquet"):
        votes = read_votes(write(tmp_path / f"votes{ending}", LONG, rows))
        assert votes.items == (long_id, number) and votes.classes == ("猫", "犬")


# --- strict ---------------------------------------------------------------------------------------------------------


def test_strict_names_the_first_row_and_how_many_more(tmp_path):
    rows = [["1", "a", "x"], ["2", "a", ""], ["3", "a", "x"], ["", "a", "y"], ["3", "a", "x"], ["4", "b", "y"]]
    with pytest.raises(InvalidInput) as caught:
        read_votes(csv_of(tmp_path, rows), strict=True)
    assert (caught.value.field, caught.value.value, caught.value.place) == ("source", "votes.csv", "row 3")
    assert "and 3 more" in caught.value.rule and "1 no-item" in caught.value.rule


def test_strict_accepts_spellings_with_one_meaning_and_refuses_classes_that_differ_by_case(tmp_path):
    rows = [["1", "a", "cat"], [" 1", "b", "Cat"], ["1.0", "c", "dog "]]
    path = csv_of(tmp_path, rows, encoding="utf-8-sig")
    votes = read_votes(path, classes=["cat", "dog"], strict=True)
    assert votes.num_votes == 3 and votes.items == ("1",) and votes.report.count("spelling") == 4
    with refused("source") as problem:
        read_votes(path, strict=True)
    assert "classes" in problem.value.fix


def test_strict_accepts_what_is_merged_named_or_usual(tmp_path):
    path = csv_of(tmp_path, [["1", "a", "cat"], ["1", "b", "Cat"], ["2", "c", "dog"], ["2", "d", "pass"]])
    probs = pa.table({"id": ["1", "2", "3"], "cat": [0.9, 0.2, 0.5], "dog": [0.1, 0.8, 0.5]})
    joined, _ = read_inputs(
        path, probs, TableOptions(strict=True, abstain_labels=["pass"]), by_time=True, progress=None
    )
    assert (joined.classes, joined.num_votes) == (("cat", "dog"), 3)


# --- which format, which columns --------------------------------------------------------------------------------------


def test_columns_can_be_named(tmp_path):
    path = csv_of(tmp_path, [["1", "p", "a", "x"], ["2", "q", "a", "y"]], ["id", "url", "label", "gold"])
    votes = read_votes(path, task="url", worker="label", label="gold")
    assert votes.items == ("p", "q") and votes.classes == ("x", "y")
    with refused("task", value="nope"):
        read_votes(path, task="nope")


def test_votes_without_a_worker_column_are_anonymous_and_never_duplicates(tmp_path):
    joined = join(read_votes(csv_of(tmp_path, [["1", "x"], ["1", "x"], ["1", "y"]], ["item", "label"]), strict=True))
    assert joined.num_votes == 3 and joined.workers == () and list(joined.worker) == [-1, -1, -1]


def test_wide_tables_take_the_annotators_by_name(tmp_path):
    path = csv_of(tmp_path, [["1", "x", "y", "x"], ["2", "", "x", "y"]], ["id", "ann", "bob", "label"])
    assert vote_rows(join(read_votes(path, worker=["ann", "bob"]))) == [
        ("1", "ann", "x"),
        ("1", "bob", "y"),
        ("2", "bob", "x"),
    ]


def test_bad_and_repeated_counts_are_set_aside(tmp_path):
    rows = [["1", "2", "1"], ["2", "-1", "3"], ["1", "0", "4"], ["3", "1.5", "1"], ["", "1", "1"], ["4", "0", "0"]]
    votes = read_votes(csv_of(tmp_path, rows, ["id", "cat", "dog"]), format="counts")
    assert rejected(votes.report, tmp_path / "rejects.csv") == [
        (3, "bad-number"),
        (4, "duplicate"),
        (5, "bad-number"),
        (6, "no-item"),
    ]
    assert vote_rows(join(votes)) == [("1", None, "cat")] * 2 + [("1", None, "dog")]
    assert votes.report.count("unmatched") == 3


def test_text_stays_as_it_is_written(tmp_path):
    votes = read_votes(csv_of(tmp_path, [["12.0", "3.0", "0.0"], ["13.0", "4.0", "1.0"]]))
    probs = read_predictions(pa.table({"id": ["12", "13"], "0": [0.9, 0.2], "1": [0.1, 0.8]}))
    assert (votes.items, votes.classes) == (("12.0", "13.0"), ("0.0", "1.0")) and not votes.report.count("spelling")
    joined = join(votes, probs)
    assert joined.items == ("12.0", "13.0") and joined.predictions[0, :, 0].round(2).tolist() == [0.9, 0.2]


def test_numeric_labels_are_one_class_however_they_are_written(tmp_path):
    votes = read_votes(csv_of(tmp_path, [["a", "x", "0"], ["a", "y", "1.0"], ["a", "z", "1"]]))
    assert votes.classes == ("0", "1") and votes.report.count("spelling") == 1


# --- time -------------------------------------------------------------------------------------------------------------


def test_timestamps_order_votes_and_items(tmp_path):
    rows = [
        ["late", "a", "x", "2024-01-03T00:00:00Z"],
        ["early", "a", "y", "2024-01-01T00:00:00Z"],
        ["late", "b", "y", "2024-01-02T00:00:00+01:00"],
    ]
    joined = join(read_votes(csv_of(tmp_path, rows, [*LONG, "created_at"])))
    assert joined.items == ("early", "late")
    assert vote_rows(joined) == [("early", "a", "y"), ("late", "b", "y"), ("late", "a", "x")]
    assert list(joined.label) == [joined.classes.index(name) for name in ("y", "y", "x")]


def test_the_last_vote_by_time_counts_even_if_it_stands_first(tmp_path):
    rows = [["1", "a", "x", "20"], ["1", "a", "y", "10"], ["1", "b", "y", "5"], ["1", "b", "y", "6"]]
    votes = read_votes(csv_of(tmp_path, rows, [*LONG, "timestamp"]))
    assert rejected(votes.report, tmp_path / "r.csv") == [(3, "duplicate"), (5, "duplicate")]
    assert vote_rows(join(votes)) == [("1", "b", "y"), ("1", "a", "x")]


def test_a_vote_without_a_time_keeps_its_place_after_the_row_before(tmp_path):
    rows = [["1", "a", "x", "30"], ["1", "b", "y", "soon"], ["1", "c", "x", "10"], ["1", "d", "y", ""]]
    joined = join(read_votes(csv_of(tmp_path, rows, [*LONG, "time"])))
    assert [row[1] for row in vote_rows(joined)] == ["c", "d", "a", "b"]
    assert joined.report.count("bad-time") == 2


# --- files that are no votes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty"),
        ("task,worker,label\n", "no row"),
        ("\n\n", "first line"),
        ("label\nx\n", "column for the item"),
    ],
)
def test_files_without_votes_are_refused(tmp_path, content, told):
    path = tmp_path / "votes.csv"
    path.write_text(content)
    with pytest.raises(InvalidInput) as caught:
        read_votes(path)
    assert caught.value.field in ("source", "votes") and told in caught.value.rule


def test_other_encodings_are_refused_with_the_fix(tmp_path):
    path = csv_of(tmp_path, [["1", "Zoë", "x"]], encoding="latin-1")
    with refused("source") as caught:
        read_votes(path)
    assert "UTF-8" in caught.value.fix


@pytest.mark.parametrize("source", ["nowhere.csv", 7, object()])
def test_what_is_no_table_is_refused(source):
    with refused("source", value=source):
        read_votes(source)


def test_further_columns_of_a_long_table_are_counted_by_name_also_when_strict(tmp_path):
    path = write_csv(
        tmp_path / "v.csv", ["task", "worker", "label", "country", "device"], [["1", "a", "x", "de", "phone"]]
    )
    votes = read_votes(path, strict=True)
    (finding,) = votes.report.findings
    assert (finding.rule, finding.count) == ("ignored-column", 2)
    assert [sample.value for sample in finding.samples] == ["country", "device"]
