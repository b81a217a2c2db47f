"""What the audits of a target error prove, beside what the control estimates."""

import pytest

from quorate.audit import RunningAudit
from quorate.audit.statement import rounded_up
from quorate.commands.run import run
from quorate.commands.run.report import CONTROL, ESTIMATES
from quorate.streams.target_error import AUDIT_RATE, FOCUS
from tests.quorate.commands.run import run_data


@pytest.fixture(scope="module")
def long_stream():
    return run_data.stream(num_items=2000, pool_size=7, num_classes=4, accuracy=0.7, agreement=0.7, seed=4)


@pytest.fixture(scope="module")
def aimed(long_stream):
    return run(long_stream, order="given", target_error=0.08, seed=2)


def test_a_target_error_is_told_with_what_its_audits_prove(aimed):
    """The bound is that of an audit taken item by item; it holds for the error the recorded votes show."""
    result = aimed
    summary, audit = result.summary(), RunningAudit(min_rate=AUDIT_RATE)
    for t, row in enumerate(result.table.to_pylist()):
        loss, doubt = 1 - result.pools.truth[t, result.outcome.labels[t]], 1 - result.outcome.confidence[t]
        if row["stop_reason"] in ("settled", "exhausted"):
            audit = audit.settle(loss)
        else:
            rate = min(AUDIT_RATE + FOCUS * doubt, 1.0)
            audit = audit.update(expected_loss=doubt, rate=rate, audited=row["audited"], loss=loss)
    proved = summary["control"]["proved"]
    assert proved == pytest.approx(audit.bound(0.1).mean)
    assert summary["error"]["rate"] < proved < 0.2
    assert f"{rounded_up(100 * proved):.2f} %" in summary["control"]["sentence"]


def test_an_audited_item_has_the_verdict_of_its_panel_and_errors_count_what_was_answered(aimed):
    outcome, pools, rows = aimed.outcome, aimed.pools, aimed.table.to_pylist()
    refuted = [t for t, row in enumerate(rows) if row["refuted"] is not None]
    assert len(refuted) == aimed.summary()["error"]["refuted"] > 0
    for t, row in enumerate(rows):
        if row["audited"]:
            share = pools.truth[t, aimed.classes.index(row["consensus_label"])]
            assert share == row["confidence"] == row[f"prob_{row['consensus_label']}"] > 0
        if t in refuted:
            assert row["refuted"] == aimed.classes[outcome.labels[t]] and pools.truth[t, outcome.labels[t]] == 0
    wrong = 1 - pools.truth[range(len(rows)), outcome.labels]
    assert aimed.error == pytest.approx(wrong.mean())
    assert wrong[outcome.is_audited].sum() >= len(refuted)


def test_an_audit_that_the_record_cannot_complete_changes_no_answer():
    result = run(run_data.stream(), order="given", pool_size=9, method="quorum:votes=1", audit_rate=1.0)
    rows = result.table.to_pylist()
    incomplete = [t for t in range(len(rows)) if result.outcome.is_audited[t] and not result.outcome.is_known[t]]
    assert incomplete
    for t in incomplete:
        assert rows[t]["refuted"] is None
        assert rows[t]["consensus_label"] == result.classes[result.outcome.labels[t]]


def test_a_target_is_held_where_the_bound_lies_within_it_and_an_aim_elsewhere(aimed, long_stream):
    held = run(long_stream, order="given", target_error=0.3, audit_rate=0.5, seed=2)
    for result, target, status in ((aimed, 0.08, "aim"), (held, 0.3, "held")):
        control = result.summary()["control"]
        assert control["status"] == status
        assert control["supported"] == (control["proved"] <= target) == (status == "held")


def test_an_estimate_that_too_few_audits_support_is_not_printed():
    """20 items: the audits can bound nothing, so the page and the sentence have no figure but the target."""
    few = run_data.stream(num_items=20, pool_size=7, num_classes=4, accuracy=0.7, agreement=0.7, seed=4)
    result = run(few, order="given", target_error=0.3, seed=2)
    control, page = result.summary()["control"], result.to_html()
    assert (control["proved"], control["status"], control["estimate_supported"]) == (None, "aim", False)
    assert control["sentence"].count("%") == 1
    assert all(CONTROL[name] not in page for name in ESTIMATES)
