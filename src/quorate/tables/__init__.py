"""Votes and predictions in: long, wide and count tables, Label Studio exports, arrays and data frames, dirt included.

`read_votes` and `read_predictions` read, `join` brings them together; each gives a report of every rule that fired.
Needs `pip install 'quorate[tables]'`. The rules: docs/tables.md.
"""

from quorate.tables.join import Joined, join
from quorate.tables.predictions.read import Predictions, read_predictions
from quorate.tables.report import Finding, Report
from quorate.tables.rules import RULES
from quorate.tables.votes.read import Votes, read_votes

__all__ = [
    "RULES",
    "Finding",
    "Joined",
    "Predictions",
    "Report",
    "Votes",
    "join",
    "read_predictions",
    "read_votes",
]
