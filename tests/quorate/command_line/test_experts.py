"""`quorate experts`: tables for people, JSON and files for programs, one line for mistakes."""

import csv
import json

import numpy as np
import pytest

from tests.quorate.people.test_quality import crowd


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    path = tmp_path_factory.mktemp("experts") / "votes.csv"
    _, _, matrix = crowd(0, num_items=60)
    matrix = np.column_stack([matrix, np.full(60, 1)])
    with path.open("w", newline="") as text:
        rows = [(i, f"p{e}", f"class {label}") for i, row in enumerate(matrix) for e, label in enumerate(row)]
        csv.writer(text).writerows([("item", "annotator", "label"), *rows])
    return path


def test_people_see_one_screen_with_everybody_and_who_looks_careless(run, votes):
    result = run("experts", "--votes", votes)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) <= 24
    for part in (*(f"p{e}" for e in range(7)), "Krippendorff", "carelessly: p6"):
        assert part in result.stdout


def test_programs_get_json_and_files(run, votes, tmp_path):
    result = run("experts", "--votes", votes, "--json", "--out", tmp_path / "out")
    content = json.loads(result.stdout)
    assert content["careless"] == ["p6"] and content["num_people"] == 7
    assert len(content["files"]) == 6
    assert "p6" in (tmp_path / "out" / "report.html").read_text()


def test_a_table_without_voters_is_refused_in_one_line(run, votes, tmp_path):
    anonymous = tmp_path / "anonymous.csv"
    anonymous.write_text("item,label\n1,a\n1,b\n2,a\n2,a\n")
    result = run("experts", "--votes", anonymous)
    assert result.exit_code == 1
    assert "--worker-column" in result.stderr and "Traceback" not in result.output
