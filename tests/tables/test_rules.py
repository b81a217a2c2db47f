from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quorate.errors import InvalidInput
from quorate.tables import RULES, read_votes

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "table-rules.md"


def test_every_rule_stands_in_the_documentation_in_its_own_words():
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    for rule in RULES.values():
        where = "summary, rejects" if rule.set_aside else "summary"
        assert f"| {rule.met} | {rule.done} | `{rule.name}` | {where} |" in lines


def test_rejects_can_be_written_as_parquet_and_tell_the_value(tmp_path):
    votes = read_votes(pa.table({"task": ["1", "1"], "worker": ["a", "b"], "label": ["x", "oops"]}), classes=["x", "y"])
    assert votes.report.write_rejects(tmp_path / "rejects.parquet") == 1
    row = pq.read_table(tmp_path / "rejects.parquet").to_pylist()[0]
    reason = RULES["unknown-label"].met
    expected = {"source": "frame", "row": 2, "rule": "unknown-label", "reason": reason, "task": "1", "worker": "b"}
    assert row == expected | {"value": "oops"}
    with pytest.raises(InvalidInput) as caught:
        votes.report.write_rejects(tmp_path / "rejects.doc")
    assert (caught.value.field, caught.value.value) == ("path", str(tmp_path / "rejects.doc"))


def test_a_rule_that_is_none_is_refused():
    votes = read_votes(pa.table({"task": ["1"], "label": ["x"]}))
    with pytest.raises(InvalidInput) as caught:
        votes.report.count("no-such-rule")
    assert (caught.value.field, caught.value.value) == ("rule", "no-such-rule")
