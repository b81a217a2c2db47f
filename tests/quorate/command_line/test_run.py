"""`quorate run` as people type it."""

import csv
import json
import signal
import subprocess
import sys

import pytest

from quorate.commands.run.result import FILES
from tests.quorate.command_line.conftest import COSTS
from tests.quorate.commands.run import run_data


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return run_data.write_tables(tmp_path_factory.mktemp("tables"), run_data.stream())


def test_it_writes_the_folder_and_says_what_came_of_it(run, tables, tmp_path):
    done = run("run", "--votes", tables[0], "--predictions", tables[1], "--price", 0.08, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert "until the pool is settled" in done.stdout and " saved)" in done.stdout
    assert "Read 600 votes of 120 items: " in done.stdout and f"{tmp_path / 'out'}/report.html" in done.stdout
    assert {file.name for file in (tmp_path / "out").iterdir()} == set(FILES)


def test_json_is_the_summary_and_nothing_else(run, tables, tmp_path):
    done = run("run", "-v", tables[0], "-p", tables[1], "--out", tmp_path / "out", "--json", "--pool-size", 7)
    assert json.loads(done.stdout) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert json.loads(done.stdout)["pools"]["pool_size"] == 7
    assert done.stderr == ""


def test_error_cost_reaches_the_run(run, tables, tmp_path):
    done = run("run", "-v", tables[0], "-p", tables[1], "-o", tmp_path / "out", "--json", "--error-cost", 20)
    assert json.loads(done.stdout)["method"]["parameters"]["error_cost"] == 20


def test_every_option_reaches_the_run(run, tables, tmp_path):
    costs = run_data.write(tmp_path / "costs.csv", ("truth", "class-0"), [("class-1", "5")])
    done = run(
        "run", "-v", tables[0], "-p", tables[1], "-p", tables[1], "-o", tmp_path / "out", "--json",
        "--method", "finexp", "--threshold", 0.7, "--order", "shuffled", "--seed", 3, "--pool-size", 4,
        "--min-votes", 1, "--max-votes", 3, "--error-cost", costs, "--price", 2,
        "--task-column", "task", "--worker-column", "worker", "--label-column",
        "label", "--id-column", "id", "--format", "long", "--classes", "class-0, class-1,class-2",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["method"]["name"] == "finexp"
    assert summary["method"]["parameters"]["threshold"] == 0.7
    settings = summary["settings"]
    assert (settings["order"], settings["seed"]) == ("shuffled", 3)
    assert (settings["min_votes"], settings["max_votes"], len(settings["models"])) == (1, 3, 2)
    assert summary["error_cost"]["table"][1][0] == 5
    assert summary["votes"]["price"] == 2


def test_a_second_run_needs_overwrite(run, tables, tmp_path):
    first = ("run", "-v", tables[0], "-p", tables[1], "-o", tmp_path / "out")
    assert run(*first).exit_code == 0
    again = run(*first)
    assert again.exit_code == 1
    assert "--overwrite" in again.stderr
    assert run(*first, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--threshold", "2"], 1, "--threshold 2"),
        (["--error-cost", "-1"], 1, "--error-cost -1"),
        (["--error-cost", "10", "--budget", "2"], 1, "Use either --budget or --error-cost."),
        (["--pool-size", "many"], 1, "--pool-size many"),
        (["--order", "up"], 1, "--order up"),
        (["--format", "odd"], 1, "--format odd"),
        (["--error-cost", "no-such.csv"], 1, "no-such.csv"),
        (["--budget", "2", "--target-error", "0.1"], 1, "Use either"),
        (["--budget", "much"], 2, "--budget"),
        (["--strict", "--classes", "class-0,class-1"], 1, "because of --strict"),
        (["--label-column", "worker"], 1, "--predictions probs.csv; expected classes"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(run, tables, tmp_path, options, code, said):
    done = run("run", "-v", tables[0], "-p", tables[1], "-o", tmp_path / "out", *options)
    assert done.exit_code == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.startswith("quorate: ")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="Ctrl-C is ignored here")
def test_ctrl_c_ends_with_130_and_leaves_no_folder(tmp_path):
    votes, probs = run_data.write_tables(tmp_path, run_data.stream(num_items=60_000))  # long enough to be interrupted
    out = tmp_path / "out"
    command = [sys.executable, "-m", "quorate", "run", "-v", votes, "-p", probs, "--budget", "2", "-o", out]
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "replaying" in next(line for line in process.stderr if "replaying" in line)
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not out.exists()


def test_help_needs_no_extra():
    """Without PyArrow the options are listed, and running says how to get it."""
    cases = ((["run", "--help"], 0, "--target-error"), (["run", "--votes", "x", "--out", "y"], 1, "pip install"))
    for arguments, code, said in cases:
        script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyarrow", "narwhals", "openpyxl"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
sys.argv = ["quorate", *{arguments!r}]
from quorate.commands.main import main
main()
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("option", "right"), [(["--price", "2,50"], "--price 2.50"), (["--target-error=3%"], "--target-error 0.03")]
)
def test_a_number_with_a_comma_or_a_percent_sign_gets_the_right_form(run, option, right):
    done = run("run", "--votes", "x", "--out", "y", *option)
    assert done.exit_code == 2
    assert right in " ".join(done.output.replace("│", " ").split())


def test_the_target_costs_and_names_of_people_reach_the_run(run, named, tmp_path):
    args = ("run", "-v", named / "votes.csv", "--order", "given", "--json", "--price", 2)
    priced = json.loads(run(*args, "--costs", named / "costs.csv", "-m", "ask-all", "-o", tmp_path / "a").stdout)
    assert priced["votes"]["money"]["spent"] == pytest.approx(2 * 120 * sum(COSTS.values()))
    with (tmp_path / "a" / "decisions.csv").open(newline="") as text:
        assert {row["voters"] for row in csv.DictReader(text)} == {";".join(COSTS)}
    sought = ("--target", "truth", "--truth", named / "truth.csv")
    for_truth = json.loads(run(*args, *sought, "-o", tmp_path / "b").stdout)
    assert (for_truth["method"]["name"], for_truth["error"]["scored_items"]) == ("crowd", 120)
    asked = {each["person"]: each["asked"] for each in priced["people"]["rows"]}
    assert asked == dict.fromkeys(COSTS, 120)
