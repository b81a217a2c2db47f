"""Columns of ids and labels -> numbers and a list of names: ten million ids are forty megabytes and one dictionary.

`encode` takes a column of any Arrow type; `merge` joins the batches of a file. Called by every reader of votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import InvalidInput
from quorate.tables.readers.arrow import TEXT, pa, pc
from quorate.types import IntArray

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column: `codes` (n,) number of each cell's name, -1 for none; `names` Arrow text, not always unique."""

    codes: Codes
    names: Any

    def texts(self, at: Any) -> Any:  # noqa: ANN401
        """The cells at these positions, as Arrow text, null for none."""
        codes = self.codes[at]
        return self.names.take(pa.array(codes, mask=codes < 0))


def encode(column: Any) -> Coded:  # noqa: ANN401
    """A column as codes; nulls are -1.

    >>> encode(pa.chunked_array([["b", "a", None, "b"]])).codes
    array([ 0,  1, -1,  0], dtype=int32)
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_nested(column.type):
        raise InvalidInput(
            f"a column of type {column.type} holds no ids or labels; expected one text or number a cell."
        )
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = column.indices.cast(pa.int32())
    indices = pc.fill_null(indices, -1) if indices.null_count else indices
    return Coded(indices.to_numpy(zero_copy_only=False), texts(column.dictionary))


def texts(values: Any) -> Any:  # noqa: ANN401
    """Values of any plain type as text. A whole number in a column of floats is "7": pandas has no other with gaps.

    >>> texts(pa.array([7.0, 0.5, None])).to_pylist()
    ['7', '0.5', None]
    """
    kind = values.type
    try:
        if pa.types.is_floating(kind):
            return _float_texts(values.cast(pa.float64()))
        return values.cast(TEXT)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as cause:
        raise InvalidInput(
            f"a column of type {kind} cannot be read as text: {cause}; pass ids and labels as text or numbers in UTF-8."
        ) from cause


def _float_texts(values: Any) -> Any:  # noqa: ANN401
    numbers = values.to_numpy(zero_copy_only=False)
    whole = np.isfinite(numbers) & (np.abs(numbers) < 2**53)
    whole &= np.where(whole, numbers, 0.5) == np.floor(np.where(whole, numbers, 0.5))
    as_whole = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(TEXT)
    chosen = pc.if_else(pa.array(whole), as_whole, values.cast(TEXT))
    return pc.if_else(pa.array(np.isnan(numbers)), pa.scalar(None, TEXT), chosen)


def merge(parts: Sequence[Coded]) -> Coded:
    """Several columns end to end, with one list of unique names in order of first appearance.

    >>> merge([encode(pa.array(["b", "a"])), encode(pa.array(["a", "c"]))]).names.to_pylist()
    ['b', 'a', 'c']
    """
    if not parts:
        return Coded(np.empty(0, dtype=np.int32), pa.array([], type=TEXT))
    encoded = pa.concat_arrays([part.names for part in parts]).dictionary_encode()
    numbers = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    codes = np.empty(sum(len(part.codes) for part in parts), dtype=np.int32)
    name_at = row_at = 0
    for part in parts:
        lookup = np.append(numbers[name_at : name_at + len(part.names)], np.int32(-1))  # code -1 finds the last
        codes[row_at : row_at + len(part.codes)] = lookup[part.codes]
        name_at, row_at = name_at + len(part.names), row_at + len(part.codes)
    return Coded(codes, encoded.dictionary)


def renamed(coded: Coded, names: Any) -> Coded:  # noqa: ANN401
    """The same cells under new names, which may coincide or be null (then the cell has none)."""
    return merge([Coded(coded.codes, names)])


def constant(text: str | None, length: int) -> Coded:
    """A column with the same cell everywhere."""
    return Coded(np.full(length, -1 if text is None else 0, dtype=np.int32), pa.array([text or ""], type=TEXT))


def by_first(codes: Codes, num_names: int) -> IntArray:
    """The codes that occur, in order of first appearance.

    >>> by_first(np.array([2, 0, 2]), 3)
    array([2, 0])
    """
    first = np.full(num_names, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several writes to a place the last stays: the first vote
    used = np.flatnonzero(first < len(codes))
    return np.asarray(used[np.argsort(first[used])], dtype=np.int64)
