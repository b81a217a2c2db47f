"""Votes and predictions in: long, wide and count tables, Label Studio exports, arrays and data frames, dirt included.

`read_votes` and `read_predictions` read, `join` brings them together; each gives a report of every rule that fired.
Needs `pip install 'quorate[tables]'`; `tables.options` does not, so that the commands can be listed without it. The
rules: docs/tables.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.tables.joined import Joined, join
    from quorate.tables.predictions.read import Predictions, read_predictions
    from quorate.tables.report import Finding, Report
    from quorate.tables.rules import RULES
    from quorate.tables.votes.read import Votes, read_votes

_ON_FIRST_USE = {  # module -> names
    "joined": ("Joined", "join"),
    "predictions.read": ("Predictions", "read_predictions"),
    "report": ("Finding", "Report"),
    "rules": ("RULES",),
    "votes.read": ("Votes", "read_votes"),
}


def __getattr__(name: str) -> object:
    for module, names in _ON_FIRST_USE.items():
        if name in names:
            value: object = getattr(import_module(f"quorate.tables.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'quorate.tables' has no attribute {name!r}")


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
