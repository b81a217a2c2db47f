"""Columns of numbers, also when they are text -> floats, NaN where a cell is no number.

Called by the readers of counts and of predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.tables.arrow import pa, pc
from quorate.tables.codes import encode
from quorate.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """`values` (n,); `is_blank` (n,) where the cell was empty; `num_commas` cells written with a decimal comma."""

    values: FloatArray
    is_blank: np.ndarray
    num_commas: int


def as_numbers(column: Any, *, blank: float) -> Numbers:  # noqa: ANN401
    """Every cell as a float; empty cells become `blank`, what is no number NaN; "0,7" is read as 0.7.

    >>> as_numbers(pa.array(["0.5", "", "x", "0,25"]), blank=0.0).values
    array([0.5 , 0.  ,  nan, 0.25])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        is_blank = pc.is_null(column).to_numpy(zero_copy_only=False)
        values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return Numbers(np.where(is_blank, blank, values), np.asarray(is_blank), 0)
    coded = encode(column)
    parsed = [_number(text, blank) for text in coded.names.to_pylist()] + [(blank, True, False)]
    values, blanks, commas = (np.array(each) for each in zip(*parsed, strict=True))
    return Numbers(
        values.astype(np.float64)[coded.codes],
        blanks.astype(bool)[coded.codes],
        int(commas.astype(bool)[coded.codes].sum()),
    )


def _number(text: str | None, blank: float) -> tuple[float, bool, bool]:
    """(value, is blank, was written with a decimal comma)."""
    bare = "" if text is None else text.strip()
    if not bare:
        return blank, True, False
    try:
        return float(bare), False, False
    except ValueError:
        pass
    try:
        return float(bare.replace(",", ".")), False, "," in bare
    except ValueError:
        return np.nan, False, False
