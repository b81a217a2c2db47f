"""Predictions as tables: a row per item, a column per class, in CSV or Parquet. Called by `prediction_files`.

Columns are named after the classes, or numbered 0, 1, ... (with any prefix); a CSV without a heading has them in the
order of the classes. `model` tells several classifiers apart; `item` (0, 1, ...) gives the order of the rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.parquet import parquet_batches
from quorate.types import FloatArray
from quorate.validate import shown

CELL_BYTES = 64  # of a number in a list and in a row
ITEM_COLUMNS = ("item", "item_id", "index", "id", "", "__index_level_0__")


def read_csv(file: Path, classes: Sequence[str]) -> dict[str, FloatArray]:
    """Tables (T, K) by classifier; '' where there is no `model` column."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (UnicodeDecodeError, csv.Error) as cause:
        raise InvalidInput(f"predictions: {str(file)!r} is not a CSV in UTF-8 ({cause}); save it as one.") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise InvalidInput(f"predictions: {str(file)!r} is empty or has rows of different lengths; one cell per class.")
    if all(_is_number(cell) for cell in rows[0]):
        return {"": _floats(rows, file)}
    columns = {name.strip(): list(cells) for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=False)}
    if len(columns) != len(rows[0]):
        raise InvalidInput(f"predictions: {str(file)!r} has no rows, or two columns of one name; name each once.")
    return _tables(columns, classes, file)


def read_parquet(file: Path, classes: Sequence[str]) -> dict[str, FloatArray]:
    """The same from Parquet."""
    columns: dict[str, list[Any]] = {}
    try:
        for batch in parquet_batches(file, cell_bytes=CELL_BYTES):
            for name in batch.schema.names:
                columns.setdefault(name, []).extend(batch.column(name).to_pylist())
    except InvalidInput:
        raise
    except (OSError, ValueError) as cause:
        raise InvalidInput(f"predictions: {str(file)!r} is not a Parquet file ({cause}); save it again.") from None
    return _tables(columns, classes, file)


def _tables(columns: Mapping[str, list[Any]], classes: Sequence[str], file: Path) -> dict[str, FloatArray]:
    cells = {name: values for name, values in columns.items() if name != "model"}
    item = next((name for name in ITEM_COLUMNS if name in cells and name not in classes), None)
    order = None if item is None else _floats([[cell] for cell in cells.pop(item)], file)[:, 0]
    wanted = _class_columns(list(cells), classes, file)
    table = _floats(list(zip(*(cells[name] for name in wanted), strict=True)), file)  # (rows, K)
    models = np.array([str(name) for name in columns.get("model", [""] * len(table))])
    return {str(name): _in_order(table, order, models == name, file) for name in dict.fromkeys(models)}


def _class_columns(names: list[str], classes: Sequence[str], file: Path) -> list[str]:
    """The columns in the order of the classes."""
    if set(names) == set(classes):
        return list(classes)
    numbers = [re.search(r"(\d+)$", name) for name in names]
    by_number = {int(found.group(1)): name for found, name in zip(numbers, names, strict=True) if found}
    if len(names) == len(classes) == len(by_number) and sorted(by_number) == list(range(len(classes))):
        return [by_number[k] for k in range(len(classes))]
    raise InvalidInput(
        f"predictions: {str(file)!r} has the columns {shown(names)}; expected one per class, {shown(list(classes))} or "
        f"0 to {len(classes) - 1} (and `model`, `item` if you like). Rename the columns."
    )


def _in_order(table: FloatArray, order: FloatArray | None, mine: Any, file: Path) -> FloatArray:  # noqa: ANN401
    """One classifier's rows, sorted by their item numbers if there are any."""
    rows: FloatArray = table[mine]
    if order is None:
        return rows
    numbers = order[mine]
    if not np.array_equal(np.sort(numbers), np.arange(len(rows))):
        raise InvalidInput(
            f"predictions: {str(file)!r} has item numbers from {numbers.min():g} to {numbers.max():g}; expected 0 to "
            f"{len(rows) - 1}, each once, as the votes are ordered. Drop the column if the rows already lie so."
        )
    return np.asarray(rows[np.argsort(numbers)])


def _floats(rows: Sequence[Sequence[Any]], file: Path) -> FloatArray:
    try:
        return np.array([[np.nan if cell in ("", None) else float(cell) for cell in row] for row in rows])
    except (TypeError, ValueError) as cause:
        raise InvalidInput(
            f"predictions: {str(file)!r} has a cell that is no number ({cause}); expected probabilities, and item "
            "numbers 0, 1, ... if there is an item column. Drop other columns."
        ) from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
