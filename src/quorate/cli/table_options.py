"""Options of every command that reads tables, each declared once; and what a shell completes behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from quorate.errors import InvalidInput
from quorate.unpacked import DEFAULT, VARIABLE, limited_to

METHODS = (
    "quorate", "finexp", "infexp", "fixed-finexp", "fixed-infexp", "fixed-ask-finexp", "fixed-ask-infexp", "random",
    "entropy", "mp", "mp-released", "ask-all", "until-settled", "quorum", "unanimous-then-cap", "beta",
)  # fmt: skip
ORDERS = ("time", "given", "shuffled")
PARTLY_VOTED = ("exclude", "own-pool", "worst-case")
PARTLY_VOTED_PILOT = ("complete", "own-pool", "drop")
SPEEDS = ("normal", "slow")
FORMATS = ("auto", "long", "wide", "counts", "cells", "label-studio")
ITEMS = ("votes", "votes-and-predictions")
MATCHES = ("auto", "order", "id")


def one_of(*values: str) -> Callable[[str], list[str]]:
    """What completes to one of the values.

    >>> one_of("time", "given", "shuffled")("t")
    ['time']
    """

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


TABLES = "How to read the tables"

VotesTable = Annotated[
    str, typer.Option("--votes", "-v", help="Votes: CSV, TSV, Parquet, JSONL, Excel or a Label Studio export.")
]
PredictionTables = Annotated[
    list[str] | None,
    typer.Option("--predictions", "-p", help="A classifier's probabilities; repeatable. None: all classes are alike."),
]
TaskColumn = Annotated[str | None, typer.Option(help="Column of the item in the votes.", rich_help_panel=TABLES)]
WorkerColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of the voter in the votes; with --format wide the annotators' columns, with commas.",
        rich_help_panel=TABLES,
    ),
]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the label in the votes.", rich_help_panel=TABLES)]
TimeColumn = Annotated[str | None, typer.Option(help="Column of the time in the votes.", rich_help_panel=TABLES)]
IdColumn = Annotated[str | None, typer.Option(help="Column of the item in the predictions.", rich_help_panel=TABLES)]
RowIds = Annotated[
    str | None,
    typer.Option(
        "--ids",
        help="File with the items of the rows of .npy and .npz predictions, one id a line, in their order.",
        rich_help_panel=TABLES,
    ),
]
VotesFormat = Annotated[
    str,
    typer.Option(
        "--format",
        help="auto, long, wide, counts, cells (all votes of an item in one cell) or label-studio.",
        rich_help_panel=TABLES,
        autocompletion=one_of(*FORMATS),
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        help="All classes, with commas; votes for others are set aside. They name the columns of .npy and .npz "
        "predictions, in order.",
        rich_help_panel=TABLES,
    ),
]
AbstainLabels = Annotated[
    str | None,
    typer.Option(
        help='Labels that mean no answer, with commas, such as "NA,don\'t know": set aside as abstentions.',
        rich_help_panel=TABLES,
    ),
]
IgnoreColumns = Annotated[
    str | None,
    typer.Option(
        help="Columns of the votes that are not to be read, with commas, such as gold,majority_label.",
        rich_help_panel=TABLES,
    ),
]
AsRead = Annotated[
    bool,
    typer.Option(
        "--as-read", help="Take the tables as they are read, also where they look misread.", rich_help_panel=TABLES
    ),
]
WhichItems = Annotated[
    str,
    typer.Option(
        help="votes: every item with a vote; or votes-and-predictions.",
        rich_help_panel=TABLES,
        autocompletion=one_of(*ITEMS),
    ),
]
HardLabelAccuracy = Annotated[
    float,
    typer.Option(
        help="How sure a hard label of a classifier is taken to be; how far it is true is learned.",
        rich_help_panel=TABLES,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse any irregularity of the data. Variants of spelling such as Cat/cat are still accepted.",
        rich_help_panel=TABLES,
    ),
]


def _limit_size(context: typer.Context, text: str | None) -> str | None:
    context.with_resource(limited_to(text))
    return text


MaxSize = Annotated[
    str | None,
    typer.Option(
        "--max-size",
        help=f"Largest size a packed file may unpack to, e.g. 20GB; default {DEFAULT} or {VARIABLE}.",
        rich_help_panel=TABLES,
        callback=_limit_size,
    ),
]


def class_list(text: str | None) -> list[str] | None:
    """The classes as typed, with commas; None: those found in the tables.

    >>> class_list("cat, dog")
    ['cat', 'dog']
    """
    return None if text is None else [name.strip() for name in text.split(",")]


def id_list(file: str | None, predictions: Sequence[str] | None) -> list[str] | None:
    """The ids in the file of --ids, one a line; None: not given. Only arrays need it, so it is refused without one."""
    if file is None:
        return None
    if not any(source.lower().endswith((".npy", ".npz")) for source in predictions or ()):
        raise InvalidInput(
            f"--ids {file!r} names the rows of .npy and .npz predictions; there are none. Leave it out: tables have an "
            "id column (--id-column)."
        )
    try:
        with Path(file).open(encoding="utf-8-sig") as text:
            return [line.rstrip("\n") for line in text]
    except (OSError, UnicodeDecodeError) as cause:
        raise InvalidInput(
            f"--ids {file!r} cannot be read: {cause}; expected a text file with one id a line."
        ) from cause
