"""Files of items: what is read, and the problems of each row."""

import json

import pytest

from quorate.errors import InvalidInput
from quorate.service.domain.projects import Project
from quorate.service.domain.settings import ProjectSettings
from quorate.service.pages.item_files import read_items


def project(models=(), classes=("cat", "dog")):
    """A project without items, unless it has `models`."""
    settings = ProjectSettings(classes=classes, pool_size=5)
    fixed = {"name": "p", "version": 1, "state": "active", "created": 0.0, "learn_event": 0, "tune_event": 0}
    return Project("p_1", **fixed, settings=settings, session=settings.session(), seed=0, models=models, coin_key="")


def read(name, text, images=(), **more):
    return read_items(name, text.encode(), project(**more), dict(images))


def test_a_table_with_a_column_for_each_class():
    found = read("a.csv", "id,text,cat,dog,priority,pool_size,mood\na,Hi,0.9,0.1,3,7,good\nb,,,,,,\n")
    first, second = found.items
    assert (first.name, first.show.text, first.prediction) == ("a", "Hi", {"cat": 0.9, "dog": 0.1})
    assert (first.priority, first.pool_size) == (3, 7)
    assert (second.prediction, second.show.text, second.pool_size) == (None, None, None)
    assert found.ignored == ["mood"]


@pytest.mark.parametrize(
    "text",
    [
        "id;cat;dog\na;0,9;0,1\n",
        "\ufeffitem\tp_cat\tp_dog\na\t0.9\t0.1\n",
        'id,prediction\na,"[0.9, 0.1]"\n',
        "id,classifier:cat,classifier:dog\na,0.9,0.1\n",
    ],
)
def test_tables_as_spreadsheets_and_programs_write_them(text):
    (item,) = read("a.csv", text).items
    assert item.prediction in ({"cat": 0.9, "dog": 0.1}, [0.9, 0.1])


def test_several_models_in_one_table():
    for models in ((), ("m1", "m2")):
        found = read("a.csv", "id,m1:cat,m2:cat\na,0.9,0.4\n", models=models)
        assert found.models == ("m1", "m2") and found.items[0].prediction == [{"cat": 0.9}, {"cat": 0.4}]
    assert read("a.json", '[{"id": "a", "predictions": {"x": "cat", "y": "dog"}}]').models == ("x", "y")
    assert read("a.csv", "id,classifier:cat\na,0.9\n").models == ("classifier",)


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "text": "Hi", "prediction": {"cat": 0.9}}]',
        '{"items": [{"id": "a", "text": "Hi", "prediction": {"cat": 0.9}}]}',
        '{"id": "a", "show": {"text": "Hi"}, "prediction": {"cat": 0.9}}\n',
    ],
)
def test_json_as_the_api_takes_it(text):
    (item,) = read("a.json", text).items
    assert (item.name, item.show.text, item.prediction) == ("a", "Hi", {"cat": 0.9})


def test_each_bad_row_is_named_with_its_fault_and_the_good_ones_stay():
    rows = [
        "id,text,cat,dog,image",
        "good,x,0.5,0.5,",
        "sum,x,0.9,0.9,",
        "word,x,much,0.1,",
        ",x,0.5,0.5,",
        "good,again,0.5,0.5,",
        "short,x",
        "script,x,0.5,0.5,javascript:alert(1)",
    ]
    found = read("a.csv", "\n".join(rows))
    assert [item.name for item in found.items] == ["good"]
    said = {problem.row: problem.words for problem in found.problems}
    assert set(said) == {2, 3, 4, 5, 6, 7}
    assert "not 1.8" in said[2]
    assert "cat='much'; expected a number" in said[3]
    assert said[4].startswith("id=''; expected ")
    assert "row 1 has this one, too" in said[5]
    assert "row='2 cells'; expected 5 cells" in said[6]
    assert "expected an https address" in said[7]


def test_a_broken_line_of_json_is_a_problem_of_that_line():
    found = read("a.jsonl", '{"id": "a"}\n{"id": \n["b"]\n{"id": "c", "colour": "red"}\n')
    assert [item.name for item in found.items] == ["a"]
    assert [problem.row for problem in found.problems] == [2, 3, 4]
    assert "expected valid JSON" in found.problems[0].words
    assert "colour" in found.problems[2].words


def test_rows_name_uploaded_images_by_their_file_name():
    (item,) = read("a.csv", "id,image\na,scans/cat.png\n", images={"cat.png": "upload:u_7"}).items
    assert item.show.image == "upload:u_7"


