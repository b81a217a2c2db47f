"""Reads the small tables that accompany the votes: the true class of each item, and the cost of each person's vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from quorate.errors import source_is
from quorate.tables.columns import find_column
from quorate.tables.joined import Joined
from quorate.tables.options import TableOptions
from quorate.tables.readers.sources import Opened
from quorate.tables.small_tables import opened, text_rows
from quorate.tables.texts import name_text, whole_number
from quorate.tables.votes.read import read_votes
from quorate.types import IntArray, TableLike
from quorate.validate import invalid

Costs = TableLike | Mapping[str, float]


def read_truth(truth: TableLike, joined: Joined, options: TableOptions | None = None) -> IntArray:
    """(T,) the true class of each item in the votes, -1 where it is unknown; `options` may name the column of ids."""
    with source_is("truth"):
        item, column = _truth_columns(opened(truth), options or TableOptions())
        gold = read_votes(truth, format="long", task=item, label=column, classes=joined.classes)
        if gold.num_votes < gold.raw.num_rows:
            rule = f"one class of the votes per item: {', '.join(joined.classes[:12])}"
            value = f"{gold.raw.num_rows - gold.num_votes} rows with another label or without one"
            raise invalid("truth", value, rule, "spell the classes as in `votes`, and leave out the other rows.")
    position = {whole_number(name): number for number, name in enumerate(joined.items)}
    number = {name: k for k, name in enumerate(joined.classes)}
    true_classes = np.full(joined.num_items, -1)
    items = gold.raw.task.texts(gold.counts_vote).to_pylist()
    labels = gold.raw.label.texts(gold.counts_vote).to_pylist()
    for item, label in zip(items, labels, strict=True):
        row = position.get(whole_number(item), -1)
        if row >= 0 and true_classes[row] not in (-1, number[label]):
            raise invalid("truth", f"item {item!r}", "one true class per item; it has two", "keep one row per item.")
        if row >= 0:
            true_classes[row] = number[label]
    if not (true_classes >= 0).any():
        raise invalid("truth", str(truth), "true classes of items in `votes`; none of its items is", "check its ids.")
    return true_classes


def _truth_columns(table: Opened, options: TableOptions) -> tuple[str, str]:
    """The columns of ids and of true classes: those named, else known names; of two columns the other one."""
    columns = table.columns
    named = [name for name in (options.id_column, options.task) if name in columns]
    item = named[0] if named else find_column("item", columns)
    column = find_column("truth", [name for name in columns if name != item])
    for name in columns if len(columns) == 2 else ():
        item, column = item or (None if name == column else name), column or (None if name == item else name)
    if item is None or column is None:
        rule = f"a column of ids and one of true classes, such as `truth`; it has {list(columns)[:12]}"
        raise invalid("truth", table.name, rule, "name the ids: `id_column=...`." if item is None else "rename it.")
    return item, column


def read_costs(costs: Costs, people: Sequence[str]) -> tuple[float, ...]:
    """The cost of a vote of each of `people`; 1 for those whom `costs` does not name.

    `costs`: a table with a column of people and a column `cost`, or a mapping of names to costs.

    >>> read_costs({"ann": 3.0}, ["bob", "ann"])
    (1.0, 3.0)
    """
    named: dict[str, object] = {}
    voters = set(people)
    for who, cost in costs.items() if isinstance(costs, Mapping) else _cost_rows(costs):
        if named.setdefault(name_text(who), cost) != cost:
            raise invalid("costs", who, "one cost per person; this one has two", "keep one row.")
    unknown = [who for who in named if who not in voters]
    if unknown or not named:
        rule = f"costs of people who voted, such as {list(people)[:3]}"
        raise invalid("costs", unknown[:3], rule, "spell the people as in `votes`, and leave out the others.")
    return tuple(_cost(who, named[who]) if who in named else 1.0 for who in people)


def _cost_rows(source: TableLike) -> list[tuple[str, str]]:
    with source_is("costs"):
        table = text_rows(source)
        who, cost = find_column("worker", table.columns), find_column("cost", table.columns)
        if who is None or cost is None:
            rule = "a column of people, such as `worker`, and a column `cost`"
            raise invalid("costs", list(table.columns), rule, "rename the columns.")
    person, price = table.columns.index(who), table.columns.index(cost)
    return [(row[person], row[price]) for row in table.rows]


def _cost(who: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise invalid("costs", value, f"a number above 0, the cost of a vote of {who!r}", "correct it.")
    return number
