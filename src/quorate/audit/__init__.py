"""Random audits by the full panel -> how many of the items closed early can be wrong: draws, bounds, and statements.

`sampling.draw` says which closed items go to the panel, `sampling.end_of_batch` bounds the errors once, at the end of a
batch. `running.RunningAudit` bounds them at any time. `statement` writes the sentences to sign. No files, no clock.
"""

from quorate.audit.running import Bound, RunningAudit, audit_of, running_totals
from quorate.audit.sampling import AuditDraw, BatchBound, draw, end_of_batch, most_errors
from quorate.audit.statement import (
    ASSUMPTIONS,
    BATCH,
    RUNNING,
    AuditCounts,
    batch_sentence,
    rounded_up,
    running_sentence,
    standing,
)

__all__ = [
    "ASSUMPTIONS",
    "AuditCounts",
    "AuditDraw",
    "BatchBound",
    "Bound",
    "RunningAudit",
    "audit_of",
    "batch_sentence",
    "draw",
    "end_of_batch",
    "most_errors",
    "running_sentence",
    "running_totals",
]
