"""Reads votes and predictions: long, wide and count tables, Label Studio exports, arrays and data frames, dirty or not.

`read_votes` and `read_predictions` read a source, `join` matches them; each returns a report of every rule that fired.
docs/tables.md lists the rules. Needs `pip install 'quorate[tables]'`; only `tables.options` works without it, so that
`quorate --help` does too.
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
