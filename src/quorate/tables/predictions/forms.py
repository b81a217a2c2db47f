"""A table of predictions -> numbers per class, from a vector, a hard label, a label with its score, or one score.

A vector has a column per class, or is a list or a mapping in one cell: {"cat": 0.7, ...} or [0.7, ...]. Called by
`predictions.read`. The columns decide which form a table has; the report says which one was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from quorate.arrow import TEXT, pa
from quorate.tables.columns import SYNONYMS, find_column, is_nameless, refuse_own_output, squeezed
from quorate.tables.labels import match_labels
from quorate.tables.options import HARD_LABEL_ACCURACY, TableOptions
from quorate.tables.predictions.checks import Given
from quorate.tables.readers.sources import (
    Numbers,
    Opened,
    TableBatch,
    as_numbers,
    batches,
    head,
    nested_cell,
    unique_columns,
)
from quorate.tables.rules import Fired, fired, fired_whole
from quorate.tables.votes.clean import blank_cells
from quorate.tables.votes.codes import Coded, encode, hits, merge
from quorate.validate import invalid

NOT_A_PREDICTION = "no prediction"  # not a number, so the rule "bad-number" applies
PREFIXES = ("probability_", "proba_", "prob_", "score_", "pred_", "p_")


def from_table(opened: Opened, model: str, options: TableOptions) -> Given:
    """The predictions of a table with an id column; without `id_column`, `task` is tried first."""
    classes, probs_column, prediction_column = options.class_names, options.probs_column, options.prediction_column
    if probs_column is None and prediction_column is None:
        refuse_own_output(opened.columns, opened.name, expected="predictions")
    about = {"source": opened.name, "advice": opened.advice}
    named_id, tried = options.id_column, options.task
    item = find_column("item", opened.columns, named=named_id, argument="id_column", tried=tried, **about)
    if item is None:
        rule = f"an id column; it has {list(opened.columns)[:30]}"
        raise invalid("source", opened.name, rule, f"name it: `id_column=...`{opened.advice}.")
    others = [name for name in opened.columns if name != item]
    first = head(opened)
    if first.num_rows == 0:
        rule = "predictions; no row follows the header"
        raise invalid("source", opened.name, rule, f"export it again{opened.advice}.")
    looked_at = others if prediction_column is None else []
    if probs_column is not None:
        find_column("prediction", others, named=probs_column, argument="probs_column", **about)
        looked_at = [probs_column]
    opened, nested = unnested(opened, first, looked_at, classes)
    if probs_column is not None and not nested:
        rule = "a list or a mapping of numbers in each cell"
        raise invalid("probs_column", probs_column, rule, "name the column that holds them.", place=opened.name)
    if nested:
        first, others = head(opened), [name for name in opened.columns if name != item]
    columns = class_columns(first, nested or others, classes)
    label = find_column("prediction", others, named=prediction_column, argument="prediction_column", **about)
    if prediction_column is not None and probs_column is None:
        columns = {}
    score = find_column("score", [name for name in others if first_vector(first[name]) is None])  # `p` may be a vector
    if prediction_column is None:
        _refuse_votes(opened, others, columns)
    if len(columns) >= 2 or (len(columns) == 1 and label is None):
        return _vectors(opened, model, item, columns, others)
    if label is not None:
        if prediction_column is None:
            _refuse_several_rows(opened.name, first, item, label)
        return _labels(opened, model, item, label, score, classes=classes)
    if score is not None:
        return _scores(opened, model, item, score, classes)
    rule = f"a column of numbers per class, a label or a score beside {item!r}; it has {others[:12]}"
    raise invalid("source", opened.name, rule, f"name the classes: `classes=[...]`; write 92% as 0.92{opened.advice}.")


def _refuse_votes(opened: Opened, others: Sequence[str], columns: dict[str, str]) -> None:
    """Refuse a table with a worker and a label in each row, unless other columns hold probabilities."""
    worker, label = find_column("worker", others), find_column("label", others)
    if worker is not None and label is not None and not [name for name in columns if name not in (worker, label)]:
        rule = f"a prediction per item, not a worker {worker!r} and a label {label!r} in each row, as votes have"
        fix = f"are `votes` and `predictions` swapped? If not, name the column: `prediction_column={label!r}`."
        raise invalid("source", opened.name, rule, fix)


def _refuse_several_rows(source: str, first: pa.Table, item: str, label: str) -> None:
    """Refuse a table with several rows for most items: votes, or a row for each class."""
    codes = encode(first[item]).codes
    sizes = np.bincount(codes[codes >= 0], minlength=1)
    if (sizes > 1).sum() <= 0.5 * (sizes > 0).sum():
        return
    rule = f"one row per item, not {len(codes)} rows for {int((sizes > 0).sum())} items"
    fix = (
        "are `votes` and `predictions` swapped? Else make a column of each class: "
        f"frame.pivot(index={item!r}, columns={label!r}, values=...), or pass `prediction_column={label!r}`."
    )
    raise invalid("source", source, rule, fix)


def class_columns(table: pa.Table, others: Sequence[str], classes: tuple[str, ...] | None) -> dict[str, str]:
    """Column -> class: the columns named after the classes given, or else the numeric columns.

    Left out are columns with another role, columns without a name and, beside columns such as prob_cat, those without
    such a prefix.
    """
    if classes is not None:
        plain = dict(zip(others, match_labels(others, classes, given=True), strict=True))
        bare = dict(zip(others, match_labels([_bare(name) for name in others], classes, given=True), strict=True))
        class_of = {name: plain[name].name or bare[name].name for name in others}
        return {column: name for column, name in class_of.items() if name is not None}
    roles = {squeezed(name) for role in ("prediction", "score", "timestamp") for name in SYNONYMS[role]}
    named = [name for name in others if squeezed(name) not in roles and not is_nameless(name)]
    numeric = [name for name in named if _is_numeric(table[name])]
    prefixed = [name for name in numeric if _bare(name) != name]
    if len(prefixed) > 1 or (prefixed and len(prefixed) == len(numeric)):
        return {name: _bare(name) for name in prefixed}
    return {name: name for name in numeric}


def _bare(name: str) -> str:
    """A column's name without "prob_" and the like."""
    return next(
        (name[len(prefix) :] for prefix in PREFIXES if name.lower().startswith(prefix) and len(name) > len(prefix)),
        name,
    )


