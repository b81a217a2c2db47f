"""`quorate demo --quick`: the files exist, the numbers add up, the sentences agree with the numbers."""

import csv
import json

import pytest

from quorate.version import __version__
from quorate.workflows.demo import COMPARED


@pytest.fixture(scope="module")
def summary(quick_demo):
    return json.loads((quick_demo[1] / "summary.json").read_text())


def test_it_writes_its_files_to_the_folder_it_names(quick_demo):
    result, out = quick_demo
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    assert names == {"results.csv", "summary.json", "report.html", "error-cost.png", "error-cost.svg"}
    assert "report.html" in result.stdout
    assert __version__ in result.stdout


def test_every_method_compared_is_in_every_table(summary):
    for setting in summary["settings"]:
        for budget in setting["budgets"]:
            named = [row["method"] for row in budget["methods"] + setting["references"]]
            assert sorted(named) == sorted(COMPARED)


def test_savings_are_one_minus_cost_over_reference(summary):
    for setting in summary["settings"]:
        assert setting["ask_all_votes"] == setting["pool_size"]
        for row in [*setting["references"], *(row for budget in setting["budgets"] for row in budget["methods"])]:
            cost = row["votes_per_item"]
            assert row["saved_against_ask_all"] == pytest.approx(1 - cost / setting["pool_size"])
            assert row["saved_against_until_settled"] == pytest.approx(1 - cost / setting["until_settled_votes"])


def test_methods_are_compared_at_the_same_cost(summary):
    for setting in summary["settings"]:
        for budget in setting["budgets"]:
            for row in budget["methods"]:
                assert row["votes_per_item"] == pytest.approx(budget["budget"], rel=0.02), row


def test_each_budget_is_said_with_the_votes_it_saves(quick_demo, summary):
    printed, page = " ".join(quick_demo[0].stdout.split()), (quick_demo[1] / "report.html").read_text()
    for setting in summary["settings"]:
        for number, budget in enumerate(budget["budget"] for budget in setting["budgets"]):
            references = setting["ask_all_votes"], setting["until_settled_votes"]
            fewer = [f"{100 * (1 - budget / votes):.0f} % fewer" for votes in references]
            said = f"At {budget:.2f} votes per item, {fewer[0]} than asking everyone and {fewer[1]} than"
            assert said in page
            assert said in printed or number != 1, "the middle budget is printed, too"


def test_nobody_beats_the_tie_floor(summary):
    for setting in summary["settings"]:
        rows = [row for budget in setting["budgets"] for row in budget["methods"]]
        assert min(row["error_rate"] for row in rows) >= setting["tie_floor"] - 1e-12


def test_the_headline_is_printed_and_has_the_measured_numbers(quick_demo, summary):
    rows = {row["method"]: row for row in summary["settings"][0]["budgets"][1]["methods"]}
    assert f"quorate is wrong on {100 * rows['value']['error_rate']:.1f} %" in summary["headline"]
    assert summary["headline"] in " ".join(quick_demo[0].stdout.split())


def test_verdicts_follow_the_measured_difference(summary):
    for budget in (budget for setting in summary["settings"] for budget in setting["budgets"]):
        difference, error = budget["more_errors_of_best_simple_rule"], budget["standard_error"]
        if abs(difference) <= 2 * error:
            assert "does as well as quorate" in budget["verdict"]
        elif difference < 0:
            assert f"{budget['best_simple_rule']} is better than quorate" in budget["verdict"]
        else:
            assert "better than the best simple rule" in budget["verdict"]


def test_votes_at_equal_error_are_printed_written_and_add_up(quick_demo, summary):
    page = (quick_demo[1] / "report.html").read_text().replace("\u00a0", " ")
    printed = " ".join(quick_demo[0].stdout.split())
    for setting in summary["settings"]:
        equal = setting["equal_error"]
        rows = {row["method"]: row for row in setting["budgets"][1]["methods"]}
        assert equal["error_rate"] == rows["value"]["error_rate"]
        assert equal["quorate_votes"] == rows["value"]["votes_per_item"]
        assert equal["until_settled_votes"] == setting["until_settled_votes"]
        saved = 1 - equal["quorate_votes"] / equal["best_simple_rule_votes"]
        assert equal["saved_against_best_simple_rule"] == pytest.approx(saved)
        assert equal["sentence"] in printed
        assert equal["sentence"] in page
    assert f"needs {summary['settings'][0]['equal_error']['best_simple_rule_votes']:.1f} votes" in summary["headline"]


def test_the_report_says_that_standard_errors_are_optimistic(quick_demo, summary):
    page = (quick_demo[1] / "report.html").read_text()
    for text in (page, summary["standard_errors"], " ".join(quick_demo[0].stdout.split())):
        assert "treat the items as independent" in text


def test_results_hold_every_point_with_the_version(quick_demo):
    with (quick_demo[1] / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(COMPARED)
    assert {row["version"] for row in rows} == {__version__}


def test_the_report_needs_nothing_from_elsewhere(quick_demo, summary):
    page = (quick_demo[1] / "report.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "<script" not in page
    assert "fixed-finexp" in page and "fixed-ask" not in page
    assert "viewport" in page
    assert "prefers-color-scheme: dark" in page
    assert page.count("data:image/svg+xml;base64,") == len(summary["settings"])
    assert summary["headline"] in page.replace("\u00a0", " ")


def test_an_unwritable_folder_is_one_line_and_exit_code_1(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--quick", "--out", tmp_path / "file")
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert "file" in result.stderr
