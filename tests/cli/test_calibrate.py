"""`quorate calibrate`: tables for people, JSON for programs, one line for mistakes."""

import csv
import json

import pytest

from quorate.datasets import synthetic
from tests.cli.conftest import COSTS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    data = synthetic(num_items=300, pool_size=5, num_classes=3, seed=4)
    with (folder / "votes.csv").open("w", newline="") as text:
        rows = [(t, n, data.classes[k]) for t, row in enumerate(data.votes) for n, k in enumerate(row)]
        csv.writer(text).writerows([("task", "worker", "label"), *rows])
    with (folder / "probs.csv").open("w", newline="") as text:
        csv.writer(text).writerows([("id", *data.classes), *((t, *row) for t, row in enumerate(data.predictions[0]))])
    return ("calibrate", "--votes", folder / "votes.csv", "--predictions", folder / "probs.csv")


def test_people_see_the_error_beside_what_chance_gives(run, files):
    result = run(*files)
    assert result.exit_code == 0, result.output
    for part in ("stopped early", "every decision", "if honest", "calibration error", "Bins: stopped early"):
        assert part in result.stdout


def test_programs_get_json_and_files(run, files, tmp_path):
    result = run(*files, "--method", "finexp:threshold=0.8", "--prefixes", "--json", "--out", tmp_path / "out")
    content = json.loads(result.stdout)
    assert content["method"] == {"name": "finexp", "parameters": {"threshold": 0.8, "hyperprior": "default"}}
    assert content["every"]["num"] == 300 and content["prefixes"][0]["name"] == "after every vote"
    assert len(content["files"]) == 5
    assert "Items with a usable prediction: 300 of 300" in (tmp_path / "out" / "report.html").read_text()
    assert content["tables"]["usable_predictions"] == [{"model": "probs", "items": 300}]


def test_a_folder_with_files_is_refused_before_anything_is_read_unless_overwrite(run, files, tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    refused = run(*files, "--votes", "none.csv", "--out", tmp_path)
    assert refused.exit_code == 1 and "--overwrite" in refused.stderr and "none.csv" not in refused.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]
    assert run(*files, "--out", tmp_path, "--overwrite").exit_code == 0
    assert (tmp_path / "calibration.json").exists() and (tmp_path / "summary.json").read_text() == "{}"
    assert run(*files, "--out", tmp_path).exit_code == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [(("--method", "oracle"), "oracle"), (("--bins", "0"), "--bins"), (("--votes", "none.csv"), "none.csv")],
)
def test_a_mistake_is_one_line(run, files, more, said):
    result = run(*files, *more)
    assert result.exit_code == 1 and said in result.stderr
    assert result.stderr.count("\n") == 1


def test_rows_set_aside_are_written_beside_the_report(run, files, tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text(files[2].read_text() + "7,9,\n")
    result = run(*files, "--votes", votes, "--out", tmp_path / "out")
    assert result.exit_code == 0 and "Rows set aside: 1, listed in " in " ".join(result.stdout.split())
    with (tmp_path / "out" / "rejects.csv").open(newline="") as text:
        (row,) = csv.DictReader(text)
    assert (row["source"], row["row"], row["rule"], row["task"]) == ("votes.csv", "1502", "blank-label", "7")


def test_the_time_column_can_be_named(run, files, tmp_path):
    votes = tmp_path / "votes.csv"
    lines = files[2].read_text().splitlines()
    votes.write_text("\n".join([f"{lines[0]},clock", *(f"{line},{t}" for t, line in enumerate(lines[1:]))]))
    result = run(*files, "--votes", votes, "--time-column", "clock")
    assert result.exit_code == 0 and "time 'clock'" in " ".join(result.stdout.split())


def test_the_target_and_the_costs_of_people_decide_who_is_asked_and_what_is_right(run, named):
    args = ("calibrate", "--votes", named / "votes.csv", "--json")
    by_name = (*args, "--method", "value:choose=agreement")
    plain, priced = (json.loads(run(*by_name, *more).stdout) for more in ((), ("--costs", named / "costs.csv")))
    assert plain["cost_per_item"] == plain["votes_per_item"]
    by_chance = plain["votes_per_item"] * sum(COSTS.values()) / 3
    assert priced["cost_per_item"] < by_chance, "ann, who costs 5, is asked last"
    everyone = json.loads(run(*args, "--method", "ask-all", "--costs", named / "costs.csv").stdout)
    assert (everyone["votes_per_item"], everyone["cost_per_item"]) == (3, pytest.approx(sum(COSTS.values())))
    told = json.loads(run(*args, "--target", "truth", "--truth", named / "truth.csv").stdout)
    assert (told["method"]["name"], told["early"]["num"]) == ("crowd", 120)
    assert run(*args, "--costs", named / "truth.csv").exit_code == 1
