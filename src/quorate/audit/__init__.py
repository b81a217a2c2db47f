"""What a random check by the full panel proves about the items closed early: coins, bounds, and sentences to sign.

`coins.draw` says which closed items go to the panel; `running.RunningAudit` bounds their errors at any time;
`batch.end_of_batch` at the end of a batch, once; `statement` puts either into words. Pure: no files, no clock.
"""

from quorate.audit.batch import Batch, end_of_batch, most_errors
from quorate.audit.running import Bound, RunningAudit, audit_of, running_totals
from quorate.audit.sampling import Coin, draw
from quorate.audit.statement import ASSUMPTIONS, Tally, batch_sentence, running_sentence

__all__ = [
    "ASSUMPTIONS",
    "Batch",
    "Bound",
    "Coin",
    "RunningAudit",
    "Tally",
    "audit_of",
    "batch_sentence",
    "draw",
    "end_of_batch",
    "most_errors",
    "running_sentence",
    "running_totals",
]