@pytest.mark.parametrize(
    ("name", "content"), [("a.xlsx", b"id"), ("a.xlsx", b"PK\x03\x04.."), ("a.csv", b"id\n\xff\xe9\xe9")]
)
def test_an_unreadable_file_is_refused_with_a_fix(name, content):
    with pytest.raises(InvalidInput) as caught:
        read_items(name, content, project(), {})
    assert caught.value.field == "file" and caught.value.fix


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "The file is empty"),
        ("a.json", b"\xef\xbb\xbf \n", "The file is empty"),
        ("a.csv", b"id,text\na,\x00\x01", "This is a binary file, not a table"),
        (
            "a.csv",
            b"Patient;Befund\n1;normal\n",
            "No column id (found: Patient, Befund)",
        ),
    ],
)
def test_other_kinds_of_files_are_named(name, content, said):
    with pytest.raises(InvalidInput) as refused:
        read_items(name, content, project(), {})
    assert (refused.value.field, refused.value.value) == ("file", said)
    assert str(refused.value) == f"{said}. {refused.value.fix}"


def test_many_long_column_names_are_cut():
    with pytest.raises(InvalidInput) as refused:
        read("a.csv", ",".join("x" * 500 + str(number) for number in range(900)) + "\n1\n")
    assert len(str(refused.value)) < 700


@pytest.mark.parametrize("named", ["film-a.png", "scans/film-a.png", "C\\scans\\film-a.png", "film-a.PNG"])
def test_an_image_that_was_not_dropped_is_named(named):
    found = read("a.csv", f"id,image\na,{named}\n", images={"other.png": "upload:u_7"})
    (problem,) = found.problems
    name = "film-a.PNG" if named.endswith("PNG") else "film-a.png"
    assert problem.words.startswith(f"image={name!r}; expected an image that was dropped with the table")


def test_an_image_from_elsewhere_needs_no_drop():
    (item,) = read("a.csv", "id,image\na,https://films.example/film-a.png\n").items
    assert item.show.image == "https://films.example/film-a.png"


@pytest.mark.parametrize("column", ["efusion", "Effusion", "p_effussion", "classifier:Effusion"])
def test_a_column_similar_to_a_class_is_reported(column):
    found = read("a.csv", f"id,{column},mood\na,0.9,good\n", classes=("effusion", "edema"))
    assert found.ignored == [column, "mood"]
    assert found.meant == {column: "effusion"}


def test_a_column_that_is_a_class_is_used():
    assert read("a.csv", "id,cat,text2\na,0.9,x\n").meant == {}


HUGE = '{"id": "a", "priority": ' + "9" * 5000 + "}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "[" * 100_000, "The file is not valid JSON"),
        ("a.json", f"[{HUGE}]", "The file is not valid JSON"),
        ("a.csv", 'id,text\na,"one\nb,two\nc,three', "A quotation mark is opened and never closed"),
        ("a.csv", 'id,text\na,"x" y\nb,"one\nc,two\nd,three\n', "A quotation mark is opened and never closed"),
        ("a.csv", "id,text\na," + "x" * 200_000, "The table cannot be read"),
    ],
)
def test_a_hostile_file_is_refused_with_a_message(name, text, said):
    with pytest.raises(InvalidInput) as caught:
        read(name, text)
    assert caught.value.field == "file" and str(caught.value.value).startswith(said)


def test_half_a_utf_16_character_is_not_text():
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_items("a.csv", b"\xff\xfei\x00d", project(), {})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", HUGE + '\n{"id": "b"}\n', "expected valid JSON"),
        ("a.jsonl", "[" * 100_000 + '\n{"id": "b"}\n', "row='[[["),
        ("a.csv", 'id,prediction\na,"' + "[" * 100_000 + '"\nb,\n', "prediction='[[["),
        ("a.json", '[{"id": "a", "prediction": [[[]]]}, {"id": "b"}]', "Input should be a valid"),
        ("a.json", '[{"id": "a", "prediction": [NaN, 1]}, {"id": "b"}]', "Input should be a"),
        ("a.json", '[{"id": "a\\u0000"}, {"id": "b"}]', "printable characters only"),
        ("a.json", '[{"id": "a", "priority": "x"}, {"id": "b"}]', "priority ('x'): Input should be a valid integer."),
        ("a.csv", "id,priority\na,inf\nb,\n", "priority='inf'; expected a number"),
        ("a.csv", "id,priority\na,nan\nb,\n", "priority='nan'; expected a number"),
        ("a.csv", "id,priority\na,1e400\nb,\n", "priority='1e400'; expected a number"),
        ("a.csv", "id,priority\na,1e30\nb,\n", "priority"),
    ],
)
def test_a_hostile_row_does_not_affect_others(name, text, said):
    found = read(name, text)
    assert [item.name for item in found.items] == ["b"]
    (problem,) = found.problems
    assert problem.row == 1
    assert said in problem.words
    assert "function" not in problem.words


def test_a_thousand_rows_keep_their_order():
    text = "\n".join(json.dumps({"id": f"i{number}"}) for number in range(1000))
    assert [item.name for item in read("a.jsonl", text).items] == [f"i{number}" for number in range(1000)]
