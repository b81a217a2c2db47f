"""Files of items: what is read, and the problems of each row."""

import pytest

from quorate.errors import InvalidInput
from quorate_service.domain.projects import Project
from quorate_service.domain.settings import ProjectSettings
from quorate_service.pages.item_files import read_items
from tests.refusals import refused

HUGE = '{"id": "a", "priority": ' + "9" * 5000 + "}"


def project(models=(), classes=("cat", "dog")):
    """A project without items, unless it has `models`."""
    settings = ProjectSettings(classes=classes, pool_size=5)
    fixed = {"name": "p", "version": 1, "state": "active", "created": 0.0, "learn_event": 0}
    events = {"tune_event": 0, "goal_event": 0}
    session = settings.session()
    return Project("p_1", **fixed, **events, settings=settings, session=session, seed=0, models=models, coin_key="")


def read(name, text, images=(), **more):
    return read_items(name, text.encode(), project(**more), dict(images))


def test_a_table_with_a_column_for_each_class():
    found = read("a.csv", "id,text,cat,dog,priority,pool_size,mood\na,Hi,0.9,0.1,3,7,good\nb,,,,,,\n")
    first, second = found.items
    assert (first.name, first.show.text, first.prediction) == ("a", "Hi", {"cat": 0.9, "dog": 0.1})
    assert (first.priority, first.pool_size) == (3, 7)
    assert (second.prediction, second.show.text, second.pool_size) == (None, None, None)
    assert found.ignored == ["mood"]


def test_the_class_that_gets_the_remaining_probability_is_shown():
    found = read("a.csv", "id,cat\na,0.4\nb,\nc,0.9\n")
    assert [[pytest.approx(each) for each in shown] for shown in found.predictions] == [
        [{"cat": 0.4, "dog": 0.6}], [], [{"cat": 0.9, "dog": 0.1}],
    ]  # fmt: skip


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


def test_a_prediction_in_a_table_means_what_it_means_in_the_api():
    text = "id,prediction\na,0.8\nb,cat\n"
    for classes, first in ((("cat", "dog"), 0.8), (("cat", "0.8"), "0.8")):
        found = read("a.csv", text, classes=classes)
        assert [each.prediction for each in found.items] == [first, "cat"]
        assert (found.num_named, found.num_empty) == (1 + (first == "0.8"), 2)
    assert read("a.csv", text).predictions[0] == [{"cat": pytest.approx(0.2), "dog": pytest.approx(0.8)}]


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
    assert [problem.row for problem in found.problems] == [2, 3, 4, 5, 6, 7]


def test_a_broken_line_of_json_is_a_problem_of_that_line():
    found = read("a.jsonl", '{"id": "a"}\n{"id": \n["b"]\n{"id": "c", "colour": "red"}\n')
    assert [item.name for item in found.items] == ["a"]
    assert [problem.row for problem in found.problems] == [2, 3, 4]


def test_rows_name_uploaded_images_by_their_file_name():
    (item,) = read("a.csv", "id,image\na,scans/cat.png\n", images={"cat.png": "upload:u_7"}).items
    assert item.show.image == "upload:u_7"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xlsx", b"PK\x03\x04.."),
        ("a.csv", b"id\n\xff\xe9\xe9"),
        ("a.csv", b"\xff\xfei\x00d"),
        ("a.csv", b""),
        ("a.json", b"\xef\xbb\xbf \n"),
        ("a.csv", b"id,text\na,\x00\x01"),
        ("a.csv", b"Patient;Befund\n1;normal\n"),
        ("a.json", b"[" * 100_000),
        ("a.json", f"[{HUGE}]".encode()),
        ("a.csv", b'id,text\na,"one\nb,two\nc,three'),
        ("a.csv", b'id,text\na,"x" y\nb,"one\nc,two\nd,three\n'),
        ("a.csv", b"id,text\na," + b"x" * 200_000),
    ],
)
def test_a_file_that_is_no_table_of_items_is_refused_with_a_fix(name, content):
    with refused("file") as caught:
        read_items(name, content, project(), {})
    assert caught.value.fix and len(str(caught.value)) < 700


def test_many_long_column_names_are_cut():
    with pytest.raises(InvalidInput) as caught:
        read("a.csv", ",".join("x" * 500 + str(number) for number in range(900)) + "\n1\n")
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("named", ["film-a.png", "scans/film-a.png", "C\\scans\\film-a.png"])
def test_an_image_that_was_not_dropped_is_named(named):
    (problem,) = read("a.csv", f"id,image\na,{named}\n", images={"other.png": "upload:u_7"}).problems
    assert "'film-a.png'" in problem.words


@pytest.mark.parametrize("column", ["efusion", "Effusion", "p_effussion", "classifier:Effusion"])
def test_a_column_similar_to_a_class_is_reported(column):
    found = read("a.csv", f"id,{column},mood\na,0.9,good\n", classes=("effusion", "edema"))
    assert found.ignored == [column, "mood"]
    assert found.meant == {column: "effusion"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", HUGE + '\n{"id": "b"}\n'),
        ("a.jsonl", "[" * 100_000 + '\n{"id": "b"}\n'),
        ("a.csv", 'id,prediction\na,"' + "[" * 100_000 + '"\nb,\n'),
        ("a.json", '[{"id": "a", "prediction": [[[]]]}, {"id": "b"}]'),
        ("a.json", '[{"id": "a", "prediction": [NaN, 1]}, {"id": "b"}]'),
        ("a.json", '[{"id": "a\\u0000"}, {"id": "b"}]'),
        ("a.json", '[{"id": "a", "priority": "x"}, {"id": "b"}]'),
        *[("a.csv", f"id,priority\na,{number}\nb,\n") for number in ("inf", "nan", "1e400", "1e30")],
    ],
)
def test_a_hostile_row_does_not_affect_others(name, text):
    found = read(name, text)
    assert [item.name for item in found.items] == ["b"]
    (problem,) = found.problems
    assert problem.row == 1 and len(problem.words) < 700
