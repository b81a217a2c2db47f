"""The only place that checks shapes, simplexes and ranges of what users hand us.

Public functions, the session, the loaders and the command line call these; kernels and internals trust.
Every message names the argument, the value, the rule and the fix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import InvalidInput, InvalidPrediction
from quorate.types import FloatArray, IntArray

PREDICTION_FLOOR = 1e-9  # smallest probability a classifier may speak: keeps log f finite (docs/paper-notes.md)
SUM_TOLERANCE = 1e-3


def probabilities(prediction: Any, *, where: str = "prediction") -> FloatArray:  # noqa: ANN401
    """Probability vectors over the last axis: checked, renormalised, floored at PREDICTION_FLOOR.

    >>> probabilities([0.7, 0.2, 0.1]).round(3)
    array([0.7, 0.2, 0.1])
    """
    array = as_floats(prediction, where=where, error=InvalidPrediction)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise InvalidPrediction(
            f"{where} has shape {array.shape}; expected at least 2 classes on the last axis. "
            "For one score instead of a vector see quorate.Session.open."
        )
    if not np.all(np.isfinite(array)):
        raise InvalidPrediction(
            f"{where} contains {_first(array, ~np.isfinite(array))}; expected finite probabilities. "
            "Drop the item's prediction (None) if the classifier has none."
        )
    if np.any(array < 0):
        raise InvalidPrediction(
            f"{where} contains {_first(array, array < 0)}; expected probabilities >= 0. "
            "Pass probabilities, not logits: apply softmax first."
        )
    sums = array.sum(axis=-1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if np.any(off):
        raise InvalidPrediction(
            f"{where} sums to {_first(sums, off):.6g}; expected 1 (within {SUM_TOLERANCE:g}, then renormalised). "
            "Pass probabilities, not logits or counts."
        )
    return floored(array)


def floored(array: FloatArray) -> FloatArray:
    """Rows on the simplex with no entry below PREDICTION_FLOOR (before the last renormalisation)."""
    raised = np.maximum(array / array.sum(axis=-1, keepdims=True), PREDICTION_FLOOR)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def as_floats(values: Any, *, where: str, error: type[InvalidInput] = InvalidInput) -> FloatArray:  # noqa: ANN401
    """`values` as float64, or an error that names the argument."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise error(f"{where}={values!r} is not numeric; pass numbers in a rectangular array.") from cause


def counts(votes: Any, *, where: str = "votes") -> IntArray:  # noqa: ANN401
    """Vote counts (..., K): whole numbers, none negative."""
    array = as_floats(votes, where=where)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise InvalidInput(f"{where} has shape {array.shape}; expected counts for at least 2 classes on the last axis.")
    bad = ~np.isfinite(array) | (array < 0) | (array != np.floor(array))
    if np.any(bad):
        raise InvalidInput(f"{where} contains {_first(array, bad)}; expected counts: whole numbers >= 0.")
    return array.astype(np.int64)


def concentrations(alpha: Any, *, where: str = "alpha") -> FloatArray:  # noqa: ANN401
    """Dirichlet concentrations (..., K): positive and finite."""
    array = as_floats(alpha, where=where)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise InvalidInput(f"{where} has shape {array.shape}; expected at least 2 classes on the last axis.")
    bad = ~np.isfinite(array) | (array <= 0)
    if np.any(bad):
        raise InvalidInput(f"{where} contains {_first(array, bad)}; expected positive, finite concentrations.")
    return array


def whole(value: Any, *, where: str, least: int = 1, most: int | None = None) -> int:  # noqa: ANN401
    """A whole number in [least, most]; True and 2.0-like strings are refused, 2.0 is not."""
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        is_number = True
    rule = f"a whole number >= {least}" + ("" if most is None else f" and <= {most}")
    if not is_number or value < least or (most is not None and value > most):
        raise InvalidInput(f"{where}={value!r}; expected {rule}.")
    return int(value)


def fraction(value: Any, *, where: str) -> float:  # noqa: ANN401
    """A number in [0, 1]."""
    return bounded(value, where=where, least=0.0, most=1.0)


def bounded(value: Any, *, where: str, least: float, most: float = math.inf) -> float:  # noqa: ANN401
    """A finite number in [least, most]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not (math.isfinite(number) and least <= number <= most):
        rule = f"at least {least:g}" if math.isinf(most) else f"in [{least:g}, {most:g}]"
        raise InvalidInput(f"{where}={value!r}; expected a number {rule}.")
    return number


def vote_limits(min_votes: int, max_votes: int | None) -> None:
    """The most votes an item may have are not fewer than the least."""
    if max_votes is not None and max_votes < min_votes:
        raise InvalidInput(f"max_votes={max_votes} is below min_votes={min_votes}; raise max_votes or lower min_votes.")


def class_names(classes: Sequence[str]) -> tuple[str, ...]:
    """At least two different, non-empty strings."""
    if isinstance(classes, str):
        raise InvalidInput(f"classes={classes!r} is one string; pass a list of class names, e.g. ['cat', 'dog'].")
    names = tuple(classes)
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"classes contains {name!r}; expected non-empty strings.")
    if len(names) < 2 or len(set(names)) != len(names):
        raise InvalidInput(f"classes={list(names)!r}; expected at least 2 different names.")
    return names


def _first(values: FloatArray, where: Any) -> float:  # noqa: ANN401
    """The first offending value, for the message."""
    return float(np.asarray(values)[where].flat[0])
