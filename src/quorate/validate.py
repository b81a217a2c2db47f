"""The only place that checks shapes, simplexes and ranges of user input.

Called by public functions, the session, the loaders and the command line; internal functions do not check.
Every error carries the argument, the value, the rule and the fix: see `invalid`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from quorate.errors import InvalidInput, InvalidPrediction, QuorateError

if TYPE_CHECKING:  # `types` checks its own values with this module
    from quorate.types import FloatArray, IntArray

MOST_VOTES = 100_000  # votes of one class, and members of a pool: the exact posterior takes seconds there
MOST_WHOLE = 2**32 - 1  # any other whole number; also the largest seed most libraries take
PREDICTION_FLOOR = 1e-9  # smallest probability of a prediction: keeps log f finite (docs/paper-notes.md)
SUM_TOLERANCE = 1e-3
SUM_ROUNDING = SUM_TOLERANCE + 1e-9  # with the round-off of adding up: 0.647 + 0.001 + 0.351 is within 0.001 of 1


def probabilities(prediction: object, *, where: str = "prediction") -> FloatArray:
    """Probability vectors over the last axis: checked, renormalised, floored at PREDICTION_FLOOR.

    >>> probabilities([0.7, 0.2, 0.1]).round(3)
    array([0.7, 0.2, 0.1])
    """
    array = as_floats(prediction, where=where, error=InvalidPrediction)
    if array.ndim == 0 or array.shape[-1] < 2:
        rule = f"at least 2 classes on the last axis, not shape {array.shape}"
        fix = "For one score instead of a vector see quorate.Session.open."
        raise invalid(where, array.tolist(), rule, fix, error=InvalidPrediction)
    if not np.all(np.isfinite(array)):
        fix = "Drop the item's prediction (None) if the classifier has none."
        raise _bad_row(where, array, ~np.isfinite(array), "finite probabilities", fix)
    if np.any(array < 0):
        rule, fix = "probabilities, which are between 0 and 1", "Pass probabilities, not logits: apply softmax first."
        raise _bad_row(where, array, array < 0, rule, fix)
    sums = array.sum(axis=-1)
    off = np.abs(sums - 1) > SUM_ROUNDING
    if np.any(off):
        rule = f"a sum of 1 (within {SUM_TOLERANCE:g}, then renormalised), not {_first(sums, off):.6g}"
        fix = "Are these percentages, scores or counts? Pass probabilities."
        raise _bad_row(where, array, off[..., None], rule, fix)
    return floored(array)


def floored(array: FloatArray) -> FloatArray:
    """Rows on the simplex with no entry below PREDICTION_FLOOR (before the last renormalisation)."""
    raised = np.maximum(array / array.sum(axis=-1, keepdims=True), PREDICTION_FLOOR)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def as_floats(values: object, *, where: str, error: type[InvalidInput] = InvalidInput) -> FloatArray:
    """`values` as float64, or an error that names the argument; text is not read as numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO" or (array.dtype.kind == "O" and any(map(_is_text, array.flat))):
            raise TypeError("not numbers")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as cause:
        raise invalid(where, values, "numbers", "pass numbers in a rectangular array.", error=error) from cause


def counts(votes: object, *, where: str = "votes") -> IntArray:
    """Vote counts (..., K): whole numbers, none negative, none above MOST_VOTES."""
    array = as_floats(votes, where=where)
    if array.ndim == 0 or array.shape[-1] < 2:
        rule = f"counts for at least 2 classes on the last axis, not shape {array.shape}"
        raise invalid(where, array.tolist(), rule, "pass one count per class, 0 for a class without votes.")
    bad = ~np.isfinite(array) | (array < 0) | (array != np.floor(array))
    if np.any(bad):
        fix = "pass how many votes each class has, not shares or labels."
        raise invalid(where, _first(array, bad), "counts: whole numbers >= 0", fix)
    if np.any(array > MOST_VOTES):
        fix = "pass the votes of one item's pool, class by class."
        raise invalid(where, _first(array, array > MOST_VOTES), f"counts of at most {MOST_VOTES}", fix)
    return array.astype(np.int64)


def concentrations(alpha: object, *, where: str = "alpha") -> FloatArray:
    """Dirichlet concentrations (..., K): positive and finite."""
    array = as_floats(alpha, where=where)
    if array.ndim == 0 or array.shape[-1] < 2:
        rule = f"at least 2 classes on the last axis, not shape {array.shape}"
        raise invalid(where, array.tolist(), rule, "pass one concentration per class.")
    bad = ~np.isfinite(array) | (array <= 0)
    if np.any(bad):
        fix = "pass numbers above 0, as PriorParams with phi > 0 gives them."
        raise invalid(where, _first(array, bad), "positive, finite concentrations", fix)
    return array


def whole(value: object, *, where: str, least: int = 1, most: int = MOST_WHOLE) -> int:
    """A whole number in [least, most]; 2.0 is accepted, True and strings are refused."""
    rule = f"a whole number >= {least} and <= {most}"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise invalid(where, value, rule, f"pass e.g. `{where}={least}`.")
    number = int(value)
    if not least <= number <= most:
        raise invalid(where, value, rule, "lower it." if number > most else "raise it.")
    return number


