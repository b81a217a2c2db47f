"""`quorate audit`: a sample in a file, a table and a sentence to sign, JSON for programs, one line for mistakes."""

import json

import pytest

from quorate.audit.sampling import most_errors
from tests.quorate.commands.audit.test_audit import audited_items, decisions_file, votes_file


@pytest.fixture
def drawn(run, tmp_path):
    """Decisions, an audit sample and panel votes in a folder."""
    decisions, audit = decisions_file(tmp_path), tmp_path / "audit.csv"
    result = run("audit", "draw", "--decisions", decisions, "--rate", 0.3, "--seed", 7, "--out", audit)
    assert result.exit_code == 0, result.output
    return decisions, audit, votes_file(tmp_path, audit, wrong=audited_items(audit)[:2])


def test_a_draw_warns_of_too_few_audits_and_says_how_many_would_do(run, tmp_path):
    decisions = decisions_file(tmp_path)
    few = run("audit", "draw", "-d", decisions, "-q", 0.01, "--seed", 1, "-o", tmp_path / "few.csv").stdout
    many = run("audit", "draw", "-d", decisions, "-q", 0.3, "--seed", 1, "-o", tmp_path / "many.csv").stdout
    assert "Warning:" in few
    assert f"About {_enough(400)} audits" in " ".join(few.split())
    assert "Warning:" not in many
    assert "--rate 1" in few


def _enough(num_items):
    """Audits without an error that leave at most a tenth of the items in doubt, by trying."""
    return next(n for n in range(1, num_items) if most_errors(num_items, n, 0) <= num_items / 10)


def test_a_report_is_one_screen_with_the_answer_first_and_writes_what_is_signed(run, drawn, tmp_path):
    _, audit, votes = drawn
    result = run("audit", "report", "--audit", audit, "--votes", votes, "--out", tmp_path / "proof")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) <= 24
    assert {file.name for file in (tmp_path / "proof").iterdir()} == {"report.html", "audit.json"}


def test_votes_on_other_items_are_refused(run, drawn, tmp_path):
    _, audit, votes = drawn
    rows = [line.split(",") for line in votes.read_text().splitlines()[1:]]
    other = tmp_path / "other.csv"
    other.write_text("item,worker,label\n" + "".join(f"x{item},{who},{said}\n" for item, who, said in rows))
    result = run("audit", "report", "-a", audit, "-v", other)
    assert result.exit_code == 1 and "--votes other.csv" in result.stderr
    assert "--task-column" in result.stderr


def test_json_holds_the_numbers_of_the_sentences(run, drawn):
    _, audit, votes = drawn
    content = json.loads(run("audit", "report", "-a", audit, "-v", votes, "--confidence-level", 0.9, "--json").stdout)
    assert (content["num_items"], content["num_settled"], content["num_wrong"]) == (600, 200, 2)
    assert content["running"]["most_wrong_share"] == pytest.approx(content["running"]["most_wrong"] / 600)
    assert 2 <= content["running"]["estimate"] <= content["running"]["most_wrong"]
    assert content["batch"]["num_wrong"] == 2
    assert len(content["checkpoints"]) == 10
    assert content["checkpoints"][-1]["most_wrong"] == content["running"]["most_wrong"]
    assert "90 % confidence" in content["sentences"][0]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("draw", "-d", "{decisions}", "-q", 0.2, "--seed", 7, "-o", "{audit}"), "--rate 0.2"),
        (("draw", "-d", "{decisions}", "-q", 0, "--seed", 7, "-o", "new.csv"), "above 0"),
        (("draw", "-d", "nowhere.csv", "-q", 0.1, "--seed", 7), "--decisions: nowhere.csv"),
        (("draw", "-d", "{votes}", "-q", 0.1, "--seed", 7), "expected a column consensus_label"),
        (("report", "-a", "{audit}", "-v", "{votes}", "--confidence-level", 1), "--confidence-level 1"),
        (("report", "-a", "{audit}", "-v", "{decisions}"), "is output of quorate"),
        (("report", "-a", "{audit}", "-v", "{votes}", "--label-column", "said"), "said"),
        (("report", "-a", "{decisions}", "-v", "{votes}"), "--audit "),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_1(run, drawn, args, says):
    paths = dict(zip(("decisions", "audit", "votes"), drawn, strict=True))
    result = run("audit", *(str(arg).format(**paths) for arg in args))
    assert result.exit_code == 1
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert says in lines[0]


def test_rows_of_votes_set_aside_are_written_beside_the_sample(run, drawn, tmp_path):
    _, audit, votes = drawn
    assert json.loads(run("audit", "report", "-a", audit, "-v", votes, "--json").stdout)["rejects"] is None
    assert not (tmp_path / "audit.rejects.csv").exists()
    with votes.open("a") as text:
        text.write(",someone,cat\n")
    result = run("audit", "report", "-a", audit, "-v", votes)
    beside = tmp_path / "audit.rejects.csv"
    assert result.exit_code == 0 and "Rows of votes set aside: 1, listed in " in " ".join(result.stdout.split())
    assert "no-item" in beside.read_text()
