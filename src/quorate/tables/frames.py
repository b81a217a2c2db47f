"""pandas, polars and PyArrow tables -> `Opened`, and Arrow tables back to the caller's own kind (by narwhals).

Called by `votes` and `predictions` when they are handed an object, and by `Joined.vote_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from quorate.errors import InvalidInput, MissingExtra
from quorate.tables.arrow import INSTALL, TEXT, pa
from quorate.tables.rules import fired
from quorate.tables.sheets import cell_text
from quorate.tables.sources import Batch, Opened, unique_columns
from quorate.validate import shown

BLOCK_ROWS = 1 << 17


def open_frame(frame: Any, *, name: str = "frame") -> Opened:  # noqa: ANN401
    """A data frame of any library narwhals knows, as a source; lazy frames are collected.

    >>> open_frame(pa.table({"task": ["1"], "label": ["cat"]})).columns
    ('task', 'label')
    """
    nw = _narwhals()
    try:
        known = nw.from_native(frame)
    except TypeError as cause:
        raise InvalidInput(
            f"source={shown(frame)} is a {type(frame).__name__}; expected a path, or a pandas, polars or PyArrow table."
        ) from cause
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    columns = [str(column) for column in known.columns]
    table = _arrow(known, columns)
    clean = [column.removeprefix("\ufeff") for column in columns]
    entries = () if clean == columns else (fired("byte-order-mark", name, count=1),)
    return Opened(
        name=name,
        kind="frame",
        columns=unique_columns(clean, name),
        read=partial(_read, table.rename_columns(clean)),
        entries=entries,
        backend=str(known.implementation.value),
    )


def give_back(table: Any, backend: str) -> Any:  # noqa: ANN401
    """An Arrow table as a table of `backend`: "pandas", "polars" or "pyarrow".

    >>> give_back(pa.table({"task": ["1"]}), "pyarrow").column_names
    ['task']
    """
    if backend == "pyarrow":
        return table
    nw = _narwhals()
    try:
        return nw.from_arrow(table, backend=backend).to_native()
    except (ImportError, ValueError, TypeError) as cause:
        raise InvalidInput(f"backend={backend!r}: {cause}; expected pandas, polars or pyarrow, installed.") from cause


def _narwhals() -> Any:  # noqa: ANN401
    try:
        import narwhals  # noqa: PLC0415
    except ImportError as cause:  # pragma: no cover - the tests have it
        raise MissingExtra(f"frames are read through narwhals, which is not installed: {INSTALL}") from cause
    return narwhals


def _arrow(frame: Any, columns: list[str]) -> Any:  # noqa: ANN401
    """The frame as an Arrow table; a column of mixed types, which Arrow has not, becomes text."""
    arrays = []
    for column in frame.columns:
        series = frame[column]
        try:
            arrays.append(series.to_arrow())
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            arrays.append(pa.array([_cell(value) for value in series.to_list()], type=TEXT))
    return pa.table(arrays, names=columns) if arrays else pa.table({})


def _cell(value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return None
    return cell_text(value.item() if isinstance(value, np.generic) else value)


def _read(table: Any, columns: Sequence[str] | None) -> Iterator[Batch]:  # noqa: ANN401
    picked = table if columns is None else table.select(list(columns))
    total = picked.num_rows
    for start in range(0, total, BLOCK_ROWS):
        part = picked.slice(start, BLOCK_ROWS)
        end = start + part.num_rows
        yield Batch(part, np.arange(start, end, dtype=np.int64) + 1, end, total)
