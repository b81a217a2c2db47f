"""How to read tables, declared once: each option's name, type, default, spelling on the command line and help text.

The options of the commands (`cli.options`), the keyword arguments of `quorate.run`, `plan`, `score` and
`calibrate`, and the table in docs/tables.md follow from `TableOptions`; tests compare them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, TypedDict, TypeVar, get_args

from quorate.tables.labels import abstain_names
from quorate.tables.texts import class_texts, name_texts
from quorate.validate import invalid

Format = Literal["auto", "long", "wide", "counts", "cells", "label-studio"]
Tables = Literal["votes", "predictions", "both"]
_COLUMNS = (
    "task", "worker", "label", "timestamp", "id_column", "probs_column", "prediction_column", "ignore_columns",
)  # fmt: skip
HARD_LABEL_ACCURACY = 0.9  # of a bare label, as in a live session; the method learns the classifier's real accuracy

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `name`, `type` and `default` as an argument, `spelling` on the command line, `help` text.

    `tables`: which tables it applies to. `choices`: the values it accepts, if they are few.
    """

    name: str
    type: str
    default: object
    spelling: str
    help: str
    tables: Tables
    choices: tuple[str, ...]


def _option(default: T, spelling: str, sentence: str, *, tables: Tables = "votes", choices: tuple[str, ...] = ()) -> T:
    return field(
        default=default, metadata={"spelling": spelling, "help": sentence, "tables": tables, "choices": choices}
    )


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How to read votes and predictions. None: detected from the names and the content of the columns."""

    task: str | None = _option(
        None, "--task-column", "Column of the item in the votes; also that of the predictions, if they have it."
    )
    worker: str | Sequence[str] | None = _option(
        None,
        "--worker-column",
        "Column of the voter in the votes; with --format wide the annotators' columns, with commas.",
    )
    label: str | None = _option(None, "--label-column", "Column of the label in the votes.")
    timestamp: str | None = _option(None, "--time-column", "Column of the time in the votes.")
    id_column: str | None = _option(None, "--id-column", "Column of the item in the predictions.", tables="predictions")
    probs_column: str | None = _option(
        None,
        "--probs-column",
        "Column of the predictions that holds all probabilities of an item, as a list or a mapping of class to number.",
        tables="predictions",
    )
    prediction_column: str | None = _option(
        None, "--prediction-column", "Column of the predictions that holds the predicted label.", tables="predictions"
    )
    format: Format = _option(  # noqa: RUF009 - it calls `field`
        "auto",
        "--format",
        "auto, long, wide, counts, cells (all votes of an item in one cell) or label-studio.",
        choices=get_args(Format),
    )
    classes: Sequence[Any] | None = _option(
        None,
        "--classes",
        "All classes, with commas; votes for others are set aside. They name the columns of arrays, in order.",
        tables="both",
    )
    abstain_labels: str | Sequence[str] | None = _option(
        None,
        "--abstain-labels",
        'Labels that mean no answer, with commas, such as "NA,don\'t know": set aside as abstentions.',
    )
    ignore_columns: str | Sequence[str] | None = _option(
        None, "--ignore-columns", "Columns of the votes to ignore, with commas, such as gold,majority_label."
    )
    encoding: str | None = _option(
        None, "--encoding", "Encoding of text tables (CSV, TSV), such as latin-1; UTF-8 unless given.", tables="both"
    )
    strict: bool = _option(
        False,
        "--strict",
        "Refuse any irregularity of the data. Variants of spelling such as Cat/cat are still accepted.",
        tables="both",
    )

    def __post_init__(self) -> None:
        """Names of columns and classes may be numbers, as those of a frame and a classifier's `classes_` are."""
        if self.format not in get_args(Format):
            raise invalid("format", self.format, f"one of {', '.join(get_args(Format))}", "pass one of them.")
        object.__setattr__(self, "classes", class_texts(self.classes))
        for column in _COLUMNS:
            object.__setattr__(self, column, name_texts(getattr(self, column)))

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The classes that the caller named, as text."""
        return class_texts(self.classes)

    @property
    def abstentions(self) -> tuple[str, ...]:
        """The labels that mean no answer."""
        return abstain_names(self.abstain_labels, self.classes)

    def keywords(self, taken_by: object) -> dict[str, Any]:
        """The options that `taken_by` (a function, a TypedDict or a dataclass) accepts, as keyword arguments.

        >>> TableOptions(task="photo").keywords(ScoreKeywords)["task"]
        'photo'
        """
        return {name: getattr(self, name) for name in OPTIONS if name in _names(taken_by)}

    def in_shell(self) -> list[str]:
        """The options that differ from their defaults, as typed in a shell.

        >>> TableOptions(task="photo", classes=["cat", "dog"], strict=True).in_shell()
        ['--task-column', 'photo', '--classes', 'cat,dog', '--strict']
        """
        typed: list[str] = []
        for option in OPTIONS.values():
            value = getattr(self, option.name)
            if value == option.default:
                continue
            typed.append(option.spelling)
            if isinstance(value, str):
                typed.append(value)
            elif not isinstance(value, bool):
                typed.append(",".join(map(str, value)))
        return typed


OPTIONS: dict[str, Option] = {
    each.name: Option(each.name, str(each.type), each.default, **each.metadata) for each in fields(TableOptions)
}


class _LayoutKeywords(TypedDict, total=False):
    task: str | None
    worker: str | Sequence[str] | None
    label: str | None
    format: Format
    ignore_columns: str | Sequence[str] | None
    encoding: str | None


class VoteKeywords(_LayoutKeywords, total=False):
    """The options that apply to votes, as keyword arguments, all optional: `read_votes(votes, task="photo")`."""

    timestamp: str | None
    classes: Sequence[Any] | None
    abstain_labels: str | Sequence[str] | None
    strict: bool


class ScoreKeywords(_LayoutKeywords, total=False):
    """The options that `quorate.score` shares with `quorate.run`; the others come from the parameter file."""

    id_column: str | None
    probs_column: str | None
    prediction_column: str | None


class TableKeywords(VoteKeywords, ScoreKeywords, total=False):
    """`TableOptions` as keyword arguments, all optional: `run(votes, predictions, task="photo")`."""


def table_options(given: Mapping[str, object], allowed: object = TableKeywords) -> TableOptions:
    """The options given as keyword arguments; the error for an unknown name suggests the nearest one.

    >>> table_options({"label": "Read"}).label
    'Read'
    """
    check_names(given, _names(allowed))
    return TableOptions(**given)  # type: ignore[arg-type]  # `Unpack[TableKeywords]` of the caller checks the types


def check_names(given: Mapping[str, object], known: Collection[str]) -> None:
    """Refuse a keyword argument that is not one of `known`."""
    for name, value in given.items():
        if name not in known:
            bare = name.removesuffix("_column")
            near = [bare] if bare in known else get_close_matches(name, known, n=1)
            fix = f"pass `{near[0]}` instead." if near else "leave it out."
            raise invalid(name, value, f"one of {', '.join(map(repr, known))}", fix)


def _names(keywords: object) -> Collection[str]:
    """The names of the arguments of a function, or of the fields of a TypedDict or a dataclass."""
    names: Collection[str] = keywords.__annotations__
    return names


def shows(keywords: type) -> Callable[[F], F]:
    """Make `help` list the options of `keywords`, a TypedDict, one by one instead of `**tables`."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        keyword_only, rest = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
        named = [parameter for parameter in signature.parameters.values() if parameter.kind is not rest]
        more = [
            inspect.Parameter(option.name, keyword_only, default=option.default, annotation=option.type)
            for option in OPTIONS.values()
            if option.name in _names(keywords)
        ]
        function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        return function

    return decorate


def options_page() -> str:
    """The table of docs/tables.md: a row per option."""
    lines = ["| argument | option | meaning | default |", "|---|---|---|---|"]
    for option in OPTIONS.values():
        default = "" if option.default is None else f"`{option.default}`"
        lines.append(f"| `{option.name}` | `{option.spelling}` | {option.help} | {default} |")
    return "\n".join(lines) + "\n"
