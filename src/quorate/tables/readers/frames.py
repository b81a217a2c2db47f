"""pandas, polars and PyArrow tables and Hugging Face datasets -> `Opened`, and the types of their columns.

Called by the readers when the source is not a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from quorate.arrow import TEXT, pa, pc
from quorate.frames import narwhals
from quorate.tables.columns import SYNONYMS, find_column, squeezed
from quorate.tables.readers.sources import Opened, TableBatch, unique_columns
from quorate.tables.texts import cell_text, name_text
from quorate.validate import invalid

BLOCK_ROWS = 1 << 17


def open_frame(frame: object, *, name: str = "frame") -> Opened:
    """Open a data frame of any library that narwhals supports; lazy frames are collected.

    Column names may be numbers, booleans or have several levels. A pandas index that holds the ids, as after a crosstab
    or a pivot, becomes a column.

    >>> open_frame(pa.table({"task": ["1"], "label": ["cat"]})).columns
    ('task', 'label')
    """
    nw = narwhals()
    headers: dict[str, object] = {}
    headed = ""
    is_dataset = type(frame).__module__.partition(".")[0] == "datasets"
    if is_dataset:
        frame = _from_dataset(frame)
    if nw.dependencies.is_pandas_dataframe(frame):
        frame, headers, headed = _plain_pandas(frame, name)
    try:
        native = nw.from_native(frame)
    except TypeError as cause:
        rule = f"a path, or a pandas, polars or PyArrow table, not {type(frame).__name__}"
        raise invalid("source", frame, rule, "pass one of these.") from cause
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    columns = [str(column) for column in native.columns]
    clean = [column.removeprefix("\ufeff") for column in columns]
    table = _arrow(native, columns).rename_columns(clean)
    return Opened(
        name=name,
        kind="frame",
        columns=unique_columns(clean, name),
        read=partial(_read, table),
        backend="datasets" if is_dataset else str(native.implementation.value),
        frame=table,
        headers=headers,
        headed=headed,
    )


def _plain_pandas(frame: Any, name: str) -> tuple[Any, dict[str, object], str]:  # noqa: ANN401 - of pandas
    """The frame with text column names and its ids in a column; the original names that were not text; their title."""
    headers = _one_level(frame.columns)
    texts = [name_text(name) for name in headers]
    unique_columns(texts, name)
    levels = _id_levels(frame.index, texts, headers)
    plain = frame.copy(deep=False)
    plain.columns = texts
    for position, level in enumerate(levels):
        if level is not None:
            plain.insert(min(position, plain.shape[1]), level, frame.index.get_level_values(position))
    own_headers = {text: header for text, header in zip(texts, headers, strict=True) if not isinstance(header, str)}
    headed = next((str(title) for title in reversed(frame.columns.names) if title is not None), "")
    return plain, own_headers, headed


def _one_level(columns: Any) -> list[Any]:  # noqa: ANN401
    """The names of the columns; with several levels, those levels that differ, joined with underscores."""
    if columns.nlevels == 1:
        return list(columns)
    telling = [level for level in range(columns.nlevels) if columns.get_level_values(level).nunique() > 1]
    if len(telling) == 1:
        return list(columns.get_level_values(telling[0]))
    return ["_".join(text for text in map(name_text, levels) if text) for levels in columns]


def _id_levels(index: Any, texts: Sequence[str], headers: Sequence[Any]) -> list[str | None]:  # noqa: ANN401
    """The column name of each level of the index; None: the level is not read as a column.

    A named level is read if its name has a known role, or if no column is named like an item. An index without a name
    is read only if it cannot be row numbers: it holds text, or the column names are not all text.
    """
    has_item = find_column("task", texts) is not None
    roles = {squeezed(synonym) for role in ("task", "worker", "label", "timestamp") for synonym in SYNONYMS[role]}
    if index.nlevels == 1 and index.name is None:
        holds_text = index.inferred_type in ("string", "mixed", "categorical")
        numbered = index.inferred_type != "integer" or list(index[:2]) == [0, 1][: len(index)]
        is_ids = holds_text or (not numbered and not all(isinstance(header, str) for header in headers))
        return ["index"] if is_ids and not has_item and index.is_unique else [None]
    names = [None if name is None else name_text(name) for name in index.names]
    return [
        name if name is not None and name not in texts and (squeezed(name) in roles or not has_item) else None
        for name in names
    ]


def _from_dataset(dataset: Any) -> pa.Table:  # noqa: ANN401 - of an optional library
    """A Hugging Face dataset as an Arrow table; class numbers are replaced by class names."""
    if not hasattr(dataset, "features") or not hasattr(dataset, "with_format"):
        rule = f"one split of a dataset, not {type(dataset).__name__}"
        raise invalid("source", dataset, rule, 'pass one of them, e.g. dataset["train"].')
    table = dataset.with_format("arrow")[:]
    for position, name in enumerate(table.column_names):
        names = getattr(dataset.features[name], "names", None)
        if names is not None and pa.types.is_integer(table.schema.field(position).type):
            numbers = pc.if_else(pc.less(table[name], 0), None, table[name])  # -1: no label
            table = table.set_column(
                position, name, pa.chunked_array([pa.array(names, type=TEXT).take(numbers.combine_chunks())])
            )
    return table


def _arrow(frame: Any, columns: list[str]) -> pa.Table:  # noqa: ANN401
    """The frame as an Arrow table; a column of mixed types becomes text."""
    arrays = []
    for column in frame.columns:
        series = frame[column]
        try:
            arrays.append(series.to_arrow())
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            arrays.append(pa.array([_cell(value) for value in series.to_list()], type=TEXT))
    return pa.table(arrays, names=columns) if arrays else pa.table({})


def _cell(value: object) -> str | None:
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return None
    return cell_text(value.item() if isinstance(value, np.generic) else value)


def _read(table: pa.Table, columns: Sequence[str] | None) -> Iterator[TableBatch]:
    picked = table if columns is None else table.select(list(columns))
    total = picked.num_rows
    for start in range(0, total, BLOCK_ROWS):
        part = picked.slice(start, BLOCK_ROWS)
        end = start + part.num_rows
        yield TableBatch(part, np.arange(start, end, dtype=np.int64) + 1, end, total)


def cell_type(opened: Opened, *columns: str) -> pa.DataType | None:
    """The common type of the cells of these columns of a frame; None: text, mixed types, or not a frame.

    Categories have the type of their values, lists that of their elements. Floats that are all whole are integers,
    because pandas stores integers with gaps as floats.
    """
    if opened.frame is None or not all(name in opened.frame.column_names for name in columns):
        return None
    kinds = [_kind(_parts(opened.frame[name])) for name in columns]
    filled = [kind for kind in kinds if not pa.types.is_null(kind)]
    if not filled or any(not _is_kept(kind) for kind in filled):
        return None
    if len(set(filled)) > 1 and all(map(pa.types.is_integer, filled)):
        return pa.int64()
    return filled[0] if len(set(filled)) == 1 else None


def header_type(opened: Opened, columns: Sequence[str]) -> pa.DataType | None:
    """The common type of the names of these columns in the frame; None: text, or mixed types."""
    names = [opened.headers.get(name, name) for name in columns]
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    if plain and all(isinstance(name, bool) for name in plain):
        return pa.bool_()
    numbers = [name for name in plain if isinstance(name, (int, float)) and not isinstance(name, bool)]
    if plain and len(numbers) == len(plain):
        return pa.int64() if all(float(number).is_integer() for number in numbers) else pa.float64()
    return None


def _parts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The elements of a column of lists; any other column unchanged."""
    is_list = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return pc.list_flatten(column) if any(test(column.type) for test in is_list) else column


def _kind(column: pa.ChunkedArray) -> pa.DataType:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = pa.chunked_array([chunk.dictionary for chunk in column.chunks], type=kind.value_type)
        kind = column.type
    if pa.types.is_floating(kind):
        numbers = column.drop_null().to_numpy()
        numbers = numbers[~np.isnan(numbers)]
        return pa.int64() if np.all(np.abs(numbers) < 2**53) and np.all(numbers == np.floor(numbers)) else pa.float64()
    return kind


def _is_kept(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_floating, pa.types.is_temporal, pa.types.is_decimal)
    return any(test(kind) for test in tests)
