"""What the audits of a target error prove, beside what the control estimates."""

import pytest

from quorate.audit import RunningAudit
from quorate.audit.statement import rounded_up
from quorate.workflows.control import AUDIT_RATE, FOCUS
from quorate.workflows.run import run
from tests.workflows import run_data


@pytest.fixture(scope="module")
def long_stream():
    return run_data.stream(num_items=2000, pool_size=7, num_classes=4, accuracy=0.7, agreement=0.7, seed=4)


def test_a_target_error_is_told_with_what_its_audits_prove(long_stream):
    """The bound is that of an audit taken item by item; it holds for the error the recorded votes show."""
    result = run(long_stream, order="given", target_error=0.08, seed=2)
    summary, audit = result.summary(), RunningAudit(min_rate=AUDIT_RATE)
    for t, row in enumerate(result.table.to_pylist()):
        loss, doubt = 1 - result.pools.truth[t, result.outcome.labels[t]], 1 - row["confidence"]
        if row["stop_reason"] in ("settled", "exhausted"):
            audit = audit.settle(loss)
        else:
            rate = min(AUDIT_RATE + FOCUS * doubt, 1.0)
            audit = audit.update(expected_loss=doubt, rate=rate, audited=row["audited"], loss=loss)
    proved = summary["control"]["proved"]
    assert proved == pytest.approx(audit.bound(0.1).mean)
    assert summary["error"]["rate"] < proved < 0.2
    assert f"at most {rounded_up(100 * proved):.2f} % is proved (90 % confidence)" in summary["control"]["sentence"]
    assert summary["control"]["supported"] == (proved <= 0.08)
    assert "at most, per item, as the audits prove it" in result.to_html()
