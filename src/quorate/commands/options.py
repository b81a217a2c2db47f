"""Options that several commands share; those for reading tables are generated from `tables.options.TableOptions`.

A command that reads tables has a parameter `reading: TableOptions`; `@reads_tables()` replaces it by an option for each
field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from functools import wraps
from importlib import import_module
from typing import Annotated, get_args

import typer
from typer.models import OptionInfo

from quorate.methods import ANONYMOUS
from quorate.tables import OPTIONS, Option, TableOptions


def one_of(*values: str) -> Callable[[str], list[str]]:
    """Shell completion with one of the values.

    >>> one_of("time", "given", "shuffled")("t")
    ['time']
    """

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def values_of(module: str, name: str) -> Callable[[str], list[str]]:
    """Shell completion with the values of a Literal type; its module is imported only then.

    >>> values_of("quorate.tables", "Format")("w")
    ['wide']
    """

    def complete(incomplete: str) -> list[str]:
        return one_of(*get_args(getattr(import_module(module), name)))(incomplete)

    return complete


method_names = one_of(*ANONYMOUS)


def option(
    sentence: str, *names: str, panel: str | None = None, complete: Callable[[str], list[str]] | None = None
) -> OptionInfo:
    """An option: its help text, its spellings if they differ from the parameter, its panel in the help."""
    found: OptionInfo = typer.Option(*names, help=sentence, rich_help_panel=panel, autocompletion=complete)
    return found


ERROR_COST_HELP = "What a wrong answer costs, in votes; 200 by default."
Json = Annotated[bool, option("Print JSON, for programs.", "--json")]
Overwrite = Annotated[bool, option("Replace the files in the folder.", "--overwrite")]
MethodSpec = Annotated[
    str | None,
    option(
        "A method; parameters after a colon: quorum:votes=4. See quorate methods. Default: value.",
        "--method",
        "-m",
        complete=method_names,
    ),
]
TargetName = Annotated[
    str | None,
    option(
        "plurality (default): what the whole pool would vote; truth: the true class, estimated from who voted what.",
        "--target",
        complete=values_of("quorate.methods", "Target"),
    ),
]
TruthTable = Annotated[
    str | None, option("Table of items and known true classes: scores and calibrates the answers.", "--truth")
]
CostsTable = Annotated[str | None, option("Table of people and the cost of their votes; 1 for others.", "--costs")]
ErrorCost = Annotated[str | None, option(f"{ERROR_COST_HELP} Or a CSV of costs: a row per truth, a column per answer.")]


def error_cost_of(text: str | None) -> float | str | None:
    """A number, or the path of a table.

    >>> error_cost_of("200"), error_cost_of("costs.csv")
    (200.0, 'costs.csv')
    """
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def class_list(text: str) -> list[str]:
    """The classes as typed, with commas.

    >>> class_list("cat, dog")
    ['cat', 'dog']
    """
    return [name.strip() for name in text.split(",")]


TABLES = "How to read the tables"


VotesTable = Annotated[str, option("Votes: CSV, TSV, Parquet, JSONL, Excel or a Label Studio export.", "--votes", "-v")]
PredictionTables = Annotated[
    list[str] | None,
    option("A classifier's probabilities; repeatable. None: every class is equally likely.", "--predictions", "-p"),
]


def reads_tables(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of `TableOptions` instead of `reading`.

    `without`: fields that the command does not have.
    """
    shown = [each for each in OPTIONS.values() if each.name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters = list(_expanded(signature, shown))

        @wraps(command)
        def with_options(**given: object) -> None:
            read = {each.name: given.pop(each.name) for each in shown}
            command(**given, reading=_reading(read))

        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_options

    return decorate


def _expanded(signature: inspect.Signature, shown: Collection[Option]) -> Iterator[inspect.Parameter]:
    """The parameters of the command, all keyword-only, with those of the tables instead of `reading`."""
    for each in signature.parameters.values():
        if each.name != "reading":
            yield each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        yield from map(_parameter, shown)


def _parameter(option: Option) -> inspect.Parameter:
    complete = one_of(*option.choices) if option.choices else None
    info = typer.Option(option.spelling, help=option.help, rich_help_panel=TABLES, autocompletion=complete)
    kind: object = str | None if option.default is None else type(option.default)
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=Annotated[kind, info]
    )


def _reading(typed: dict[str, object]) -> TableOptions:
    """The options from what was typed: classes with commas; None: not given."""
    given = {name: value for name, value in typed.items() if value is not None}
    if isinstance(given.get("classes"), str):
        given["classes"] = class_list(str(given["classes"]))
    return TableOptions(**given)  # type: ignore[arg-type]
