"""Reads votes and predictions: long, wide and count tables, Label Studio exports, arrays and data frames, dirty or not.

`read_votes` and `read_predictions` read a source, `join` matches them; each returns a report of every rule that fired.
docs/tables.md lists the rules. Needs `pip install 'quorate[tables]'`; only the options and costs in mappings work
without it, so that `quorate --help` does too. Other folders import from here only.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.tables.error_cost import ErrorCost, is_number, read_error_cost
    from quorate.tables.joined import Joined, join
    from quorate.tables.labels import abstain_names
    from quorate.tables.misread_checks import FEWEST, doubtful_rows, refuse_misread_votes
    from quorate.tables.options import (
        HARD_LABEL_ACCURACY,
        OPTIONS,
        Format,
        Option,
        ScoreKeywords,
        TableKeywords,
        TableOptions,
        check_names,
        shows,
        table_options,
    )
    from quorate.tables.pieces import (
        Findings,
        ModelRows,
        PieceOptions,
        Rows,
        VoteRows,
        counts_in_pieces,
        predictions_in_pieces,
    )
    from quorate.tables.predictions.align import probabilities_by_id
    from quorate.tables.predictions.read import Predictions, read_predictions
    from quorate.tables.readers.open_files import existing
    from quorate.tables.report import REJECT_COLUMNS, Finding, Report, reject_tables
    from quorate.tables.rules import RULES
    from quorate.tables.small_tables import text_rows
    from quorate.tables.texts import whole_number
    from quorate.tables.truth_and_costs import Costs, read_costs, read_truth
    from quorate.tables.votes.read import Votes, read_votes
    from quorate.tables.votes.vote_order import VoteOrder, vote_order

_ON_FIRST_USE = {  # module -> names
    "error_cost": ("ErrorCost", "is_number", "read_error_cost"),
    "joined": ("Joined", "join"),
    "misread_checks": ("FEWEST", "doubtful_rows", "refuse_misread_votes"),
    "options": (
        "HARD_LABEL_ACCURACY", "OPTIONS", "Format", "Option", "ScoreKeywords", "TableKeywords", "TableOptions",
        "check_names", "shows", "table_options",
    ),
    "pieces": (
        "Findings", "ModelRows", "PieceOptions", "Rows", "VoteRows", "counts_in_pieces", "predictions_in_pieces",
    ),
    "predictions.align": ("probabilities_by_id",),
    "predictions.read": ("Predictions", "read_predictions"),
    "readers.open_files": ("existing",),
    "report": ("REJECT_COLUMNS", "Finding", "Report", "reject_tables"),
    "rules": ("RULES",),
    "small_tables": ("text_rows",),
    "truth_and_costs": ("Costs", "read_costs", "read_truth"),
    "labels": ("abstain_names",),
    "texts": ("whole_number",),
    "votes.read": ("Votes", "read_votes"),
    "votes.vote_order": ("VoteOrder", "vote_order"),
}  # fmt: skip
__all__ = [
    "FEWEST",
    "HARD_LABEL_ACCURACY",
    "OPTIONS",
    "REJECT_COLUMNS",
    "RULES",
    "Costs",
    "ErrorCost",
    "Finding",
    "Findings",
    "Format",
    "Joined",
    "ModelRows",
    "Option",
    "PieceOptions",
    "Predictions",
    "Report",
    "Rows",
    "ScoreKeywords",
    "TableKeywords",
    "TableOptions",
    "VoteOrder",
    "VoteRows",
    "Votes",
    "abstain_names",
    "check_names",
    "counts_in_pieces",
    "doubtful_rows",
    "existing",
    "is_number",
    "join",
    "predictions_in_pieces",
    "probabilities_by_id",
    "read_costs",
    "read_error_cost",
    "read_predictions",
    "read_truth",
    "read_votes",
    "refuse_misread_votes",
    "reject_tables",
    "shows",
    "table_options",
    "text_rows",
    "vote_order",
    "whole_number",
]


def __getattr__(name: str) -> object:
    for module, names in _ON_FIRST_USE.items():
        if name in names:
            value: object = getattr(import_module(f"quorate.tables.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'quorate.tables' has no attribute {name!r}")
