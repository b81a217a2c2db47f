from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quorate.tables import RULES, join, read_predictions, read_votes
from tests.refusals import refused

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "table-rules.md"


def test_every_rule_stands_in_the_documentation_in_its_own_words():
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    for rule in RULES.values():
        where = "summary, rejects" if rule.set_aside else "summary"
        assert f"| {rule.met} | {rule.done} | `{rule.name}` | {where} |" in lines


def csv_votes(rows):
    return "task,worker,label\n" + "".join(f"{each}\n" for each in rows)


PLAIN = ["1,a,x", "1,b,y"]
PROBS = "id,x,y\n1,0.6,0.4\n"
CAUGHT = {  # each rule catches what would be read silently as something else: votes, predictions
    "unreadable": (csv_votes([*PLAIN, "2,a"]), PROBS),
    "no-item": (csv_votes([*PLAIN, ",a,x"]), PROBS),
    "no-answer": (csv_votes([*PLAIN, "2,a,"]), PROBS),
    "unknown-label": (csv_votes([*PLAIN, "2,a,z"]), PROBS),
    "duplicate": (csv_votes([*PLAIN, "1,a,y"]), PROBS),
    "bad-number": (csv_votes(PLAIN), PROBS + "2,1.2,-0.2\n"),
    "rounded": (csv_votes(PLAIN), PROBS + "2,0.5,0.48\n"),
    "no-worker": (csv_votes([*PLAIN, "2,,x"]), PROBS),
    "bad-time": ("task,worker,label,time\n1,a,x,60\n1,b,y,soon\n", PROBS),
    "line-break": (csv_votes([*PLAIN, '2,"a\nb",x']), PROBS),
    "doubtful-label": (csv_votes([*PLAIN, "2,a,none"]), None),
    "missing-class": (csv_votes([*PLAIN, "2,a,z"]), PROBS),
    "unmatched": (csv_votes([*PLAIN, "2,a,x"]), PROBS),
    "spelling": (csv_votes([*PLAIN, "1.0,c, x"]), PROBS),
    "ignored-column": ("task,worker,label,note\n1,a,x,n\n1,b,y,n\n", PROBS),
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_counted_and_named(tmp_path, rule):
    votes, probs = CAUGHT[rule]
    (tmp_path / "v.csv").write_text(votes)
    (tmp_path / "p.csv").write_text(probs or "")
    found = None if probs is None else read_predictions(tmp_path / "p.csv")
    classes = ["x", "y"] if rule == "unknown-label" else None
    report = join(read_votes(tmp_path / "v.csv"), found, classes=classes).report
    assert report.count(rule) >= 1
    assert (rule in " ".join(report.understood())) == RULES[rule].strict


def test_there_are_fifteen_rules():
    assert set(CAUGHT) == set(RULES) and len(RULES) == 15


def test_rejects_can_be_written_as_parquet_and_tell_the_value(tmp_path):
    votes = read_votes(pa.table({"task": ["1", "1"], "worker": ["a", "b"], "label": ["x", "oops"]}), classes=["x", "y"])
    assert votes.report.write_rejects(tmp_path / "rejects.parquet") == 1
    row = pq.read_table(tmp_path / "rejects.parquet").to_pylist()[0]
    reason = RULES["unknown-label"].met
    expected = {"source": "frame", "row": 2, "rule": "unknown-label", "reason": reason, "task": "1", "worker": "b"}
    assert row == expected | {"value": "oops"}
    with refused("path", value=str(tmp_path / "rejects.doc")):
        votes.report.write_rejects(tmp_path / "rejects.doc")


def test_a_rule_that_is_none_is_refused():
    votes = read_votes(pa.table({"task": ["1"], "label": ["x"]}))
    with refused("rule", value="no-such-rule"):
        votes.report.count("no-such-rule")
