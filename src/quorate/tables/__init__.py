"""Reads votes and predictions: long, wide and count tables, Label Studio exports, arrays and data frames, dirty or not.

`read_votes` and `read_predictions` read a source, `join` matches them; each returns a report of every rule that fired.
docs/tables.md lists the rules. Needs `pip install 'quorate[tables]'`; only the options and costs in mappings work
without it, so that `quorate --help` does too. Other folders import from here only; `__all__` is what users call.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.tables.error_cost import (
        ErrorCost as ErrorCost,
    )
    from quorate.tables.error_cost import (
        is_number as is_number,
    )
    from quorate.tables.error_cost import (
        read_error_cost as read_error_cost,
    )
    from quorate.tables.joined import Joined, join
    from quorate.tables.labels import abstain_names as abstain_names
    from quorate.tables.labels import match_labels as match_labels
    from quorate.tables.misread_checks import (
        FEWEST as FEWEST,
    )
    from quorate.tables.misread_checks import (
        doubtful_rows as doubtful_rows,
    )
    from quorate.tables.misread_checks import (
        refuse_misread_votes as refuse_misread_votes,
    )
    from quorate.tables.options import (
        HARD_LABEL_ACCURACY as HARD_LABEL_ACCURACY,
    )
    from quorate.tables.options import (
        OPTIONS as OPTIONS,
    )
    from quorate.tables.options import (
        Format as Format,
    )
    from quorate.tables.options import (
        Option as Option,
    )
    from quorate.tables.options import (
        ScoreKeywords as ScoreKeywords,
    )
    from quorate.tables.options import (
        TableKeywords as TableKeywords,
    )
    from quorate.tables.options import (
        TableOptions as TableOptions,
    )
    from quorate.tables.options import (
        check_names as check_names,
    )
    from quorate.tables.options import (
        shows as shows,
    )
    from quorate.tables.options import (
        table_options as table_options,
    )
    from quorate.tables.pieces import (
        Findings as Findings,
    )
    from quorate.tables.pieces import (
        ModelRows as ModelRows,
    )
    from quorate.tables.pieces import (
        PieceOptions as PieceOptions,
    )
    from quorate.tables.pieces import (
        Rows as Rows,
    )
    from quorate.tables.pieces import (
        VoteRows as VoteRows,
    )
    from quorate.tables.pieces import (
        counts_in_pieces as counts_in_pieces,
    )
    from quorate.tables.pieces import (
        predictions_in_pieces as predictions_in_pieces,
    )
    from quorate.tables.predictions.align import probabilities_by_id as probabilities_by_id
    from quorate.tables.predictions.read import Predictions, read_predictions
    from quorate.tables.predictions.read import predictions_by as predictions_by
    from quorate.tables.readers.open_files import existing as existing
    from quorate.tables.report import REJECT_COLUMNS as REJECT_COLUMNS
    from quorate.tables.report import Finding, Report
    from quorate.tables.report import reject_tables as reject_tables
    from quorate.tables.rules import RULES
    from quorate.tables.small_tables import text_rows as text_rows
    from quorate.tables.texts import whole_number as whole_number
    from quorate.tables.truth_and_costs import Costs as Costs
    from quorate.tables.truth_and_costs import read_costs as read_costs
    from quorate.tables.truth_and_costs import read_truth as read_truth
    from quorate.tables.votes.read import Votes, read_votes
    from quorate.tables.votes.read import votes_by as votes_by
    from quorate.tables.votes.vote_order import VoteOrder as VoteOrder
    from quorate.tables.votes.vote_order import vote_order as vote_order

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
    "predictions.read": ("Predictions", "predictions_by", "read_predictions"),
    "readers.open_files": ("existing",),
    "report": ("REJECT_COLUMNS", "Finding", "Report", "reject_tables"),
    "rules": ("RULES",),
    "small_tables": ("text_rows",),
    "truth_and_costs": ("Costs", "read_costs", "read_truth"),
    "labels": ("abstain_names", "match_labels"),
    "texts": ("whole_number",),
    "votes.read": ("Votes", "read_votes", "votes_by"),
    "votes.vote_order": ("VoteOrder", "vote_order"),
}  # fmt: skip
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


def __getattr__(name: str) -> object:
    for module, names in _ON_FIRST_USE.items():
        if name in names:
            value: object = getattr(import_module(f"quorate.tables.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'quorate.tables' has no attribute {name!r}")