def _is_numeric(column: pa.ChunkedArray) -> bool:
    """Whether most of the cells that are not blank are numbers."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return True
    numbers = as_numbers(column, blank=np.nan)
    filled = ~numbers.is_blank
    return bool(filled.any()) and float((~np.isnan(numbers.values[filled])).mean()) > 0.5


def _vectors(opened: Opened, model: str, item: str, columns: dict[str, str], others: Sequence[str]) -> Given:
    tasks, values, blanks, rows = [], [], [], []
    entries: list[Fired] = list(opened.entries)
    commas = 0
    for batch in batches(opened, [item, *columns], None):
        cells = [as_numbers(batch.table[name], blank=np.nan) for name in columns]
        tasks.append(encode(batch.table[item]))
        values.append(np.column_stack([cell.values for cell in cells]))
        blanks.append(np.all([cell.is_blank for cell in cells], axis=0))
        rows.append(batch.rows)
        commas += sum(cell.num_commas for cell in cells)
        entries.extend(batch.entries)
    if commas:
        entries.append(fired("spelling", opened.name, count=commas))
    left = [name for name in others if name not in columns]
    entries.extend(fired_whole("ignored-column", opened.name, left, of="columns"))
    table = np.concatenate(values)
    how = "probabilities" if len(columns) > 1 else "the probability of one class, the rest shared by the others"
    return Given(
        model=model,
        source=opened.name,
        classes=tuple(columns.values()),
        task=merge(tasks),
        values=table,
        unsaid=np.zeros(table.shape, dtype=bool),
        is_blank=np.concatenate(blanks),
        rows=np.concatenate(rows),
        shares_rest=len(columns) == 1,
        decisions=_decisions(opened, f"{how}: item {item!r}"),
        entries=tuple(entries),
    )


def _labels(
    opened: Opened,
    model: str,
    item: str,
    label: str,
    score: str | None,
    *,
    classes: tuple[str, ...] | None,
) -> Given:
    tasks, labels, scores, rows = [], [], [], []
    entries: list[Fired] = list(opened.entries)
    for batch in batches(opened, [item, label] if score is None else [item, label, score], None):
        tasks.append(encode(batch.table[item]))
        labels.append(encode(batch.table[label]))
        scores.append(_confidence(batch.table, score).values)
        rows.append(batch.rows)
        entries.extend(batch.entries)
        task, name = merge(tasks), merge(labels)
    row, sure = np.concatenate(rows), np.concatenate(scores)
    how = f"with probability {HARD_LABEL_ACCURACY:g}" if score is None else f"with its score {score!r}"
    how = f"one label: item {item!r}, label {label!r}, {how}, the rest shared by the other classes"
    decisions = _decisions(opened, how)
    return from_labels(model, opened.name, task, name, sure, row, classes=classes, decisions=decisions, entries=entries)


def from_labels(
    model: str,
    source: str,
    task: Coded,
    label: Coded,
    sure: np.ndarray,
    rows: np.ndarray,
    *,
    classes: tuple[str, ...] | None,
    decisions: tuple[str, ...],
    entries: Sequence[Fired] = (),
) -> Given:
    """Hard labels, each with the probability `sure`; the other classes share the rest."""
    names = label.names.to_pylist()
    matches = match_labels([name if name.strip() else None for name in names], classes, given=classes is not None)
    more = list(entries)
    for rule in ("spelling", "unknown-label"):
        hit = np.array([match.rule == rule for match in matches] + [False])[label.codes]
        more += hits(rule, source, rows, hit, task, value=label)
    names_of_classes = list(
        dict.fromkeys([*(classes or ()), *(match.name for match in matches if match.name is not None)])
    )
    column_of = {name: k for k, name in enumerate(names_of_classes)}
    column = np.array([-1 if match.name is None else column_of[match.name] for match in matches] + [-1])[label.codes]
    blank = blank_cells(label)
    at = np.flatnonzero((column >= 0) | blank)  # an unknown label is set aside: the item has no prediction
    column, task = column[at], Coded(task.codes[at], task.names)
    values = np.full((len(at), len(names_of_classes)), np.nan)
    named = np.flatnonzero(column >= 0)
    values[named, column[named]] = sure[at][named]
    unsaid = np.ones(values.shape, dtype=bool)
    unsaid[named, column[named]] = False
    return Given(
        model, source, tuple(names_of_classes), task, values, unsaid, column < 0, rows[at], True, decisions, tuple(more)
    )


def _confidence(table: pa.Table, score: str | None) -> Numbers:
    if score is not None:
        return as_numbers(table[score], blank=HARD_LABEL_ACCURACY)
    return Numbers(np.full(table.num_rows, HARD_LABEL_ACCURACY), np.zeros(table.num_rows, dtype=bool), 0)


def _scores(opened: Opened, model: str, item: str, score: str, classes: tuple[str, ...] | None) -> Given:
    if classes is None or len(classes) != 2:
        rule = f"a label column beside the score {score!r}, or a score column named after its class"
        fix = "rename the column, or name both classes, the scored one last: `classes=[...]`."
        raise invalid("source", opened.name, rule, fix)
    predictions = _vectors(opened, model, item, {score: classes[1]}, [score])
    decision = f"one score {score!r} per item: the probability of {classes[1]!r}, the rest for {classes[0]!r}"
    return replace(predictions, shares_rest=True, decisions=_decisions(opened, decision))


def _decisions(opened: Opened, decision: str) -> tuple[str, ...]:
    return (*opened.decisions, f"{opened.name}: {decision}")


def unnested(
    opened: Opened,
    first: pa.Table,
    others: Sequence[str],
    classes: tuple[str, ...] | None,
) -> tuple[Opened, tuple[str, ...]]:
    """The table with its column of lists or mappings split into one column per class, and the names of these columns.

    Returns (`opened`, ()) if no column holds such cells. `first`: the first batch. A class that a mapping leaves out
    has probability 0; the numbers of a list are those of `classes`, in order.
    """
    column = next((name for name in others if first_vector(first[name]) is not None), None)
    if column is None:
        return opened, ()
    names = _vector_classes(opened, column, first[column], classes)
    kept = tuple(name for name in opened.columns if name != column)

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        wanted = list(kept) + list(names) if columns is None else list(columns)
        plain = [name for name in wanted if name in kept]
        for batch in opened.read([*plain, column]):
            yield replace(batch, table=_split_vectors(batch.table, column, names, wanted))

    return replace(opened, columns=unique_columns((*kept, *names), opened.name), read=read), names


def _vector_classes(
    opened: Opened, column: str, cells: pa.ChunkedArray, classes: tuple[str, ...] | None
) -> tuple[str, ...]:
    """The classes: the keys of mappings in order of appearance, or `classes` for lists."""
    vector = first_vector(cells)
    if isinstance(vector, dict):
        return tuple(dict.fromkeys(str(key) for cell in _predictions(cells) if isinstance(cell, dict) for key in cell))
    if classes is None or vector is None or len(classes) != len(vector):
        named = "" if classes is None else f"; {len(classes)} are given, {list(classes[:10])}"
        rule = f"the classes of {column!r}, which is a list of {len(vector or ())}{named}"
        raise invalid("source", opened.name, rule, "name them in order: `classes=['a', 'b', ...]`.")
    return classes


def _split_vectors(table: pa.Table, column: str, names: Sequence[str], wanted: Sequence[str]) -> pa.Table:
    cells = [_vector(cell, names) for cell in _predictions(table[column])]
    by_name = dict(zip(names, zip(*cells, strict=True), strict=True)) if cells else dict.fromkeys(names, ())
    return pa.table({name: pa.array(by_name[name], type=TEXT) if name in by_name else table[name] for name in wanted})


def _vector(cell: Mapping[str, object] | Sequence[object] | None, names: Sequence[str]) -> list[str | None]:
    if cell is None:
        return [None] * len(names)
    if isinstance(cell, dict):
        return [str(cell.get(name, 0)) for name in names]
    return list(map(str, cell)) if len(cell) == len(names) else [NOT_A_PREDICTION] * len(names)


def first_vector(column: pa.ChunkedArray) -> dict[str, object] | list[object] | None:
    """The first cell that is not blank, if it is a mapping or a list of numbers."""
    for cell in column.slice(0, 100):
        if cell.is_valid and cell.as_py() not in ("", [], {}):
            return _prediction(cell.as_py())
    return None


def _predictions(column: pa.ChunkedArray) -> Iterator[dict[str, object] | list[object] | None]:
    """Each cell as a mapping or a list of numbers; None if it is blank, an empty list if it is something else."""
    for cell in column.to_pylist():
        yield None if cell is None or cell == "" else (_prediction(cell) or [])


def _prediction(cell: object) -> dict[str, object] | list[object] | None:
    """A mapping or list of numbers, given as such or as JSON text; None otherwise.

    >>> _prediction('{"cat": "0.7", "dog": 0.3}'), _prediction("cat"), _prediction('["a"]')
    ({'cat': '0.7', 'dog': 0.3}, None, None)
    """
    vector = nested_cell(cell)
    values = vector.values() if isinstance(vector, dict) else vector
    return vector if values and all(map(_is_number, values)) else None


def _is_number(value: object) -> bool:
    try:
        float(cast(Any, value))
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)
