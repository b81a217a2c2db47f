"""How every command that reads tables is told to read them: each option once, shared by run, plan and calibrate."""

from __future__ import annotations

from typing import Annotated

import typer

TABLES = "How to read the tables"

VotesTable = Annotated[
    str, typer.Option("--votes", "-v", help="Votes: CSV, TSV, Parquet, JSONL, Excel or a Label Studio export.")
]
PredictionTables = Annotated[
    list[str] | None,
    typer.Option("--predictions", "-p", help="A classifier's probabilities; repeatable. None: all classes are alike."),
]
TaskColumn = Annotated[str | None, typer.Option(help="Column of the item in the votes.", rich_help_panel=TABLES)]
WorkerColumn = Annotated[str | None, typer.Option(help="Column of the voter in the votes.", rich_help_panel=TABLES)]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the label in the votes.", rich_help_panel=TABLES)]
TimeColumn = Annotated[str | None, typer.Option(help="Column of the time in the votes.", rich_help_panel=TABLES)]
IdColumn = Annotated[str | None, typer.Option(help="Column of the item in the predictions.", rich_help_panel=TABLES)]
VotesFormat = Annotated[
    str, typer.Option("--format", help="auto, long, wide, counts or label-studio.", rich_help_panel=TABLES)
]
Classes = Annotated[
    str | None, typer.Option(help="All classes, with commas; votes for others are set aside.", rich_help_panel=TABLES)
]
WhichItems = Annotated[
    str, typer.Option(help="votes: every item with a vote; or votes-and-predictions.", rich_help_panel=TABLES)
]
HardLabelAccuracy = Annotated[
    float,
    typer.Option(
        help="How sure a hard label of a classifier is taken to be; how far it is true is learned.",
        rich_help_panel=TABLES,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse any irregularity of the data.", rich_help_panel=TABLES)]


def class_list(text: str | None) -> list[str] | None:
    """The classes as typed, with commas; None: those found in the tables.

    >>> class_list("cat, dog")
    ['cat', 'dog']
    """
    return None if text is None else [name.strip() for name in text.split(",")]
