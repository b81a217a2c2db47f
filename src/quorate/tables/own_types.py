"""Ids, workers and labels, which are compared as text -> the caller's own types again: integers, booleans, dates.

A frame's columns (or its headers, where those name the annotators or the classes) say which type each of the three has.
`formats` remembers it, `Joined`, the results of `run` and the file of `score` convert on the way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.tables.readers.arrow import TEXT, pa, pc
from quorate.tables.readers.sheets import cell_text
from quorate.tables.readers.sources import Opened
from quorate.tables.votes.labels import whole_number
from quorate.validate import class_names


@dataclass(frozen=True, slots=True)
class OwnTypes:
    """The caller's Arrow type of each of the three; None: text."""

    task: pa.DataType | None = None
    worker: pa.DataType | None = None
    label: pa.DataType | None = None


TEXTS = OwnTypes()


def name_text(name: object) -> str:
    """A column's or a class's name as text, written as a cell with the same value is.

    >>> name_text("cat"), name_text(np.int64(3)), name_text(True), name_text(2.0)
    ('cat', '3', 'true', '2')
    """
    if isinstance(name, str):
        return name
    plain = name.item() if isinstance(name, np.generic) else name
    return whole_number(cell_text(plain) or "") if isinstance(plain, (bool, int, float)) else str(plain)


def name_texts(names: Any) -> Any:  # noqa: ANN401
    """One name or several as text; None stays None."""
    if names is None or isinstance(names, str):
        return names
    return [name_text(name) for name in names] if isinstance(names, Iterable) else name_text(names)


def class_texts(classes: Sequence[Any] | None) -> tuple[str, ...] | None:
    """The classes a caller names, such as `model.classes_`, as text; at least two different ones, or None.

    >>> class_texts(np.array([0, 1]))
    ('0', '1')
    """
    if classes is None:
        return None
    texts = classes if isinstance(classes, str) else name_texts(classes)
    return class_names(texts)


def cell_type(opened: Opened, *columns: str) -> pa.DataType | None:
    """The one type of the cells of these columns of a frame; None: text, or no one type, or no frame.

    Categories have the type of their values, lists that of their parts. Floats that are all whole are integers: pandas
    has no other column of integers with gaps.
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
    """The one type of the names of these columns in the frame; None: text, or several types."""
    names = [opened.headers.get(name, name) for name in columns]
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    if plain and all(isinstance(name, bool) for name in plain):
        return pa.bool_()
    if plain and all(isinstance(name, (int, float)) and not isinstance(name, bool) for name in plain):
        return pa.int64() if all(float(name).is_integer() for name in plain) else pa.float64()
    return None


def in_own_type(names: pa.Array | Iterable[str], kind: pa.DataType | None) -> pa.Array:
    """Different names (Arrow text or a list of texts) in the type `kind`; as text if one of them cannot be.

    >>> in_own_type(["7", "12"], pa.int64()).to_pylist(), in_own_type(["7", "none"], pa.int64()).to_pylist()
    ([7, 12], ['7', 'none'])
    """
    texts = names if isinstance(names, (pa.Array, pa.ChunkedArray)) else pa.array(list(names), type=TEXT)
    if kind is None:
        return texts
    try:
        values = texts.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return texts
    return values if pc.count_distinct(values).as_py() == pc.count_distinct(texts).as_py() else texts


def _parts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The parts of a column of lists; any other column as it is."""
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