def members(pool_size: object, *, where: str = "pool_size") -> int:
    """The number of experts in a pool: at least 1, at most MOST_VOTES."""
    return whole(pool_size, where=where, most=MOST_VOTES)


def fraction(value: object, *, where: str, error: type[InvalidInput] = InvalidInput) -> float:
    """A number in [0, 1]."""
    return bounded(value, where=where, least=0.0, most=1.0, error=error)


def bounded(
    value: object,
    *,
    where: str,
    least: float,
    most: float = math.inf,
    error: type[InvalidInput] = InvalidInput,
) -> float:
    """A finite number in [least, most], as a Python float; text and booleans are refused."""
    number = _number(value)
    if not (math.isfinite(number) and least <= number <= most):
        rule = f"at least {least:g}" if math.isinf(most) else f"in [{least:g}, {most:g}]"
        fix = f"pass a number, e.g. `{where}={least:g}`"
        if not math.isnan(number):
            fix = "lower it" if number > least else "raise it"
        if most <= 1.0 and 2 <= number <= 100:  # a percentage
            fix = f"did you mean {number / 100:g}? Pass a share, not a percentage"
        raise invalid(where, value, f"a number {rule}", f"{fix}.", error=error)
    return number


def above_zero(value: object, *, where: str) -> float:
    """A finite number above 0."""
    number = _number(value)
    if not (math.isfinite(number) and number > 0.0):
        raise invalid(where, value, "a finite number above 0", "pass e.g. 200.")
    return number


def positive(value: object, *, where: str) -> FloatArray:
    """Numbers above 0, of any shape."""
    array = as_floats(value, where=where)
    if not (np.all(np.isfinite(array)) and np.all(array > 0)):
        raise invalid(where, value, "positive, finite numbers", "pass values above 0.")
    return array


def vote_limits(min_votes: int, max_votes: int | None) -> None:
    """Check that `max_votes` is not below `min_votes`."""
    if max_votes is not None and max_votes < min_votes:
        rule = f"at least `min_votes`, which is {min_votes}"
        raise invalid("max_votes", max_votes, rule, "raise `max_votes` or lower `min_votes`.")


def class_names(classes: Iterable[str]) -> tuple[str, ...]:
    """At least two different, non-empty strings."""
    if isinstance(classes, str):
        raise invalid("classes", classes, "a list of names, not one string", "pass e.g. `classes=['cat', 'dog']`.")
    try:
        names = tuple(classes)
    except TypeError as cause:
        raise invalid("classes", classes, "a list of names", "pass e.g. `classes=['cat', 'dog']`.") from cause
    for name in names:
        if not isinstance(name, str) or not name:
            raise invalid("classes", name, "non-empty strings", "give each class a name, e.g. str(number).")
    if len(names) < 2 or len(set(names)) != len(names):
        raise invalid("classes", list(names), "at least 2 different names", "name every class once.")
    return names


Broken = TypeVar("Broken", bound=QuorateError)


@overload
def invalid(field: str, value: object, rule: str, fix: str, *, place: str | None = None) -> InvalidInput: ...


@overload
def invalid(
    field: str, value: object, rule: str, fix: str, *, error: type[Broken], place: str | None = None
) -> Broken: ...


def invalid(
    field: str,
    value: object,
    rule: str,
    fix: str,
    *,
    error: type[QuorateError] = InvalidInput,
    place: str | None = None,
) -> QuorateError:
    """The error for an argument that breaks a rule; `rule` and `fix` name other arguments in backticks.

    >>> invalid("pool_size", 0, "a whole number >= 1", "raise it.")
    InvalidInput('pool_size=0; expected a whole number >= 1; raise it.')
    >>> invalid("prediction", 2.0, "a share", "lower it.", place="item 'a'", error=InvalidPrediction)
    InvalidPrediction("prediction=2.0 (item 'a'); expected a share; lower it.")
    """
    return error(field=field, value=value, rule=rule, fix=fix, place=place)


def _bad_row(where: str, array: FloatArray, bad: NDArray[np.bool_], rule: str, fix: str) -> InvalidPrediction:
    """The error for a prediction, with the first bad vector."""
    rows = array.reshape(-1, array.shape[-1])
    number = int(np.flatnonzero(bad.reshape(len(rows), -1).any(axis=1))[0])
    place = f"row {number}" if array.ndim > 1 else None
    return invalid(where, rows[number].tolist(), rule, fix, place=place, error=InvalidPrediction)


def _number(value: object) -> float:
    """The value as a float, or nan if it is not a number."""
    if isinstance(value, (bool, np.bool_)):
        return math.nan
    try:
        if isinstance(value, Real):
            return float(value)
        array = np.asarray(value)  # numbers from other libraries
        return float(array) if array.ndim == 0 and array.dtype.kind in "iuf" else math.nan
    except OverflowError:  # a whole number of more than 300 digits
        return -math.inf if isinstance(value, Real) and value < 0 else math.inf
    except (TypeError, ValueError, RuntimeError):
        return math.nan


def _is_text(value: object) -> bool:
    return isinstance(value, (str, bytes))


def _first(values: FloatArray, where: NDArray[np.bool_]) -> float:
    """The first offending value, for the message."""
    return float(np.asarray(values)[where].flat[0])
