"""`quorate demo`: one screen, its files, and the same numbers in both."""

import json

import pytest

from quorate.commands.demo import COMPARED


@pytest.fixture(scope="module")
def summary(a_demo):
    return json.loads((a_demo[1] / "summary.json").read_text())


def test_it_prints_one_screen_and_writes_its_files(a_demo):
    result, out = a_demo
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) <= 24
    names = {path.name for path in out.iterdir()}
    assert names == {"results.csv", "summary.json", "report.html", "error-cost.png", "error-cost.svg"}
    assert "report.html" in result.stdout


def test_the_table_has_the_numbers_of_the_summary(a_demo, summary):
    printed = " ".join(a_demo[0].stdout.split())
    assert summary["headline"] in printed
    at = [{row["method"]: row["error_rate"] for row in budget["methods"]} for budget in summary["budgets"]]
    for name in COMPARED:
        assert f"{name} " + " ".join(f"{100 * errors[name]:.2f}" for errors in at) in printed


def test_the_report_needs_nothing_from_elsewhere(a_demo, summary):
    page = (a_demo[1] / "report.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "<script" not in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert summary["headline"] in page.replace("\u00a0", " ")


def test_an_unwritable_folder_is_one_line_and_exit_code_1(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert "file" in result.stderr
