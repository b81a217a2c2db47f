"""What an experiment hands over: sentences, claims, tables and figures, as values.

Every experiment is a function `Context -> Section`; it asks `context.run` for the outcomes it needs, as often as it
needs to, and never touches files. Rendered by `report` and the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quorate.experiments.design import Job
from quorate.experiments.outcome import Outcome
from quorate.types import VoteDataset

Cell = str | float | int | None
Run = Callable[[Sequence[Job]], dict[Job, Outcome]]


@dataclass(frozen=True, slots=True)
class Context:
    """What an experiment may use. `datasets` by name (see `sources`); `quick`: fewer knob values, models and orderings.

    `run(jobs)` gives the outcome of each job, from the store where it is known.
    """

    datasets: Mapping[str, VoteDataset]
    seeds: tuple[int, ...]
    quick: bool
    run: Run


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people and for CSV. The first `text_columns` are text; numbers are shown with `digits` decimals.

    `highlight`: rows whose first cell is one of these stand out.
    """

    key: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    text_columns: int = 1
    digits: int = 2
    highlight: tuple[str, ...] = ("quorate",)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `draw(figure)` fills an empty matplotlib figure of that size in inches; `alt` says what it shows."""

    key: str
    title: str
    caption: str
    alt: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (9.0, 5.0)


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that should be so, whether it is, and what was measured."""

    text: str
    holds: bool
    measured: str


@dataclass(frozen=True, slots=True)
class Section:
    """An experiment's result. `lead` sentences come first; `summary` goes into summary.json under its own keys.

    `cautions` say what is not the paper's own (other classifiers, other tie draws), beside the tables.
    """

    key: str
    title: str
    lead: tuple[str, ...]
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    cautions: tuple[str, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
