import gzip
import weakref

import openpyxl
import pyarrow as pa
import pytest

from quorate.errors import InvalidInput
from quorate.tables import join, read_predictions, read_votes
from quorate.tables.readers import delimited
from quorate.tables.readers.open_files import open_file
from quorate.tables.readers.sources import head
from tests.quorate.tables.writing import rejected, vote_rows, write_csv, write_xlsx
from tests.refusals import refused

HEADER = ["task", "worker", "label"]
ROWS = [["1", "Zoë", "a, b"], ["1", "bob", 'say "x"\nagain'], ["2", "Zoë", "a, b"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("name", "delimiter"), [("v.csv", ","), ("v.csv", ";"), ("v.tsv", "\t"), ("v.txt", "|")])
def test_delimiters_and_byte_order_marks_are_found(tmp_path, name, delimiter, encoding):
    path = write_csv(tmp_path / name, HEADER, ROWS, delimiter=delimiter, encoding=encoding)
    votes = read_votes(path)
    assert vote_rows(join(votes)) == [tuple(row) for row in ROWS]


def test_packed_files_are_read(tmp_path):
    plain = write_csv(tmp_path / "v.csv", HEADER, ROWS)
    packed = tmp_path / "v.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert vote_rows(join(read_votes(packed))) == [tuple(row) for row in ROWS]


def test_lines_that_are_not_json_objects_are_set_aside(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text(
        '\ufeff{"task": 1, "worker": 2, "label": "x"}\n{"task": \n\n[1]\n{"task": 1.0, "worker": 3, "label": true}\n'
    )
    votes = read_votes(path)
    assert vote_rows(join(votes)) == [("1", "2", "x"), ("1", "3", "true")]
    assert rejected(votes.report, tmp_path / "r.csv") == [(2, "unreadable"), (3, "no-item"), (4, "unreadable")]


def test_sheets_are_read_by_type_and_row(tmp_path):
    path = write_xlsx(
        tmp_path / "v.xlsx", HEADER, [[7, "a", 1], [7.5, "b", True], ["007", "a", None], [None] * 3, [8, "a", "x"]]
    )
    book = openpyxl.load_workbook(path)
    book.create_sheet("more")
    book.save(path)
    votes = read_votes(path)
    assert vote_rows(join(votes)) == [("7", "a", "1"), ("7.5", "b", "true"), ("8", "a", "x")]
    assert rejected(votes.report, tmp_path / "r.csv") == [(4, "no-answer"), (5, "no-item")]
    assert any("not read: 'more'" in line for line in votes.report.decisions)


@pytest.mark.parametrize("name", ["v.parquet", "v.xlsx"])
def test_files_that_are_not_what_they_are_called_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"nothing of the kind")
    with refused("source", value=str(tmp_path / name)):
        read_votes(tmp_path / name)


def test_columns_of_one_name_and_other_endings_are_refused(tmp_path):
    with refused("columns") as problem:
        read_votes(write_csv(tmp_path / "v.csv", ["task", "label", "label"], [["1", "x", "y"]]))
    assert problem.value.value == ["label"]
    with refused("source") as problem:
        read_votes(write_csv(tmp_path / "v.doc", HEADER, ROWS))
    assert "'.csv'" in problem.value.rule


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.csv.gz", b"not packed"),
        ("v.jsonl", b'{"task": 1, "label": "\xff"}\n'),
        ("v.json", b"[" * 100_000),
        ("v.json", b'{"votes": []}'),
        ("v.json", b"[]"),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput):
        read_votes(tmp_path / name)


def test_a_quote_that_is_not_closed_does_not_pass_unseen(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text('task,worker,label\n1,a,x\n1,b,"y\n2,a,x\n2,b,y\n')
    assert read_votes(path).report.count("line-break") == 1


def test_columns_of_lists_are_refused():
    with refused("source", value="list<item: string>"):
        read_votes(pa.table({"task": [["1"]], "label": ["x"]}))


def two_sheets(path):
    """A workbook whose first sheet is a note, with votes and predictions on sheets of their own."""
    book = openpyxl.Workbook()
    book.active.title = "readme"
    book.active.append(["about", "who"])
    book.active.append(["made by hand", "us"])
    for title, rows in (
        ("votes", [HEADER, ["1", "a", "cat"], ["2", "a", "dog"]]),
        ("probs", [["id", "cat", "dog"], ["1", 0.9, 0.1], ["2", 0.2, 0.8]]),
    ):
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_sheet_is_named_behind_a_hash_and_the_others_are_told(tmp_path):
    book = two_sheets(tmp_path / "book.xlsx")
    votes, probs = read_votes(f"{book}#votes"), read_predictions(f"{book}#probs")
    joined = join(votes, probs)
    assert joined.classes == ("cat", "dog") and joined.models == ("book",) and joined.report.findings == ()
    assert "book.xlsx#votes: sheet 'votes'; not read: 'readme', 'probs'" in joined.report.decisions


def test_errors_about_a_sheet_name_the_others(tmp_path):
    book = two_sheets(tmp_path / "book.xlsx")
    with refused("source", value=f"{book}#prob") as caught:
        read_predictions(f"{book}#prob")
    assert "['readme', 'votes', 'probs']" in caught.value.rule
    with refused("source") as caught:
        read_predictions(book)
    assert "`id_column=...`" in caught.value.fix and "book.xlsx#votes" in caught.value.fix
    with refused("label", value="note") as caught:
        read_votes(book, label="note")
    assert "book.xlsx#votes" in caught.value.fix
    with refused("source") as caught:
        read_votes(tmp_path / "none.xlsx#votes")
    assert caught.value.rule == "a file that exists"


def test_no_thread_holds_the_reader_when_a_text_table_is_read(tmp_path, monkeypatch):
    """A thread that drops the callback while Python ends aborts the process."""
    file = write_csv(tmp_path / "votes.csv", ["task", "label"], [["1", "x"], ["2", "y"]])
    readers, opening = [], delimited.arrow_csv.open_csv

    def watched(*args, parse_options, **options):
        readers.append(weakref.ref(parse_options.invalid_row_handler))
        return opening(*args, parse_options=parse_options, **options)

    monkeypatch.setattr(delimited.arrow_csv, "open_csv", watched)
    for _ in range(300):
        table = open_file(file)
        list(table.read(None))
        assert readers.pop()() is None
        head(table)
        assert readers.pop()() is None
