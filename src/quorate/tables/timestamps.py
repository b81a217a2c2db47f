"""A column of times -> seconds since 1970 (UTC), NaN where there is none that can be read.

ISO 8601 text, Arrow and Excel times, and numbers: seconds, or milli-, micro- or nanoseconds by their size.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from quorate.tables.arrow import TEXT, pa, pc
from quorate.tables.rules import MOST_SAMPLES
from quorate.types import FloatArray

_MICRO, _UTC = pa.timestamp("us"), pa.timestamp("us", tz="UTC")


def seconds(column: Any) -> FloatArray:  # noqa: ANN401
    """Times as seconds; text without a zone is taken as UTC.

    >>> seconds(pa.array(["1970-01-01T00:01:00Z", "60", "soon"]))
    array([60., 60., nan])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type) and not pa.types.is_time(column.type):
        return _micros(column.cast(_UTC if getattr(column.type, "tz", None) else _MICRO))
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_null(column.type):
        return _scaled(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return _from_text(column.cast(TEXT))


def unread(column: Any, time: FloatArray) -> tuple[str, ...]:  # noqa: ANN401
    """The first few cells that are not blank and whose time could not be read.

    >>> unread(pa.chunked_array([["31/12/2026", "", "60"]]), np.array([np.nan, np.nan, 60.0]))
    ('31/12/2026',)
    """
    if not np.isnan(time).any():
        return ()
    texts = column.filter(pa.array(np.isnan(time))).slice(0, 1000).drop_null().to_pylist()
    return tuple(str(text).strip() for text in texts if str(text).strip())[:MOST_SAMPLES]


def filled(time: FloatArray) -> FloatArray:
    """Times with each missing one replaced by the one of the row before; before the first, minus infinity.

    >>> filled(np.array([np.nan, 5.0, np.nan]))
    array([-inf,   5.,   5.])
    """
    at = np.maximum.accumulate(np.where(np.isnan(time), -1, np.arange(len(time))))
    return np.where(at < 0, -np.inf, time[np.maximum(at, 0)])


def _micros(stamps: Any) -> FloatArray:  # noqa: ANN401
    numbers = pc.cast(stamps, pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers / 1e6, dtype=np.float64)


def _scaled(numbers: Any) -> FloatArray:  # noqa: ANN401
    """Epoch numbers as seconds: 1e11 seconds is the year 5138, so larger numbers are finer units."""
    values = np.asarray(numbers, dtype=np.float64)
    size = np.abs(values)
    unit = np.select([size >= 1e17, size >= 1e14, size >= 1e11], [1e9, 1e6, 1e3], 1.0)
    return np.where(np.isfinite(values), values / unit, np.nan)


def _from_text(texts: Any) -> FloatArray:  # noqa: ANN401
    trimmed = pc.utf8_trim_whitespace(texts)
    texts = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, TEXT), trimmed)
    for kind in (_MICRO, _UTC):  # whole columns alike are the rule: one vectorised try each
        try:
            return _micros(texts.cast(kind))
        except pa.ArrowInvalid:
            continue
    try:
        return _scaled(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return np.array([_one(text) for text in texts.to_pylist()], dtype=np.float64)


def _one(text: str | None) -> float:
    if text is None:
        return np.nan
    try:
        return float(_scaled(np.array([float(text)]))[0])
    except ValueError:
        pass
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
